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

What threads that share the walks of a batch write, besides the one gradient.

The infosets of a complete tree are cut into blocks of whole subtrees and a top
. No two blocks share a sequence.
"""

# pyright: reportPossiblyUnboundVariable=false

from typing import Annotated, Any, NamedTuple

import numpy as np
from numba.core import types

from mccfr_spiel.kernels import apply
from mccfr_spiel.kernels.frame import Entry, Layout, prefetch
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.randomness import ROOT_PLACE, stream_key
from mccfr_spiel.kernels.sampling import push
from mccfr_spiel.kernels.stored import STORED
from mccfr_spiel.kernels.tables import (
    BATCH,
    DONE,
    FLOAT,
    GROW,
    INT,
    LONG,
    NUM_MET,
    PLAYER,
    SEED,
    TOUCHED,
    UNSIGNED,
    WALK,
    WALKER,
    Tables,
    Task,
    TreeArrays,
    Walk,
    tree_in,
)
from mccfr_spiel.kernels.teams import NOTES, close, open_tickets, serve
from mccfr_spiel.kernels.teams import STATUS as STATUS_NOW
from mccfr_spiel.kernels.walk import (
    BLOCK_PART,
    FORK,
    LARGE,
    LEAF,
    TOP_PART,
    Log,
    Sampled,
    make_walk,
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

    home: Annotated[np.ndarray, Entry(INT, "[S]")]
    player_ends: Annotated[np.ndarray, Entry(LONG, "[P + 1]")]
    ends: Annotated[np.ndarray, Entry(LONG, "[K + 1]")]
    met: Annotated[np.ndarray, Entry(INT, "[I']")]
    num_met: Annotated[np.ndarray, Entry(LONG, "[K]")]
    top: Annotated[np.ndarray, Entry(INT, "[I'']")]


class Slots(NamedTuple):
    """Stacks and logs. There are NUM_SLICES rows for slices, and one for each block.

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

    node: Annotated[np.ndarray, Entry(INT, "[R, H]")]
    sequence: Annotated[np.ndarray, Entry(INT, "[R, H]")]
    weight: Annotated[np.ndarray, Entry(FLOAT, "[R, H]")]
    place: Annotated[np.ndarray, Entry(UNSIGNED, "[R, H]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[R, NUM_COUNTS]")]
    event: Annotated[np.ndarray, Entry(INT, "[NUM_SLICES, C]")]
    leaf: Annotated[np.ndarray, Entry(LEAF, "[NUM_SLICES, C]")]
    fork: Annotated[np.ndarray, Entry(FORK, "[NUM_SLICES, C]")]
    order: Annotated[np.ndarray, Entry(INT, "[NUM_SLICES, C]")]
    order_ends: Annotated[np.ndarray, Entry(LONG, "[NUM_SLICES, E]")]


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
"""What `Tables.is_met` has at infosets in the list of the top."""

_FAR, _NEAR = 6, 3
"""How far ahead of its turn a fork's node is prefetched, and how far ahead its tables.
"""


@inlined
def sort_forks(slots: Slots, row: int, num_blocks: int) -> None:
    """Sorts the forks of a slice by block; those of one block keep their order."""
    fork, order = (
        slots.fork[row],
        slots.order[row],
    )
    ends, count = (
        slots.order_ends[row],
        slots.counts[row, FORKS],
    )
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


def make_part_of_batch(walk_on: Any) -> Any:
    """Makes `walk_part`, which makes the walks `first` to `stop - 1` of a batch.

    `walk` says which batch it is; `stack` is the thread's own. It returns a status, and
    what `walk_on` counts: infosets met, nodes touched, forks and leaves.
    """

    @inlined
    def walk_part(
        task, tree, game, known, path, rules, tables, walk, stack, log,
        first, stop, is_large,
    ):  # fmt: skip
        given, iteration = np.int64(task.job[BATCH]), apply.present_iteration(walk)
        player, num_players = walk.marks[WALKER], tree.utilities.shape[1]
        num_met, touched, status = np.int64(0), np.int64(0), np.int64(DONE)
        forks, leaves, nth = np.int64(0), np.int64(0), first
        while nth < stop and status == DONE:
            number = apply.walk_number(given, iteration, nth)
            stream = stream_key(task.job[SEED], number, player, num_players)
            top = push(stack, 0, 0, player, 1.0, ROOT_PLACE)
            status, top, num_met, touched, forks, leaves = walk_on(
                task, tree, game, known, path, rules, tables, stack, log,
                stream, player, top, num_met, touched, forks, leaves,
                np.int64(0), np.int64(2**62), is_large,
            )  # fmt: skip
            nth += 1
        return status, num_met, touched, forks, leaves

    return walk_part


def make_stages(sampled: Sampled, rule: Rule) -> Any:
    """Makes what a thread does for one ticket of each stage."""
    walk_part = make_part_of_batch(make_walk(sampled, rule, STORED, TOP_PART))
    walk_block = make_walk(sampled, rule, STORED, BLOCK_PART)
    move = apply.make_move(rule, skips=False)

    @inlined
    def walk_slice(task, tree, tables, walk, cut, slots, row, first, stop):
        """Walks the walks `first` to `stop - 1` of the batch in the top."""
        counts, log = slots.counts[row], log_of(cut, slots, row)
        stack, is_large = stack_of(walk, slots, row, walk.met), len(tree.nodes) > LARGE
        status, events, touched, forks, leaves = walk_part(
            task, tree, None, None, None, None, tables, walk, stack, log,
            first, stop, is_large,
        )  # fmt: skip
        counts[EVENTS], counts[FORKS], counts[LEAVES] = events, forks, leaves
        counts[NODES], counts[STATUS] = touched, status
        sort_forks(slots, row, len(cut.num_met))

    @inlined
    def follow(task, tree, tables, walk, cut, slots, block, num_slices):
        """Follows all forks of a block."""
        row, player = NUM_SLICES + block, walk.marks[WALKER]
        counts, is_large = slots.counts[row], len(tree.nodes) > LARGE
        met = cut.met[cut.ends[block] : cut.ends[block + 1]]
        stack = stack_of(walk, slots, row, met)
        num_met, touched = np.int64(cut.num_met[block]), np.int64(0)
        status = np.int64(DONE)
        for part in range(num_slices):
            fork = slots.fork[part]
            order = slots.order[part]
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
                at = order[k]
                node, weight, place = (
                    fork[at]["node"],
                    fork[at]["weight"],
                    fork[at]["place"],
                )
                if status != DONE:
                    break
                top = push(stack, 0, node, player, weight, place)
                status, top, num_met, touched, _, _ = walk_block(
                    task, tree, None, None, None, None, tables, stack, None,
                    fork[at]["stream"], player, top, num_met, touched,
                    np.int64(0), np.int64(0), np.int64(0), np.int64(2**62), is_large,
                )  # fmt: skip
        cut.num_met[block] = num_met
        counts[NODES], counts[STATUS] = touched, status

    @inlined
    def apply_block(task, tree, tables, walk, cut, block):
        """Pays the debts of a block and moves its policies, bottom up.

        The root of a subtree leaves its value in its own first sequence, for the top.
        """
        infosets, first = tree.infosets, cut.ends[block]
        stop = first + cut.num_met[block]
        apply.pay_met(infosets, tables, cut.met, first, stop)
        for visit in range(stop - 1, first - 1, -1):
            infoset = cut.met[visit]
            start = infosets[infoset]["first_sequence"]
            tables.is_met[infoset] = 0
            value = move(task, tree, tables, walk.clock, infoset)
            if cut.home[start] & 1:
                tables.gradient[start] = value
            else:
                tables.gradient[infosets[infoset]["parent"]] += value
        cut.num_met[block] = 0

    return walk_slice, follow, apply_block


@inlined
def gather_top(
    tree: TreeArrays, tables: Tables, walk: Walk, cut: Cut, slots: Slots, slices: int
) -> None:
    """Adds up the logs of the slices, in the order of the walks."""
    num_top = walk.marks[NUM_MET]
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
        walk.marks[TOUCHED] += counts[NODES]
    walk.marks[NUM_MET] = num_top


@inlined
def status_of(slots: Slots, first: int, stop: int) -> Any:
    """DONE, or what kept the walks of some row from going on."""
    for row in range(first, stop):
        if slots.counts[row, STATUS] != DONE:
            return np.int64(slots.counts[row, STATUS])
    return np.int64(DONE)


@inlined
def share_of(plan: np.ndarray, cut: Cut, player: int) -> tuple[int, int]:
    """The first block of a player that is followed, and the one behind the last."""
    first, end = cut.player_ends[player], cut.player_ends[player + 1]
    share, shares = plan[SHARE], plan[NUM_SHARES]
    mine = first + share * (end - first) // shares
    return mine, min(first + (share + 1) * (end - first) // shares, end)


@inlined
def open_stage(desk: np.ndarray, stage: int, first: int, end: int) -> None:
    """Opens the tickets of a stage, for slices or blocks `first .. end - 1`."""
    desk[STAGE] = stage
    open_tickets(desk, first, end)


def make_leader(rule: Rule) -> Any:
    """Makes what the leader does when all tickets of a stage are finished."""
    rates, discounts = rule.rates, rule.discounts
    move = apply.make_move(rule, skips=False)

    @inlined
    def apply_top(task, tree, tables, walk, cut):
        """Moves the policies of the top, bottom up, with the values of the blocks."""
        infosets, gradient = tree.infosets, tables.gradient
        for visit in range(walk.marks[NUM_MET] - 1, -1, -1):
            infoset = cut.top[visit]
            start = infosets[infoset]["first_sequence"]
            tables.is_met[infoset] = 0
            if cut.home[start] >= 0:
                value = gradient[start]
                gradient[start] = 0.0
            else:
                value = move(task, tree, tables, walk.clock, infoset)
            gradient[infosets[infoset]["parent"]] += value

    @inlined
    def begin_applying(task, tree, tables, walk, cut, desk):
        """Begins the update: the iteration, the average at empty sequences, the debts
        of the top; then opens the tickets of all blocks."""
        marks = walk.marks
        apply.begin_update(task, tables, walk, rates, discounts)
        for visit in range(marks[NUM_MET]):
            start = tree.infosets[cut.top[visit]]["first_sequence"]
            if cut.home[start] < 0:
                apply.pay_met(tree.infosets, tables, cut.top, visit, visit + 1)
        first = cut.player_ends[walk.cursor[PLAYER]]
        open_stage(desk, APPLYING, first, cut.player_ends[marks[WALKER] + 1])

    @inlined
    def begin_stretch(task, walk, plan, desk):
        """Opens the tickets of the next stretch of walks, or ends the call."""
        marks = walk.marks
        is_first = marks[WALK] == 0 and marks[WALKER] == walk.cursor[PLAYER]
        if is_first and apply.is_at_end(task, walk):
            close(desk, DONE)
            return
        batch = apply.present_batch(task, walk)
        slices = -(-(batch - marks[WALK]) // plan[WALKS_OF_SLICE])
        desk[NUM_SLICES_NOW] = min(slices, NUM_SLICES)
        open_stage(desk, IN_TOP, 0, desk[NUM_SLICES_NOW])

    @inlined
    def direct(what, desk):
        task, tree, tables, walk, cut, slots, plan = what
        num_players, slices = tree.utilities.shape[1], desk[NUM_SLICES_NOW]
        mine, mine_end = share_of(plan, cut, walk.marks[WALKER])
        status = np.int64(GROW)  # unless something is found, there are more walks
        if desk[STAGE] == IN_TOP:
            status = status_of(slots, 0, slices)
            if status == DONE:
                gather_top(tree, tables, walk, cut, slots, slices)
                open_stage(desk, IN_BLOCKS, mine, mine_end)
                return
        elif desk[STAGE] == IN_BLOCKS:
            status = status_of(slots, NUM_SLICES + mine, NUM_SLICES + mine_end)
            if status == DONE:
                for block in range(mine, mine_end):
                    walk.marks[TOUCHED] += slots.counts[NUM_SLICES + block, NODES]
                walks = slices * plan[WALKS_OF_SLICE]
                status = apply.after_stretch(task, walk, walks, num_players)
                if status == DONE and plan[PURPOSE] != GATHER:
                    begin_applying(task, tree, tables, walk, cut, desk)
                    return
        else:
            apply_top(task, tree, tables, walk, cut)
            apply.end_update(task, tables, walk, num_players)
            if plan[PURPOSE] == APPLY:
                status = np.int64(DONE)
        if status == GROW:
            begin_stretch(task, walk, plan, desk)
        else:
            close(desk, status)

    @inlined
    def begin_call(what, desk):
        task, tree, tables, walk, cut, _, plan = what
        if plan[PURPOSE] == APPLY:
            begin_applying(task, tree, tables, walk, cut, desk)
        else:
            begin_stretch(task, walk, plan, desk)

    return begin_call, direct


@for_rule
def make_shared_iterate(rule: Rule, sampled: Sampled) -> Any:
    """Makes `iterate(frame, plan, desk, leads)` for walks on a complete tree in
    threads, in all of which `teams.run` calls it.

    No player forgets, and the walks are such that `can_be_shared`. `frame` is of
    SHARED_LAYOUT, and `PLAN_SIZE` says what the plan holds. It returns DONE, PAUSED,
    TOO_UNLIKELY, or, if the slots must be made larger first, STACK_FULL or LOG_FULL.
    With the last three `drop_shared` must be called.

    Args:
        rule: the local rule; a user's own must be compiled.
        sampled: what a walk samples, batched.
    """
    walk_slice, follow, apply_block = make_stages(sampled, rule)
    begin_call, direct = make_leader(rule)
    start_tables = make_start(rule)

    @inlined
    def do_piece(what, desk, piece):
        task, tree, tables, walk, cut, slots, plan = what
        if desk[STAGE] == IN_TOP:
            nth = walk.marks[WALK] + piece * plan[WALKS_OF_SLICE]
            stop = min(nth + plan[WALKS_OF_SLICE], apply.present_batch(task, walk))
            walk_slice(task, tree, tables, walk, cut, slots, piece, nth, stop)
        elif desk[STAGE] == IN_BLOCKS:
            slices = desk[NUM_SLICES_NOW]
            follow(task, tree, tables, walk, cut, slots, piece, slices)
        else:
            apply_block(task, tree, tables, walk, cut, piece)

    @inlined
    def go_on(task, tree, tables, walk, cut, slots, plan, desk, leads):
        what = task, tree, tables, walk, cut, slots, plan
        if leads:
            start_tables(task, tree, tables, walk.known)
            begin_call(what, desk)
        serve(do_piece, direct, what, desk, leads)

    @jit(nogil=True)
    def iterate(frame, plan, desk, leads):
        task, tables = shared_views(frame, Task), shared_views(frame, Tables)
        tree, walk = tree_in(frame, task.job), shared_views(frame, Walk)
        cut, slots = shared_views(frame, Cut), shared_views(frame, Slots)
        go_on(task, tree, tables, walk, cut, slots, plan, desk, leads)
        return desk[STATUS_NOW]

    if IS_COMPILED:  # before threads meet in it
        array = types.int64[::1]
        iterate.compile((array, array, array, types.boolean))
    return iterate


@jit
def drop_shared(
    infosets: np.ndarray, tables: Tables, walk: Walk, cut: Cut, num_players: int
) -> None:
    """Throws away what the walks for the next update have found by blocks."""
    for block in range(len(cut.num_met)):
        first = cut.ends[block]
        for visit in range(first, first + cut.num_met[block]):
            clear(infosets, tables, cut.met[visit])
        cut.num_met[block] = 0
    for visit in range(walk.marks[NUM_MET]):
        clear(infosets, tables, cut.top[visit])
    for p in range(num_players):
        tables.gradient[p] = 0.0
    walk.marks[NUM_MET] = walk.marks[TOUCHED] = walk.marks[WALK] = 0
    walk.marks[WALKER] = walk.cursor[PLAYER]


@inlined
def clear(infosets: np.ndarray, tables: Tables, infoset: int) -> None:
    """Sets the gradient at an infoset to 0."""
    tables.is_met[infoset] = 0
    start = infosets[infoset]["first_sequence"]
    for s in range(start, start + infosets[infoset]["num_actions"]):
        tables.gradient[s] = 0.0
