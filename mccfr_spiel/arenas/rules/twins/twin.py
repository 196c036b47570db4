"""What a twin is: compiled rules that play one of OpenSpiel's own games to the letter.

A twin has the functions of compiled rules, and one more that spells the
information-state string of a key. Legal actions, chance outcomes, returns and
strings equal those of OpenSpiel's game, so that a tree which a twin expands is the tree
of the game itself.

Below it stands what the rules of several twins write into keys and lists of actions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.description import (
    MAX_KEY_VALUES,
    BoundRules,
    Parameter,
    Sizes,
    compiled,
    declared_by,
    described,
)


class Twin(NamedTuple):
    """Compiled rules for one of OpenSpiel's games with given parameters.

    Attributes:
        functions: the `globals()` of the twin's module, as in `described`. One of them,
            `spell(settings, player, key, length, text) -> int`, writes the
            information-state string of key[:length] into `text`, as ASCII, and returns
            its length. It is made by `rules.compiled`. The player is the one who acts.
        settings: what compiled functions get as `settings`.
        state: the length of the state vector.
        key: the length of the longest information key.
        text_size: the length of the longest string.
        corrected: fields of `Sizes` of which OpenSpiel's game declares other values
            than it should.
    """

    functions: Mapping[str, Any]
    settings: Sequence[float]
    state: int
    key: int
    text_size: int
    corrected: Mapping[str, int] = {}


class BoundTwin(BoundRules):
    """A twin of a given game, callable from Python."""

    def __init__(self, name: str, twin: Twin, game: pyspiel.Game) -> None:
        """Makes the rules, which declare what OpenSpiel's game declares.

        Args:
            name: OpenSpiel's name of the game.
            twin: for the game's parameters.
            game: the game in its turn-based form.
        """
        sizes = Sizes(
            state=twin.state,
            num_actions=game.num_distinct_actions(),
            max_moves=game.max_game_length(),
            key=(MAX_KEY_VALUES,) * twin.key,
            min_utility=game.min_utility(),
            max_utility=game.max_utility(),
            max_chance_outcomes=game.max_chance_outcomes(),
            max_chance_moves=game.max_chance_nodes_in_history(),
        )._replace(**twin.corrected)
        functions = {n.removeprefix("_"): f for n, f in twin.functions.items()}
        own = {**functions, **_WORDS, "sizes": lambda parameters: sizes}
        parameters = {str(k): Parameter(v) for k, v in enumerate(twin.settings)}
        description = described(name, str(game), own, parameters, game.num_players())
        total = declared_by(game).utility_sum
        super().__init__(description._replace(utility_sum=total), {})
        self.spell, self.text_size = functions["spell"], twin.text_size

    def info_state(self, player: int, key: np.ndarray) -> str:
        """OpenSpiel's information-state string for a key."""
        text = self.new_text()
        length = self.spell(self.settings, player, key, len(key), text)
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
"""How many members of a set each number of a key or a state has, as bits."""


@compiled
def parts_of(members):
    """How many numbers a set of at most so many members takes."""
    return (members + MEMBERS - 1) // MEMBERS


@compiled
def has_member(numbers, first, member):
    """Whether a set, which begins at a place of `numbers`, has a member."""
    return numbers[first + member // MEMBERS] >> member % MEMBERS & 1 != 0


@compiled
def add_member(numbers, first, member):
    """Adds a member to such a set."""
    numbers[first + member // MEMBERS] |= 1 << member % MEMBERS


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
