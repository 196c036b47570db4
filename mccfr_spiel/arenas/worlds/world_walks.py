"""The walks that find, list or remake worlds, as Python drives them."""

import numpy as np

from mccfr_spiel.arenas.rules.description import SPARE
from mccfr_spiel.arenas.rules.kernel import MOST_USED, larger_table
from mccfr_spiel.arenas.rules.store import RuleStore, resize
from mccfr_spiel.arenas.worlds import place_walk, search
from mccfr_spiel.arenas.worlds.entries import (
    NUM_LEAVES,
    NUM_RETURNS,
    Search,
)
from mccfr_spiel.arenas.worlds.entries import NUM_STEPS as NUM_LISTED
from mccfr_spiel.arenas.worlds.places import (
    NUM_PLACES,
    NUM_STEPS,
    NUM_WORLDS,
    Places,
    Way,
)
from mccfr_spiel.arenas.worlds.sliced_walk import SlicedWalk
from mccfr_spiel.arenas.worlds.traversal import VISITED
from mccfr_spiel.arenas.worlds.world_lists import MOST_CLASSES, Leaves, Worlds
from mccfr_spiel.common.limits import Budget, in_words
from mccfr_spiel.kernels.frame import new_record

_PLACES_OF_SLICE = 1_000_000
"""Worlds that a walk over places goes to between two looks for Ctrl-C, in about a tenth
of a second, or one where they are found."""

_LEAVES_OF_SLICE = 5_000
"""Worlds that a search for leaves goes to in a slice, in less than a second."""

_TELLING = 0.05
"""From this share of the search on, its size at the end can be told from it."""

SEARCH = "the search for worlds"
"""Under this name a budget holds what `Search` takes."""


class PlaceWalk(SlicedWalk):
    """A walk over worlds under way.

    Attributes:
        found: the places, with the counts of this walk.
        worlds: the lists that it writes, if they are not empty.
    """

    called, by_rates = "the places of worlds", ("behind", "above", "spots")

    def __init__(
        self, store: RuleStore, kept: Places, entries: int, budget: Budget | None = None
    ) -> None:
        """Stands at the root; `kept` are the places, see `SlicedWalk` for others."""
        moves = store.rules.sizes.max_moves
        sizes = {"D": moves + 3, "M": moves + SPARE, "K": moves + 2 + SPARE}
        super().__init__(store, Way, entries, budget, **sizes)
        self.found: Places = kept._replace(counts=np.zeros_like(kept.counts))
        self.found.counts[NUM_PLACES] = kept.counts[NUM_PLACES]
        self.worlds: Worlds = new_record(Worlds, T=0, E=0, W=0)
        way: Way = self.walk
        way.start[:] = store.rules.start()
        way.sequences[1] = way.firsts[1, 0] = 1  # the empty sequences are 0 and 1
        way.counts[:, 0], way.reach[:] = 1, 1.0

    @property
    def num_nodes(self) -> int:
        """The steps made so far."""
        return int(self.found.counts[NUM_STEPS])

    def follow(self) -> int:
        """Goes to at most `_PLACES_OF_SLICE` more worlds."""
        frame = self.frame_of(place_walk.LAYOUT, self.worlds, self.found)
        most = int(self.walk.at[VISITED]) + _PLACES_OF_SLICE
        status = place_walk.follow_worlds(frame, self.functions, most)
        self.found.counts[NUM_WORLDS] = self.walk.at[VISITED]
        return status

    def rows(self) -> dict[str, tuple[int, int]]:
        """As in SlicedWalk; those by infoset and sequence follow the store."""
        (infosets, sequences), room = self.store.sizes(), self.store.room()
        count, key = int(self.found.counts[NUM_PLACES]), len(self.walk.key)
        actions = self.store.rules.sizes.num_actions
        most = count + count // 2 + actions + 1
        return {
            "behind": (sequences, room[1]),
            "above": (sequences, room[1]),
            "spots": (infosets, room[0]),
            "places": (count, most),
            "edges": (count * actions, most * actions),
            "returns": (count, most),
            "values": (count * key, most * key),
            "rows": (count + 1, most + 1),
        }

    def make_room(self) -> None:
        """As in SlicedWalk; the table of places, too."""
        super().make_room()
        room, table = len(self.found.places), self.found.table
        if room > MOST_USED * len(table):
            self.found = self.found._replace(table=larger_table(table, room))

    def trim(self) -> None:
        """As in SlicedWalk; infosets are looked up no more, and all are behind their
        sequences."""
        super().trim()
        resize(self.store.known.table, 0)
        resize(self.found.above, 0)


class LeafSearch(SlicedWalk):
    """A search under way, which lists the worlds where the game ends."""

    called = "the lists of worlds"

    def __init__(self, store: RuleStore, entries: int, budget: Budget) -> None:
        """Stands before the first world; see `SlicedWalk`."""
        sizes, moves = store.rules.sizes, store.longest
        height, edges = moves + 2, sizes.num_actions * max(entries // 16, 1)
        size = height * entries * (8 * moves + 80 + 4 * sizes.num_actions)
        budget.hold(SEARCH, size + 24 * edges * height)
        super().__init__(
            store,
            Search,
            entries,
            budget,
            D=height,
            A=sizes.num_actions,
            E=edges,
            K=sizes.max_moves + SPARE,
            M=moves,
        )
        self.found: Leaves = new_record(Leaves, T=0, Z=0, R=0)
        walk: Search = self.walk
        walk.start[:] = store.rules.start()
        walk.weights[:] = 1.0
        walk.firsts[1, 0] = height * entries
        walk.sequences[height * entries] = 1  # the empty sequences are 0 and 1
        walk.counts[:, 0] = 1

    def follow(self) -> int:
        """Finds at most `_LEAVES_OF_SLICE` more worlds."""
        frame = self.frame_of(search.LAYOUT, self.found)
        most = int(self.walk.at[VISITED]) + _LEAVES_OF_SLICE
        return search.find(frame, self.functions, most)

    def outlook(self, share: float) -> str:
        """What the end may be, which is no reason to refuse it: in liar's dice the
        first of twenty subtrees is half of the game."""
        if share < _TELLING:
            return ""
        assert self.budget is not None
        size = in_words((self.budget.taken - self.budget.held(SEARCH)) / share)
        return f"about {self.walk.at[NUM_LISTED] / share:.2g} steps, {size}"

    def rows(self) -> dict[str, tuple[int, int]]:
        """As in SlicedWalk."""
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
