"""OpenSpiel's table of a policy, extended for shared strings and for use from C++."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import get_all_states

Row = list[tuple[int, float]]

OWNED = re.compile(r"player (\d+): (.*)", re.DOTALL)
"""What `owned` returns: its groups are the player and the string."""


def owned(info_state: str, player: int) -> str:
    """The key of a player's information state whose string players share."""
    return f"player {player}: {info_state}"


class TabularPolicy(openspiel_policy.TabularPolicy):
    """OpenSpiel's TabularPolicy with two additions.

    First, each player has rows of their own. In some games, such as Goofspiel with its
    default parameters, two players have the same information-state string, and
    OpenSpiel's table has a single row for both. Here the keys of such a string in
    `state_lookup` are "player 0: " + string and so on. OpenSpiel's functions ask by
    state, so they find the right row without knowing of this.

    Second, compiled OpenSpiel accepts the object as a table, because it is a mapping
    from each key to the (action, probability) pairs of the legal actions. So
    `pyspiel.exploitability(game, policy)`, `pyspiel.nash_conv` and
    `pyspiel.TabularBestResponse` read the probabilities it has at that moment. For
    functions that take only a `pyspiel.Policy`, `pyspiel.TabularPolicy(policy)` makes a
    copy.

    Attributes:
        shared_strings: the information-state strings that several players have.
    """

    def __init__(self, game: pyspiel.Game, *, states: Any = None) -> None:
        """Makes the uniform policy of all players.

        Args:
            game: any game whose states OpenSpiel can enumerate.
            states: a dictionary from history to state, as in OpenSpiel's TabularPolicy;
                None for all states of the game.
        """
        self.shared_strings: frozenset[str] = frozenset()  # `_state_key` needs one
        self.game_type = game.get_type()
        states = states or get_all_states.get_all_states(
            game,
            depth_limit=-1,
            include_terminals=False,
            include_chance_states=False,
            include_mean_field_states=False,
            to_string=lambda state: state.history_str(),
        )
        self.shared_strings = self._find_shared(states.values())
        super().__init__(game, states=states)

    def _find_shared(self, states: Iterable[pyspiel.State]) -> frozenset[str]:
        owners: dict[str, int] = {}
        shared = set()
        for state in states:
            for player in _acting(state):
                key = super()._state_key(state, player)
                if owners.setdefault(key, player) != player:
                    shared.add(key)
        return frozenset(shared)

    def _state_key(self, state: pyspiel.State, player: int | None) -> str:
        key = super()._state_key(state, player)
        if key not in self.shared_strings:
            return key
        return owned(key, state.current_player() if player is None else player)

    def key(self, info_state: str, player: int) -> str:
        """The key in `state_lookup` of a player's information-state string."""
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

    # --- the mapping that compiled OpenSpiel reads -------------------------

    def __getitem__(self, key: str) -> Row:
        row = self.state_lookup[key]
        legal = np.flatnonzero(self.legal_actions_mask[row])
        probabilities = self.action_probability_array[row, legal]
        return list(zip(legal.tolist(), probabilities.tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.state_lookup)

    def __len__(self) -> int:
        return len(self.state_lookup)

    def __contains__(self, key: object) -> bool:
        return key in self.state_lookup

    def keys(self) -> Iterable[str]:
        """The keys of `state_lookup`."""
        return self.state_lookup.keys()

    def items(self) -> Iterator[tuple[str, Row]]:
        """Each key with its (action, probability) pairs."""
        return ((key, self[key]) for key in self.state_lookup)


def _acting(state: pyspiel.State) -> Iterable[int]:
    """The players who have a decision to make at a state."""
    if not state.is_simultaneous_node():
        return (state.current_player(),)
    players = range(state.num_players())
    return (player for player in players if state.legal_actions(player))


def table_of_answers(
    game: pyspiel.Game, answer: Callable[[pyspiel.State, int], Any], states: Any
) -> TabularPolicy:
    """The table of what a policy answers.

    Args:
        game: the game.
        answer: gives a dictionary action -> probability for a state and a player.
        states: as in `TabularPolicy`.
    """
    table = TabularPolicy(game, states=states)
    table.action_probability_array[:] = 0
    for player, keys in enumerate(table.states_per_player):
        for key in keys:
            row = table.state_lookup[key]
            for action, probability in answer(table.states[row], player).items():
                table.action_probability_array[row, action] = probability
    return table


def partial_table(
    rows: Mapping[str, Mapping[int, float]], *, is_simultaneous: bool
) -> pyspiel.PartialTabularPolicy:
    """A policy for C++ of rows information-state string -> action -> probability.

    Args:
        rows: of a game whose moves are made in turn.
        is_simultaneous: whether that is another game's turn-based form. Then the table
            has each row under that game's own string as well.

    Raises:
        ValueError: players of that game share a string.
    """
    table = {name: list(row.items()) for name, row in rows.items()}
    if is_simultaneous:
        own: dict[str, Row] = {}
        for name, row in table.items():
            info_state = without_turn(name)
            if info_state in own:
                raise_shared(info_state)
            own[info_state] = row
        table |= own
    return pyspiel.PartialTabularPolicy(table)


def raise_shared(info_state: str) -> NoReturn:
    """Raises ValueError for a string that several players have."""
    raise ValueError(
        f"More than one player has the information state {info_state!r}; a pyspiel "
        "policy cannot tell them apart. Use the policy itself or its to_tabular(), "
        "which answer states."
    )


def without_turn(name: str) -> str:
    """The game's own string, given the string of its turn-based form."""
    return name.partition("\n")[2]
