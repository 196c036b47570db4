"""Walks over worlds that are made again on the way: how they begin, grow and go on."""

import numpy as np

from mccfr_spiel.common.arrays import reserve
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.tables import DONE, GROW
from mccfr_spiel.rules.description import SPARE, GameError
from mccfr_spiel.rules.kernel import callable_world_rules
from mccfr_spiel.rules.key_table import MOST_USED, SLOT, refill
from mccfr_spiel.rules.played import BROKEN
from mccfr_spiel.rules.store import RuleStore, resize
from mccfr_spiel.worlds import places as slots
from mccfr_spiel.worlds.histories import OUT_OF_TIME, SlicedPass, share_over, tree_of
from mccfr_spiel.worlds.passes import Worlds
from mccfr_spiel.worlds.places import LAYOUT, Places, Way, follow_worlds

_SLICE = 1_000_000
"""Worlds that a walk goes to between two looks for Ctrl-C, in about a tenth of a
second, or one where they are found."""

_FEW_SLOTS = 64

PLACES = "the places of worlds"
"""Under this name a budget holds what `Places` takes."""


class NoRoomError(Exception):
    """A world has more entries, or a player hears more, than there is room for."""


class PlaceWalk(SlicedPass):
    """A walk over worlds under way.

    Attributes:
        walk: where it is, and the gradient that it makes.
        kept: the places, with the counts of this walk.
        worlds: the lists that it writes, if they are not empty.
    """

    def __init__(
        self,
        store: RuleStore,
        kept: Places,
        entries: int,
        plan: np.ndarray,
        first: int = 0,
        end: int = 0,
    ) -> None:
        """Stands at the root, to add gradients.

        Args:
            store: the infosets.
            kept: the places.
            entries: for how many of a world there is room.
            plan: as in `HistoryPass`; empty for a walk without gradients.
            first, end: the players `first .. end - 1` get gradients.
        """
        self._store, self._rules = store, store.rules
        self._path = store.new_path(is_counted=False)
        self._one = store.node_arrays()
        self._more = callable_world_rules(store.rules.description)
        self._budget: Budget | None = None
        self.kept = kept._replace(counts=np.zeros_like(kept.counts))
        self.kept.counts[slots.NUM_PLACES] = kept.counts[slots.NUM_PLACES]
        self.worlds: Worlds = new_record(Worlds, T=0, E=0, W=0)
        self.walk = self._new_way(entries)._replace(
            plan=plan, gradient=np.zeros_like(plan)
        )
        self.walk.at[slots.FIRST], self.walk.at[slots.END] = first, end

    def _new_way(self, entries: int) -> Way:
        sizes = self._rules.sizes
        way: Way = new_record(
            Way,
            D=sizes.max_moves + 3,
            C=entries,
            M=sizes.max_moves + SPARE,
            K=sizes.max_moves + 2 + SPARE,
            n=sizes.state,
            S=0,
            I=0,
            H=sizes.max_moves + 1,
            NUM_AT=slots.NUM_AT,
        )
        way.start[:] = self._rules.start()
        way.sequences[1] = way.firsts[1, 0] = 1  # the empty sequences are 0 and 1
        way.counts[:, 0] = 1
        way.reach[:], way.next_edge[0] = 1.0, -1
        way.at[slots.ROOM] = entries
        return way

    @classmethod
    def to_find(
        cls,
        store: RuleStore,
        budget: Budget,
        entries: int,
        answers: int,
        *,
        with_histories: bool,
    ) -> "PlaceWalk":
        """A walk that finds places and infosets.

        Args:
            store: without infosets.
            budget: takes the bytes of places.
            entries: as above.
            answers: one more than the largest number that `heard` may give.
            with_histories: whether to note a history for each infoset.
        """
        kept: Places = new_record(
            Places,
            S=0,
            H=answers,
            I=0,
            P=0,
            A=store.rules.sizes.num_actions,
            NUM_PLACE=slots.NUM_PLACE,
            V=0,
            R=1,
            T=_FEW_SLOTS,
            NUM_COUNTS=slots.NUM_COUNTS,
        )
        walk = cls(store, kept, entries, np.zeros(0))
        walk._budget = budget
        # The arrays by infoset and sequence grow with those of the store.
        budget.set_rates(budget.per_infoset + 16, budget.per_sequence + 4 * answers + 4)
        if with_histories:
            resize(walk.walk.noted, 1)
        walk._make_room()
        return walk

    @property
    def num_nodes(self) -> int:
        """The steps made so far."""
        return int(self.kept.counts[slots.NUM_STEPS])

    def share(self) -> float:
        """As in SlicedPass."""
        way, level = self.walk, self.walk.at[slots.LEVEL]
        counts = self.kept.places[way.places[:level], slots.NUM_EDGES]
        return share_over(counts, way.next_edge[:level])

    def go_on(self) -> bool:
        """Goes to at most `_SLICE` more worlds; returns whether the walk is over.

        Raises:
            MemoryBudgetError: infosets or places do not fit the budget.
            GameError: the rules contradict themselves or what they declare.
            NoRoomError: there must be room for more entries, or answers.
        """
        store, most = self._store, int(self.kept.counts[slots.NUM_WORLDS]) + _SLICE
        while True:
            tree = tree_of(store, self._one)
            kept = self.kept, self.worlds, self.walk
            frame = LAYOUT.frame_of(tree, store.game, store.known, self._path, *kept)
            status = follow_worlds(frame, store.called, self._more, most)
            if status != GROW:
                break
            self._make_room()
        if status >= BROKEN:
            store.raise_broken(status - BROKEN, self._path)
        if status in (slots.MANY_ENTRIES, slots.MANY_ANSWERS):
            raise NoRoomError(status)
        if status not in (DONE, OUT_OF_TIME):
            raise not_shared(self._rules.description.short_name)
        return status == DONE

    def _make_room(self) -> None:
        """Makes room for what the next world may add."""
        store, kept, sizes = self._store, self.kept, self._rules.sizes
        entries, actions = int(self.walk.at[slots.ROOM]), sizes.num_actions
        longest = len(sizes.key) + 1
        store.ask_for(entries + 1, entries * actions + 1, entries * longest + 1)
        store.grow()
        num_infosets, num_sequences = store.room()
        used = store.sizes()
        kept = kept._replace(
            behind=reserve(kept.behind, num_sequences, used[1]),
            above=reserve(kept.above, num_sequences, used[1]),
            spots=reserve(kept.spots, num_infosets, used[0]),
            places=reserve(
                kept.places, int(kept.counts[slots.NUM_PLACES]) + actions + 1
            ),
        )
        room = len(kept.places)
        kept = kept._replace(
            edges=reserve(kept.edges, room * actions),
            returns=reserve(kept.returns, room),
            values=reserve(kept.values, room * len(self.walk.key)),
            rows=reserve(kept.rows, room + 1),
        )
        if room > MOST_USED * len(kept.table):
            table = np.zeros(1 << (2 * room).bit_length(), SLOT)
            refill(table, kept.table)
            kept = kept._replace(table=table)
        self.kept = kept
        if self._budget is not None:
            by_place = kept[3:]  # behind those by sequence and infoset
            self._budget.hold(PLACES, sum(array.nbytes for array in by_place))
        if len(self.walk.noted):
            resize(self.walk.noted, len(store.infosets))

    def trim(self) -> None:
        """Gives back the room that the places, infosets and notes have to spare."""
        store, kept, count = self._store, self.kept, self.kept.counts[slots.NUM_PLACES]
        store.trim()
        num_infosets, num_sequences = store.sizes()
        actions = self._rules.sizes.num_actions
        for array, size in (
            (kept.behind, num_sequences),
            (kept.above, 0),
            (kept.spots, num_infosets),
            (kept.places, count),
            (kept.edges, count * actions),
            (kept.returns, count),
            (store.known.table, 0),
        ):
            resize(array, int(size))
        if len(self.walk.noted):
            resize(self.walk.noted, num_infosets)


def not_shared(short_name: str) -> GameError:
    """What a search raises whose worlds are not what they must be."""
    return GameError(
        f"{short_name}: Description.world_key gives one world to states that differ in "
        "who acts, or in what their moves mean, or leaf_class is not between 0 and 63, "
        "or position_key or heard is wrong. ms.check_game shows two histories on a "
        "smaller board."
    )
