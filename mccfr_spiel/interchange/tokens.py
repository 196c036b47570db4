"""Splits a Gambit file into tokens and reports errors by line and token.

The tokens are texts in double quotes, numbers, words, braces and commas. White space
separates tokens and has no other meaning.
"""

import functools
import re
from fractions import Fraction
from typing import NamedTuple, NoReturn

TEXT, NUMBER, WORD, END = "text", "number", "word", "end"
"""Kinds of tokens. Braces and commas are kinds of their own: "{", "}" and ","."""

_PATTERN = re.compile(
    r"""(?P<space>\s+)
    |(?P<text>"(?:\\"|[^"])*")
    |(?P<open>")
    |(?P<mark>[{},])
    |(?P<number>[+-]?(?:\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?=[\s{},"]|$))
    |(?P<word>[^\s{},"]+)""",
    re.VERBOSE,
)

_LONGEST_SHOWN = 40
_MOST_DIGITS = 400
"""The most digits of a number before its exponent."""


class GameFileError(ValueError):
    """A game file breaks its format. The message names the file, line and token."""


class Token(NamedTuple):
    """A token of a file.

    Attributes:
        kind: TEXT, NUMBER, WORD, END, "{", "}" or ",".
        text: the characters; of TEXT those between the quotes.
        line: number of its first line, from 1.
    """

    kind: str
    text: str
    line: int


@functools.lru_cache(maxsize=4096)
def _fraction(text: str) -> Fraction:
    """The value of a number; raises OverflowError if it has too many digits."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > _MOST_DIGITS or len(exponent) > 4:
        raise OverflowError
    return Fraction(text)


class Tokens:
    """The tokens of a file, which are read one after the other.

    Attributes:
        source: the file's name in messages.
    """

    def __init__(self, text: str, source: str) -> None:
        """Splits the text.

        Raises:
            GameFileError: a quoted text has no end.
        """
        self.source = source
        self._tokens = [*self._split(text)]
        self._next = 0

    def _split(self, text: str) -> list[Token]:
        tokens, line = [], 1
        for match in _PATTERN.finditer(text):
            kind, found = str(match.lastgroup), match[0]
            if kind == "open":
                token = Token(TEXT, text[match.start() :], line)
                self.fail("a closing double quote is missing", token)
            if kind == "text":
                tokens.append(Token(TEXT, found[1:-1].replace(r"\"", '"'), line))
            elif kind != "space":
                tokens.append(Token(found if kind == "mark" else kind, found, line))
                continue
            line += found.count("\n")
        tokens.append(Token(END, "the end of the file", line))
        return tokens

    @property
    def current(self) -> Token:
        """The token that is read next."""
        return self._tokens[self._next]

    def fail(self, problem: str, token: Token | None = None) -> NoReturn:
        """Raises GameFileError at a token, by default at the current one."""
        token = token or self.current
        shown = token.text
        if len(shown) > _LONGEST_SHOWN:
            shown = f"{shown[:_LONGEST_SHOWN]}..."
        shown = shown if token.kind == END else repr(shown)
        raise GameFileError(f"{self.source}, line {token.line}, at {shown}: {problem}.")

    def take(self, kind: str, expected: str) -> Token:
        """Reads a token of a kind.

        Raises:
            GameFileError: the current token is of another kind; the message says what
                was expected.
        """
        token = self.current
        if token.kind != kind:
            self.fail(f"expected {expected}")
        self._next += 1
        return token

    def skip(self, kind: str) -> bool:
        """Reads a token if it is of that kind; returns whether it was."""
        if self.current.kind != kind:
            return False
        self._next += 1
        return True

    def texts(self, what: str) -> list[str]:
        """Reads a list of texts in braces, such as the players' names."""
        self.take("{", f"'{{' before {what}")
        texts = []
        while self.current.kind != "}":
            texts.append(self.take(TEXT, f"a text or '}}' in {what}").text)
        self.take("}", f"'}}' after {what}")
        return texts

    def number(self, expected: str) -> Fraction:
        """Reads a number as it is written, without rounding."""
        token = self.take(NUMBER, expected)
        try:
            return _fraction(token.text)
        except OverflowError:
            self.fail(f"expected a number of at most {_MOST_DIGITS} digits", token)
        except ZeroDivisionError:
            self.fail("expected a denominator other than 0", token)

    def whole(self, expected: str) -> int:
        """Reads a whole number of at least 0."""
        token = self.current
        value = self.number(expected)
        if value.denominator != 1 or value < 0:
            self.fail(f"expected {expected}", token)
        return int(value)
