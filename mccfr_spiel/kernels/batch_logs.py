"""Logs of walks that several threads make.

`logged_walks.py` explains them.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.compiled.atomics import NOTES
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.compiled.prefetch import prefetch
from mccfr_spiel.compiled.randomness import ROOT_PLACE
from mccfr_spiel.kernels.averaging import pay_debt
from mccfr_spiel.kernels.stack import push
from mccfr_spiel.kernels.tables import (
    FLOAT,
    INT,
    ITERATION,
    LONG,
    NODES_TOUCHED,
    NODES_TOUCHED_BEFORE,
    NUM_MET,
    NUM_MET_BEFORE,
    NUM_UNDO,
    PLAYER,
    TOP,
    UNSIGNED,
    WALK,
    Tables,
    Task,
    TreeArrays,
    Walk,
)

NUM_SLOTS = 32
"""The tickets of a segment. Each has a slot: a stack and a log of its own."""

(
    NUM_EVENTS,
    NUM_VISITS,
    NUM_LEAVES,
    NUM_RUNS,
    TOUCHED,
    STATUS,
) = range(6)
"""The counts of a slot: how long the four lists of its log are, the nodes touched, and
DONE or what kept its walks from being finished."""

NUM_COUNTS = 16
"""The entries for them: counts that different threads change lie in different lines of
the processor's cache."""

VISIT = np.dtype([("infoset", np.int32), ("start", np.int32)])
"""A visit at an infoset, and the infoset's first sequence."""

LEAF = np.dtype(
    [("payoff", np.float64), ("sequence", np.int32), ("visits_end", np.int32)]
)
"""A leaf: its payoff times its weight, the player's last sequence before it, and the
number of visits so far. Those since the leaf before are on the way to this one."""

RUN = np.dtype([("leaf", np.int32), ("part", np.int32)])
"""The first of some leaves, one after the other, that belong to one part: part 0 is the
top, part 1 the player's first block, and so on. The last run is followed by its end."""

_AHEAD = 6
"""So many visits are asked for before they are needed."""


class Cut(NamedTuple):
    """How the infosets of a complete tree are cut for threads that share a batch.

    `K` is the number of blocks, of all players.
    """

    home: Annotated[
        np.ndarray,
        Entry(
            INT,
            "[S]",
            "twice the block of the sequence's infoset, plus 1 if the infoset is the "
            "root of its subtree; -1 in the top",
        ),
    ]
    player_ends: Annotated[
        np.ndarray,
        Entry(
            LONG, "[P + 1]", "player p's blocks are those from its entry to the next"
        ),
    ]
    ends: Annotated[
        np.ndarray,
        Entry(LONG, "[K + 1]", "block b's part of `met` is `ends[b] .. ends[b + 1]`"),
    ]
    met: Annotated[
        np.ndarray,
        Entry(INT, "[I']", "the infosets met, block by block, ancestors first"),
    ]
    num_met: Annotated[np.ndarray, Entry(LONG, "[K]", "how many each block has")]
    num_paid: Annotated[
        np.ndarray, Entry(LONG, "[K]", "how many of them have paid their debts")
    ]
    top: Annotated[
        np.ndarray,
        Entry(
            INT,
            "[I'']",
            "the infosets met in the top, and the roots met of blocks `~i`",
        ),
    ]


class Slots(NamedTuple):
    """What tickets write: for each of the NUM_SLOTS slots, `H` and `C` entries."""

    node: Annotated[np.ndarray, Entry(INT, "[NUM_SLOTS H]", "stacks, see `Walk`")]
    sequence: Annotated[np.ndarray, Entry(INT, "[NUM_SLOTS H]", "see `Walk`")]
    weight: Annotated[np.ndarray, Entry(FLOAT, "[NUM_SLOTS H]", "see `Walk`")]
    place: Annotated[np.ndarray, Entry(UNSIGNED, "[NUM_SLOTS H]", "see `Walk`")]
    event: Annotated[
        np.ndarray,
        Entry(VISIT, "[NUM_SLOTS C]", "visits in the top and at roots of blocks"),
    ]
    visit: Annotated[np.ndarray, Entry(VISIT, "[NUM_SLOTS C]", "all other visits")]
    leaf: Annotated[np.ndarray, Entry(LEAF, "[NUM_SLOTS C]", "see LEAF")]
    run: Annotated[np.ndarray, Entry(RUN, "[NUM_SLOTS C]", "see RUN")]
    order: Annotated[
        np.ndarray,
        Entry(INT, "[NUM_SLOTS C]", "the runs, part by part, each in their order"),
    ]
    part_ends: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[NUM_SLOTS (K + 3)]",
            "the runs of part k are from its entry of `order` to the next one's",
        ),
    ]
    counts: Annotated[np.ndarray, Entry(LONG, "[NUM_SLOTS NUM_COUNTS]", "see STATUS")]


class Stack(NamedTuple):
    """One slot's stack."""

    node: np.ndarray
    sequence: np.ndarray
    weight: np.ndarray
    place: np.ndarray


class Log(NamedTuple):
    """One slot's log, see `Slots`."""

    event: np.ndarray
    visit: np.ndarray
    leaf: np.ndarray
    run: np.ndarray
    order: np.ndarray
    part_ends: np.ndarray
    counts: np.ndarray


_LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Cut, Slots)

frame_of_batch = _LAYOUT.frame_of
views = _LAYOUT.viewer()

(
    STAGE,
    FIRST_TICKET,
    WALKS_OF_TICKET,
    BLOCKS_OF_TICKET,
    ITERATION_NOW,
    PLAYER_NOW,
    TOUCHED_NOW,
    IS_BEGUN,
    NTH_NOW,
    SEGMENT_END,
    FIRST_BLOCK,
    END_BLOCK,
    MOVES,
    NUM_TOP,
    STATUS_NOW,
    _END,
) = range(NOTES, NOTES + 16)
"""The leader's notes: the stage, and the number of the stage's first ticket, negative;
how many walks and how many blocks a ticket has; the iteration, the player being
updated, the nodes touched, whether this player's walks have begun; the walk of the
batch with which the segment begins, and the one behind its last; the first block to be
added up, the one behind the last, and whether policies move in them; the length of
`Cut.top`; and what to return."""

NUM_BATCH_NOTES = _END - NOTES

BEFORE, WALKING, ADDING = range(3)
"""The stages: walks are made, then their logs are added up in the blocks, where
policies move, too, if the batch is complete."""


# --- the logs ------------------------------------------------------------------------


@inlined
def stack_of(slots: Slots, slot: Any) -> Stack:
    """The stack of a slot."""
    height = len(slots.node) // NUM_SLOTS
    begin, end = slot * height, (slot + 1) * height
    return Stack(
        slots.node[begin:end],
        slots.sequence[begin:end],
        slots.weight[begin:end],
        slots.place[begin:end],
    )


@inlined
def log_of(slots: Slots, slot: Any) -> Log:
    """The log of a slot."""
    room, width = len(slots.leaf) // NUM_SLOTS, len(slots.part_ends) // NUM_SLOTS
    begin, end = slot * room, (slot + 1) * room
    return Log(
        slots.event[begin:end],
        slots.visit[begin:end],
        slots.leaf[begin:end],
        slots.run[begin:end],
        slots.order[begin:end],
        slots.part_ends[slot * width : (slot + 1) * width],
        slots.counts[slot * NUM_COUNTS : (slot + 1) * NUM_COUNTS],
    )


@inlined
def sort_runs(log: Log, num_parts: int) -> None:
    """Sorts the runs of a log by their parts; those of one part keep their order."""
    # Entry k + 2 counts the runs of part k. Then entry k + 1 is the place of part k's
    # next run; once all runs have their places, that is where part k ends.
    ends, num_runs = log.part_ends, log.counts[NUM_RUNS]
    for part in range(num_parts + 2):
        ends[part] = 0
    for run in range(num_runs):
        ends[log.run[run]["part"] + 2] += 1
    for part in range(2, num_parts + 2):
        ends[part] += ends[part - 1]
    for run in range(num_runs):
        part = log.run[run]["part"] + 1
        log.order[ends[part]] = run
        ends[part] += 1


@inlined
def meet_top(
    tree: TreeArrays,
    tables: Tables,
    cut: Cut,
    slots: Slots,
    desk: np.ndarray,
    used: int,
) -> None:
    """Meets the infosets of the top and the roots of blocks, and adds up the leaves of
    the top, in the order of the walks."""
    infosets = tree.infosets
    room, width = len(slots.leaf) // NUM_SLOTS, len(slots.part_ends) // NUM_SLOTS
    for slot in range(used):
        counts = slot * NUM_COUNTS
        desk[TOUCHED_NOW] += slots.counts[counts + TOUCHED]
        begin = slot * room
        for k in range(begin, begin + slots.counts[counts + NUM_EVENTS]):
            infoset, start = slots.event[k]["infoset"], slots.event[k]["start"]
            if tables.is_met[infoset] == 0:
                tables.is_met[infoset] = 1
                at_home = cut.home[start]
                note_met(cut, desk, infoset, at_home)
                if at_home < 0:  # the roots' debts are paid in their blocks
                    stop = start + infosets[infoset]["num_actions"]
                    parent = infosets[infoset]["parent"]
                    pay_debt(tables, infoset, parent, start, stop)
        for k in range(begin, begin + slots.part_ends[slot * width + 1]):
            run = begin + slots.order[k]
            for leaf in range(slots.run[run]["leaf"], slots.run[run + 1]["leaf"]):
                entry = slots.leaf[begin + leaf]
                tables.gradient[entry["sequence"]] += entry["payoff"]


@inlined
def note_met(cut: Cut, desk: np.ndarray, infoset: int, home: int) -> None:
    """Writes an infoset met to the lists that it belongs to."""
    if home < 0 or home & 1:
        cut.top[desk[NUM_TOP]] = infoset if home < 0 else ~infoset
        desk[NUM_TOP] += 1
    if home >= 0:
        block = home >> 1
        cut.met[cut.ends[block] + cut.num_met[block]] = infoset
        cut.num_met[block] += 1


@inlined
def pay_roots(infosets: np.ndarray, tables: Tables, cut: Cut, block: int) -> None:
    """Pays the debts of the roots of a block that `meet_top` has met."""
    begin = cut.ends[block]
    for visit in range(begin + cut.num_paid[block], begin + cut.num_met[block]):
        infoset = cut.met[visit]
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        parent = infosets[infoset]["parent"]
        pay_debt(tables, infoset, parent, start, stop)


@inlined
def ask_for(infosets: np.ndarray, tables: Tables, log: Log, visit: int) -> None:
    """Asks for what a visit will read."""
    infoset, start = log.visit[visit]["infoset"], log.visit[visit]["start"]
    prefetch(tables.is_met, infoset)
    prefetch(tables.paid, infoset)
    prefetch(infosets, infoset)
    prefetch(tables.average, start)
    prefetch(tables.policy, start)
    prefetch(tables.gradient, start)
    prefetch(tables.memory, start)


@inlined
def add_part(
    tree: TreeArrays,
    tables: Tables,
    cut: Cut,
    log: Log,
    part: int,
    num_met: Any,
    is_far: bool,
) -> Any:
    """Meets the infosets of a block that one slot's walks visited, and adds the leaves.

    Args:
        tree, cut: the tree.
        tables: of which the block's infosets and sequences change.
        log: of the slot.
        part: the block's number among those of the player, from 1 on.
        num_met: the end of the block's part of `Cut.met` so far.
        is_far: whether the tables are likely not to be in the processor's caches.

    Returns:
        The end of the block's part of `Cut.met`.
    """
    infosets = tree.infosets
    # One pass takes a run, and does for each of its leaves what a walk would do that
    # comes to it: meet the infosets on the way, then add the payoff.
    for k in range(log.part_ends[part], log.part_ends[part + 1]):
        run = log.order[k]
        first, end = log.run[run]["leaf"], log.run[run + 1]["leaf"]
        visit: Any = np.int64(0)
        if first > 0:
            visit = np.int64(log.leaf[first - 1]["visits_end"])
        last_visit = np.int64(log.leaf[end - 1]["visits_end"])
        if is_far:
            for ahead in range(visit, min(visit + _AHEAD, last_visit)):
                ask_for(infosets, tables, log, ahead)
        for leaf in range(first, end):
            while visit < log.leaf[leaf]["visits_end"]:
                if is_far and visit + _AHEAD < last_visit:
                    ask_for(infosets, tables, log, visit + _AHEAD)
                infoset, start = log.visit[visit]["infoset"], log.visit[visit]["start"]
                if tables.is_met[infoset] == 0:
                    tables.is_met[infoset] = 1
                    cut.met[num_met] = infoset
                    num_met += 1
                    stop = start + infosets[infoset]["num_actions"]
                    parent = infosets[infoset]["parent"]
                    pay_debt(tables, infoset, parent, start, stop)
                visit += 1
            tables.gradient[log.leaf[leaf]["sequence"]] += log.leaf[leaf]["payoff"]
    return num_met


# --- from one thread to several, and back --------------------------------------------


@inlined
def take_over(tree: TreeArrays, walk: Walk, cut: Cut, desk: np.ndarray) -> None:
    """Reads the cursor, which stands between two walks, and the infosets met so far."""
    cursor = walk.cursor
    desk[STAGE] = BEFORE
    desk[ITERATION_NOW], desk[PLAYER_NOW] = cursor[ITERATION], cursor[PLAYER]
    desk[TOUCHED_NOW], desk[NTH_NOW] = cursor[NODES_TOUCHED], cursor[WALK]
    desk[IS_BEGUN] = cursor[TOP]
    for block in range(len(cut.num_met)):
        cut.num_met[block] = cut.num_paid[block] = 0
    for visit in range(cursor[NUM_MET]):
        infoset = walk.met[visit]
        start = tree.infosets[infoset]["first_sequence"]
        note_met(cut, desk, infoset, cut.home[start])
    for block in range(len(cut.num_met)):
        cut.num_paid[block] = cut.num_met[block]


@inlined
def hand_over(tree: TreeArrays, walk: Walk, cut: Cut, desk: np.ndarray) -> None:
    """Writes the cursor, and a list of the infosets met, with which the loop of
    `walks.py` goes on to the same bits.

    In that list ancestors are first, and infosets with the same parent are in the order
    in which they were met: those are all in the top's list, or all in one block's.
    """
    cursor = walk.cursor
    cursor[ITERATION], cursor[PLAYER] = desk[ITERATION_NOW], desk[PLAYER_NOW]
    cursor[NODES_TOUCHED], cursor[WALK] = desk[TOUCHED_NOW], desk[NTH_NOW]
    num_met: Any = np.int64(0)
    for visit in range(desk[NUM_TOP]):
        infoset = cut.top[visit]
        walk.met[num_met] = infoset if infoset >= 0 else ~infoset
        num_met += 1
    for block in range(len(cut.num_met)):
        begin = cut.ends[block]
        for visit in range(begin, begin + cut.num_met[block]):
            infoset = cut.met[visit]
            if cut.home[tree.infosets[infoset]["first_sequence"]] & 1 == 0:
                walk.met[num_met] = infoset  # roots are in the top's list
                num_met += 1
    cursor[NUM_MET] = cursor[NUM_MET_BEFORE] = num_met
    cursor[NODES_TOUCHED_BEFORE] = desk[TOUCHED_NOW]
    cursor[TOP] = cursor[NUM_UNDO] = 0
    if desk[IS_BEGUN] != 0:
        cursor[TOP] = push(walk, 0, 0, desk[PLAYER_NOW], 1.0, ROOT_PLACE)
