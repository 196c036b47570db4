"""What threads write down that fork walks, and how it is read; see forked_walks.py."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.compiled.atomics import NOTES
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.compiled.lanes import NUM_LANE_NOTES
from mccfr_spiel.compiled.prefetch import prefetch
from mccfr_spiel.kernels.averaging import pay_debt
from mccfr_spiel.kernels.batch_logs import (
    LEAF,
    NUM_BATCH_NOTES,
    NUM_COUNTS,
    NUM_EVENTS,
    NUM_LEAVES,
    NUM_SLOTS,
    NUM_TOP,
    STATUS,
    TOUCHED,
    TOUCHED_NOW,
    VISIT,
    Cut,
    Stack,
)
from mccfr_spiel.kernels.tables import (
    DONE,
    FLOAT,
    INT,
    LONG,
    UNSIGNED,
    Tables,
    Task,
    TreeArrays,
    Walk,
)

NUM_FORKS = 1
"""In place of `batch_logs.NUM_VISITS`: how many forks a slot has."""

FORK = np.dtype(
    [
        ("stream", np.uint64),
        ("place", np.uint64),
        ("weight", np.float64),
        ("node", np.int32),
        ("part", np.int32),
    ]
)
"""Where a walk comes to the root of a subtree: the walk's stream, the place of its
history, its weight there, the node, and the number of the subtree's block among those
of the player, from 0 on."""

BRANCH = np.dtype(
    [
        ("stream", np.uint64),
        ("place", np.uint64),
        ("node", np.int32),
        ("sequence", np.int32),
    ]
)
"""A node that a walk will come to: the walk's stream, its history's place, the node,
and the player's last sequence before it."""

LANES = -(-(NOTES + NUM_BATCH_NOTES) // 8) * 8
"""Where the notes for lanes begin on the desk, behind the leader's."""

NUM_FORK_NOTES = LANES + NUM_LANE_NOTES - NOTES
"""The notes that a desk needs."""

LISTED = 2
"""What `Tables.is_met` is at the root of a block that is in the top's list, too."""

_AHEAD = 6
"""So many infosets are asked for before they are needed."""


class Forks(NamedTuple):
    """What tickets write.

    A *row* is a stack of `H` nodes and the counts: first the NUM_SLOTS of the tickets
    that walk in the top, then one for each of the `K` blocks. A *slot* is a log with
    room for `C` entries of each kind.
    """

    node: Annotated[np.ndarray, Entry(INT, "[(NUM_SLOTS + K) H]", "see `Walk`")]
    sequence: Annotated[np.ndarray, Entry(INT, "[(NUM_SLOTS + K) H]", "see `Walk`")]
    weight: Annotated[np.ndarray, Entry(FLOAT, "[(NUM_SLOTS + K) H]", "see `Walk`")]
    place: Annotated[np.ndarray, Entry(UNSIGNED, "[(NUM_SLOTS + K) H]", "see `Walk`")]
    counts: Annotated[
        np.ndarray,
        Entry(LONG, "[(NUM_SLOTS + K) NUM_COUNTS]", "see `batch_logs.STATUS`"),
    ]
    queue: Annotated[
        np.ndarray,
        Entry(
            BRANCH,
            "[K Q]",
            "a queue for each block; Q is a power of 2, or 0 for walks with a stack",
        ),
    ]
    event: Annotated[
        np.ndarray,
        Entry(VISIT, "[NUM_SLOTS C]", "visits in the top and at roots of blocks"),
    ]
    leaf: Annotated[
        np.ndarray, Entry(LEAF, "[NUM_SLOTS C]", "the leaves that belong to the top")
    ]
    fork: Annotated[np.ndarray, Entry(FORK, "[NUM_SLOTS C]", "see FORK")]
    order: Annotated[
        np.ndarray,
        Entry(INT, "[NUM_SLOTS C]", "the forks, block by block, each in their order"),
    ]
    part_ends: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[NUM_SLOTS (K + 2)]",
            "the forks of the player's block k are from its entry of `order` to the "
            "next one's",
        ),
    ]
    kept: Annotated[
        np.ndarray,
        Entry(
            FLOAT,
            "[S]",
            "the gradient as it was before these walks, at the infosets that earlier "
            "ones of the batch met",
        ),
    ]


class ForkLog(NamedTuple):
    """One slot's log, see `Forks`."""

    event: np.ndarray
    leaf: np.ndarray
    fork: np.ndarray
    order: np.ndarray
    part_ends: np.ndarray


_LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Cut, Forks)

frame_of_forks = _LAYOUT.frame_of
fork_views = _LAYOUT.viewer()


@inlined
def fork_stack_of(forks: Forks, row: Any) -> Stack:
    """The stack of a row."""
    height = len(forks.node) // (len(forks.counts) // NUM_COUNTS)
    begin, end = row * height, (row + 1) * height
    return Stack(
        forks.node[begin:end],
        forks.sequence[begin:end],
        forks.weight[begin:end],
        forks.place[begin:end],
    )


@inlined
def fork_log_of(forks: Forks, slot: Any) -> ForkLog:
    """The log of a slot."""
    room, width = len(forks.leaf) // NUM_SLOTS, len(forks.part_ends) // NUM_SLOTS
    begin, end = slot * room, (slot + 1) * room
    return ForkLog(
        forks.event[begin:end],
        forks.leaf[begin:end],
        forks.fork[begin:end],
        forks.order[begin:end],
        forks.part_ends[slot * width : (slot + 1) * width],
    )


@inlined
def queue_of(forks: Forks, block: Any) -> np.ndarray:
    """The queue of a block."""
    size = len(forks.queue) // (len(forks.counts) // NUM_COUNTS - NUM_SLOTS)
    return forks.queue[block * size : (block + 1) * size]


@inlined
def counts_of(forks: Forks, row: Any) -> np.ndarray:
    """The counts of a row."""
    return forks.counts[row * NUM_COUNTS : (row + 1) * NUM_COUNTS]


@inlined
def sort_forks(log: ForkLog, num_forks: Any, num_parts: Any) -> None:
    """Sorts the forks of a slot by their blocks; those of one keep their order."""
    # Entry k + 2 counts the forks of block k. Then entry k + 1 is the place of its next
    # fork; once all have their places, that is where block k ends.
    ends = log.part_ends
    for part in range(num_parts + 2):
        ends[part] = 0
    for k in range(num_forks):
        ends[log.fork[k]["part"] + 2] += 1
    for part in range(2, num_parts + 2):
        ends[part] += ends[part - 1]
    for k in range(num_forks):
        part = log.fork[k]["part"] + 1
        log.order[ends[part]] = k
        ends[part] += 1


@inlined
def status_of_rows(forks: Forks, begin: Any, end: Any) -> Any:
    """DONE, or what kept the walks of a row from being finished."""
    status: Any = np.int64(DONE)
    for row in range(begin, end):
        status = max(status, forks.counts[row * NUM_COUNTS + STATUS])
    return status


@inlined
def touched_in_rows(forks: Forks, begin: Any, end: Any) -> Any:
    """The nodes that the walks of some rows touched."""
    touched: Any = np.int64(0)
    for row in range(begin, end):
        touched += forks.counts[row * NUM_COUNTS + TOUCHED]
    return touched


@inlined
def add_top(
    tree: TreeArrays,
    tables: Tables,
    cut: Cut,
    forks: Forks,
    desk: np.ndarray,
    used: Any,
) -> None:
    """Meets the infosets of the top, whose debts it pays, and adds up the leaves that
    belong to the top, in the order of the walks. Roots of blocks go into the top's
    list."""
    infosets = tree.infosets
    room = len(forks.leaf) // NUM_SLOTS
    for slot in range(used):
        counts, begin = counts_of(forks, slot), slot * room
        desk[TOUCHED_NOW] += counts[TOUCHED]
        for k in range(begin, begin + counts[NUM_EVENTS]):
            infoset, start = forks.event[k]["infoset"], forks.event[k]["start"]
            at_home = cut.home[start]
            if at_home >= 0 and tables.is_met[infoset] != LISTED:
                tables.is_met[infoset] = LISTED
                cut.top[desk[NUM_TOP]] = ~infoset
                desk[NUM_TOP] += 1
            elif tables.is_met[infoset] == 0:
                tables.is_met[infoset] = 1
                cut.top[desk[NUM_TOP]] = infoset
                desk[NUM_TOP] += 1
                stop = start + infosets[infoset]["num_actions"]
                parent = infosets[infoset]["parent"]
                pay_debt(tables, infoset, parent, start, stop)
        for k in range(begin, begin + counts[NUM_LEAVES]):
            entry = forks.leaf[k]
            tables.gradient[entry["sequence"]] += entry["payoff"]


@inlined
def _ask_for(infosets: np.ndarray, tables: Tables, infoset: Any) -> None:
    """Asks for what paying a debt and moving a policy will read."""
    start = infosets[infoset]["first_sequence"]
    prefetch(tables.paid, infoset)
    prefetch(tables.average, start)
    prefetch(tables.policy, start)
    prefetch(tables.gradient, start)
    prefetch(tables.memory, start)


@inlined
def pay_block(
    infosets: np.ndarray, tables: Tables, cut: Cut, block: Any, is_far: bool
) -> None:
    """Pays the debts of the infosets of a block that were met and have not paid."""
    begin = cut.ends[block]
    end = begin + cut.num_met[block]
    for visit in range(begin + cut.num_paid[block], end):
        if is_far:
            if visit + 2 * _AHEAD < end:
                prefetch(infosets, cut.met[visit + 2 * _AHEAD])
            if visit + _AHEAD < end:
                _ask_for(infosets, tables, cut.met[visit + _AHEAD])
        infoset = cut.met[visit]
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        parent = infosets[infoset]["parent"]
        pay_debt(tables, infoset, parent, start, stop)
    cut.num_paid[block] = cut.num_met[block]


@inlined
def keep_block(
    infosets: np.ndarray, tables: Tables, cut: Cut, forks: Forks, block: Any
) -> None:
    """Keeps the gradient at the infosets of a block that were met."""
    for visit in range(cut.ends[block], cut.ends[block] + cut.num_met[block]):
        start = infosets[cut.met[visit]]["first_sequence"]
        stop = start + infosets[cut.met[visit]]["num_actions"]
        for s in range(start, stop):
            forks.kept[s] = tables.gradient[s]


@inlined
def roll_back(
    infosets: np.ndarray, tables: Tables, cut: Cut, forks: Forks, block: Any
) -> None:
    """Takes back what walks did in a block since debts were last paid there."""
    begin = cut.ends[block]
    end = begin + cut.num_paid[block]
    for visit in range(begin, begin + cut.num_met[block]):
        infoset = cut.met[visit]
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        for s in range(start, stop):
            tables.gradient[s] = forks.kept[s] if visit < end else 0.0
        if visit >= end:
            tables.is_met[infoset] = 0
    cut.num_met[block] = cut.num_paid[block]
