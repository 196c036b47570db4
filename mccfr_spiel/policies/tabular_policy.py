"""OpenSpiel's TabularPolicy, extended by separate rows for players with the same string
and by an interface for OpenSpiel's C++ functions."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import get_all_states

from mccfr_spiel.arenas.infosets.names import shared_by
from mccfr_spiel.policies.shared_strings import owned

Row = list[tuple[int, float]]


class TabularPolicy(openspiel_policy.TabularPolicy):
    """OpenSpiel's TabularPolicy with two extensions.

    First, each player has separate rows. In some games, such as Goofspiel with default
    parameters, several players have the same information-state string, and OpenSpiel's
    table has a single row for all of them. Here such a string has a row for each
    player, with the keys "player 0: " + string and so on in `state_lookup`. OpenSpiel's
    functions find the right row, because they look up states and not strings.

    Second, the object is a mapping from each key to the (action, probability) pairs of
    the legal actions. OpenSpiel's C++ functions `pyspiel.exploitability`,
    `pyspiel.nash_conv` and `pyspiel.TabularBestResponse` accept such a mapping as a
    policy, and use its present probabilities. For functions that need a
    `pyspiel.Policy`, `pyspiel.TabularPolicy(policy)` makes a copy.

    Attributes:
        shared_strings: the information-state strings that belong to several players.
    """

    def __init__(self, game: pyspiel.Game, *, states: Any = None) -> None:
        """Initializes the uniform policy of all players.

        Args:
            game: any game whose states OpenSpiel can enumerate.
            states: history -> state, as in OpenSpiel's TabularPolicy; None for all
                states.
        """
        self.shared_strings: frozenset[str] = frozenset()  # read by `_state_key`
        self.game_type = game.get_type()
        states = states or get_all_states.get_all_states(
            game,
            depth_limit=-1,
            include_terminals=False,
            include_chance_states=False,
            include_mean_field_states=False,
            to_string=lambda state: state.history_str(),
        )
        pairs = [
            (state, player) for state in states.values() for player in _acting(state)
        ]
        strings = itertools.starmap(self._state_key, pairs)
        self.shared_strings = frozenset(shared_by(strings, (p for _, p in pairs)))
        super().__init__(game, states=states)

    def _state_key(self, state: pyspiel.State, player: int | None) -> str:
        key = super()._state_key(state, player)
        if key not in self.shared_strings:
            return key
        return owned(key, state.current_player() if player is None else player)

    def key(self, info_state: str, player: int) -> str:
        """The key of a player's information-state string in `state_lookup`."""
        if info_state in self.shared_strings:
            return owned(info_state, player)
        return info_state

    def __copy__(self, copy_action_probability_array: bool = True) -> "TabularPolicy":
        copy = type(self).__new__(type(self))
        copy.__dict__ |= self.__dict__
        copy._random_state = np.random.RandomState()
        if copy_action_probability_array:
            copy.action_probability_array = np.copy(self.action_probability_array)
        return copy

    # --- the mapping that OpenSpiel's C++ functions read -------------------

    def __getitem__(self, key: str) -> Row:
        row = self.state_lookup[key]
        legal = np.flatnonzero(self.legal_actions_mask[row])
        probabilities = self.action_probability_array[row, legal]
        return list(zip(legal.tolist(), probabilities.tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.state_lookup)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self.state_lookup)

    def __len__(self) -> int:
        return len(self.state_lookup)

    def __contains__(self, key: object) -> bool:
        return key in self.state_lookup

    keys, items = Mapping.keys, Mapping.items


def _acting(state: pyspiel.State) -> Iterable[int]:
    """The players with a decision at a state."""
    if not state.is_simultaneous_node():
        return (state.current_player(),)
    players = range(state.num_players())
    return (player for player in players if state.legal_actions(player))
