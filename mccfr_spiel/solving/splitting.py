"""Batches of walks that several processes split: what one of these processes does.

Each has the same tree and the same tables. It makes the walks of some tickets of a
segment, whose log others may get, and adds up the logs of all tickets. Which process
makes which walks changes no bit. kernels/split_batches.py has the loops, cluster/ those
that the processes have between them.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.compiled import teams
from mccfr_spiel.tree.blocks import cut_for_batches
from mccfr_spiel.tree.game_tree import GameTree

_NODES_OF_ADDING = 1000
"""The nodes whose leaves a ticket adds up, unless there would be few tickets."""

_COUNTS = [
    kernels.NUM_EVENTS,
    kernels.NUM_VISITS,
    kernels.NUM_LEAVES,
    kernels.TOUCHED,
    kernels.STATUS,
]
_EVENTS, _VISITS, _LEAVES, _TOUCHED, _STATUS = range(len(_COUNTS))

_HEIGHT, _ROOM = 256, 2**12
"""What a slot has room for at first: nodes in its stack, leaves in its log."""

_MOST_ROOM = 2**17
"""Walks with more leaves stay in one thread; all logs have 0.2 GB then."""

BYTES_PER_INFOSET, BYTES_PER_SEQUENCE = 8, 16
"""What the cut takes, and what is needed to make it."""


class Records(NamedTuple):
    """What a solver's state has for kernels; they change the tables and the walk."""

    task: kernels.Task
    arrays: kernels.TreeArrays
    tables: kernels.Tables
    walk: kernels.Walk


class Place(NamedTuple):
    """Where a solver is in its run, between two segments.

    The game, the algorithm and the seed determine the tables there. So two processes
    that are at the same place of a run have the same tables.

    Attributes:
        iteration: the present one if `is_begun`, else the last one that is over.
        player: whose batch is next.
        nth: the next walk of that batch.
        nodes_touched: in all.
        is_begun: whether the batch, and so the iteration, has begun.
    """

    iteration: int
    player: int
    nth: int
    nodes_touched: int
    is_begun: bool

    @classmethod
    def of(cls, walk: kernels.Walk) -> "Place":
        """The place at which a walk's cursor stands."""
        cursor = walk.cursor
        return cls(
            int(cursor[kernels.ITERATION]),
            int(cursor[kernels.PLAYER]),
            int(cursor[kernels.WALK]),
            int(cursor[kernels.NODES_TOUCHED]),
            bool(cursor[kernels.TOP]),
        )


class Segment(NamedTuple):
    """Some walks of a batch, one after the other, that are cut into tickets.

    Attributes:
        place: where a solver is before them.
        iteration, player: whose batch it is.
        begin, end: the first walk of the batch, and the one behind the last.
        walks: how many each ticket has; the last may have fewer.
    """

    place: Place
    iteration: int
    player: int
    begin: int
    end: int
    walks: int

    @property
    def num_tickets(self) -> int:
        """At most `kernels.NUM_SLOTS`."""
        return -(-(self.end - self.begin) // self.walks)

    def numbers(self, first: int, end: int) -> np.ndarray:
        """The segment for kernels, with the tickets to walk; the entries are those that
        kernels/split_batches.py lists."""
        return np.array(
            [
                self.iteration,
                self.player,
                self.begin,
                self.end,
                self.walks,
                first,
                end,
            ],
            np.int64,
        )

    def place_after(self, nodes_touched: int, batch: int, num_players: int) -> Place:
        """Where a solver is afterwards.

        Args:
            nodes_touched: by the walks of the segment.
            batch: the walks of the whole batch.
            num_players: of the game.
        """
        touched = self.place.nodes_touched + nodes_touched
        if self.end < batch:
            return Place(self.iteration, self.player, self.end, touched, True)
        player = (self.player + 1) % num_players
        return Place(self.iteration, player, 0, touched, player != 0)


class WalkLog(NamedTuple):
    """What the walks of some tickets would add, as it goes from process to process.

    `K` tickets have visited `E` infosets in the top or at the roots of blocks, `V`
    others, and `L` leaves. All arrays but `counts` have the narrowest type that holds
    their numbers to the bit.

    Attributes:
        first: the first ticket.
        counts: `[K, 5]` int64 of each ticket: its parts of E, V and L, the nodes that
            it has touched, and a status.
        events: `[E]` infosets.
        visits: `[V]` infosets.
        sequences: `[L]` the player's last sequence before each leaf.
        payoffs: `[L]` times the weight of the walk.
        visits_before: `[L]` how many of `visits` come between a leaf and the one before
            it in its ticket.
    """

    first: int
    counts: np.ndarray
    events: np.ndarray
    visits: np.ndarray
    sequences: np.ndarray
    payoffs: np.ndarray
    visits_before: np.ndarray

    @property
    def status(self) -> int:
        """DONE, or what kept a walk from being logged."""
        return int(self.counts[:, _STATUS].max(initial=kernels.DONE))

    @property
    def nodes_touched(self) -> int:
        """By all walks."""
        return int(self.counts[:, _TOUCHED].sum())

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self[1:])


class SplitBatches:
    """Makes walks of batches, and adds up logs, for one solver's state.

    Attributes:
        num_threads: at most so many.
        cut, slots: see `kernels.Cut` and `kernels.Slots`; None until `get_ready`.
    """

    def __init__(
        self, tree: GameTree, sampled: kernels.Sampled, rule: str, num_threads: int
    ) -> None:
        """Makes nothing yet.

        Args:
            tree: the game's, complete.
            sampled: see `kernels.make_walks_of_split`.
            rule: see `kernels.make_sums_of_split`.
            num_threads: at most so many.
        """
        self._tree, self._sampled, self._rule = tree, sampled, rule
        self.num_threads = num_threads
        self.cut: kernels.Cut | None = None
        self.slots: kernels.Slots | None = None
        self._walk: Any = None
        self._add: Any = None
        self._frame = np.zeros(0, np.int64)
        self._framed: tuple[Any, ...] = ()

    def arrays(self) -> list[np.ndarray]:
        """All arrays that were made."""
        return [*(self.cut or ()), *(self.slots or ())]

    def get_ready(self) -> None:
        """Compiles the kernels and cuts the tree, at the first call."""
        if self.cut is None:
            self._walk = kernels.make_walks_of_split(self._sampled)
            self._add = kernels.make_sums_of_split(self._rule)
            tree = self._tree
            cut = cut_for_batches(tree.infosets, tree.num_players, tree.num_sequences)
            self.slots = _new_slots(len(cut.num_met), _HEIGHT, _ROOM)
            self.cut = cut

    def walk(self, records: Records, segment: Segment, first: int, end: int) -> WalkLog:
        """Makes the walks of the tickets `first .. end - 1`; changes no table.

        The log's status is DONE, or NEEDS_ONE_THREAD if a walk met what ends the run,
        or LOG_FULL if a ticket has more leaves than a log may have.
        """
        self.get_ready()
        numbers = segment.numbers(first, end)
        while True:
            assert self.slots is not None
            if first < end:
                self._run(self._walk, records, numbers)
            log = _packed(self.slots, first, end)
            room = 2 * len(self.slots.leaf) // kernels.NUM_SLOTS
            if log.status != kernels.LOG_FULL or room > _MOST_ROOM:
                return log
            self._enlarge(2 * len(self.slots.node) // kernels.NUM_SLOTS, room)

    def add(self, records: Records, segment: Segment, logs: Iterable[WalkLog]) -> None:
        """Adds up the logs of all tickets of a segment, at whose place the walk stands.

        It moves the policies if that ends the batch. No signal is heard meanwhile.
        """
        self.get_ready()
        assert self.slots is not None
        assert self.cut is not None
        logs = [log for log in logs if len(log.counts)]
        most = max(int(log.counts[:, : _LEAVES + 1].max()) for log in logs) + 2
        room = len(self.slots.leaf) // kernels.NUM_SLOTS
        if most > room:
            height = len(self.slots.node) // kernels.NUM_SLOTS
            self._enlarge(height, max(most, min(2 * room, _MOST_ROOM)))
        for log in logs:
            _unpack(log, self.slots)
        num_blocks = -(-len(self.cut.num_met) // self._tree.num_players)
        tickets = sum(log.nodes_touched for log in logs) // _NODES_OF_ADDING
        blocks = -(-num_blocks // int(min(max(tickets, 8), num_blocks)))
        self._run(self._add, records, segment.numbers(0, segment.num_tickets), blocks)

    def _enlarge(self, height: int, room: int) -> None:
        assert self.cut is not None
        self._framed = ()  # or it would keep the old slots alive meanwhile
        self.slots = None
        self.slots = _new_slots(len(self.cut.num_met), height, room)

    def _run(self, kernel: Any, records: Records, *arguments: Any) -> None:
        """Runs a kernel in all threads."""
        assert self.cut is not None
        assert self.slots is not None
        framed = *records.arrays, *records.tables, *records.walk, *self.slots
        if len(framed) != len(self._framed) or any(
            one is not other for one, other in zip(framed, self._framed, strict=True)
        ):
            all_records = *records, self.cut, self.slots
            self._frame, self._framed = kernels.frame_of_batch(*all_records), framed
        teams.run(
            kernel,
            self.num_threads,
            self._frame,
            *arguments,
            notes=kernels.NUM_BATCH_NOTES,
            keep=(records, self.cut, self.slots),
        )


# --- logs on their way ---------------------------------------------------------------


def narrowed(numbers: np.ndarray) -> np.ndarray:
    """The same numbers in the narrowest type that holds each of them to the bit.

    Payoffs that are small integers become bytes, and floats with few digits 4 bytes
    wide.
    """
    if numbers.dtype.kind != "f":
        last = int(numbers.max(initial=0))
        return numbers.astype(np.min_scalar_type(last))
    for kind in (np.int8, np.int16, np.float32):
        if _fits(numbers[:_SOME], kind) and _fits(numbers, kind):
            return numbers.astype(kind)
    return numbers


_SOME = 64
"""Numbers that are looked at first, since mostly they tell."""


def _fits(numbers: np.ndarray, kind: Any) -> bool:
    with np.errstate(invalid="ignore", over="ignore"):
        back = numbers.astype(kind).astype(np.float64)
    # Not ==, by which -0.0 equals 0.0.
    return bool((back.view(np.int64) == numbers.view(np.int64)).all())


def _packed(slots: kernels.Slots, first: int, end: int) -> WalkLog:
    """The log of the tickets `first .. end - 1`, copied from their slots."""
    all_counts = slots.counts.reshape(kernels.NUM_SLOTS, kernels.NUM_COUNTS)
    counts = all_counts[first:end][:, _COUNTS]
    if counts[:, _STATUS].any():
        counts[:, : _LEAVES + 1] = 0  # nobody adds up an unfinished log
    leaves = _parts(slots.leaf, counts[:, _LEAVES], first)
    between = [np.diff(one["visits_end"], prepend=np.int32(0)) for one in leaves[1:]]
    return WalkLog(
        first,
        counts,
        narrowed(_column(_parts(slots.event, counts[:, _EVENTS], first), "infoset")),
        narrowed(_column(_parts(slots.visit, counts[:, _VISITS], first), "infoset")),
        narrowed(_column(leaves, "sequence")),
        narrowed(_column(leaves, "payoff")),
        narrowed(np.concatenate([np.zeros(0, np.int32), *between])),
    )


def _of(array: np.ndarray, slot: int, count: int) -> np.ndarray:
    """The first entries of a slot's part of an array."""
    begin = slot * (len(array) // kernels.NUM_SLOTS)
    return array[begin : begin + int(count)]


def _parts(array: np.ndarray, counts: np.ndarray, first: int) -> list[np.ndarray]:
    """The first entries of some slots' parts, and before them a part of no entries."""
    return [
        array[:0],
        *(_of(array, slot, count) for slot, count in enumerate(counts, first)),
    ]


def _column(parts: list[np.ndarray], name: str) -> np.ndarray:
    """One field of all parts, in a row."""
    return np.concatenate([part[name] for part in parts])


def _unpack(log: WalkLog, slots: kernels.Slots) -> None:
    """Writes a log into the slots of its tickets; `kernels.make_split_sums` does the
    rest."""
    all_counts = slots.counts.reshape(kernels.NUM_SLOTS, kernels.NUM_COUNTS)
    ends = np.cumsum(log.counts, axis=0)
    for slot, count, end in zip(
        range(log.first, log.first + len(ends)), log.counts, ends, strict=True
    ):
        all_counts[slot][_COUNTS] = count
        begin = end - count
        events = slice(begin[_EVENTS], end[_EVENTS])
        visits = slice(begin[_VISITS], end[_VISITS])
        leaves = slice(begin[_LEAVES], end[_LEAVES])
        _of(slots.event, slot, count[_EVENTS])["infoset"] = log.events[events]
        _of(slots.visit, slot, count[_VISITS])["infoset"] = log.visits[visits]
        leaf = _of(slots.leaf, slot, count[_LEAVES])
        leaf["sequence"] = log.sequences[leaves]
        leaf["payoff"] = log.payoffs[leaves]
        leaf["visits_end"] = np.cumsum(log.visits_before[leaves], dtype=np.int32)


def _new_slots(num_blocks: int, height: int, room: int) -> kernels.Slots:
    """Empty slots with room for so many blocks, nodes in a stack, leaves in a log."""
    count = kernels.NUM_SLOTS
    return kernels.Slots(
        node=np.zeros(count * height, np.int32),
        sequence=np.zeros(count * height, np.int32),
        weight=np.zeros(count * height),
        place=np.zeros(count * height, np.uint64),
        event=np.zeros(count * room, kernels.VISIT),
        visit=np.zeros(count * room, kernels.VISIT),
        leaf=np.zeros(count * room, kernels.LEAF),
        run=np.zeros(count * room, kernels.RUN),
        order=np.zeros(count * room, np.int32),
        part_ends=np.zeros(count * (num_blocks + 3), np.int64),
        counts=np.zeros(count * kernels.NUM_COUNTS, np.int64),
    )
