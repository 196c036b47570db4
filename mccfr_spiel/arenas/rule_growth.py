"""RuleGrowth: enlarges the store of infosets for walks over compiled rules.

A walk stops with the status GROW at a new infoset if the arrays of the store are full.
`RuleGrowth.grow` enlarges them. Walks that cannot finish within the limits raise a
WalkTooLargeError as early as possible.
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
from mccfr_spiel.arenas.rules.rule_records import (
    BROKEN,
    Path,
)
from mccfr_spiel.arenas.rules.rule_store import RuleStore
from mccfr_spiel.common.budget import MemoryBudgetError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import free_memory, in_words
from mccfr_spiel.kernels import tables as layout

_LARGE_WALK, _MAX_NODES = 2_000_000, 10**12
"""`_LARGE_WALK`: number of visited nodes after which the size of a walk is estimated
(about a second of work). `_MAX_NODES`: maximum estimate (days of work)."""

_SMALL_SHARE, _SMALL_STORE = 1 / 64, 2**26
"""A walk's infosets are first estimated when the infosets in the store use this
fraction of the available memory, or this number of bytes, whichever is less. The
estimate is repeated each time the used memory has doubled."""


class RuleGrowth(NoGrowth):
    """Enlarges the store of infosets when a walk stops for lack of capacity."""

    def __init__(
        self, table: Any, spec: WalkSpec, store: RuleStore, path: Path
    ) -> None:
        """Stores the arguments.

        Args:
            table: the RuleArena.
            spec: parameters of the walks.
            store: the infosets that walks have visited.
            path: the history of the current walk, for error messages.
        """
        self._tree, self._store, self._path = table, store, path
        self.lock = table.lock
        self._sizes = WalkSizes(table, spec.sampled, spec.epsilon)
        self._is_forecast, self._measure_at = False, 0

    def look(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Checks during a long walk whether it can finish.

        The number of nodes is estimated once, during the first walk that visits
        `_LARGE_WALK` nodes.

        Raises:
            WalkTooLargeError: the walk would surely visit more than `_MAX_NODES` nodes
                or more infosets than fit into memory; or it has visited more than
                `walk_limit` nodes before the first update.
        """
        self._tree.budget.check_time()
        visited = _visited(walk)
        limit = self._tree.walk_limit
        # The calls of `look` depend on the clock, so a walk of about `limit` nodes may
        # pass or fail. After the first update this would make the final policy depend
        # on the clock.
        if limit is not None and visited > limit and walk.cursor[layout.ITERATION] == 0:
            raise _hopeless(self._tree, f"visits more than {limit:,} nodes")
        self._measure(tables, walk)
        if self._is_forecast or visited < _LARGE_WALK:
            return
        self._is_forecast = True
        tree = self._tree
        tree.update()
        if self._sizes.surely_exceed(_MAX_NODES, tables, walk, PROBES):
            # Repeat the forecast, and the error, if the user catches the error and
            # continues.
            self._is_forecast = False
            size = f"{_MAX_NODES:,} nodes and would take days"
            raise _hopeless(tree, f"surely visits more than {size}")

    def _measure(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Estimates whether the infosets of the current walk fit in memory.

        The estimate is repeated each time the used memory has doubled. It counts the
        updated player's infosets only and fixes the moves of all others. Then a walk
        visits each of these infosets at most once (perfect recall), so visits can be
        counted in place of distinct infosets.

        Raises:
            WalkTooLargeError: the infosets surely exceed `max_memory` or the free
                memory of the machine.
        """
        tree, store = self._tree, self._store
        used = store.bytes_used()
        if used < self._measure_at or self._sizes.draws_one_own:
            return
        # With a `walk_limit`, walks are stopped much earlier. A walk that has visited
        # few nodes in comparison to the stored infosets contributed few of them.
        if tree.walk_limit is not None or 2 * _visited(walk) < store.sizes()[0]:
            return
        max_bytes = store.bytes_that_fit()
        if used < min(_SMALL_SHARE * max_bytes, _SMALL_STORE):
            return
        limit = tree.budget.in_words()
        if (available := used + free_memory()) < max_bytes:
            max_bytes = available
            limit = f"the {in_words(available)} of free memory"
        tree.update()
        rates, probes = store.least_rates(), PROBES_OF_INFOSETS
        if self._sizes.surely_exceed(max_bytes, tables, walk, probes, rates):
            raise _hopeless(
                tree, f"surely meets more information sets than fit {limit}"
            )
        self._measure_at = 2 * used

    def grow(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Enlarges the store of infosets.

        Raises:
            WalkTooLargeError: a single walk visits more infosets than fit into memory.
            MemoryBudgetError: the infosets of all walks so far fill `max_memory`.
        """
        self._measure(tables, walk)
        self._make_room(walk)

    @steps
    def _make_room(self, walk: layout.Walk) -> None:
        tree = self._tree
        try:
            self._store.grow()
        except MemoryBudgetError as error:
            tree.update()
            # Only in the first walk (0, 0, 0) are all stored infosets from this walk.
            if present_walk(walk) != (0, 0, 0):
                raise infosets_fill(tree) from error
            raise WalkTooLargeError(
                f"A single walk over {brief(tree.source)} meets more than the "
                f"{tree.num_infosets:,} information sets that fit "
                f"{tree.budget.in_words()}. Use outcome sampling instead, which "
                "follows one history, or raise max_memory."
            ) from error
        tree.update()

    def raise_broken(self, status: int) -> NoReturn:
        """Raises a GameError about a fault in the compiled rules.

        Args:
            status: status of the walk, BROKEN + a status of rules/rule_faults.py.
        """
        self._store.raise_broken(status - BROKEN, self._path)


def _visited(walk: layout.Walk) -> int:
    """Returns the number of nodes that the current walk has visited."""
    marks = walk.marks
    return marks.item(layout.TOUCHED) - marks.item(layout.TOUCHED_BEFORE)


def _hopeless(table: Any, reason: str) -> WalkTooLargeError:
    return WalkTooLargeError(
        f"A single walk over {brief(table.source)} {reason}, because this algorithm "
        "follows all actions of the updated player. Use outcome sampling instead, "
        "which follows one history."
    )
