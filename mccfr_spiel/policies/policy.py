"""SequencePolicy: a vector of action probabilities, as an OpenSpiel policy."""

import difflib
import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.arenas.infosets.identity import same_name
from mccfr_spiel.arenas.infosets.names import shared_by
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.common import checkpoint, refusals
from mccfr_spiel.common.display import brief, counted, line, never_raises, title
from mccfr_spiel.policies.frozen_table import frozen
from mccfr_spiel.policies.json_policies import digest_of
from mccfr_spiel.policies.policy_files import from_contents, to_contents
from mccfr_spiel.policies.policy_table import (
    PolicyTable,
    html_rows,
    more_rows,
    rows_of,
    table_of,
)
from mccfr_spiel.policies.shared_strings import (
    OWNED,
    is_turn_based,
    owned,
    raise_shared,
    with_turn,
    without_turn,
)
from mccfr_spiel.policies.tabular_policy import TabularPolicy
from mccfr_spiel.policies.vectors import check_shape, checked_vector

_SEARCHED = 5_000
"""The number of known strings that are compared with an unknown string."""

_MADE_OF_VECTOR = ("action_probability_array", "legal_actions_mask", "state_lookup")
"""Attributes that are computed at the first access, and again in copies."""

_ROWS_IN_NOTEBOOK = 10

_FEW_NODES = 100_000
"""Notebooks show action names and reaches from trees of at most this size."""


class SequencePolicy(openspiel_policy.Policy):
    """A policy of all players: a copy of a vector, with OpenSpiel's policy interface.

    The policy accepts states of its game. If the game has simultaneous moves, it
    accepts both states of the game and states of the turn-based form of the game
    (`pyspiel.convert_to_turn_based`). At states whose infosets no walk has visited it
    returns the uniform policy. `state_lookup`, `action_probability_array` and
    `legal_actions_mask` of OpenSpiel's TabularPolicy contain visited infosets only.

    If the policy was computed with an abstraction, the abstraction is called for every
    state. Of a game with simultaneous moves, such a policy accepts states of the
    turn-based form only. If several sequences of a player lead to the same string,
    `info_states` and all arrays in the same order contain it once per sequence.

    A policy is also a read-only dictionary of the visited states. `policy[info_state]`
    is a dictionary action -> probability; keys are those of `to_dict`.

    Attributes:
        tree: the infoset table with the strings and actions.
        vector: `[S]` the probability of each sequence's action at its infoset.
        turn_based_game: the game with moves in turn, possibly `game` itself.
    """

    _last_game: pyspiel.Game | None = None

    def __init__(self, tree: InfosetTable, vector: np.ndarray) -> None:
        """Copies the vector.

        Args:
            tree: the infoset table with the strings and actions; it may still grow.
            vector: `[S]` the probability of each sequence's action at its infoset.

        Raises:
            ValueError: `tree` is not an infoset table, or `vector` has another shape.
        """
        if not isinstance(tree, InfosetTable):
            raise ValueError(
                f"tree={tree!r} must be a GameTree; use ms.GameTree(game)."
            )
        super().__init__(tree.source, list(range(tree.num_players)))
        self.tree = tree
        self.vector = refusals.numbers(vector, "vector")
        check_shape(tree, self.vector, vector)
        self._num_infosets = tree.num_infosets
        self._infosets = tree.infosets
        self.turn_based_game = tree.game

    @functools.cached_property
    def _actions(self) -> np.ndarray:
        return self.tree.actions

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy into a file that `load` reads.

        The file is written completely or not at all, and replaces an existing file. Its
        size is at most 24 bytes per infoset, 16 per sequence, and 8 plus the length of
        the text per string: 577 MB for 3.3 million infosets of Goofspiel with 7 cards.

        Raises:
            ValueError: the vector is not a policy.
            OSError: the file cannot be written; an existing file is unchanged.
        """
        names = frozen(self.tree, self._num_infosets, len(self.vector))
        checked_vector(names, self.vector)
        contents = to_contents(names, self.vector)
        checkpoint.save(path, contents, checkpoint.POLICY)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        game: pyspiel.Game | str | None = None,
        *,
        abstraction: Abstraction | None = None,
    ) -> "SequencePolicy":
        """Reads a file that `save` wrote. Reading never runs code from the file.

        The file contains information-state strings and no payoffs, so a game with the
        same load string and other payoffs is accepted.

        Args:
            path: the file.
            game: the game, if the load string in the file is not sufficient.
            abstraction: the abstraction of the policy, if there was one.

        Raises:
            CheckpointError: the file is damaged, or is not a policy.
            ValueError: the game cannot be loaded.
            OSError: the file cannot be read.
        """
        contents = checkpoint.load(path, checkpoint.POLICY)
        return cls(*from_contents(contents, game, abstraction))

    # --- display -------------------------------------------------------------

    def table(self, gaps: Any = None) -> PolicyTable:
        """The policy as a printable table, a `PolicyRow` per visited information state.

        Rows are in the order of the game's tree. If the tree has not been expanded yet,
        it is expanded now, unless it has more than a million nodes; then rows are in
        the order of first visits, without the probabilities of reaching them.

        Args:
            gaps: result of `conditional_gaps` to show in another column.

        Raises:
            ValueError: the policy or `gaps` belongs to another game of the same name.
        """
        return table_of(self.tree, self.vector, self._num_infosets, gaps)

    def __str__(self) -> str:
        """The game and the number of visited information states."""
        abstracted = self.tree.abstraction is not None
        met = counted(self._num_infosets, "information state")
        return f"{title(self.game)}, {met}{', with an abstraction' * abstracted}"

    @never_raises
    def __repr__(self) -> str:
        return line(self, str(self))

    @never_raises
    def _repr_html_(self) -> str:
        tree = self.tree
        basis = tree if 1 < getattr(tree, "num_nodes", 0) <= _FEW_NODES else None
        num_rows = _ROWS_IN_NOTEBOOK
        rows = rows_of(tree, self.vector, self._num_infosets, basis, num_rows)
        hidden = self._num_infosets - len(rows)
        note = f"{more_rows(hidden)}; see policy.table()" if hidden else ""
        return html_rows(tree.game, str(self), rows, note)

    # The class does not inherit from Mapping, because `==` would then compare the
    # items. Policies are equal only if they are the same object.
    keys, values, items, get = Mapping.keys, Mapping.values, Mapping.items, Mapping.get

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return self._num_infosets

    def __iter__(self) -> Iterator[str]:
        return iter(self._unique)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._unique)

    def __contains__(self, info_state: object) -> bool:
        return isinstance(info_state, str) and self._number_of(info_state) is not None

    def __getitem__(self, info_state: str) -> dict[int, float]:
        """The probability of every legal action at a visited information state.

        Args:
            info_state: the string. If several players have the same string, it must be
                a key of `to_dict`, such as "player 0: " + string.

        Raises:
            KeyError: the string is unknown, or several players have it.
        """
        if not isinstance(info_state, str):
            raise KeyError(
                f"{info_state!r} is not an information-state string. To look up a "
                "state, use policy.action_probabilities(state)."
            )
        infoset = self._number_of(info_state)
        if infoset is None:
            raise KeyError(self._why_missing(info_state))
        return self._row(infoset)

    def _row(self, infoset: int) -> dict[int, float]:
        _, start, _, size, _ = self._infosets[infoset].item()
        row = slice(start, start + size)
        actions, values = self._actions[row].tolist(), self.vector[row].tolist()
        return dict(zip(actions, values, strict=True))

    # A string is called shared if several players have an infoset with this string. Its
    # keys are "player 0: " + string and so on; the string itself is not a key.

    @functools.cached_property
    def _shared(self) -> set[str]:
        """The shared strings among the infosets of this policy.

        The set `tree.shared_strings` may be larger, because the tree may have grown
        since the policy was made.
        """
        if not self.tree.shared_strings:
            return set()
        return shared_by(self.info_states, self._infosets["player"])

    @functools.cached_property
    def _unique(self) -> list[str]:
        """`[I]` the keys of the infosets: their strings, with the player added to
        shared strings."""
        shared = self._shared
        if not shared:
            return self.info_states
        players = self._infosets["player"].tolist()
        return [
            owned(name, player) if name in shared else name
            for name, player in zip(self.info_states, players, strict=True)
        ]

    def _number_of(self, info_state: str) -> int | None:
        """The infoset with a key, see `_unique`; None for other strings."""
        owners = self._owners(info_state)
        if len(owners) == 1:
            return next(iter(owners.values()))
        owned_string = OWNED.fullmatch(info_state)
        if owners or owned_string is None:
            return None
        owners = self._owners(owned_string[2])
        return owners.get(int(owned_string[1])) if len(owners) > 1 else None

    def _owners(self, info_state: str) -> dict[int, int]:
        """Player -> the player's infoset with this string, for players that have it."""
        infosets = {
            player: self.tree.find(info_state, player)
            for player in range(self.tree.num_players)
        }
        return {p: i for p, i in infosets.items() if 0 <= i < self._num_infosets}

    def _why_missing(self, info_state: str) -> str:
        """The error message for an unknown string, with suggestions."""
        owners = self._owners(info_state)
        if owners:
            spelled = " or ".join(repr(owned(info_state, player)) for player in owners)
            return (
                f"More than one player has the information state {info_state!r}. Use "
                f"{spelled}."
            )
        near = difflib.get_close_matches(info_state, self._unique[:_SEARCHED], n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        return (
            f"Unknown information state {info_state!r} in the policy for "
            f"{brief(self.game)}.{hint}"
        )

    # --- probabilities -----------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """The number of visited infosets."""
        return self._num_infosets

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """Action -> probability, for every legal action at a state.

        If players act in turn and `player_id` is not the acting player, the result is
        {0: 1.0}, as in OpenSpiel's TabularPolicy.

        Args:
            state: a state in which a player acts.
            player_id: the player; required if moves are simultaneous.

        Raises:
            ValueError: the state belongs to another game, no player acts there, or
                there is no such player.
        """
        self._check_game(state)
        if player_id is not None:
            player_id = refusals.player(player_id, self.tree.num_players, "player_id")
        if self.tree.abstraction is not None and not same_name(
            state.get_game(), self.turn_based_game
        ):
            raise ValueError(
                "The abstraction of the policy needs states of "
                f"{brief(self.turn_based_game)}; use pyspiel.convert_to_turn_based."
            )
        if state.is_simultaneous_node():
            if player_id is None:
                raise ValueError(
                    "All players act at this state; player_id must be given."
                )
            acting, legal_actions = player_id, state.legal_actions(player_id)
        else:
            acting, legal_actions = state.current_player(), state.legal_actions()
            if acting < 0:
                raise ValueError(f"No player acts at the state {state.history()}.")
            if player_id not in (None, acting):
                return {0: 1.0}  # as in OpenSpiel's TabularPolicy
        if self.game is self.turn_based_game or is_turn_based(state.get_game()):
            infoset = self.tree.find_at(state, acting)
        else:
            # The method of the base class asks the game's observer for the string, as
            # the turn-based form of a Python game does. A Python state may override
            # `information_state_string` and return a different string.
            info_state = pyspiel.State.information_state_string(state, acting)
            info_state = with_turn(acting, info_state)
            infoset = self.tree.find(info_state, acting)
        if not 0 <= infoset < self._num_infosets:
            return dict.fromkeys(legal_actions, 1 / len(legal_actions))
        row = self._row(infoset)
        if list(row) != list(legal_actions):
            raise ValueError(
                f"The policy assigns probabilities to the actions {[*row]} at the "
                f"information state {self.tree.info_state(infoset)!r} of "
                f"{brief(self.game)}, but the legal actions are {legal_actions}. The "
                "rules differ from those of the policy."
            )
        return row

    def to_tabular(self, states: Any = None) -> TabularPolicy:
        """Converts the policy to OpenSpiel's TabularPolicy of all states of the game.

        OpenSpiel's own conversion fails for games with simultaneous moves. If several
        players have the same information-state string, the table has a row for each of
        them, see `tabular_policy.TabularPolicy`.

        Args:
            states: history -> state, as in OpenSpiel's TabularPolicy; None for all
                states.
        """
        table = TabularPolicy(self.game, states=states)
        rows = table.action_probability_array
        rows[:] = 0
        for player, keys in enumerate(table.states_per_player):
            for row in map(table.state_lookup.__getitem__, keys):
                policy = self.action_probabilities(table.states[row], player)
                rows[row, [*policy]] = [*policy.values()]
        return table

    def to_pyspiel(self) -> pyspiel.PartialTabularPolicy:
        """Converts the policy to a C++ policy: a table of the visited states, uniform
        elsewhere.

        A string is not sufficient for the uniform policy, because C++ does not know its
        legal actions. Evaluation must therefore use states:
        `pyspiel.nash_conv(game, policy, True)`. If the game has simultaneous moves, the
        table contains the strings of the game and those of its turn-based form.

        Raises:
            ValueError: several players have the same information-state string, or the
                policy has an abstraction.
        """
        if self.tree.abstraction is not None:
            raise ValueError(
                "A C++ policy is a table of information states, but this policy uses "
                "an abstraction. Use to_tabular()."
            )
        if self._shared:
            raise_shared(min(self._shared))
        table = {name: [*row.items()] for name, row in self.to_dict().items()}
        if self.game is not self.turn_based_game:
            for name, row in [*table.items()]:
                own = without_turn(name)
                if table.setdefault(own, row) is not row:
                    raise_shared(own)
        return pyspiel.PartialTabularPolicy(table)

    def policy_for_key(self, info_state: str) -> np.ndarray:
        """`[A]` the probabilities at a visited information state.

        A is the number of distinct actions of the game; illegal actions have
        probability 0.

        Args:
            info_state: the string, as in `policy[info_state]`.

        Raises:
            KeyError: the string is unknown; the message suggests similar strings.
        """
        if info_state not in self.state_lookup:
            raise KeyError(self._why_missing(info_state))
        return self.action_probability_array[self.state_lookup[info_state]]

    def to_dict(self) -> dict[str, dict[int, float]]:
        """The visited states: information-state string -> action -> probability.

        If several players have the same string, its keys are "player 0: " + string,
        "player 1: " + string, and so on.
        """
        return dict(zip(self._unique, map(self._row, range(len(self))), strict=True))

    @property
    def info_states(self) -> list[str]:
        """`[I]` the visited information-state strings."""
        return self.tree.info_states[: self._num_infosets]

    @functools.cached_property
    def state_lookup(self) -> dict[str, int]:
        """A dictionary information-state string -> index of the row in
        `action_probability_array`.

        The keys are those of `to_dict`.
        """
        return {name: row for row, name in enumerate(self._unique)}

    @functools.cached_property
    def legal_actions_mask(self) -> np.ndarray:
        """`[I, A]` 1 for legal actions, else 0, for the A distinct actions of the
        game."""
        return (self._dense(np.ones_like(self.vector)) > 0).astype(int)

    @functools.cached_property
    def action_probability_array(self) -> np.ndarray:
        """`[I, A]` the probabilities, for the A distinct actions of the game; 0 for
        illegal actions."""
        return self._dense(self.vector)

    def _dense(self, vector: np.ndarray) -> np.ndarray:
        table = np.zeros(
            (self._num_infosets, self.turn_based_game.num_distinct_actions())
        )
        counts = self._infosets["num_actions"]
        rows = np.repeat(np.arange(self._num_infosets), counts)
        sequences = np.arange(self.tree.num_players, len(vector))
        table[rows, self._actions[sequences]] = vector[sequences]
        return table

    def _check_game(self, state: pyspiel.State) -> None:
        if not isinstance(state, pyspiel.State):
            raise ValueError(f"{state!r} must be a state of {brief(self.game)}.")
        game = state.get_game()
        if game is self._last_game:
            return
        if not any(same_name(game, ours) for ours in (self.game, self.turn_based_game)):
            raise ValueError(
                f"The policy is for {brief(self.game)}, but the state belongs to "
                f"{brief(game)}."
            )
        self._last_game = game

    def __copy__(self) -> "SequencePolicy":
        """A policy on the same tree with a copy of the vector."""
        copy = type(self).__new__(type(self))
        copy.__dict__ |= self.__dict__
        for name in _MADE_OF_VECTOR:
            copy.__dict__.pop(name, None)
        copy.vector = self.vector.copy()
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> "SequencePolicy":
        """Copies as `__copy__` does."""
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        names = frozen(self.tree, self._num_infosets, len(self.vector))
        return type(self), (names, self.vector)


def to_json(policy: SequencePolicy) -> dict[str, Any]:
    """Converts a policy to a JSON value that `json_policies.from_json` reads."""
    players: list[dict[str, Any]] = [{} for _ in range(policy.tree.num_players)]
    owners = policy._infosets["player"].tolist()
    for infoset, info_state in enumerate(policy.info_states):
        players[owners[infoset]][info_state] = policy._row(infoset)
    value = {"game": str(policy.game), "players": players}
    return value | {"sha256": digest_of(value)}
