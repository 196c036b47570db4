"""Logs of walks that several threads make.

`shared_batches.py` explains them.
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
    DONE,
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

NUM_LEAVES, NUM_EVENTS, TOUCHED, STATUS, NUM_COUNTS = range(5)
"""The counts of a slot: the leaves and the events in its log, the nodes touched, and
DONE or what kept its walks from being finished."""

_AHEAD = 8
"""So many entries of a log are asked for before they are needed."""


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
    owner: Annotated[
        np.ndarray,
        Entry(INT, "[S]", "the sequence's infoset, -1 for the empty sequence"),
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
        Entry(INT, "[NUM_SLOTS C]", "the infosets of the top visited, and roots `~i`"),
    ]
    leaf: Annotated[
        np.ndarray,
        Entry(INT, "[NUM_SLOTS C]", "the player's last sequence before a leaf"),
    ]
    payoff: Annotated[
        np.ndarray, Entry(FLOAT, "[NUM_SLOTS C]", "what it pays, times its weight")
    ]
    sorted_leaf: Annotated[
        np.ndarray, Entry(INT, "[NUM_SLOTS C]", "the same, the top first, then blocks")
    ]
    sorted_payoff: Annotated[np.ndarray, Entry(FLOAT, "[NUM_SLOTS C]", "the same")]
    part_ends: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[NUM_SLOTS (K + 3)]",
            "part k of a slot's log, part 0 the top's and part 1 that of the player's "
            "first block, is from entry k to entry k + 1",
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
    leaf: np.ndarray
    payoff: np.ndarray
    sorted_leaf: np.ndarray
    sorted_payoff: np.ndarray
    part_ends: np.ndarray
    counts: np.ndarray


_LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Cut, Slots)

frame_of_batch = _LAYOUT.frame_of
views = _LAYOUT.viewer()

(
    STAGE,
    ITERATION_NOW,
    PLAYER_NOW,
    TOUCHED_NOW,
    FIRST_TICKET,
    NTH_NOW,
    SEGMENT_END,
    MOVES,
    NUM_TOP,
    IS_BEGUN,
    STATUS_NOW,
    _END,
) = range(NOTES, NOTES + 12)
"""The leader's notes: the stage, the iteration, the player being updated, the nodes
touched, the block or the slot of the first ticket less that ticket's number, the walk
of the batch with which the segment begins and the one behind its last, whether policies
move after the segment, the length of `Cut.top`, whether the walks of this player have
begun, and what to return."""

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
        slots.leaf[begin:end],
        slots.payoff[begin:end],
        slots.sorted_leaf[begin:end],
        slots.sorted_payoff[begin:end],
        slots.part_ends[slot * width : (slot + 1) * width],
        slots.counts[slot * NUM_COUNTS : (slot + 1) * NUM_COUNTS],
    )


@inlined
def sort_log(
    home: np.ndarray, log: Log, num_leaves: int, first: int, num_blocks: int
) -> None:
    """Sorts the leaves of a log by their blocks; those of one block keep their order.

    Args:
        home: see `Cut`.
        log: is changed.
        num_leaves: how many leaves it has.
        first: the player's first block.
        num_blocks: the player's.
    """
    # Entry k + 1 counts the leaves of part k - 1, then becomes the place of part k's
    # next leaf. Once all leaves have their places, that is where part k ends.
    ends = log.part_ends
    for part in range(num_blocks + 3):
        ends[part] = 0
    for k in range(num_leaves):
        at = home[log.leaf[k]]
        ends[2 if at < 0 else (at >> 1) - first + 3] += 1
    for part in range(2, num_blocks + 3):
        ends[part] += ends[part - 1]
    for k in range(num_leaves):
        at = home[log.leaf[k]]
        part = 1 if at < 0 else (at >> 1) - first + 2
        place = ends[part]
        ends[part] = place + 1
        log.sorted_leaf[place] = log.leaf[k]
        log.sorted_payoff[place] = log.payoff[k]


@inlined
def worst_status(slots: Slots, used: int) -> Any:
    """DONE, or what kept the walks of a slot from being finished."""
    status: Any = np.int64(DONE)
    for slot in range(used):
        status = max(status, slots.counts[slot * NUM_COUNTS + STATUS])
    return status


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
            event = slots.event[k]
            infoset = event if event >= 0 else ~event
            if tables.is_met[infoset] == 0:
                tables.is_met[infoset] = 1
                start = infosets[infoset]["first_sequence"]
                stop = start + infosets[infoset]["num_actions"]
                parent = infosets[infoset]["parent"]
                pay_debt(tables, infoset, parent, start, stop)
                note_met(cut, desk, infoset, cut.home[start])
        for k in range(begin, begin + slots.part_ends[slot * width + 1]):
            tables.gradient[slots.sorted_leaf[k]] += slots.sorted_payoff[k]


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
def add_part(
    tree: TreeArrays,
    tables: Tables,
    cut: Cut,
    slots: Slots,
    slot: int,
    part: int,
    block: int,
) -> None:
    """Adds the leaves of one slot in one block, and meets the infosets before them."""
    infosets = tree.infosets
    room, width = len(slots.leaf) // NUM_SLOTS, len(slots.part_ends) // NUM_SLOTS
    ends, shift = slot * width + part, slot * room
    stop_part = shift + slots.part_ends[ends + 1]
    for k in range(shift + slots.part_ends[ends], stop_part):
        if k + _AHEAD < stop_part:
            ahead = np.int64(slots.sorted_leaf[k + _AHEAD])
            prefetch(cut.owner, ahead)
            prefetch(tables.gradient, ahead)
        sequence = slots.sorted_leaf[k]
        infoset = cut.owner[sequence]
        if tables.is_met[infoset] == 0:
            # Upward to one that was met, as the block's root was in any case; then
            # downward again, because an infoset takes its debt from the one above.
            begin = cut.ends[block] + cut.num_met[block]
            end = begin
            while tables.is_met[infoset] == 0:
                tables.is_met[infoset] = 1
                cut.met[end] = infoset
                end += 1
                infoset = cut.owner[infosets[infoset]["parent"]]
            cut.num_met[block] += end - begin
            for visit in range((end - begin) // 2):
                lower = cut.met[begin + visit]
                cut.met[begin + visit] = cut.met[end - 1 - visit]
                cut.met[end - 1 - visit] = lower
            for visit in range(begin, end):
                infoset = cut.met[visit]
                start = infosets[infoset]["first_sequence"]
                stop = start + infosets[infoset]["num_actions"]
                parent = infosets[infoset]["parent"]
                pay_debt(tables, infoset, parent, start, stop)
        tables.gradient[sequence] += slots.sorted_payoff[k]


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
        cut.num_met[block] = 0
    for visit in range(cursor[NUM_MET]):
        infoset = walk.met[visit]
        start = tree.infosets[infoset]["first_sequence"]
        note_met(cut, desk, infoset, cut.home[start])


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
