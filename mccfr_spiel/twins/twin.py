"""What a twin is: compiled rules that play one of OpenSpiel's own games to the letter.

A twin has a `Description`, like the games of compiled rules, and a function that spells
the information-state string of a key. Legal actions, chance outcomes, returns and
strings equal those of OpenSpiel's game, so that a tree which a twin expands is the tree
of the game itself.

Below it stands what the rules of several twins write into keys and lists of actions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.rules.description import (
    BoundRules,
    Description,
    Parameter,
    Sizes,
    compiled,
    declared_by,
    described,
)


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
        total = declared_by(game).utility_sum
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


# --- sets, keys and lists of actions --------------------------------------------------


MEMBERS = 16
"""How many members of a set each number of a key has, as bits."""


@compiled
def parts_of(members):
    """How many numbers of a key a set of at most so many members takes."""
    return (members + MEMBERS - 1) // MEMBERS


@compiled
def has_member(numbers, first, member, bits):
    """Whether a set has a member. From the first on each number keeps so many bits."""
    return numbers[first + member // bits] >> member % bits & 1 != 0


@compiled
def add_member(numbers, first, member, bits):
    """Adds a member to such a set."""
    numbers[first + member // bits] |= 1 << member % bits


@compiled
def write_range(actions, count, start, stop):
    """Writes start .. stop - 1 behind the actions so far; returns their number."""
    for action in range(start, stop):
        actions[count] = action
        count += 1
    return count


@compiled
def copy_range(state, start, stop, key, length):
    """Writes state[start:stop] behind a key's length; returns the new length."""
    for place in range(start, stop):
        key[length] = state[place]
        length += 1
    return length
