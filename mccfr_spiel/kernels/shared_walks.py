"""Walks of a batch on a complete tree, shared by threads without changing a bit.

Each updated player's infosets are cut into blocks of whole subtrees and a top. There
are three stages, and the threads take tickets in each:

1. Slices of the walks are walked in the top. Where a walk comes to the root of a
   block's subtree it leaves a fork. What it meets and is paid in the top is logged.
2. All forks of a block are followed by one thread, in the order of the walks, straight
   into the one gradient: no two blocks share a sequence.
3. The blocks are applied: debts are paid, then policies move.

In between the leader, one of the threads, does what concerns the top: before stage 2 it
adds up the logs in the order of the walks, before stage 3 it pays the top's debts, and
after it the top's policies move. So every sum has the terms of one thread in their
order. A batch of many walks goes through the first two stages several times, in
*stretches*; where one ends changes no bit. Until stage 3 nothing that was learned has
changed.

Processes of a cluster share a batch in the same way: each walks the top, follows the
forks of its share of the blocks, and gets from the others what they found in theirs.
"""

# pyright: reportPossiblyUnboundVariable=false

from typing import Annotated, Any, NamedTuple

import numpy as np
from numba.core import types

from mccfr_spiel.kernels import apply
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.frame import Entry, Layout, prefetch
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit
from mccfr_spiel.kernels.logs import FORK, LEAF, Log
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.randomness import ROOT_PLACE, stream_key
from mccfr_spiel.kernels.stack import push
from mccfr_spiel.kernels.stored import STORED
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Task, TreeArrays, Walk, tree_in
from mccfr_spiel.kernels.teams import FAILED, NOTES, load, share, take_pieces
from mccfr_spiel.kernels.walk import (
    LARGE,
    Progress,
    Trip,
    make_walk,
    no_progress,
    with_height,
)

# --- what threads that share the walks of a batch write, besides the one gradient -----


NUM_SLICES = 32
"""The slices into which the walks of a batch are cut. Each has a log of its own."""

EVENTS, FORKS, LEAVES, NODES, STATUS = range(5)
"""The counts of a slice or a block: how long the lists of a slice's log are, the nodes
touched, and DONE or what kept the walks from going on."""

NUM_COUNTS = 16
"""The entries for them: counts that different threads change lie in different lines of
the processor's cache."""


class Cut(NamedTuple):
    """How the infosets of a complete tree are cut for threads that share a batch.

    `K` is the number of blocks, of all players.

    Attributes:
        home: twice the block of the sequence's infoset, plus 1 if the infoset is the
            root of its subtree; -1 in the top.
        player_ends: player p's blocks are those from its entry to the next.
        ends: block b's part of `met` is `ends[b] .. ends[b + 1]`.
        met: the infosets met, block by block, ancestors first.
        num_met: how many each block has.
        top: the infosets met in the top, roots of subtrees included.
    """

    home: Annotated[np.ndarray, Entry(layout.INT, "[S]")]
    player_ends: Annotated[np.ndarray, Entry(layout.LONG, "[P + 1]")]
    ends: Annotated[np.ndarray, Entry(layout.LONG, "[K + 1]")]
    met: Annotated[np.ndarray, Entry(layout.INT, "[I']")]
    num_met: Annotated[np.ndarray, Entry(layout.LONG, "[K]")]
    top: Annotated[np.ndarray, Entry(layout.INT, "[I'']")]


class Slots(NamedTuple):
    """Stacks and logs. There are NUM_SLICES rows for slices, and one for each of the K
    blocks.

    Attributes:
        node: as `Walk.node`, row by row.
        sequence: as `Walk.sequence`.
        weight: as `Walk.weight`.
        place: as `Walk.place`.
        counts: see NUM_COUNTS.
        event: see `Log`.
        leaf: see `Log`.
        fork: see `Log`.
        order: a slice's forks, block by block.
        order_ends: of a slice's `order`, those of block b end where its entry b says.
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


SHARED_LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Cut, Slots)
shared_views = SHARED_LAYOUT.viewer()


@inlined
def stack_of(walk: Walk, slots: Slots, row: int, met: np.ndarray) -> Walk:
    """A walk with the stack of a row, and a list of its own of the infosets met."""
    return Walk(
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
    """The log of a slice."""
    return Log(
        home=cut.home,
        event=slots.event[row],
        leaf=slots.leaf[row],
        fork=slots.fork[row],
    )


# --- walks of a batch on a complete tree, shared by threads without changing a bit ----


ALL_STAGES, GATHER, APPLY = range(3)
"""What a call is for: whole iterations; the first two stages of the walks for the next
update; or the third stage, and what the leader does around it."""

WALKS_OF_SLICE, PURPOSE, SHARE, NUM_SHARES, PLAN_SIZE = range(5)
"""The entries of a plan: how many walks a slice has, what the call is for, and which of
how many shares of each player's blocks is followed. The share NUM_SHARES has no blocks,
so that only the top is walked."""

STAGE, NUM_SLICES_NOW = range(NOTES, NOTES + 2)
NUM_SHARING_NOTES = 2
"""What the leader notes on the desk: the stage, and how many slices it has."""

IN_TOP, IN_BLOCKS, APPLYING = range(3)

REACHED = 2
"""The mark in `Tables.is_met` of infosets that are in the list of the top."""

_FAR, _NEAR = 6, 3
"""The number of forks ahead of the present one whose node, or tables, are
prefetched."""


@inlined
def sort_forks(slots: Slots, row: int, num_blocks: int) -> None:
    """Sorts the forks of a slice by block; those of one block keep their order."""
    fork, order = slots.fork[row], slots.order[row]
    ends, count = slots.order_ends[row], slots.counts[row, FORKS]
    ends[:] = 0
    for k in range(count):
        ends[fork[k]["block"] + 1] += 1
    for block in range(num_blocks):
        ends[block + 1] += ends[block]
    # Before its fork is written, `ends` has where a block begins, and behind its last
    # one where it ends.
    for k in range(count):
        block = fork[k]["block"]
        order[ends[block]] = k
        ends[block] += 1


@inlined
def trip_in_batch(player: int, stream: int, is_large: bool) -> Trip:
    """The `Trip` of a walk in a thread. It neither pauses nor repeats steps."""
    return Trip(player, stream, -np.inf, np.int64(0), np.int64(2**62), is_large)


def make_part_of_batch(walk_on: Any) -> Any:
    """Makes `walk_part`, which makes the walks `first` to `stop - 1` of a batch.

    `walk` identifies the batch; `stack` is the thread's own. It returns a status and
    the counters of all these walks.
    """

    @inlined
    def walk_part(task, nodes, tables, walk, stack, log, first, stop, is_large):
        given = np.int64(task.job[layout.BATCH])
        before, _ = apply.walks_at(given, apply.present_iteration(walk))
        player, num_players = walk.marks[layout.WALKER], nodes.utilities.shape[1]
        progress, status, nth = no_progress(), np.int64(layout.DONE), first
        while nth < stop and status == layout.DONE:
            number, seed = before + nth + 1, task.job[layout.SEED]
            stream = stream_key(seed, number, player, num_players)
            height = push(stack, 0, 0, player, 1.0, ROOT_PLACE)
            trip = trip_in_batch(player, stream, is_large)
            progress = with_height(progress, height)
            status, progress = walk_on(task, nodes, tables, stack, log, trip, progress)
            nth += 1
        return status, progress

    return walk_part


def make_stages(sampled: Sampled, rule: Rule) -> Any:
    """Compiles `do_piece(what, desk, piece)`, what a thread does for one ticket of the
    stage; `what` is a frame of SHARED_LAYOUT and a plan."""
    walk_part = make_part_of_batch(make_walk(sampled, rule, STORED, layout.TOP_PART))
    walk_block = make_walk(sampled, rule, STORED, layout.BLOCK_PART)
    apply_block = apply.make_apply(rule, part=layout.BLOCK_PART)

    @inlined
    def walk_slice(task, tree, tables, walk, cut, slots, row, first, stop):
        """Walks the walks `first` to `stop - 1` of the batch in the top."""
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
        """Follows all forks of a block."""
        row, player = NUM_SLICES + block, walk.marks[layout.WALKER]
        counts, is_large = slots.counts[row], len(tree.nodes) > LARGE
        met = cut.met[cut.ends[block] : cut.ends[block + 1]]
        stack = stack_of(walk, slots, row, met)
        num_met, zero = np.int64(cut.num_met[block]), np.int64(0)
        progress = Progress(zero, num_met, zero, zero, zero, zero)
        status = np.int64(layout.DONE)
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
                trip = trip_in_batch(player, fork[at]["stream"], is_large)
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
            stop = min(first + plan[WALKS_OF_SLICE], apply.present_batch(task, walk))
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
    def do_piece(what, desk, piece):
        frame, plan = what
        task, tables = shared_views(frame, Task), shared_views(frame, Tables)
        tree, walk = tree_in(frame, task.job), shared_views(frame, Walk)
        cut, slots = shared_views(frame, Cut), shared_views(frame, Slots)
        do_stage(task, tree, tables, walk, cut, slots, plan, desk, piece)

    return do_piece


@inlined
def gather_top(
    tree: TreeArrays, tables: Tables, walk: Walk, cut: Cut, slots: Slots, slices: int
) -> None:
    """Adds up the logs of the slices, in the order of the walks."""
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
    """DONE, or what kept the walks of some row, or the thread of one, from going on."""
    for row in range(first, stop):
        if slots.counts[row, STATUS] != layout.DONE:
            return np.int64(slots.counts[row, STATUS])
    return np.int64(layout.DONE if load(desk, FAILED) == 0 else layout.NEEDS_ONE_THREAD)


@inlined
def share_of(plan: np.ndarray, cut: Cut, player: int) -> tuple[int, int]:
    """The first block of a player that is followed, and the one behind the last."""
    first, end = cut.player_ends[player], cut.player_ends[player + 1]
    share, shares = plan[SHARE], plan[NUM_SHARES]
    mine = first + share * (end - first) // shares
    return mine, min(first + (share + 1) * (end - first) // shares, end)


@for_rule
def make_shared_iterate(rule: Rule, sampled: Sampled) -> Any:
    """Makes `iterate(frame, plan, desk, leads)` for walks on a complete tree in
    threads, in all of which `teams.run` calls it.

    No player forgets, and the walks are such that `can_be_shared`. `frame` is of
    SHARED_LAYOUT, and `PLAN_SIZE` says what the plan holds. It returns DONE, PAUSED,
    TOO_UNLIKELY, or, if the slots must be made larger first, STACK_FULL or LOG_FULL.
    After the last three what was found must be thrown away.

    Args:
        rule: the local rule; a user's own must be compiled.
        sampled: what a walk samples, batched.
    """
    do_piece, start_tables = make_stages(sampled, rule), make_start(rule)
    rates, discounts = rule.rates, rule.discounts
    apply_top = apply.make_apply(rule, part=layout.TOP_PART)

    @inlined
    def walk_stretch(task, tree, tables, walk, cut, slots, what, desk):
        """Makes the next walks of the batch; returns as `apply.after_stretch`."""
        marks, plan = walk.marks, what[1]
        left = apply.present_batch(task, walk) - marks[layout.WALK]
        slices = min(-(-left // plan[WALKS_OF_SLICE]), NUM_SLICES)
        desk[STAGE], desk[NUM_SLICES_NOW] = IN_TOP, slices
        share(do_piece, what, desk, 0, slices)
        status = status_of(desk, slots, 0, slices)
        if status != layout.DONE:
            return status
        gather_top(tree, tables, walk, cut, slots, slices)
        first, end = share_of(plan, cut, marks[layout.WALKER])
        desk[STAGE] = IN_BLOCKS
        share(do_piece, what, desk, first, end)
        status = status_of(desk, slots, NUM_SLICES + first, NUM_SLICES + end)
        if status != layout.DONE:
            return status
        for block in range(first, end):
            marks[layout.TOUCHED] += slots.counts[NUM_SLICES + block, NODES]
        walks = slices * plan[WALKS_OF_SLICE]
        return apply.after_stretch(task, walk, walks, tree.utilities.shape[1])

    @inlined
    def update(task, tree, tables, walk, cut, what, desk):
        """Applies what the walks of all players have found."""
        marks, infosets = walk.marks, tree.infosets
        apply.begin_update(task, tables, walk, rates, discounts)
        for visit in range(marks[layout.NUM_MET]):  # the debts of the top
            if cut.home[infosets[cut.top[visit]]["first_sequence"]] < 0:
                apply.pay_met(infosets, tables, cut.top, visit, visit + 1)
        first = cut.player_ends[walk.cursor[layout.PLAYER]]
        end = cut.player_ends[marks[layout.WALKER] + 1]
        desk[STAGE] = APPLYING
        share(do_piece, what, desk, first, end)
        apply_top(task, tree, tables, walk, cut.top, 0, marks[layout.NUM_MET], cut.home)
        apply.end_update(task, tables, walk, tree.utilities.shape[1])

    @inlined
    def go_on(task, tree, tables, walk, cut, slots, what, desk, leads):
        if not leads:
            take_pieces(do_piece, what, desk, False)
            return np.int64(layout.DONE)
        start_tables(task, tree.infosets, tables, walk.known)
        marks, purpose = walk.marks, what[1][PURPOSE]
        status = np.int64(layout.DONE if purpose == APPLY else layout.GROW)
        # One pass makes a stretch of walks, or the update after the last one.
        while load(desk, FAILED) == 0:
            if status == layout.GROW:
                is_first = marks[layout.WALKER] == walk.cursor[layout.PLAYER]
                if is_first and marks[layout.WALK] == 0 and apply.is_at_end(task, walk):
                    return np.int64(layout.DONE)
                status = walk_stretch(task, tree, tables, walk, cut, slots, what, desk)
            elif status == layout.DONE and purpose != GATHER:
                update(task, tree, tables, walk, cut, what, desk)
                if purpose == APPLY:
                    break
                status = np.int64(layout.GROW)
            else:
                break
        return status

    @jit(nogil=True, views_only=True)
    def iterate(frame, plan, desk, leads):
        task, tables = shared_views(frame, Task), shared_views(frame, Tables)
        tree, walk = tree_in(frame, task.job), shared_views(frame, Walk)
        cut, slots = shared_views(frame, Cut), shared_views(frame, Slots)
        what = frame, plan
        return go_on(task, tree, tables, walk, cut, slots, what, desk, leads)

    if IS_COMPILED:  # before threads meet in it
        array = types.int64[::1]
        iterate.compile((array, array, array, types.boolean))
    return iterate
