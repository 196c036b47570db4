"""The states of nodes, which a tree does not keep: their histories are replayed."""

import sys
from collections.abc import Callable, Sequence

import numpy as np
import pyspiel

from mccfr_spiel.rules.declared import tell_history
from mccfr_spiel.tree.infosets import Infosets
from mccfr_spiel.tree.nodes import Nodes
from mccfr_spiel.tree.sizes import BYTES_PER_KEPT_STATE

_MOST_KEPT = 1000


class KeptStates:
    """Some states of a tree, from which the histories of others are replayed.

    Each call keeps one more state, the first on its way that was not kept yet, so that
    prefixes where many walks pass are soon kept.
    """

    def __init__(self, num_players: int) -> None:
        """No states of a tree with so many players."""
        self._num_players = num_players
        self._kept: dict[int, tuple[pyspiel.State, list[int]]] = {}
        self._outcomes: dict[int, np.ndarray] = {}

    @property
    def nbytes(self) -> int:
        """Bytes that Python needs for them; what the game needs is not known."""
        size = sys.getsizeof(self._kept) + BYTES_PER_KEPT_STATE * len(self._kept)
        return size + sum(actions.nbytes for actions in self._outcomes.values())

    def forget(self) -> None:
        """Drops all states, whose nodes are being dropped."""
        self._kept, self._outcomes = {}, {}

    def keep_outcomes(self, node: int, outcomes: Sequence[tuple[int, float]]) -> None:
        """Keeps chance's actions at a node with so many that a game takes long to list
        them."""
        self._outcomes[node] = np.array([action for action, _ in outcomes])

    def state_at(
        self,
        node: int,
        new_state: Callable[[], pyspiel.State],
        nodes: Nodes,
        infosets: Infosets,
    ) -> tuple[pyspiel.State, list[int]]:
        """As `GameTree.state_at`; `new_state` makes the state of the root."""
        kept, actions = self._kept, infosets.actions
        path, node = nodes.way_to(node, kept)
        if node:
            state, sequences = kept[node]
            state, sequences = state.clone(), sequences.copy()
        else:  # a copy would cost as much, and of a Python game it may be wrong
            state = new_state()
            sequences = list(range(self._num_players))
        keeps_next = len(kept) < _MOST_KEPT
        # One pass goes down by one node: before it, `state` and `sequences` are those
        # of `node`, after it those of the child `below`.
        for below in reversed(path):
            first, start, _, _, player = nodes.record(node)
            child = below - first
            try:
                if player >= 0:
                    sequences[player] = start + child
                    state.apply_action(int(actions[start + child]))
                elif node in self._outcomes:
                    state.apply_action(int(self._outcomes[node][child]))
                else:
                    state.apply_action(state.chance_outcomes()[child][0])
            except Exception as error:
                tell_history(error, state)
                raise
            node = below
            if keeps_next:
                kept[node] = state.clone(), sequences.copy()
                keeps_next = False
        return state, sequences
