"""Room for the infosets that walks over compiled rules meet.

Such a walk stops where there is no room for the infoset that it meets.
"""

from typing import Any, NoReturn

from mccfr_spiel.arenas.arena import NoGrowth, WalkSpec
from mccfr_spiel.arenas.infosets.lock import steps
from mccfr_spiel.arenas.infosets.walk_sizes import (
    PROBES,
    PROBES_OF_INFOSETS,
    WalkSizes,
    WalkTooLargeError,
    infosets_fill,
    present_walk,
)
from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.store import RuleStore
from mccfr_spiel.common import limits
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MemoryBudgetError
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.tables import Tables, Walk

_LARGE_WALK, _MOST_NODES = 2_000_000, 10**12
"""The nodes after which a walk is examined, which take it about a second; and the nodes
that would take it days."""

_SMALL_SHARE, _SMALL_STORE = 1 / 64, 2**26
"""The size of a walk is first estimated once the infosets met take this share of what
fits, or this many bytes, and again whenever they have doubled."""


class RuleGrowth(NoGrowth):
    """Makes room for the infosets that walks over rules meet, which keep no nodes."""

    def __init__(
        self, table: Any, spec: WalkSpec, store: RuleStore, path: played.Path
    ) -> None:
        """Grows a store.

        Args:
            table: the RuleArena whose walks go over the rules.
            spec: what the walks are like.
            store: the infosets that walks have met.
            path: where the walk is.
        """
        self._tree, self._store, self._path = table, store, path
        self.lock = table.lock
        self._sizes = WalkSizes(table, spec.sampled, spec.epsilon)
        self._is_forecast, self._measure_at = False, 0

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
        if limit is not None and visited > limit and walk.cursor[layout.ITERATION] == 0:
            raise _hopeless(self._tree, f"visits more than {limit:,} nodes")
        self._measure(tables, walk)
        if self._is_forecast or visited < _LARGE_WALK:
            return
        self._is_forecast = True
        tree = self._tree
        tree.update()
        if self._sizes.surely_exceed(_MOST_NODES, tables, walk, PROBES):
            self._is_forecast = False
            which = f"{_MOST_NODES:,} nodes, which would take days"
            raise _hopeless(tree, f"surely visits more than {which}")

    def _measure(self, tables: Tables, walk: Walk) -> None:
        """Estimates, whenever the memory taken has doubled, whether the infosets of the
        present walk surely do not fit `max_memory`, or the machine.

        A walk with fixed moves of the others and of chance meets each of the updated
        player's infosets at most once. So the estimate counts these infosets only.

        Raises:
            WalkTooLargeError: they do not fit.
        """
        tree, store = self._tree, self._store
        used = store.bytes_used()
        if used < self._measure_at or self._sizes.draws_one_own:
            return
        # A walk limit ends a walk long before. A small walk adds little.
        if tree.walk_limit is not None or 2 * _visited(walk) < store.sizes()[0]:
            return
        most = store.bytes_that_fit()
        if used < min(_SMALL_SHARE * most, _SMALL_STORE):
            return
        limit = tree.budget.in_words()
        if (on_machine := used + limits.free_memory()) < most:
            most, limit = on_machine, f"the {limits.in_words(on_machine)} that are free"
        tree.update()
        rates, probes = store.least_rates(), PROBES_OF_INFOSETS
        if self._sizes.surely_exceed(most, tables, walk, probes, rates):
            what = f"surely meets more information sets than fit {limit}"
            raise _hopeless(tree, what)
        self._measure_at = 2 * used

    def grow(self, tables: Tables, walk: Walk) -> None:
        """Makes room for the infoset at which the walk stopped, and more.

        Raises:
            WalkTooLargeError: the infosets that the first walk meets do not fit, or
                those that a walk would meet surely do not.
            MemoryBudgetError: the infosets met fill the tree's `max_memory`.
        """
        self._measure(tables, walk)
        self._make_room(walk)

    @steps
    def _make_room(self, walk: Walk) -> None:
        tree = self._tree
        try:
            self._store.grow()
        except MemoryBudgetError as error:
            tree.update()
            if present_walk(walk) != (0, 0, 0):
                raise infosets_fill(tree) from error
            raise WalkTooLargeError(
                f"A single walk over {brief(tree.source)} meets more than the "
                f"{tree.num_infosets:,} information sets that fit "
                f"{tree.budget.in_words()}. Use outcome sampling, which follows one "
                "history, or raise max_memory if memory allows."
            ) from error
        tree.update()

    def raise_broken(self, status: int) -> NoReturn:
        """Raises the GameError for a status from `played.BROKEN` on."""
        self._store.raise_broken(status - played.BROKEN, self._path)


def _visited(walk: Walk) -> int:
    """The nodes that the present walk has visited."""
    marks = walk.marks
    return marks.item(layout.TOUCHED) - marks.item(layout.TOUCHED_BEFORE)


def _hopeless(table: Any, how: str) -> WalkTooLargeError:
    return WalkTooLargeError(
        f"A single walk over {brief(table.source)} {how}, since this sampling follows "
        "all of a player's actions. Use outcome sampling, which follows one history."
    )
