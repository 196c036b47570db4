"""What solvers do where a walk over compiled rules cannot go on.

It takes the place of tree/growth.py for solvers that keep no nodes.
"""

from typing import NoReturn

from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MemoryBudgetError
from mccfr_spiel.kernels.tables import (
    ITERATION,
    TOUCHED,
    TOUCHED_BEFORE,
    WALKER,
    Tables,
    Walk,
)
from mccfr_spiel.rules import kernel, played
from mccfr_spiel.rules.description import tell_history
from mccfr_spiel.rules.store import RuleStore
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.growth import (
    PROBES,
    PROBES_OF_INFOSETS,
    Growth,
    WalkTooLargeError,
    infosets_fill,
    present_walk,
)
from mccfr_spiel.tree.infosets import no_recall
from mccfr_spiel.tree.lock import held_step
from mccfr_spiel.twins.twin import BoundTwin

_LARGE_WALK, _MOST_NODES = 10_000_000, 10**12
"""A walk that has visited so many nodes, some seconds, is looked at; one of more than
the second number takes days."""

_SMALL_SHARE = 1 / 64
"""Once what has been met takes this share of the memory that there is for it, the walk
that has met most of it is looked at."""


class RuleGrowth:
    """Makes room for the infosets that walks over rules meet.

    Its methods are called under the tree's lock.

    Attributes:
        lock: the tree's.
        generation: that of the tree, whose nodes are never dropped: there are none.
    """

    def __init__(
        self, tree: GameTree, store: RuleStore, path: played.Path, probes: Growth
    ) -> None:
        """Grows the store of a tree.

        Args:
            tree: on which a solver walks over rules.
            store: that of the tree.
            path: where the walk is.
            probes: what would grow the tree, of which the forecast is used.
        """
        self._tree, self._store, self._path = tree, store, path
        self._probes, self._is_forecast, self._is_measured = probes, False, False
        self.lock = tree.lock
        self.generation = tree.generation

    def go_on(self) -> None:
        """Says that a walk which was left in the middle goes on."""

    def fit(self, walk: Walk) -> None:
        """As `Growth.fit`; a walk over rules needs no nodes."""
        self.generation = self._tree.generation

    def look(self, tables: Tables, walk: Walk) -> None:
        """Looks once, in the middle of the first large walk, whether it is hopeless.

        Raises:
            WalkTooLargeError: it would visit more than `_MOST_NODES`, or meet more than
                fits, or it is one of the first and has visited more than the tree's
                `walk_limit`.
        """
        visited = _visited(walk)
        limit = self._tree.walk_limit
        # A limit on later walks would let the clock, which cuts slices, decide.
        if limit is not None and visited > limit and walk.cursor[ITERATION] == 0:
            raise _too_large(self._tree, f"visits more than {limit:,} nodes")
        self._measure(tables, walk)
        if self._is_forecast or visited < _LARGE_WALK:
            return
        self._is_forecast = True
        tree, player = self._tree, walk.marks.item(WALKER)
        tree.note_met()
        if self._probes.surely_meets_more(_MOST_NODES, tables, player, PROBES):
            self._is_forecast = False
            which = f"{_MOST_NODES:,} nodes, which would take days"
            raise _too_large(tree, f"surely visits more than {which}")

    def _measure(self, tables: Tables, walk: Walk) -> None:
        """Looks once, in the middle of the first walk that takes much memory, whether
        what it meets surely does not fit.

        All that is certain is that a walk meets each of the updated player's infosets
        at most once, so that all of them that it meets must be in memory in the end.

        Raises:
            WalkTooLargeError: they are too many.
        """
        if self._is_measured or not self._probes.follows_all_own:
            return
        if self._tree.walk_limit is not None:  # which ends a walk long before
            return
        store, tree = self._store, self._tree
        most = store.bytes_that_fit()
        if (
            2 * _visited(walk) < store.sizes()[0]
            or store.bytes_used() < _SMALL_SHARE * most
        ):
            return
        self._is_measured, budget = True, tree.budget
        tree.note_met()
        player, rates = walk.marks.item(WALKER), store.least_rates()
        if self._probes.surely_meets_more(
            most, tables, player, PROBES_OF_INFOSETS, rates
        ):
            self._is_measured = False
            what = f"surely meets more information sets than fit {budget.in_words()}"
            raise _too_large(tree, what)

    def must_finish(self, walk: Walk) -> bool:
        """Whether the present walk must end before others may come in."""
        return False

    def grow(self, tables: Tables, walk: Walk) -> None:
        """Makes room for the infoset at which the walk stopped, and more.

        Raises:
            WalkTooLargeError: the infosets that the first walk meets do not fit, or
                those that a walk would meet surely do not.
            MemoryBudgetError: the infosets met fill the tree's `max_memory`.
        """
        self._measure(tables, walk)
        self._make_room(walk)

    @held_step
    def _make_room(self, walk: Walk) -> None:
        try:
            self._store.grow()
        except MemoryBudgetError as error:
            self._tree.note_met()
            raise self._full(walk) from error
        self._tree.note_met()

    def _full(self, walk: Walk) -> MemoryBudgetError | WalkTooLargeError:
        tree = self._tree
        if present_walk(walk) == (0, 0, 0):
            return WalkTooLargeError(
                f"A single walk over {brief(tree.source)} meets more than the "
                f"{tree.num_infosets:,} information sets that fit "
                f"{tree.budget.in_words()}. Use outcome sampling, which follows one "
                "history, or raise max_memory if memory allows."
            )
        return infosets_fill(tree)

    def raise_broken(self, status: int) -> NoReturn:
        """Raises the GameError for a status from `played.BROKEN` on."""
        found = status - played.BROKEN
        if found == kernel.NO_RECALL and isinstance(self._store.rules, BoundTwin):
            self._raise_no_recall()
        self._store.raise_broken(found, self._path)

    def _raise_no_recall(self) -> NoReturn:
        """Says in the words of OpenSpiel's game where a walk over its twin stands."""
        path, state = self._path, self._tree.new_state()
        for action in path.history[: path.position[played.NUM_MOVES]].tolist():
            state.apply_action(action)
        player = state.current_player()
        info_state = state.information_state_string(player)
        where = f"the information state {info_state!r} of {brief(self._tree.game)}"
        error = no_recall(player, where)
        tell_history(error, state)
        raise error


def _visited(walk: Walk) -> int:
    """The nodes that the present walk has visited."""
    marks = walk.marks
    return marks.item(TOUCHED) - marks.item(TOUCHED_BEFORE)


def _too_large(tree: GameTree, how: str) -> WalkTooLargeError:
    return WalkTooLargeError(
        f"A single walk over {brief(tree.source)} {how}, since this sampling follows "
        "all of a player's actions. Use outcome sampling, which follows one history."
    )
