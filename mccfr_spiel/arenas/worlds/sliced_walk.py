"""Base class of walks that Python runs in slices, within a memory budget and with a
progress bar.
"""

import math
from typing import Any, Self

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.declarations import (
    GameError,
)
from mccfr_spiel.arenas.rules.rule_calls import (
    callable_rules,
)
from mccfr_spiel.arenas.rules.rule_store import (
    RuleStore,
    resize,
)
from mccfr_spiel.arenas.worlds.world_traversal import (
    END,
    FIRST,
    LEVEL,
    MANY_ANSWERS,
    MANY_ENTRIES,
    NOT_SHARED,
    ROOM,
)
from mccfr_spiel.common.arrays import reserve
from mccfr_spiel.common.budget import (
    Budget,
)
from mccfr_spiel.common.display import Bar, hides_bar
from mccfr_spiel.kernels.frame import Layout, new_record
from mccfr_spiel.kernels.tables import DONE, GROW

_BAR = "{desc}: {percentage:.0f}% [{elapsed}<{remaining}{postfix}]"


class NoRoomError(Exception):
    """The buffers of a walk are too small and cannot grow while it runs.

    The argument is "entries" (private pasts or edges of a world) or "answers" (values
    of `heard`).
    """


class SlicedWalk:
    """A compiled walk that runs in slices, so that Ctrl-C is noticed between them.

    Attributes:
        store: infosets of the game.
        path: current state, at which the rules are evaluated.
        functions: addresses of the rules' functions, from `callable_rules`.
        walk: stack of the walk, with `gradient` and `noted` (a history per infoset, or
            empty).
        result: the record that the walk fills in addition to the infosets.
        entries: number of entries (private pasts) per world that the buffers hold.
        budget: budget for the bytes of `result`; None if `result` does not grow.
        budget_label: name of these bytes in the budget.
        counted_by_rates: names of arrays of `result` whose bytes the budget already
            includes in its bytes per infoset and per sequence.
    """

    walk: Any
    result: Any
    budget_label: str = ""
    counted_by_rates: tuple[str, ...] = ()

    def __init__(
        self,
        store: RuleStore,
        kind: type,
        entries: int = 0,
        budget: Budget | None = None,
        **sizes: int,
    ) -> None:
        """Places the walk at the root.

        The walk searches for infosets, unless `with_plan` turns it into a pass that
        adds gradients.

        Args:
            store, entries, budget: see the attributes.
            kind: class of the record `walk`.
            sizes: sizes of the arrays of `walk`, as for `new_record`.
        """
        self.store, self.path = store, store.new_path(is_counted=False)
        self.functions = callable_rules(store.rules, with_worlds=True)
        self.entries, self.budget, self._node = entries, budget, store.tree_of_node()
        sizes |= {"C": entries, "I": 0, "H": store.longest + 1, "S": 0}
        self.walk = new_record(kind, (), n=store.rules.sizes.state, **sizes)
        self.walk.next_edge[0], self.walk.at[ROOM] = -1, entries

    def with_plan(self, plan: np.ndarray, players: range) -> Self:
        """Turns the walk into a pass that adds gradients; returns the walk itself.

        Args:
            plan: `[S]` plans of all players. They must not change before the walk ends.
            players: range of updated players.
        """
        self.walk = self.walk._replace(plan=plan, gradient=np.zeros_like(plan))
        self.walk.at[FIRST], self.walk.at[END] = players.start, players.stop
        return self

    def frame_of(self, layout: Layout, *records: Any) -> np.ndarray:
        """Returns a frame with the records of the walk, for the compiled loop.

        Args:
            layout: result of `world_traversal.layout_of`.
            records: the records that follow the walk's stack in this layout.
        """
        store, tree = self.store, self._node._replace(infosets=self.store.infosets)
        others = self.path, self.walk, *records
        return layout.frame_of(tree, store.game, store.known, *others)

    def follow(self) -> int:
        """Runs the next slice, or a part if an array is full; returns a status."""
        raise NotImplementedError

    def share(self) -> float:
        """Returns the finished share of the walk, on the assumption that all subtrees
        of a node are equally large.
        """
        walk, share, part = self.walk, 0.0, 1.0
        level = walk.at[LEVEL]
        on_the_way = walk.num_edges[:level].tolist(), walk.next_edge[:level].tolist()
        # The share of a subtree is divided equally among the edges of its root. The
        # walk has finished `after - 1` of these edges and is below the next one.
        for count, after in zip(*on_the_way, strict=True):
            part /= count
            share += part * (after - 1)
        return share

    def forecast(self, share: float) -> str:
        """Returns a text that predicts the final size from the finished share of the
        walk; empty if unknown.
        """
        return ""

    @property
    def num_nodes(self) -> int:
        """Number of nodes visited so far; in walks over worlds, the number of steps."""
        raise NotImplementedError

    @property
    def gradient(self) -> np.ndarray:
        """`[S]` the gradient accumulated so far."""
        return self.walk.gradient

    def rows(self) -> dict[str, tuple[int, int]]:
        """Returns the names of the growing arrays of `result`, each with the number of
        used rows and the number of rows required before the next slice.
        """
        return {}

    def make_room(self) -> None:
        """Grows the store, the noted histories and the arrays of `result`.

        Raises:
            MemoryBudgetError: the arrays do not fit the budget.
        """
        store, entries, sizes = self.store, self.entries, self.store.rules.sizes
        longest = len(sizes.key) + 1
        num_sequences = entries * sizes.num_actions
        store.ask_for(entries + 1, num_sequences + 1, entries * longest + 1)
        store.grow()
        if len(self.walk.noted):
            resize(self.walk.noted, len(store.infosets))
        held, rows = 0, self.rows()
        for name, (_, needed) in rows.items():
            array = getattr(self.result, name)
            if name not in self.counted_by_rates:
                size = max(len(array), needed)
                held += size * array.itemsize * math.prod(array.shape[1:])
        if self.budget is not None:
            self.budget.hold(self.budget_label, held)
        # The budget has been checked before any array grows. A much larger array is
        # allocated anew, because fresh pages take no memory until they are written; a
        # slightly larger array is resized in place.
        for name, (used, needed) in rows.items():
            array = getattr(self.result, name)
            if needed > max(len(array), 2 * used):
                larger = reserve(array, needed, used)
                self.result = self.result._replace(**{name: larger})
            elif needed > len(array):
                resize(array, needed)

    def trim(self) -> None:
        """Releases the unused capacity of all arrays."""
        self.store.trim()
        if len(self.walk.noted):
            resize(self.walk.noted, len(self.store.infosets))
        for name, (used, _) in self.rows().items():
            resize(getattr(self.result, name), used)

    def go_on(self) -> bool:
        """Runs the next slice; returns whether the walk has ended.

        Raises:
            MemoryBudgetError: the lists do not fit the budget.
            GameError: the rules contradict themselves or their declaration of worlds.
            NoRoomError: the buffers are too small for a world.
        """
        while (status := self.follow()) == GROW:
            self.make_room()
        if status >= played.BROKEN:
            self.store.raise_broken(status - played.BROKEN, self.path)
        if status in (MANY_ENTRIES, MANY_ANSWERS):
            raise NoRoomError("entries" if status == MANY_ENTRIES else "answers")
        if status == NOT_SHARED:
            raise GameError(
                f"{self.store.rules.description.short_name}: Description.world_key "
                "assigns one world to states that differ in the acting player or in "
                "the effect of an action; or leaf_class is not in 0 to 63; or "
                "position_key or heard is wrong. Run ms.check_game on a smaller board, "
                "which shows two such histories."
            )
        return status == DONE

    def finish(self, what: str, *, with_histories: bool = False) -> Self:
        """Runs the walk to the end, with a progress bar on terminals; returns the walk.

        Args:
            what: title of the bar, to which the game's name is appended.
            with_histories: whether to write a history per infoset to `walk.noted`.
        """
        resize(self.walk.noted, int(with_histories))
        bar = Bar(
            desc=f"{what} {self.store.rules.description.short_name}",
            total=1.0,
            delay=2,
            disable=hides_bar(),
            leave=False,
            bar_format=_BAR,
        )
        with bar:
            while not self.go_on():
                self.store.budget.check_time()
                bar.n = self.share()
                bar.set_postfix_str(self.forecast(bar.n))
        return self
