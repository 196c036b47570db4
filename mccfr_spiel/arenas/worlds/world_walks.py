"""Python classes of the two compiled walks over worlds: `GraphWalk`, `LeafSearch`."""

import numpy as np

from mccfr_spiel.arenas.rules.game_description import (
    SPARE,
)
from mccfr_spiel.arenas.rules.row_table import (
    MOST_USED,
    larger_table,
)
from mccfr_spiel.arenas.rules.rule_store import (
    RuleStore,
    resize,
)
from mccfr_spiel.arenas.worlds import graph_walk, search
from mccfr_spiel.arenas.worlds.entries import (
    NUM_LEAVES,
    NUM_RETURNS,
    SearchStack,
)
from mccfr_spiel.arenas.worlds.entries import NUM_STEPS as NUM_LISTED
from mccfr_spiel.arenas.worlds.position_graph import (
    NUM_NODES,
    NUM_STEPS,
    NUM_WORLDS,
    PositionGraph,
    WorldStack,
)
from mccfr_spiel.arenas.worlds.sliced_walk import SlicedWalk
from mccfr_spiel.arenas.worlds.world_lists import MOST_CLASSES, Leaves, Worlds
from mccfr_spiel.arenas.worlds.world_traversal import VISITED
from mccfr_spiel.common.budget import (
    Budget,
)
from mccfr_spiel.common.memory import (
    in_words,
)
from mccfr_spiel.kernels.frame import new_record

_WORLDS_PER_SLICE = 1_000_000
"""Number of worlds that a `GraphWalk` visits between two checks for Ctrl-C. This takes
a tenth of a second in passes, and one second during the discovery of the graph.
"""

_SEARCHED_PER_SLICE = 5_000
"""Number of worlds that a `LeafSearch` visits between two checks for Ctrl-C, which
takes less than a second.
"""

_TELLING = 0.05
"""Smallest finished share from which the final size is forecast."""

SEARCH = "the search for worlds"
"""Name of the buffers of `LeafSearch` in a budget."""


class GraphWalk(SlicedWalk):
    """A walk over worlds along the graph of positions (graph_walk.py).

    It discovers the graph if that is empty, lists the worlds if `worlds` has room, and
    adds gradients after `with_plan`.

    Attributes:
        result: the graph, with the counts of this walk.
        worlds: lists that the walk writes; empty if it writes none.
    """

    budget_label, counted_by_rates = (
        "the places of worlds",
        ("next_infoset", "parents", "options"),
    )

    def __init__(
        self,
        store: RuleStore,
        graph: PositionGraph,
        entries: int,
        budget: Budget | None = None,
    ) -> None:
        """Places the walk at the root.

        Args:
            graph: the graph, empty or complete.
            store, entries, budget: see `SlicedWalk`.
        """
        longest = store.rules.sizes.max_moves
        sizes = {"D": longest + 3, "M": longest + SPARE, "K": longest + 2 + SPARE}
        super().__init__(store, WorldStack, entries, budget, **sizes)
        self.result: PositionGraph = graph._replace(counts=np.zeros_like(graph.counts))
        self.result.counts[NUM_NODES] = graph.counts[NUM_NODES]
        self.worlds: Worlds = new_record(Worlds, T=0, E=0, W=0)
        stack: WorldStack = self.walk
        stack.start[:] = store.rules.start()
        stack.sequences[1] = stack.firsts[1, 0] = 1  # the empty sequences are 0 and 1
        stack.counts[:, 0], stack.reach[:] = 1, 1.0

    @property
    def num_nodes(self) -> int:
        """Number of steps (sequences along edges) followed so far."""
        return int(self.result.counts[NUM_STEPS])

    def follow(self) -> int:
        """Visits at most `_WORLDS_PER_SLICE` more worlds; returns a status."""
        frame = self.frame_of(graph_walk.LAYOUT, self.worlds, self.result)
        limit = int(self.walk.at[VISITED]) + _WORLDS_PER_SLICE
        status = graph_walk.follow_worlds(frame, self.functions, limit)
        self.result.counts[NUM_WORLDS] = self.walk.at[VISITED]
        return status

    def rows(self) -> dict[str, tuple[int, int]]:
        """See SlicedWalk. Arrays with rows per infoset or sequence grow as the store
        does.
        """
        (infosets, sequences), room = self.store.sizes(), self.store.room()
        count, key = int(self.result.counts[NUM_NODES]), len(self.walk.key)
        actions = self.store.rules.sizes.num_actions
        capacity = count + count // 2 + actions + 1
        return {
            "next_infoset": (sequences, room[1]),
            "parents": (sequences, room[1]),
            "options": (infosets, room[0]),
            "nodes": (count, capacity),
            "edges": (count * actions, capacity * actions),
            "returns": (count, capacity),
            "values": (count * key, capacity * key),
            "rows": (count + 1, capacity + 1),
        }

    def make_room(self) -> None:
        """See SlicedWalk. Also grows the hash table of nodes."""
        super().make_room()
        room, table = len(self.result.nodes), self.result.table
        if room > MOST_USED * len(table):
            self.result = self.result._replace(table=larger_table(table, room))

    def trim(self) -> None:
        """See SlicedWalk. Also empties the store's hash table and `parents`, which are
        not needed after the search.
        """
        super().trim()
        resize(self.store.known.table, 0)
        resize(self.result.parents, 0)


class LeafSearch(SlicedWalk):
    """A search that lists the terminal worlds of a game (search.py)."""

    budget_label = "the lists of worlds"

    def __init__(self, store: RuleStore, entries: int, budget: Budget) -> None:
        """Allocates the buffers and places the search before the first world; see
        `SlicedWalk`.

        Raises:
            MemoryBudgetError: the buffers do not fit the budget.
        """
        sizes, moves = store.rules.sizes, store.longest
        height, edges = moves + 2, sizes.num_actions * max(entries // 16, 1)
        # Upper bounds of the bytes per level and entry (both players' pasts and fields,
        # the edge of each action), and per edge.
        size = height * entries * (8 * moves + 80 + 4 * sizes.num_actions)
        budget.hold(SEARCH, size + 24 * edges * height)
        super().__init__(
            store,
            SearchStack,
            entries,
            budget,
            D=height,
            A=sizes.num_actions,
            E=edges,
            K=sizes.max_moves + SPARE,
            M=moves,
        )
        self.result: Leaves = new_record(Leaves, T=0, Z=0, R=0)
        walk: SearchStack = self.walk
        walk.start[:] = store.rules.start()
        walk.weights[:] = 1.0
        walk.firsts[1, 0] = height * entries
        walk.sequences[height * entries] = 1  # the empty sequences are 0 and 1
        walk.counts[:, 0] = 1

    def follow(self) -> int:
        """Visits at most `_SEARCHED_PER_SLICE` more worlds; returns a status."""
        frame = self.frame_of(search.LAYOUT, self.result)
        limit = int(self.walk.at[VISITED]) + _SEARCHED_PER_SLICE
        return search.find(frame, self.functions, limit)

    def forecast(self, share: float) -> str:
        """Returns a forecast of steps and bytes, for the progress bar.

        It is too inaccurate to refuse a search: the first of 20 subtrees of liar's dice
        contains half of the game.
        """
        if share < _TELLING:
            return ""
        assert self.budget is not None
        size = in_words((self.budget.taken - self.budget.held[SEARCH]) / share)
        return f"about {self.walk.at[NUM_LISTED] / share:.2g} steps, {size}"

    def rows(self) -> dict[str, tuple[int, int]]:
        """See SlicedWalk."""
        at = self.walk.at.tolist()

        def with_room(used: int, more: int) -> tuple[int, int]:
            return used, (used + more + 1) * 5 // 4

        steps = with_room(at[NUM_LISTED], 2 * self.entries)
        leaves = with_room(at[NUM_LEAVES], 1)
        return {
            **dict.fromkeys(("steps", "classes", "weights"), steps),
            **dict.fromkeys(("lengths", "sizes"), leaves),
            "returns": with_room(at[NUM_RETURNS], MOST_CLASSES**2),
        }
