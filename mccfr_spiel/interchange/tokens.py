"""Splits a Gambit file into tokens, and reports errors by line and token.

Tokens are texts in double quotes, numbers, words, braces and commas. White space only
separates tokens.
"""

import functools
import re
from collections.abc import Iterator
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

_MAX_SHOWN = 40
"""Characters of a token that a message shows."""

_MAX_DIGITS = 400
"""Maximum number of characters of a number before the exponent."""

_MAX_NUMBER = 10**100
"""Maximum absolute value of a number. Sums of such payoffs are finite as doubles."""


class GameFileError(ValueError):
    """A game file breaks its format. The message names the file, line and token."""


class Token(NamedTuple):
    """A token of a file.

    Attributes:
        kind: TEXT, NUMBER, WORD, END, "{", "}" or ",".
        text: the characters; for TEXT, the characters between the quotes.
        line: number of the line where the token begins, counted from 1.
    """

    kind: str
    text: str
    line: int


@functools.lru_cache(maxsize=4096)
def _fraction(text: str) -> Fraction:
    """The exact value of a number; raises OverflowError for too long or too large
    numbers."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > _MAX_DIGITS or len(exponent) > 4:
        raise OverflowError
    value = Fraction(text)
    if abs(value) > _MAX_NUMBER:
        raise OverflowError
    return value


class Tokens:
    """The tokens of a file, which are split off one by one to save memory.

    Attributes:
        source: name of the file in messages.
        current: the next token.
    """

    def __init__(self, text: str, source: str) -> None:
        """Splits off the first token.

        Args:
            text: content of the file.
            source: name of the file in messages.

        Raises:
            GameFileError: a closing double quote is missing. All methods that read a
                token raise this error as well.
        """
        self.source = source
        self._rest = self._split(text)
        self.current = next(self._rest)

    def _split(self, text: str) -> Iterator[Token]:
        line = 1
        for match in _PATTERN.finditer(text):
            kind, characters = str(match.lastgroup), match[0]
            if kind == "open":
                token = Token(TEXT, text[match.start() :], line)
                self.fail("a closing double quote is missing", token)
            if kind == "text":
                unquoted = characters[1:-1].replace(r"\"", '"')
                yield Token(TEXT, unquoted, line)
            elif kind != "space":
                kind = characters if kind == "mark" else kind
                yield Token(kind, characters, line)
                continue  # these kinds contain no line breaks
            line += characters.count("\n")
        yield Token(END, "the end of the file", line)

    def fail(self, problem: str, token: Token | None = None) -> NoReturn:
        """Raises GameFileError at a token, by default at the current token."""
        token = token or self.current
        shown = token.text
        if len(shown) > _MAX_SHOWN:
            shown = f"{shown[:_MAX_SHOWN]}..."
        shown = shown if token.kind == END else repr(shown)
        raise GameFileError(f"{self.source}, line {token.line}, at {shown}: {problem}.")

    def take(self, kind: str, expected: str) -> Token:
        """Reads a token.

        Args:
            kind: required kind.
            expected: description of the required token, for the message.

        Raises:
            GameFileError: the current token is of another kind.
        """
        token = self.current
        if token.kind != kind:
            self.fail(f"expected {expected}")
        self.current = next(self._rest)
        return token

    def skip(self, kind: str) -> bool:
        """Reads the current token if it is of that kind; returns whether it is."""
        if self.current.kind != kind:
            return False
        self.current = next(self._rest)
        return True

    def texts(self, content: str) -> list[str]:
        """Reads a list of texts in braces.

        Args:
            content: description of the texts, such as "the players' names".
        """
        self.take("{", f"'{{' before {content}")
        texts = []
        while self.current.kind != "}":
            texts.append(self.take(TEXT, f"a text or '}}' in {content}").text)
        self.take("}", f"'}}' after {content}")
        return texts

    def number(self, expected: str) -> Fraction:
        """Reads a number without rounding."""
        token = self.take(NUMBER, expected)
        try:
            return _fraction(token.text)
        except OverflowError:
            self.fail(
                f"expected a number of at most {_MAX_NUMBER:.0e} and {_MAX_DIGITS} "
                "digits",
                token,
            )
        except ZeroDivisionError:
            self.fail("expected a denominator other than 0", token)

    def whole(self, expected: str) -> int:
        """Reads an integer of at least 0."""
        token = self.current
        value = self.number(expected)
        if value.denominator != 1 or value < 0:
            self.fail(f"expected {expected}", token)
        return int(value)

    def payoffs(self, num_players: int) -> tuple[Fraction, ...]:
        """Reads one payoff per player. Commas after payoffs are optional."""
        payoffs = []
        for player in range(1, num_players + 1):
            payoffs.append(self.number(f"a payoff of player {player}"))
            self.skip(",")
        return tuple(payoffs)

    def title_and_players(self) -> tuple[str, list[str]]:
        """Reads the game's title and the players' names, with which all files begin."""
        title = self.take(TEXT, "the game's title in double quotes").text
        names = self.texts("the players' names")
        if not names:
            self.fail("expected at least one player before this")
        return title or "Untitled game", names
