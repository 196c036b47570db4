"""Batches of walks on a complete tree, shared by threads or processes.

Results do not depend on the number of threads, to the bit. The infosets of each updated
player are divided into blocks of whole subtrees, and the *top* above all blocks. Each
of three stages consists of pieces of work, which threads claim by tickets (tickets.py):

| stage | piece of work | what a thread does |
|---|---|---|
| IN_TOP | slice: a range of walks | walk the top; log leaves, infosets and forks |
| IN_BLOCKS | block | continue from all forks into the block, in order of the walks |
| APPLYING | block | pay debts to the average and update policies |

A fork is the state of a walk at the root of a block. Blocks have no sequences in
common, so threads write to the same gradient without conflicts.

One thread, the leader, handles the top: before IN_BLOCKS it adds the logs in order of
the walks, before APPLYING it pays the top's debts, and after APPLYING it updates the
top's policies. All sums therefore have the same order of terms as in one thread.

A large batch is divided into *stretches*: consecutive walks that pass the first two
stages together. APPLYING follows after the last stretch, so results do not change.

Processes of a cluster share a batch in the same way. Each process walks the top,
follows the forks of its share of the blocks, and receives the results of other blocks.
"""

# pyright: reportPossiblyUnboundVariable=false

from typing import Annotated, Any, NamedTuple

import numpy as np
from numba.core import types

from mccfr_spiel.kernels import apply, batches, lazy_average
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.atomics import load
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit
from mccfr_spiel.kernels.logs import FORK, LEAF, Log
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.prefetching import prefetch
from mccfr_spiel.kernels.progress import LARGE, Progress, Trip, no_progress, with_height
from mccfr_spiel.kernels.randomness import stream_key
from mccfr_spiel.kernels.sobol import root_place
from mccfr_spiel.kernels.stack import push
from mccfr_spiel.kernels.stored import STORED
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tickets import FAILED, NOTES, share, take_pieces
from mccfr_spiel.kernels.walk import make_walk

NUM_SLICES = 32
"""Number of slices into which the walks of a stretch are divided."""

EVENTS, FORKS, LEAVES, NODES, STATUS = range(5)
"""Indices of `Slots.counts`:

- EVENTS: number of infosets in the log;
- FORKS: number of forks in the log;
- LEAVES: number of leaves in the log;
- NODES: number of nodes touched;
- STATUS: DONE, or the status of the walk that stopped.
"""

NUM_COUNTS = 16
"""Row length of `Slots.counts`, larger than necessary so that rows that different
threads write are in different cache lines."""


class Cut(NamedTuple):
    """Partition of a complete tree's infosets into K blocks and the top.

    Attributes:
        home: for each sequence, twice the number of its infoset's block, plus 1 if the
            infoset is the root of a subtree; -1 in the top.
        player_ends: player p has the blocks `player_ends[p] .. player_ends[p + 1] - 1`.
        ends: block b has the part `met[ends[b] : ends[b + 1]]`.
        met: for each block, the list of infosets that walks visited, ancestors first.
        num_met: length of the list of each block.
        top: infosets that walks visited in the top, and visited roots of subtrees.
    """

    home: Annotated[np.ndarray, Entry(layout.INT, "[S]")]
    player_ends: Annotated[np.ndarray, Entry(layout.LONG, "[P + 1]")]
    ends: Annotated[np.ndarray, Entry(layout.LONG, "[K + 1]")]
    met: Annotated[np.ndarray, Entry(layout.INT, "[I']")]
    num_met: Annotated[np.ndarray, Entry(layout.LONG, "[K]")]
    top: Annotated[np.ndarray, Entry(layout.INT, "[I'']")]


class Slots(NamedTuple):
    """Stacks and logs, one row for each slice of walks, then one row for each block.

    Shapes: K blocks, R = NUM_SLICES + K rows, H capacity of a stack, C of a log.

    Attributes:
        node, sequence, weight, place: stacks, as in `Walk`.
        counts: counters, see EVENTS.
        event, leaf, fork: logged infosets, leaves and forks, see `Log`.
        order: indices of the forks of a slice, grouped by block.
        order_ends: end of the part of each block in `order`; the first starts at 0.
    """

    node: Annotated[np.ndarray, Entry(layout.INT, "[R, H]")]
    sequence: Annotated[np.ndarray, Entry(layout.INT, "[R, H]")]
    weight: Annotated[np.ndarray, Entry(layout.FLOAT, "[R, H]")]
    place: Annotated[np.ndarray, Entry(layout.UNSIGNED, "[R, H]")]
    counts: Annotated[np.ndarray, Entry(layout.LONG, "[R, NUM_COUNTS]")]
    event: Annotated[np.ndarray, Entry(layout.INT, "[NUM_SLICES, C]")]
    leaf: Annotated[np.ndarray, Entry(LEAF, "[NUM_SLICES, C]")]
    fork: Annotated[np.ndarray, Entry(FORK, "[NUM_SLICES, C]")]
    order: Annotated[np.ndarray, Entry(layout.INT, "[NUM_SLICES, C]")]
    order_ends: Annotated[np.ndarray, Entry(layout.LONG, "[NUM_SLICES, K + 1]")]


SHARED_LAYOUT = Layout(
    layout.Task, layout.TreeArrays, layout.Tables, layout.Walk, Cut, Slots
)
shared_views = SHARED_LAYOUT.viewer()


@inlined
def stack_of(walk: layout.Walk, slots: Slots, row: int, met: np.ndarray) -> layout.Walk:
    """Returns the walk, but with the stack in a row of `slots` and the list `met`."""
    return layout.Walk(
        node=slots.node[row],
        sequence=slots.sequence[row],
        weight=slots.weight[row],
        place=slots.place[row],
        debt=walk.debt,
        note=walk.note,
        visit=walk.visit,
        gain=walk.gain,
        met=met,
        settled=walk.settled,
        known=walk.known,
        marks=walk.marks,
        cursor=walk.cursor,
        clock=walk.clock,
    )


@inlined
def log_of(cut: Cut, slots: Slots, row: int) -> Log:
    """Returns the log of the slice number `row`."""
    return Log(
        home=cut.home,
        event=slots.event[row],
        leaf=slots.leaf[row],
        fork=slots.fork[row],
    )


# --- stages ---------------------------------------------------------------------------

ALL_STAGES, GATHER, APPLY = range(3)
"""Purposes of a call:

- ALL_STAGES: run whole iterations;
- GATHER: run only the first two stages for the next update;
- APPLY: run only the third stage, including the update of the top.
"""

WALKS_OF_SLICE, PURPOSE, SHARE, NUM_SHARES, PLAN_SIZE = range(5)
"""Indices of the array `plan`, which describes the work of a call:

- WALKS_OF_SLICE: number of walks in each slice;
- PURPOSE: ALL_STAGES, GATHER or APPLY;
- SHARE: which share of each player's blocks this process continues walks into. If SHARE
  equals the number of shares, the process walks the top only;
- NUM_SHARES: number of shares, usually the number of processes;
- PLAN_SIZE: length of the array.
"""

STAGE, NUM_SLICES_NOW = range(NOTES, NOTES + 2)
NUM_SHARING_NOTES = 2
"""Indices on the desk (shared array of integers, tickets.py) where the leader writes
the stage and the number of slices of the stretch; the number of these two notes."""

IN_TOP, IN_BLOCKS, APPLYING = range(3)
"""The stages, see the top of this file."""

REACHED = 2
"""Bit 1 of `Tables.is_met`, set for infosets that are in `Cut.top`."""

_FAR, _NEAR = 6, 3
"""Prefetch distances. The node of a fork is prefetched _FAR forks in advance. Rows of
tables are prefetched _NEAR forks in advance, when the node is already in the cache."""


@inlined
def sort_forks(slots: Slots, row: int, num_blocks: int) -> None:
    """Sorts the forks of a slice by block, with a stable counting sort."""
    fork, order = slots.fork[row], slots.order[row]
    ends, count = slots.order_ends[row], slots.counts[row, FORKS]
    ends[:] = 0
    for k in range(count):
        ends[fork[k]["block"] + 1] += 1
    for block in range(num_blocks):
        ends[block + 1] += ends[block]
    # `ends[b]` is now the start of block b in `order`. Each fork of block b increments
    # it, so that finally it is the end of block b.
    for k in range(count):
        block = fork[k]["block"]
        order[ends[block]] = k
        ends[block] += 1


@inlined
def trip_in_batch(
    seed: int, serial: int, player: int, num_players: int, is_large: bool
) -> Trip:
    """Returns the constants of a walk that never pauses and does not repeat another."""
    stream = stream_key(seed, serial, player, num_players)
    zero, never = np.int64(0), np.int64(2**62)
    return Trip(player, serial, stream, -np.inf, zero, never, is_large)


def make_part_of_batch(sampled: Sampled, walk_on: Any) -> Any:
    """Builds `walk_part`, which runs walks `first .. stop - 1` of a batch.

    The argument `walk` of `walk_part` is the `Walk` of the solver, which identifies the
    batch; `stack` is a `Walk` with a stack that only this thread uses. `walk_part`
    returns a status, and the counters of all its walks.
    """
    root = root_place(sampled.correlates)

    @inlined
    def walk_part(task, nodes, tables, walk, stack, log, first, stop, is_large):
        seed, batch = task.job[layout.SEED], np.int64(task.job[layout.BATCH])
        before, _ = apply.walks_at(batch, batches.present_iteration(walk))
        player, num_players = walk.marks[layout.WALKER], nodes.utilities.shape[1]
        progress, status, nth = no_progress(), np.int64(layout.DONE), first
        while nth < stop and status == layout.DONE:
            serial = before + nth + 1
            height = push(stack, 0, 0, player, 1.0, root)
            trip = trip_in_batch(seed, serial, player, num_players, is_large)
            progress = with_height(progress, height)
            status, progress = walk_on(task, nodes, tables, stack, log, trip, progress)
            nth += 1
        return status, progress

    return walk_part


def make_stages(sampled: Sampled, rule: Rule) -> Any:
    """Compiles `do_piece(work, desk, piece)`, which does one piece of work of a stage.

    `work` is a pair: a frame with the layout SHARED_LAYOUT, and a plan, see PLAN_SIZE.
    The leader writes the stage into `desk[STAGE]`. `piece` is the number of a slice, or
    of a block.
    """
    walk_top = make_walk(sampled, rule, STORED, layout.TOP_PART)
    walk_part = make_part_of_batch(sampled, walk_top)
    walk_block = make_walk(sampled, rule, STORED, layout.BLOCK_PART)
    apply_block = apply.make_apply(rule, part=layout.BLOCK_PART)

    @inlined
    def walk_slice(task, tree, tables, walk, cut, slots, row, first, stop):
        """Runs the walks `first .. stop - 1` of the batch as far as the top reaches.

        Results are written into the row `row` of `slots`, the number of the slice.
        """
        counts, log = slots.counts[row], log_of(cut, slots, row)
        stack, is_large = stack_of(walk, slots, row, walk.met), len(tree.nodes) > LARGE
        status, progress = walk_part(
            task, tree, tables, walk, stack, log, first, stop, is_large
        )
        counts[EVENTS], counts[FORKS] = progress.num_met, progress.num_forks
        counts[LEAVES], counts[NODES] = progress.num_leaves, progress.num_touched
        counts[STATUS] = status
        sort_forks(slots, row, len(cut.num_met))

    @inlined
    def follow(task, tree, tables, walk, cut, slots, block, num_slices):
        """Continues all walks that enter a block, in order of the walks.

        They start from the forks that the slices have logged, and write the gradient.
        """
        row, player = NUM_SLICES + block, walk.marks[layout.WALKER]
        counts, is_large = slots.counts[row], len(tree.nodes) > LARGE
        met = cut.met[cut.ends[block] : cut.ends[block + 1]]
        stack = stack_of(walk, slots, row, met)
        num_met, zero = np.int64(cut.num_met[block]), np.int64(0)
        progress = Progress(zero, num_met, zero, zero, zero, zero)
        status = np.int64(layout.DONE)
        seed, num_players = task.job[layout.SEED], tree.utilities.shape[1]
        # Slices are in order of the walks, and the forks of a slice are sorted stably.
        # Sums of the block therefore have the same order of terms as in a single
        # thread. The inner loop continues a walk from each fork, and prefetches data of
        # later forks because their nodes are scattered in memory.
        for part in range(num_slices):
            fork, order = slots.fork[part], slots.order[part]
            ends = slots.order_ends[part]
            first, end = (ends[block - 1] if block > 0 else 0), ends[block]
            for k in range(first, end):
                if k + _FAR < end:
                    prefetch(tree.nodes, fork[order[k + _FAR]]["node"])
                if k + _NEAR < end:
                    ahead = fork[order[k + _NEAR]]["node"]
                    prefetch(tables.policy, tree.nodes[ahead]["start"])
                    prefetch(tables.is_met, tree.nodes[ahead]["infoset"])
                    prefetch(tree.infosets, tree.nodes[ahead]["infoset"])
                if status != layout.DONE:
                    break
                at = order[k]
                node, weight = fork[at]["node"], fork[at]["weight"]
                height = push(stack, 0, node, player, weight, fork[at]["place"])
                serial = fork[at]["serial"]
                trip = trip_in_batch(seed, serial, player, num_players, is_large)
                progress = with_height(progress, height)
                status, progress = walk_block(
                    task, tree, tables, stack, None, trip, progress
                )
        cut.num_met[block] = progress.num_met
        counts[NODES], counts[STATUS] = progress.num_touched, status

    @inlined
    def do_stage(task, tree, tables, walk, cut, slots, plan, desk, piece):
        if desk[STAGE] == IN_TOP:
            first = walk.marks[layout.WALK] + piece * plan[WALKS_OF_SLICE]
            stop = min(first + plan[WALKS_OF_SLICE], batches.present_batch(task, walk))
            walk_slice(task, tree, tables, walk, cut, slots, piece, first, stop)
        elif desk[STAGE] == IN_BLOCKS:
            slices = desk[NUM_SLICES_NOW]
            follow(task, tree, tables, walk, cut, slots, piece, slices)
        else:
            first = cut.ends[piece]
            stop = first + cut.num_met[piece]
            apply_block(task, tree, tables, walk, cut.met, first, stop, cut.home)
            cut.num_met[piece] = 0

    @jit(nogil=True, views_only=True)
    def do_piece(work, desk, piece):
        frame, plan = work
        task, tables = (
            shared_views(frame, layout.Task),
            shared_views(frame, layout.Tables),
        )
        tree, walk = layout.tree_in(frame, task.job), shared_views(frame, layout.Walk)
        cut, slots = shared_views(frame, Cut), shared_views(frame, Slots)
        do_stage(task, tree, tables, walk, cut, slots, plan, desk, piece)

    return do_piece


@inlined
def gather_top(
    tree: layout.TreeArrays,
    tables: layout.Tables,
    walk: layout.Walk,
    cut: Cut,
    slots: Slots,
    slices: int,
) -> None:
    """Adds logged payoffs to the gradient and logged infosets to `Cut.top`.

    Logs are processed in order of the walks.
    """
    num_top = walk.marks[layout.NUM_MET]
    for row in range(slices):
        counts, log = slots.counts[row], log_of(cut, slots, row)
        for k in range(counts[LEAVES]):
            tables.gradient[log.leaf[k]["sequence"]] += log.leaf[k]["payoff"]
        for k in range(counts[EVENTS]):
            infoset = log.event[k]
            if tables.is_met[infoset] & REACHED == 0:
                tables.is_met[infoset] |= REACHED
                cut.top[num_top] = infoset
                num_top += 1
        walk.marks[layout.TOUCHED] += counts[NODES]
    walk.marks[layout.NUM_MET] = num_top


@inlined
def status_of(desk: np.ndarray, slots: Slots, first: int, stop: int) -> Any:
    """Returns the first status other than DONE in the rows `first .. stop - 1`.

    If all are DONE, it returns DONE, or NEEDS_ONE_THREAD if a thread has failed.
    """
    for row in range(first, stop):
        if slots.counts[row, STATUS] != layout.DONE:
            return np.int64(slots.counts[row, STATUS])
    return np.int64(layout.DONE if load(desk, FAILED) == 0 else layout.NEEDS_ONE_THREAD)


@inlined
def share_of(plan: np.ndarray, cut: Cut, player: int) -> tuple[int, int]:
    """Returns the half-open range of a player's blocks in this process's share."""
    first, end = cut.player_ends[player], cut.player_ends[player + 1]
    share, shares = plan[SHARE], plan[NUM_SHARES]
    mine = first + share * (end - first) // shares
    return mine, min(first + (share + 1) * (end - first) // shares, end)


@for_rule
def make_shared_iterate(rule: Rule, sampled: Sampled) -> Any:
    """Builds `iterate(frame, plan, desk, leads)`, which all threads of a team call.

    `frame` has the layout SHARED_LAYOUT, `plan` is described at PLAN_SIZE, and `leads`
    is True for the leader. `iterate` returns DONE or the reason why the leader stopped:

    - PAUSED: Python should handle signals; another call continues;
    - NEEDS_ONE_THREAD: a thread failed;
    - TOO_UNLIKELY: a payoff overflows. The results of the first two stages since the
      last update must be discarded;
    - STACK_FULL or LOG_FULL: the arrays of `Slots` must grow first. The same results
      must be discarded.

    Args:
        rule: the local rule. A user's own rule must be compiled.
        sampled: the sampled parts of a batched algorithm with `can_be_shared`, whose
            players have perfect recall.
    """
    do_piece, start_tables = make_stages(sampled, rule), make_start(rule)
    rates, discounts = rule.rates, rule.discounts
    apply_top = apply.make_apply(rule, part=layout.TOP_PART)

    @inlined
    def walk_stretch(task, tree, tables, walk, cut, slots, work, desk):
        """Runs the next stretch of the batch; returns a status.

        It is the status of a walk that could not be completed, or else the status of
        `apply.after_stretch`.
        """
        marks, plan = walk.marks, work[1]
        left = apply.present_batch(task, walk) - marks[layout.WALK]
        slices = min(-(-left // plan[WALKS_OF_SLICE]), NUM_SLICES)
        desk[STAGE], desk[NUM_SLICES_NOW] = IN_TOP, slices
        share(do_piece, work, desk, 0, slices)
        status = status_of(desk, slots, 0, slices)
        if status != layout.DONE:
            return status
        gather_top(tree, tables, walk, cut, slots, slices)
        first, end = share_of(plan, cut, marks[layout.WALKER])
        desk[STAGE] = IN_BLOCKS
        share(do_piece, work, desk, first, end)
        status = status_of(desk, slots, NUM_SLICES + first, NUM_SLICES + end)
        if status != layout.DONE:
            return status
        for block in range(first, end):
            marks[layout.TOUCHED] += slots.counts[NUM_SLICES + block, NODES]
        walks = slices * plan[WALKS_OF_SLICE]
        return apply.after_stretch(task, walk, walks, tree.utilities.shape[1])

    @inlined
    def update(task, tree, tables, walk, cut, work, desk):
        """Updates the average and the policies after the walks of a batch."""
        marks, infosets = walk.marks, tree.infosets
        apply.begin_update(task, tables, walk, rates, discounts)
        for visit in range(marks[layout.NUM_MET]):  # pay the debts to the top
            if cut.home[infosets[cut.top[visit]]["first_sequence"]] < 0:
                lazy_average.pay_met(infosets, tables, cut.top, visit, visit + 1)
        first = cut.player_ends[walk.cursor[layout.PLAYER]]
        end = cut.player_ends[marks[layout.WALKER] + 1]
        desk[STAGE] = APPLYING
        share(do_piece, work, desk, first, end)
        apply_top(task, tree, tables, walk, cut.top, 0, marks[layout.NUM_MET], cut.home)
        apply.end_update(task, tables, walk, tree.utilities.shape[1])

    @inlined
    def go_on(task, tree, tables, walk, cut, slots, work, desk, leads):
        if not leads:
            take_pieces(do_piece, work, desk, False)
            return np.int64(layout.DONE)
        start_tables(task, tree.infosets, tables, walk.known)
        marks, purpose = walk.marks, work[1][PURPOSE]
        status = np.int64(layout.DONE if purpose == APPLY else layout.GROW)
        # Each pass of the loop runs a stretch if the status is GROW (walks remain
        # before the update), or the update if the status is DONE. The loop ends at the
        # end of the job, after the requested stages, or when a walk or a thread stops.
        while load(desk, FAILED) == 0:
            if status == layout.GROW:
                is_first = marks[layout.WALKER] == walk.cursor[layout.PLAYER]
                if is_first and marks[layout.WALK] == 0 and apply.is_at_end(task, walk):
                    return np.int64(layout.DONE)
                status = walk_stretch(task, tree, tables, walk, cut, slots, work, desk)
            elif status == layout.DONE and purpose != GATHER:
                update(task, tree, tables, walk, cut, work, desk)
                if purpose == APPLY:
                    break
                status = np.int64(layout.GROW)
            else:
                break
        return status

    @jit(nogil=True, views_only=True)
    def iterate(frame, plan, desk, leads):
        task, tables = (
            shared_views(frame, layout.Task),
            shared_views(frame, layout.Tables),
        )
        tree, walk = layout.tree_in(frame, task.job), shared_views(frame, layout.Walk)
        cut, slots = shared_views(frame, Cut), shared_views(frame, Slots)
        work = frame, plan
        return go_on(task, tree, tables, walk, cut, slots, work, desk, leads)

    if IS_COMPILED:  # because threads must not compile concurrently
        array = types.int64[::1]
        iterate.compile((array, array, array, types.boolean))
    return iterate
