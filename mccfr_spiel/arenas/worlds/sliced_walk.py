"""A walk as Python drives it: in slices, with a budget and a progress bar."""

import math
from typing import Any, Self

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.arenas.rules.kernel import callable_rules
from mccfr_spiel.arenas.rules.store import RuleStore, resize
from mccfr_spiel.arenas.worlds.traversal import (
    END,
    FIRST,
    LEVEL,
    MANY_ANSWERS,
    MANY_ENTRIES,
    NOT_SHARED,
    ROOM,
)
from mccfr_spiel.common.arrays import reserve
from mccfr_spiel.common.display import Bar, hides_bar
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels.frame import Layout, new_record
from mccfr_spiel.kernels.tables import DONE, GROW

_BAR = "{desc}: {percentage:.0f}% [{elapsed}<{remaining}{postfix}]"


class NoRoomError(Exception):
    """A world has more "entries", or a player hears more "answers", than there is room
    for."""


class SlicedWalk:
    """A pass that is made in slices, between which Ctrl-C is noticed.

    Attributes:
        store: the infosets.
        path: where the rules are asked.
        functions: the game's, with those that tell of worlds, see `callable_rules`.
        walk: where the pass is; `walk.gradient` is what it makes. `walk.noted` has the
            histories of infosets, if they are wanted.
        found: what it finds besides the infosets.
        entries: for how many entries of a world there is room.
        budget: holds the bytes of `found`; None if that does not grow.
        called: what messages call the arrays of `found`.
        by_rates: those that the budget counts with infosets and sequences.
    """

    walk: Any
    found: Any
    called: str = ""
    by_rates: tuple[str, ...] = ()

    def __init__(
        self,
        store: RuleStore,
        kind: type,
        entries: int = 0,
        budget: Budget | None = None,
        **sizes: int,
    ) -> None:
        """Stands at the root, and makes no gradients.

        Args:
            store, entries, budget: as in the attributes.
            kind: of `walk`.
            sizes: of its arrays, as for `new_record`.
        """
        self.store, self.path = store, store.new_path(is_counted=False)
        self.functions = callable_rules(store.rules, with_worlds=True)
        self.entries, self.budget, self._one = entries, budget, store.tree_of_node()
        sizes |= {"C": entries, "I": 0, "H": store.longest + 1, "S": 0}
        self.walk = new_record(kind, (), n=store.rules.sizes.state, **sizes)
        self.walk.next_edge[0], self.walk.at[ROOM] = -1, entries

    def given(self, plan: np.ndarray, players: range) -> Self:
        """Has the pass make gradients; returns itself.

        Args:
            plan: `[S]` all players' plans, which nobody may change before it is over.
            players: who gets gradients.
        """
        self.walk = self.walk._replace(plan=plan, gradient=np.zeros_like(plan))
        self.walk.at[FIRST], self.walk.at[END] = players.start, players.stop
        return self

    def frame_of(self, layout: Layout, *records: Any) -> np.ndarray:
        """A frame with the infosets met, one node, the walk, and other records."""
        store, tree = self.store, self._one._replace(infosets=self.store.infosets)
        others = self.path, self.walk, *records
        return layout.frame_of(tree, store.game, store.known, *others)

    def follow(self) -> int:
        """Makes one more slice, or as much of it as there is room for; returns a
        status."""
        raise NotImplementedError

    def share(self) -> float:
        """The share that is over, as if neighbouring subtrees were equally large."""
        walk, share, part = self.walk, 0.0, 1.0
        level = walk.at[LEVEL]
        on_the_way = walk.num_edges[:level].tolist(), walk.next_edge[:level].tolist()
        for count, after in zip(*on_the_way, strict=True):
            part /= count
            share += part * (after - 1)
        return share

    def outlook(self, share: float) -> str:
        """What can be told of the end when a share is over."""
        return ""

    @property
    def num_nodes(self) -> int:
        """The nodes, or steps between worlds, touched so far."""
        raise NotImplementedError

    @property
    def gradient(self) -> np.ndarray:
        """`[S]` the gradient as far as it has been made."""
        return self.walk.gradient

    def rows(self) -> dict[str, tuple[int, int]]:
        """Of arrays of `found` how many rows are used, and for how many there must be
        room."""
        return {}

    def make_room(self) -> None:
        """Makes room for what the next node or world may add."""
        store, entries, sizes = self.store, self.entries, self.store.rules.sizes
        longest = len(sizes.key) + 1
        num_sequences = entries * sizes.num_actions
        store.ask_for(entries + 1, num_sequences + 1, entries * longest + 1)
        store.grow()
        if len(self.walk.noted):
            resize(self.walk.noted, len(store.infosets))
        held, rows = 0, self.rows()
        for name, (_, needed) in rows.items():
            array = getattr(self.found, name)
            if name not in self.by_rates:
                size = max(len(array), needed)
                held += size * array.itemsize * math.prod(array.shape[1:])
        if self.budget is not None:
            self.budget.hold(self.called, held)
        for name, (used, needed) in rows.items():
            array = getattr(self.found, name)
            if needed > max(len(array), 2 * used):  # most of which takes no memory yet
                larger = reserve(array, needed, used)
                self.found = self.found._replace(**{name: larger})
            elif needed > len(array):
                resize(array, needed)

    def trim(self) -> None:
        """Gives back the room that arrays have to spare."""
        self.store.trim()
        if len(self.walk.noted):
            resize(self.walk.noted, len(self.store.infosets))
        for name, (used, _) in self.rows().items():
            resize(getattr(self.found, name), used)

    def go_on(self) -> bool:
        """Makes one more slice; returns whether the pass is over.

        Raises:
            MemoryBudgetError: what is found does not fit the budget.
            GameError: the rules contradict themselves or what they declare.
            NoRoomError: there must be room for more entries, or answers.
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
                "gives one world to states that differ in who acts, or in what their "
                "moves mean, or leaf_class is not between 0 and 63, or position_key or "
                "heard is wrong. ms.check_game shows two histories on a smaller board."
            )
        return status == DONE

    def finish(self, what: str, *, with_histories: bool = False) -> Self:
        """Goes on to the end, with a bar on a terminal; returns itself.

        Args:
            what: stands on the bar.
            with_histories: whether to note a history to each infoset that is found.
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
                bar.n = self.share()
                bar.set_postfix_str(self.outlook(bar.n))
        return self
