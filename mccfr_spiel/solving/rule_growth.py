"""What solvers do where a walk over compiled rules cannot go on.

It takes the place of tree/growth.py for solvers that keep no nodes.
"""

from typing import NoReturn

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.limits.budget import MemoryBudgetError
from mccfr_spiel.rules import kernel, walks
from mccfr_spiel.rules.declared import tell_history
from mccfr_spiel.rules.store import RuleStore
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.growth import WalkTooLargeError
from mccfr_spiel.tree.infosets import no_recall
from mccfr_spiel.tree.lock import held_step
from mccfr_spiel.twins.twin import BoundTwin


class RuleGrowth:
    """Makes room for the infosets that walks over rules meet.

    Its methods are called under the tree's lock.

    Attributes:
        lock: the tree's.
        generation: that of the tree, whose nodes are never dropped: there are none.
    """

    def __init__(self, tree: GameTree, store: RuleStore, path: walks.Path) -> None:
        self._tree, self._store, self._path = tree, store, path
        self.lock = tree.lock
        self.generation = tree.generation

    def go_on(self) -> None:
        """Says that a walk which was left in the middle goes on."""

    def fit(self, tables: kernels.Tables, walk: kernels.Walk) -> None:
        """As `Growth.fit`; a walk over rules needs no nodes."""
        self.generation = self._tree.generation

    def must_finish(self, walk: kernels.Walk) -> bool:
        """Whether the present walk must end before others may come in."""
        return False

    @held_step
    def grow(self, tables: kernels.Tables, walk: kernels.Walk, seed: int) -> None:
        """Makes room for the infoset at which the walk stopped, and more.

        Raises:
            WalkTooLargeError: the infosets that the first walk meets do not fit.
            MemoryBudgetError: the infosets met fill the tree's `max_memory`. The walk
                stands at its root again.
        """
        try:
            self._store.grow()
        except MemoryBudgetError as error:
            self._tree.note_met()
            # In this order Ctrl-C may come in between.
            kernels.restart_walk(self._tree.infosets, tables, walk)
            raise self._full(walk.cursor) from error
        self._tree.note_met()

    def _full(self, cursor: np.ndarray) -> MemoryBudgetError | WalkTooLargeError:
        tree = self._tree
        first = kernels.ITERATION, kernels.PLAYER, kernels.WALK
        if cursor[list(first)].tolist() == [1, 0, 0]:
            return WalkTooLargeError(
                f"A single walk over {tree.source} meets more than the "
                f"{tree.num_infosets:,} information sets that fit "
                f"{tree.budget.in_words()}. Use outcome sampling, which follows one "
                "history, or raise max_memory if memory allows."
            )
        return MemoryBudgetError(
            f"The {tree.num_infosets:,} infosets of {tree.source} met so far, their "
            f"keys and tables, fill {tree.budget.in_words()}. The solver can be asked, "
            "saved, and loaded with a larger max_memory to go on (on the command "
            "line: --resume --max_memory=...). It stopped before the walk that does "
            "not fit."
        )

    def raise_broken(self, status: int) -> NoReturn:
        """Raises the GameError for a status from `walks.BROKEN` on."""
        found = status - walks.BROKEN
        if found == kernel.NO_RECALL and isinstance(self._store.rules, BoundTwin):
            self._raise_no_recall()
        self._store.raise_broken(found, self._path)

    def _raise_no_recall(self) -> NoReturn:
        """Says in the words of OpenSpiel's game where a walk over its twin stands."""
        path, state = self._path, self._tree.new_state()
        for action in path.history[: path.position[walks.NUM_MOVES]].tolist():
            state.apply_action(action)
        player = state.current_player()
        info_state = state.information_state_string(player)
        where = f"the information state {info_state!r} of {self._tree.game}"
        error = no_recall(player, where)
        tell_history(error, state)
        raise error
