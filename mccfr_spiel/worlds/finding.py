"""Finds the worlds of a game, and keeps what was found while the process lives."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import reserve
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import Budget, MemoryBudgetError, in_words
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.rules.description import SPARE, WORLD_SIGNATURES, BoundRules
from mccfr_spiel.rules.kernel import (
    MOST_USED,
    SLOT,
    RowTable,
    callable_world_rules,
    refill,
)
from mccfr_spiel.rules.store import RuleStore, resize
from mccfr_spiel.worlds import places, search
from mccfr_spiel.worlds.histories import (
    Histories,
    HistoryPass,
    NoRoomError,
    SlicedPass,
    share_over,
)
from mccfr_spiel.worlds.passes import MOST_ACTIONS, MOST_CLASSES, Leaves, Worlds
from mccfr_spiel.worlds.places import Places, Way

_FEW_ENTRIES = 2048
"""The entries of a world that there is room for at first."""

_SHARE_LISTED = 0.5
"""Worlds are listed if that takes at most this share of the memory that is left, and
made again by each pass else, which takes ten times as long."""

_FEW_LISTED = 64
"""As `_FEW_ENTRIES` where leaves are listed, and four times the edges for each action.
"""

_FEW_SLOTS = 64

_PLACES_OF_SLICE = 1_000_000
"""Worlds that a walk over places goes to between two looks for Ctrl-C, in about a tenth
of a second, or one where they are found."""

_LEAVES_OF_SLICE = 5_000
"""The same of a search for leaves, in less than a second."""

_TELLING = 0.05
"""From this share of the search on, its size at the end can be told from it."""

WORLDS, LISTS = "the lists of worlds", "the search for worlds"
"""Under these names a budget holds what `Worlds` takes, and `Search`."""

PLACES = "the places of worlds"
"""Under this name a budget holds what `Places` takes."""


class Found(NamedTuple):
    """What was found of a game.

    Attributes:
        infosets: `[I]` of dtype INFOSET, ancestors first.
        actions: `[S]` the action of each sequence.
        keys: of the infosets, each with the player before it.
        worlds: the worlds.
        num_histories: how many histories end the game.
        histories: `[I, H]` how many moves lead to a state of each infoset, and which;
            none if they are not wanted.
        start_pass: begins a pass, given all plans, for the players from the first to
            the last but one, where passes go over histories or make worlds again.
    """

    infosets: np.ndarray
    actions: np.ndarray
    keys: RowTable
    worlds: Worlds | Leaves | Histories | Places
    num_histories: int
    histories: np.ndarray
    start_pass: Callable[[np.ndarray, int, int], SlicedPass] | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, and of the gradient of a pass that needs one."""
        parts = *self, *self.keys, *self.worlds
        size = sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        return size + 8 * len(self.actions) * (self.start_pass is not None)


def why_no_worlds(rules: BoundRules | None) -> str:
    """Why worlds cannot be found by rules, behind the name of the game; else ""."""
    if rules is None or rules.description.world_key is None:
        return "declares no worlds (Description.world_key)"
    if rules.num_players != 2:
        return "is not a game of two players"
    if rules.sizes.max_chance_moves and rules.description.leaf_class is None:
        return "has chance, but declares no classes (Description.leaf_class)"
    if rules.sizes.num_actions > MOST_ACTIONS:
        return f"has more than {MOST_ACTIONS} actions"
    return ""


def check_declares_worlds(rules: BoundRules | None, source: object) -> None:
    """Raises ValueError unless worlds can be found by these rules.

    Args:
        rules: the game's, or its twin's; None if it has none that may be used.
        source: the game, for the message.
    """
    why = why_no_worlds(rules)
    if why:
        raise ValueError(
            f"store='worlds' takes a game world by world, but {brief(source)} {why}. "
            "Use store='tree', or an algorithm that samples."
        )


_kept: dict[tuple[Any, ...], Found] = {}
"""What was found, by what makes a game, as long as the process lives."""

_KEPT = "worlds and their infosets"
"""Under this name a budget holds what is kept."""


def find_histories(
    rules: BoundRules, budget: Budget, *, with_histories: bool = False
) -> Found:
    """As `find_worlds`, by a pass over all histories, of a game that needs no worlds.

    Errors are those of `find_worlds`.
    """
    store = RuleStore(rules, _own(budget))
    walk = HistoryPass(store, np.zeros(0), with_histories=with_histories)
    histories = walk.finish("information sets of").found()
    start = functools.partial(HistoryPass, store)
    return _found(walk, histories, int(histories.size[1]), start)


def _own(budget: Budget) -> Budget:
    """A budget of its own for a search, so that one that fails has taken nothing."""
    return Budget(max(budget.left, 1), note=", which others left")


def _found(
    walk: SlicedPass,
    worlds: Worlds | Leaves | Histories | Places,
    num_histories: int,
    start: Callable[[np.ndarray, int, int], SlicedPass] | None = None,
) -> Found:
    """What a walk that is over found, without the room that arrays have to spare."""
    walk.trim()
    store, noted = walk.store, walk.walk.noted
    actions, keys = store.known.actions, store.keys()
    return Found(store.infosets, actions, keys, worlds, num_histories, noted, start)


def known_worlds(
    rules: BoundRules,
    budget: Budget,
    find: Callable[..., Found],
    *,
    with_histories: bool = False,
) -> Found:
    """As `find`, but of a game of which this was found before it is taken.

    What the process keeps of other games is forgotten if these do not fit else.

    Args:
        find: `find_worlds` or `find_histories`.
        rules, budget, with_histories: its arguments.
    """
    description = rules.description
    declared = [getattr(description, name) for name in WORLD_SIGNATURES]
    made_of = description.short_name, description.rules, rules.settings.tobytes()
    game = find, *made_of, *declared
    found = _kept.get(game)
    if found is None or (with_histories and not len(found.histories)):
        try:
            again = find(rules, budget, with_histories=with_histories)
        except MemoryBudgetError:
            if not (budget.is_default and _kept.keys() - {game}):
                raise
            _kept.clear()
            again = find(rules, budget, with_histories=with_histories)
        found = again
        if game in _kept:  # whose arrays others have
            found = _kept[game]._replace(histories=again.histories)
    budget.hold(_KEPT, found.nbytes)
    _kept[game] = found
    return found


def find_worlds(
    rules: BoundRules,
    budget: Budget,
    *,
    with_histories: bool = False,
) -> Found:
    """Finds all worlds of a game.

    Args:
        rules: with a `world_key`.
        budget: the bytes that the search, and what is found, may take.
        with_histories: whether to note a history for each infoset.

    Raises:
        MemoryBudgetError: the worlds do not fit the budget, which is left as it was.
        GameError: the rules contradict themselves or their `world_key`.
    """
    by_places = rules.description.position_key is not None
    find = _find_places if by_places else _find_leaves
    room = {"entries": _FEW_ENTRIES if by_places else _FEW_LISTED, "answers": 2}
    while True:
        own = _own(budget)
        try:
            return find(RuleStore(rules, own), own, with_histories, **room)
        except NoRoomError as error:
            room[error.args[0]] *= 4


def _find_places(
    store: RuleStore, own: Budget, with_histories: bool, entries: int, answers: int
) -> Found:
    """Finds the places of a game, and lists its worlds if the lists fit.

    Raises:
        NoRoomError: there must be room for more entries, or answers.
    """
    walk = PlaceWalk.to_find(
        store, own, entries, answers, with_histories=with_histories
    ).finish("worlds of")
    counts, kept = walk.kept.counts.tolist(), walk.kept
    sizes = {
        "T": counts[places.NUM_STEPS],
        "E": counts[places.ALL_EDGES],
        "W": counts[places.NUM_WORLDS],
    }
    ends = counts[places.HISTORIES]
    found = _found(walk, kept, ends, functools.partial(PlaceWalk, store, kept, entries))
    if 4 * sizes["T"] + 21 * sizes["E"] + 2 * sizes["W"] < _SHARE_LISTED * own.left:
        listing = PlaceWalk(store, kept, entries, np.zeros(0))
        listing.worlds = new_record(Worlds, **sizes)
        listing.worlds.height[0] = counts[places.HEIGHT]
        worlds = listing.finish("the lists of").worlds
        found = found._replace(worlds=worlds, start_pass=None)
    return found


def _find_leaves(
    store: RuleStore, own: Budget, with_histories: bool, entries: int, answers: int
) -> Found:
    """Finds the leaves of a game; `NoRoomError` as for `_find_places`."""
    walk = LeafSearch(store, own, entries, with_histories=with_histories)
    walk.finish("worlds of")
    return _found(walk, walk.leaves, int(walk.walk.at[search.HISTORIES]))


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
        super().__init__(store, entries)
        self._more = callable_world_rules(store.rules.description)
        self._budget: Budget | None = None
        self.kept = kept._replace(counts=np.zeros_like(kept.counts))
        self.kept.counts[places.NUM_PLACES] = kept.counts[places.NUM_PLACES]
        self.worlds: Worlds = new_record(Worlds, T=0, E=0, W=0)
        self.walk = self._new_way()._replace(plan=plan, gradient=np.zeros_like(plan))
        self.walk.at[places.FIRST], self.walk.at[places.END] = first, end

    def _new_way(self) -> Way:
        sizes = self.store.rules.sizes
        way: Way = new_record(
            Way,
            D=sizes.max_moves + 3,
            C=self.entries,
            M=sizes.max_moves + SPARE,
            K=sizes.max_moves + 2 + SPARE,
            n=sizes.state,
            S=0,
            I=0,
            H=sizes.max_moves + 1,
            NUM_AT=places.NUM_AT,
        )
        way.start[:] = self.store.rules.start()
        way.sequences[1] = way.firsts[1, 0] = 1  # the empty sequences are 0 and 1
        way.counts[:, 0] = 1
        way.reach[:], way.next_edge[0] = 1.0, -1
        way.at[places.ROOM] = self.entries
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
            NUM_PLACE=places.NUM_PLACE,
            V=0,
            R=1,
            T=_FEW_SLOTS,
            NUM_COUNTS=places.NUM_COUNTS,
        )
        walk = cls(store, kept, entries, np.zeros(0))
        walk._budget = budget
        # The arrays by infoset and sequence grow with those of the store.
        budget.set_rates(budget.per_infoset + 16, budget.per_sequence + 4 * answers + 4)
        if with_histories:
            resize(walk.walk.noted, 1)
        walk.make_room()
        return walk

    @property
    def num_nodes(self) -> int:
        """The steps made so far."""
        return int(self.kept.counts[places.NUM_STEPS])

    def share(self) -> float:
        """As in SlicedPass."""
        way, level = self.walk, self.walk.at[places.LEVEL]
        counts = self.kept.places[way.places[:level], places.NUM_EDGES]
        return share_over(counts, way.next_edge[:level])

    def follow(self) -> int:
        """Goes to at most `_PLACES_OF_SLICE` more worlds."""
        most = int(self.kept.counts[places.NUM_WORLDS]) + _PLACES_OF_SLICE
        frame = self.frame_of(places.LAYOUT, self.kept, self.worlds, self.walk)
        return places.follow_worlds(frame, self.store.called, self._more, most)

    def make_room(self) -> None:
        """As in SlicedPass."""
        super().make_room()
        store, kept, actions = self.store, self.kept, self.store.rules.sizes.num_actions
        num_infosets, num_sequences = store.room()
        used = store.sizes()
        kept = kept._replace(
            behind=reserve(kept.behind, num_sequences, used[1]),
            above=reserve(kept.above, num_sequences, used[1]),
            spots=reserve(kept.spots, num_infosets, used[0]),
            places=reserve(
                kept.places, int(kept.counts[places.NUM_PLACES]) + actions + 1
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

    def trim(self) -> None:
        """Gives back the room that the places have to spare, too."""
        super().trim()
        kept, count = self.kept, self.kept.counts[places.NUM_PLACES]
        num_infosets, num_sequences = self.store.sizes()
        for array, size in (
            (kept.behind, num_sequences),
            (kept.above, 0),
            (kept.spots, num_infosets),
            (kept.places, count),
            (kept.edges, count * self.store.rules.sizes.num_actions),
            (kept.returns, count),
            (self.store.known.table, 0),
        ):
            resize(array, int(size))


class LeafSearch(SlicedPass):
    """A search under way, which lists the worlds where the game ends.

    Attributes:
        walk: where it is.
        leaves: what it has found.
    """

    walk: search.Search

    def __init__(
        self, store: RuleStore, budget: Budget, entries: int, *, with_histories: bool
    ) -> None:
        """Stands before the first world.

        Args:
            store: without infosets.
            budget: takes the bytes of the search and of the leaves.
            entries: for how many of a world there is room.
            with_histories: whether to note a history for each infoset.
        """
        super().__init__(store, entries)
        self._more = callable_world_rules(store.rules.description)
        self._budget, sizes = budget, store.rules.sizes
        self.leaves: Leaves = new_record(Leaves, T=0, Z=0, R=0)
        moves, actions = sizes.max_moves + sizes.max_chance_moves, sizes.num_actions
        height, edges = moves + 2, actions * max(entries // 16, 1)
        size = height * entries * (8 * moves + 80 + 4 * actions)
        budget.hold(LISTS, size + 24 * edges * height)
        walk: search.Search = new_record(
            search.Search,
            D=height,
            C=entries,
            A=actions,
            E=edges,
            K=sizes.max_moves + SPARE,
            M=moves,
            H=moves + 1,
            I=int(with_histories),
            n=sizes.state,
            NUM_AT=search.NUM_AT,
        )
        walk.start[:] = store.rules.start()
        walk.weights[:] = walk.ways[:] = 1
        walk.firsts[1, 0] = height * entries
        walk.sequences[height * entries] = 1  # the empty sequences are 0 and 1
        walk.counts[:, 0] = walk.at[search.ENTERS] = 1
        walk.at[search.ROOM] = entries
        self.walk = walk

    def follow(self) -> int:
        """Finds at most `_LEAVES_OF_SLICE` more worlds."""
        most = int(self.walk.at[search.NUM_WORLDS]) + _LEAVES_OF_SLICE
        frame = self.frame_of(search.LAYOUT, self.leaves, self.walk)
        return search.find(frame, self.store.called, self._more, most)

    def share(self) -> float:
        """As in SlicedPass."""
        walk, level = self.walk, self.walk.at[search.LEVEL]
        return share_over(walk.num_edges[:level], walk.next_edge[:level])

    def outlook(self, share: float) -> str:
        """What the end may be, which is no reason to refuse it: in liar's dice the
        first of twenty subtrees is half of the game."""
        if share < _TELLING:
            return ""
        size = in_words((self._budget.taken - self._budget.held(LISTS)) / share)
        return f"about {self.walk.at[search.NUM_STEPS] / share:.2g} steps, {size}"

    def _rows(self) -> dict[str, tuple[int, int]]:
        """How many rows of each array are used, and how many a world may add."""
        at = self.walk.at.tolist()
        steps = at[search.NUM_STEPS], 2 * self.entries
        return {
            **dict.fromkeys(("steps", "classes", "weights"), steps),
            **dict.fromkeys(("lengths", "sizes"), (at[search.NUM_LEAVES], 1)),
            "returns": (at[search.NUM_RETURNS], MOST_CLASSES**2),
        }

    def make_room(self) -> None:
        """As in SlicedPass."""
        super().make_room()
        held, sizes = 0, {}
        for name, (used, more) in self._rows().items():
            array, needed = getattr(self.leaves, name), used + more + 1
            size = len(array)
            sizes[name] = size if needed <= size else needed + needed // 4
            held += sizes[name] * array.itemsize * int(np.prod(array.shape[1:]))
        self._budget.hold(WORLDS, held)
        for name, size in sizes.items():
            resize(getattr(self.leaves, name), size)

    def trim(self) -> None:
        """Gives back the room that the leaves have to spare, too."""
        super().trim()
        for name, (used, _) in self._rows().items():
            resize(getattr(self.leaves, name), used)
