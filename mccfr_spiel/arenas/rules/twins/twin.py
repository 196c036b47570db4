"""Twins: compiled rules that reproduce one of OpenSpiel's own games exactly.

A twin has the functions of compiled rules and `spell`, which writes the
information-state string of a key. Legal actions, chance outcomes, returns and strings
equal those of OpenSpiel's game, so a twin expands exactly the tree of the game.

The module also provides functions that several twins use to write keys, sets of bits
and lists of actions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.declarations import declared_by
from mccfr_spiel.arenas.rules.game_description import (
    MAX_KEY_VALUES,
    Parameter,
    Sizes,
    compiled,
    described,
)


class Twin(NamedTuple):
    """Compiled rules of one of OpenSpiel's games for given parameters.

    Attributes:
        functions: the `globals()` of the twin's module, as for `described`, including
            `spell(settings, player, key, length, text) -> int`. Compiled by
            `rules.compiled`, it writes the information-state string of key[:length] to
            `text` as ASCII and returns the length of the string. `player` is the
            acting player.
        settings: the first argument of the compiled functions.
        state: length of the state vector.
        key: length of the longest information key.
        text_size: length of the longest string.
        corrected: fields of `Sizes` that OpenSpiel's game declares wrongly, with the
            right values.
    """

    functions: Mapping[str, Any]
    settings: Sequence[float]
    state: int
    key: int
    text_size: int
    corrected: Mapping[str, int] = {}


class BoundTwin(BoundRules):
    """The twin of a game, callable from Python."""

    def __init__(self, name: str, twin: Twin, game: pyspiel.Game) -> None:
        """Makes rules with the declarations of OpenSpiel's game.

        Args:
            name: OpenSpiel's name of the game.
            twin: twin for the game's parameters.
            game: the game, whose simultaneous moves have become turns.
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
        """OpenSpiel's information-state string of a key."""
        text = self.new_text()
        length = self.spell(self.settings, player, key, len(key), text)
        return text[:length].tobytes().decode("ascii")


_WORDS = {
    "state": lambda parameters, state: str(state.tolist()),
    "action": lambda parameters, player, action: str(action),
    "info_state": lambda parameters, player, key: str(key.tolist()),
    "observation": lambda parameters, state, player: {},
}
"""`Words` for errors in a twin. Users see the texts of OpenSpiel's game."""

Maker = Callable[..., Twin | None]
"""Builds a twin from the parameters of a game, passed by name; returns None for
unsupported values."""


MEMBERS = 16
"""Bits per number of a set that is stored in a key or state."""


@compiled
def parts_of(members):
    """Number of integers that store a set of up to `members` members."""
    return (members + MEMBERS - 1) // MEMBERS


@compiled
def has_member(numbers, first, member):
    """Whether the set that starts at numbers[first] contains a member."""
    return numbers[first + member // MEMBERS] >> member % MEMBERS & 1 != 0


@compiled
def add_member(numbers, first, member):
    """Adds a member to the set that starts at numbers[first]."""
    numbers[first + member // MEMBERS] |= 1 << member % MEMBERS


@compiled
def write_range(actions, count, start, stop):
    """Appends start .. stop - 1 to `count` actions; returns the new count."""
    for action in range(start, stop):
        actions[count] = action
        count += 1
    return count


@compiled
def copy_range(state, start, stop, key, length):
    """Appends state[start:stop] to a key of a given length; returns the new length."""
    for k in range(start, stop):
        key[length] = state[k]
        length += 1
    return length
