"""What a twin is: compiled rules that play one of OpenSpiel's own games to the letter.

A twin has a `Description`, like the games of compiled rules, and a function that spells
the information-state string of a key. Legal actions, chance outcomes, returns and
strings equal those of OpenSpiel's game, so that a tree which a twin expands is the tree
of the game itself.

Strings are written in compiled code, byte by byte. Functions such as `put` write at a
position of `text` and return the position behind what they have written. The text must
be long enough: `Twin.text_size` says how long.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.rules.description import (
    SPARE,
    BoundRules,
    Description,
    Parameter,
    Sizes,
    described,
)
from mccfr_spiel.rules.kernel import SPELL, RowTable, call, callable_rules


class Twin(NamedTuple):
    """Compiled rules for one of OpenSpiel's games with given parameters.

    Attributes:
        description: the game. Its least and greatest return and its kind of sum are
            replaced by those that OpenSpiel's game declares.
        spell(settings, player, key, length, text) -> int: writes the
            information-state string of key[:length] into `text`, as ASCII, and returns
            its length. It is made by `rules.compiled`. The player is the one who acts.
        text_size: the length of the longest string.
    """

    description: Description
    spell: Any
    text_size: int


def make_twin(
    short_name: str,
    functions: Mapping[str, Any],
    settings: Sequence[float],
    sizes: Sizes,
    text_size: int,
    num_players: int = 2,
) -> Twin:
    """A twin of the OpenSpiel game of that name.

    Args:
        short_name: OpenSpiel's name of the game.
        functions: the `globals()` of the twin's module, as in `described`; `_spell` is
            `Twin.spell`.
        settings: what compiled functions get as `settings`.
        sizes: as in a Description; the least and greatest return do not matter.
        text_size: see `Twin`.
        num_players: the number of players.
    """
    own = {**functions, **_WORDS, "sizes": lambda parameters: sizes}
    parameters = {str(k): Parameter(value) for k, value in enumerate(settings)}
    description = described(short_name, short_name, own, parameters, num_players)
    return Twin(description, functions["_spell"], text_size)


class BoundTwin(BoundRules):
    """A twin of a given game, callable from Python.

    Attributes:
        twin: the twin.
    """

    def __init__(self, twin: Twin, game: pyspiel.Game) -> None:
        """Makes the rules, which declare what OpenSpiel's game declares.

        Args:
            twin: for the game's parameters.
            game: the game in its turn-based form.
        """
        utility = game.get_type().utility
        kinds = pyspiel.GameType.Utility
        total = game.utility_sum() if utility == kinds.CONSTANT_SUM else None
        total = 0.0 if utility == kinds.ZERO_SUM else total
        super().__init__(twin.description._replace(utility_sum=total), {})
        self.sizes = self.sizes._replace(
            min_utility=game.min_utility(), max_utility=game.max_utility()
        )
        self.twin, self.spell, self.text_size = twin, twin.spell, twin.text_size

    def info_state(self, player: int, key: np.ndarray) -> str:
        """OpenSpiel's information-state string for a key."""
        text = self.new_text()
        length = self.twin.spell(self.settings, player, key, len(key), text)
        return text[:length].tobytes().decode("ascii")


_WORDS = {
    "state": lambda parameters, state: str(state.tolist()),
    "action": lambda parameters, player, action: str(action),
    "info_state": lambda parameters, player, key: str(key.tolist()),
    "observation": lambda parameters, state, player: {},
}
"""Words for errors in a twin itself; what users see comes from OpenSpiel's game."""

Maker = Callable[..., Twin | None]
"""Makes the twin for the parameters of a game, each an argument of its name; None for
values that it does not cover."""


# --- strings --------------------------------------------------------------------------


_BATCH = 1 << 24
"""The bytes that the strings spelled in one pass may take."""


def word(text: str) -> np.ndarray:
    """A constant text (ASCII) in the form that `put` takes, `[length]` uint8."""
    return np.frombuffer(text.encode("ascii"), np.uint8)


@inlined
def put(text, at, constant):
    """Writes a constant made by `word`."""
    # An unsigned index cannot count from the end, so several bytes are written at once.
    start = np.uint64(at)
    for k in range(len(constant)):
        text[start + np.uint64(k)] = constant[k]
    return at + len(constant)


@inlined
def put_labeled(text, at, constant, number):
    """Writes a constant made by `word` and behind it a number."""
    return put_number(text, put(text, at, constant), number)


@inlined
def put_number(text, at, number):
    """Writes an integer in decimal digits at a position; returns that behind it."""
    if 0 <= number < 10:
        text[at] = 48 + number
        return at + 1
    if 10 <= number < 100:
        tens = number // 10
        text[at] = 48 + tens
        text[at + 1] = 48 + number - 10 * tens
        return at + 2
    return _put_long(text, at, number)


@jit
def _put_long(text, at, number):
    """As `put_number`, for any number."""
    if number < 0:
        text[at] = 45  # a minus sign
        at += 1
        number = -number
    digits = 1
    rest = number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for k in range(digits):
        text[at + digits - 1 - k] = 48 + number % 10
        number //= 10
    return at + digits


@jit
def _spell_all(spell, settings, values, rows, first, stop, key, text, ends):
    """Spells the strings of infosets first .. stop - 1, one behind the other."""
    at = 0
    for infoset in range(first, stop):
        start = rows[infoset]["start"]
        length = rows[infoset + 1]["start"] - start - 1
        for k in range(length):
            key[k] = values[start + 1 + k]
        arguments = settings, np.int64(values[start]), key, length, text[at:]
        at += call(spell, SPELL, arguments)
        ends[infoset - first] = at


def spelled(rules: BoundRules, keys: RowTable, count: int) -> Iterator[str]:
    """The strings of the first `count` infosets.

    Args:
        rules: of a twin.
        keys: of the infosets, each with the player before it.
        count: how many.
    """
    spell = callable_rules(rules)[SPELL]
    size = len(rules.new_text())
    key = np.zeros(len(rules.sizes.key) + SPARE, np.int64)
    # One pass spells a batch of strings, so that no more text is in memory.
    batch = max(_BATCH // size, 1)
    for first in range(0, count, batch):
        stop = min(first + batch, count)
        text = np.zeros((stop - first) * size, np.uint8)
        ends = np.zeros(stop - first, np.int64)
        numbers = keys.values, keys.rows, first, stop, key
        _spell_all(spell, rules.settings, *numbers, text, ends)
        whole, start = text[: ends[-1]].tobytes().decode("ascii"), 0
        for end in ends.tolist():
            yield whole[start:end]
            start = end
