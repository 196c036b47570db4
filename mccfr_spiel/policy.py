"""Vectors over sequences <-> OpenSpiel policies."""

import functools
import os
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel import checkpoint
from mccfr_spiel.game_tree import Abstraction, GameTree
from mccfr_spiel.names import Names, from_contents, names_of, to_contents


class SequencePolicy(openspiel_policy.Policy):
    """A snapshot of a policy vector, as an OpenSpiel policy of all players.

    It answers the states of the game it was made for and, where that has simultaneous
    moves, of the game itself and of its turn-based form. A state never met gets the
    uniform policy. `state_lookup`, `action_probability_array` and
    `legal_actions_mask` are as in OpenSpiel's TabularPolicy, for the states met.

    With an abstraction it answers states through that function, where moves are
    simultaneous only those of the turn-based form. `info_states`, and what is in their
    order, has a string once for each of the player's own ways to it.
    """

    def __init__(self, tree: GameTree | Names, vector: np.ndarray) -> None:
        """Copies the vector.

        Args:
            tree: where the names of infosets and actions come from; it may grow on.
            vector: `[S]` the probability of each sequence's action at its infoset.
        """
        super().__init__(tree.source, list(range(tree.num_players)))
        self.tree = tree
        self.vector = np.array(vector)
        self._num_infosets = tree.num_infosets
        self._infosets = tree.infosets
        self._turn_based = tree.game
        self._last_game: pyspiel.Game | None = None

    @functools.cached_property
    def _actions(self) -> np.ndarray:
        return self.tree.actions

    # --- saving ------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy into a file that `load` reads, of any size.

        The file appears whole or not at all and replaces an older one. It takes 24
        bytes an infoset, 16 a sequence, 8 and its text a string. Measured: the 3.3
        million infosets of Goofspiel with 7 cards make 577 MB, saved in 47 s (most of
        it to make the strings, which compiled rules had spared) and loaded in 1.2 s;
        then a state takes 6 us to look up.

        Raises:
            ValueError: the vector is no policy.
            OSError: the file cannot be written; then an older one is as it was.
        """
        names = names_of(self.tree, self._num_infosets, len(self.vector))
        _checked(names, self.vector)
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
        """Reads what `save` wrote. No code in a file is ever run.

        Args:
            path: the file.
            game: the game, if its load string is not enough to make it.
            abstraction: the policy's, if it had one.

        Raises:
            CheckpointError: the file is damaged, or of something else.
            ValueError: its game cannot be loaded.
            OSError: the file cannot be read.
        """
        contents = checkpoint.load(path, checkpoint.POLICY)
        names, vector = from_contents(contents, game, abstraction)
        try:
            _checked(names, vector)
        except ValueError as error:
            raise checkpoint.DamagedError(str(error)) from error
        return cls(names, vector)

    # --- asking ------------------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """The infosets met."""
        return self._num_infosets

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The probability of every legal action at a state.

        Args:
            state: a state in which a player is to act.
            player_id: whose policy is asked for; needed where moves are simultaneous.

        Raises:
            ValueError: the state is of another game, or no player acts there.
        """
        self._check_game(state)
        player = state.current_player() if player_id is None else player_id
        abstraction = self.tree.abstraction
        if abstraction is not None and state.get_game() != self._turn_based:
            raise ValueError(
                f"The policy's abstraction reads states of {self._turn_based}: ask "
                "with those, see pyspiel.convert_to_turn_based."
            )
        if state.is_simultaneous_node():
            if player_id is None:
                raise ValueError(
                    "All players act at this state; say whose policy is asked for "
                    "(player_id)."
                )
            # As OpenSpiel's turn-based form begins its strings.
            info_state = (
                f"Current player: {player_id}\n"
                f"{state.information_state_string(player_id)}"
            )
            legal_actions = state.legal_actions(player_id)
        else:
            acting = state.current_player()
            if acting < 0:
                raise ValueError(f"No player acts at the state {state.history()}.")
            if player_id is not None and player_id != acting:
                return {0: 1.0}  # as OpenSpiel's TabularPolicy has it
            legal_actions = state.legal_actions()
            if abstraction is not None:
                info_state = abstraction(state, acting)
                return self._probabilities(acting, info_state, legal_actions)
            info_state = state.information_state_string()
            if self.game is not self._turn_based and not _is_turn_based(state):
                info_state = f"Current player: {acting}\n{info_state}"
        return self._probabilities(player, info_state, legal_actions)

    def _probabilities(
        self, player: int, info_state: str, legal_actions: list[int]
    ) -> dict[int, float]:
        infoset = self.tree.find(info_state, player)
        if not 0 <= infoset < self._num_infosets:
            return dict.fromkeys(legal_actions, 1 / len(legal_actions))
        _, start, _, count, _ = self._infosets[infoset].item()
        if count != len(legal_actions):
            raise ValueError(
                f"The policy knows {count} legal actions at the information state "
                f"{info_state!r} of {self.game}, which has {len(legal_actions)}: the "
                "game's rules are not those that it was made for."
            )
        return dict(
            zip(legal_actions, self.vector[start : start + count].tolist(), strict=True)
        )

    def to_tabular(self, states: Any = None) -> openspiel_policy.TabularPolicy:
        """The policy as OpenSpiel's TabularPolicy of all states of the game.

        OpenSpiel's own conversion fails where players move simultaneously.

        Args:
            states: as in TabularPolicy: history -> state; None for all of the game's.
        """
        table = openspiel_policy.TabularPolicy(self.game, states=states)
        table.action_probability_array[:] = 0
        for player, names in enumerate(table.states_per_player):
            for name in names:
                row = table.state_lookup[name]
                probabilities = self.action_probabilities(table.states[row], player)
                for action, probability in probabilities.items():
                    table.action_probability_array[row, action] = probability
        return table

    def to_pyspiel(self) -> pyspiel.PartialTabularPolicy:
        """The policy as a C++ one: a table of the states met, else uniform.

        Raises:
            ValueError: players share an information-state string, or the policy has an
                abstraction.
        """
        if self.tree.abstraction is not None:
            raise ValueError(
                "A C++ policy is a table of information states, which this policy does "
                "not go by: it has an abstraction. Use to_tabular()."
            )
        check_strings_unshared(self.tree)
        table = {name: list(row.items()) for name, row in self.to_dict().items()}
        return pyspiel.PartialTabularPolicy(table)

    def policy_for_key(self, info_state: str) -> np.ndarray:
        """`[A]` the probabilities of all of the game's actions at a string met.

        Raises:
            KeyError: the string was not met.
        """
        return self.action_probability_array[self.state_lookup[info_state]]

    def to_dict(self) -> dict[str, dict[int, float]]:
        """information-state string -> action -> probability, for what was met.

        A string that more than one player has becomes "player 0: " + string, and so on.
        """
        actions, vector = self._actions.tolist(), self.vector.tolist()
        table = {}
        rows = zip(self._unique_names, self._infosets.tolist(), strict=True)
        for name, (_, start, _, count, _) in rows:
            stop = start + count
            table[name] = dict(
                zip(actions[start:stop], vector[start:stop], strict=True)
            )
        return table

    @property
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings met."""
        return self.tree.info_states[: self._num_infosets]

    @functools.cached_property
    def state_lookup(self) -> dict[str, int]:
        """information-state string -> row of `action_probability_array`.

        Strings that players share are told apart as in `to_dict`.
        """
        return {name: number for number, name in enumerate(self._unique_names)}

    @functools.cached_property
    def _unique_names(self) -> list[str]:
        shared = self.tree.shared_strings
        if not shared:
            return self.info_states
        players = self._infosets["player"].tolist()
        return [
            _owned(name, player) if name in shared else name
            for name, player in zip(self.info_states, players, strict=True)
        ]

    @functools.cached_property
    def legal_actions_mask(self) -> np.ndarray:
        """`[I, actions of the game]` 1 where an action is legal."""
        return (self._dense(np.ones_like(self.vector)) > 0).astype(int)

    @functools.cached_property
    def action_probability_array(self) -> np.ndarray:
        """`[I, actions of the game]` probabilities."""
        return self._dense(self.vector)

    def _dense(self, vector: np.ndarray) -> np.ndarray:
        table = np.zeros((self._num_infosets, self._turn_based.num_distinct_actions()))
        counts = self._infosets["num_actions"]
        rows = np.repeat(np.arange(self._num_infosets), counts)
        sequences = np.arange(self.tree.num_players, len(vector))
        table[rows, self._actions[sequences]] = vector[sequences]
        return table

    def _check_game(self, state: pyspiel.State) -> None:
        game = state.get_game()
        if game is self._last_game:
            return
        if game not in (self.game, self._turn_based):
            raise ValueError(
                f"This is a policy for {self.game}; the state is one of {game}."
            )
        self._last_game = game

    def __reduce__(self) -> tuple[Any, ...]:
        names = names_of(self.tree, self._num_infosets, len(self.vector))
        return type(self), (names, self.vector)


def _owned(info_state: str, player: int) -> str:
    return f"player {player}: {info_state}"


def check_strings_unshared(tree: Any) -> None:
    """Raises ValueError if players share strings, by which OpenSpiel's tables go."""
    shared = tree.shared_strings
    if shared:
        raise ValueError(
            f"More than one player has the information state {min(shared)!r}; "
            "OpenSpiel's tables of policies cannot tell them apart. Use the policy "
            "itself, which answers states."
        )


def _is_turn_based(state: pyspiel.State) -> bool:
    return state.get_game().get_type().short_name == "turn_based_simultaneous_game"


def policy_vector(tree: GameTree, policy: Any) -> np.ndarray:
    """`[S]` any policy as a vector over the sequences of a complete tree.

    Args:
        tree: a complete tree.
        policy: a vector `[S]`, a SequencePolicy, an OpenSpiel policy (Python or
            pyspiel), or a dictionary information-state string -> action -> probability.

    Raises:
        ValueError: the policy is for another game, lacks a state or gives no
            distribution there.
    """
    if isinstance(policy, np.ndarray):
        return _checked(tree, policy)
    if isinstance(policy, SequencePolicy):
        if policy._turn_based != tree.game:
            raise ValueError(
                f"This is a policy for {policy.game}, not for {tree.source}."
            )
        if policy.tree is tree and len(policy.vector) == tree.num_sequences:
            return policy.vector
    elif not isinstance(policy, dict | openspiel_policy.Policy | pyspiel.Policy):
        raise ValueError(f"{policy!r} is not a policy.")
    vector = np.ones(tree.num_sequences)
    actions = tree.actions.tolist()
    lookup = _lookup(tree, policy)
    rows = zip(tree.info_states, tree.infosets.tolist(), strict=True)
    for infoset, (info_state, (_, start, _, count, player)) in enumerate(rows):
        legal = actions[start : start + count]
        probabilities = lookup(infoset, player, info_state, legal)
        for s, action in enumerate(legal, start):
            vector[s] = probabilities.get(action, 0.0)
    return _checked(tree, vector)


def _lookup(tree: GameTree, policy: Any) -> Any:
    """A function (infoset, player, string, actions) -> action -> probability."""
    if isinstance(policy, dict):

        def by_string(infoset, player, info_state, legal):
            row = policy.get(_owned(info_state, player), policy.get(info_state))
            if row is None:
                raise ValueError(f"The policy lacks the state {info_state!r}.")
            return row

        return by_string
    if isinstance(policy, SequencePolicy):
        if policy.tree.abstraction is not None:
            chosen = representative_states(tree)
            return lambda infoset, player, info_state, legal: (
                policy.action_probabilities(chosen[infoset])
            )
        return lambda infoset, player, info_state, legal: policy._probabilities(
            player, info_state, legal
        )
    if isinstance(policy, pyspiel.TabularPolicy):
        table = policy.policy_table()
        return lambda infoset, player, info_state, legal: dict(
            table.get(info_state, ())
        )
    if isinstance(policy, openspiel_policy.TabularPolicy):
        return lambda infoset, player, info_state, legal: _row(
            policy, info_state, legal
        )
    states = representative_states(tree)
    if isinstance(policy, pyspiel.Policy):
        return lambda infoset, player, info_state, legal: dict(
            policy.action_probabilities(states[infoset])
        )
    return lambda infoset, player, info_state, legal: policy.action_probabilities(
        states[infoset]
    )


def _row(
    policy: openspiel_policy.TabularPolicy, info_state: str, legal: list[int]
) -> dict[int, float]:
    rows = policy.state_lookup
    row = rows.get(info_state)
    if row is None:  # of a game with simultaneous moves, whose strings begin later
        row = rows.get(info_state.partition("\n")[2])
    if row is None:
        raise ValueError(f"The policy lacks the state {info_state!r}.")
    return dict(zip(legal, policy.action_probability_array[row, legal], strict=True))


def representative_states(tree: GameTree) -> list[pyspiel.State]:
    """`[I]` a state of each infoset: its first in the order of a depth-first walk."""
    states: dict[tuple[int, str], pyspiel.State] = {}
    stack = [tree.game.new_initial_state()]
    while stack and len(states) < tree.num_infosets:
        state = stack.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            key = (state.current_player(), state.information_state_string())
            states.setdefault(key, state)
        stack.extend(state.child(action) for action in reversed(state.legal_actions()))
    players = tree.infosets["player"].tolist()
    return [states[key] for key in zip(players, tree.info_states, strict=True)]


def _checked(tree: GameTree | Names, vector: np.ndarray) -> np.ndarray:
    if vector.shape != (tree.num_sequences,):
        raise ValueError(
            f"A policy vector for {tree.source} has the shape ({tree.num_sequences},), "
            f"not {vector.shape}."
        )
    if tree.num_infosets == 0:
        return vector
    first = tree.infosets["first_sequence"]
    sums = np.add.reduceat(vector, first)
    wrong = np.flatnonzero(~(np.abs(sums - 1) < 1e-6))
    if len(wrong) or not (vector >= 0).all():
        infoset = (
            int(wrong[0])
            if len(wrong)
            else int(np.searchsorted(first, np.argmin(vector), side="right")) - 1
        )
        start = first[infoset]
        values = vector[start : start + tree.infosets[infoset]["num_actions"]]
        raise ValueError(
            f"The policy is no distribution over the {len(values)} legal actions at "
            f"the state {tree.info_state(infoset)!r}: {values.tolist()}"
        )
    return vector


def complete_tree(game: pyspiel.Game | str | GameTree) -> GameTree:
    """The whole tree of a game; a GameTree is completed in place."""
    tree = game if isinstance(game, GameTree) else GameTree(game)
    if tree.abstraction is not None:
        raise ValueError(
            f"This tree of {tree.source} has an abstraction, in which players may "
            "forget: there are no plans to optimize. Give the game itself; a policy "
            "with an abstraction is evaluated in that."
        )
    return tree.expand_all()
