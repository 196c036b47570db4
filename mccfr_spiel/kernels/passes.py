"""Passes over a complete tree: the loop for algorithms that sample nothing.

Where nothing is sampled no node is walked to. The leaves are listed once, by
`leaves_walk`, as rows grouped by the sequence that led a player there. Then
a player's gradient is a sum over rows: what a leaf pays, times the probability that the
others and chance play to it. The plans of all players, which say that, are kept from
one update to the next.

An update goes up through a player's infosets, where policies move, and down, where
plans follow. Threads share both ways (`go_up` and `go_down`) by taking tickets, see
teams.py, for pieces into which the infosets are cut as follows.

A *block* has infosets of neighbouring numbers, so that a thread reads the leaves, the
infosets and the policy in the order in which they lie in memory. Of these infosets, a
player's are the *piece* of a pass that is about this player. An infoset that has an
infoset of another block anywhere below it is in the *top*, which one thread does. A
*root* is an infoset below the top, or below nothing, that is not in the top itself. The
cut follows the tree's shape alone, never the number of threads.

A pass goes up through all pieces at once, since no infoset of a piece is above or below
one of another piece. A root does not add its value to its parent sequence, which
belongs to the top, but leaves it in its own first sequence, of which nobody needs to
know anything more. Then one thread goes up through the top, and adds the roots' values
where their turn comes. So every sum has the same terms in the same order as in a pass
over a single block, and the same bits. Downward it goes through the top first, then
through all pieces at once.

Batches of walks are cut in another way, see `find_blocks`. What a pass cannot read from
the list of leaves, a depth-first walk over the tree finds (`walk_whole`).
"""

from typing import Any

import numpy as np
from numba.core import types

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.apply import begin_update, end_update, is_at_end
from mccfr_spiel.kernels.atomics import load
from mccfr_spiel.kernels.blocks import IN_TOP, INNER, ROOT, THE_TOP
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit, pasted
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.plans import add_rows, move_plans
from mccfr_spiel.kernels.tables import Passes, Tables, Task, Walk, tree_in, views
from mccfr_spiel.kernels.tickets import FAILED, NOTES, share, take_pieces

# --- passes over a complete tree: the loop for algorithms that sample nothing ---------


WAY, NUM_NOTES = NOTES, 1
"""The leader's one note: the way of the pass."""

UPWARD, DOWNWARD = range(2)
"""The ways."""


@pasted
def go_up(
    do: Any, what: Any, blocks: layout.Blocks, desk: np.ndarray, first: int, end: int
) -> None:
    """Has the pieces `first .. end - 1` done from the last infoset up, then the top."""
    desk[WAY] = UPWARD
    share(do, what, desk, first, end)
    if len(blocks.top) > 0:
        do(what, desk, np.int64(THE_TOP))


@pasted
def go_down(
    do: Any, what: Any, blocks: layout.Blocks, desk: np.ndarray, first: int, end: int
) -> None:
    """Has the top done from the first infoset down, then pieces `first .. end - 1`."""
    desk[WAY] = DOWNWARD
    if len(blocks.top) > 0:
        do(what, desk, np.int64(THE_TOP))
    share(do, what, desk, first, end)


@inlined
def take_value(
    tree: layout.TreeArrays, tables: Tables, root: int, looks_ahead: bool
) -> None:
    """Adds the value that a block's root has left to its parent sequence's."""
    start, parent = tree.infosets[root]["first_sequence"], tree.infosets[root]["parent"]
    tables.gradient[parent] += tables.gradient[start]
    tables.gradient[start] = 0.0
    if looks_ahead:
        tables.ahead[parent] += tables.ahead[start]
        tables.ahead[start] = 0.0


def make_piece(rule: Rule, *, has_rows: bool) -> Any:
    """Compiles `do_piece(frame, desk, piece)`, which goes the leader's way through a
    piece, or through the top.

    If there are no rows of leaves, their payoffs must be in the gradient already; and
    in `Tables.ahead` if the rule looks ahead.
    """
    looks_ahead, update, rates_at = rule.looks_ahead, rule.update, rule.rates

    @inlined
    def update_infoset(task, tree, tables, passes, infoset, parent, rates):
        """Adds the leaves' payoffs to an infoset's gradient and moves its policy; adds
        its value at `parent`, the sequence before it."""
        infosets, gradient, plan = tree.infosets, tables.gradient, tables.plan
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        if has_rows:
            for s in range(start, stop):
                below = gradient[s]
                gradient[s] = add_rows(passes, plan, s, passes.others.shape[1], below)
                if looks_ahead:
                    tables.ahead[s] += gradient[s] - below
        value = 0.0
        if len(tables.locked) > 0 and tables.locked[infoset] != 0:
            for s in range(start, stop):  # the policy stays
                value += tables.policy[s] * gradient[s]
                gradient[s] = 0.0
        else:
            numbers = task.parameters
            value = update(tables, infoset, parent, start, stop, numbers, rates)
        gradient[parent] += value

    @jit(nogil=True, views_only=True)
    def do_piece(frame, desk, piece):
        task = views(frame, Task)
        tree, tables = tree_in(frame, task.job), views(frame, Tables)
        passes, blocks = views(frame, Passes), views(frame, layout.Blocks)
        walk, infosets = views(frame, Walk), tree.infosets
        if piece == THE_TOP:
            order, is_cut = blocks.top, False
            begin = blocks.top_ends[walk.cursor[layout.PLAYER]]
            end = blocks.top_ends[walk.marks[layout.WALKER] + 1]
        else:
            order, is_cut = passes.members, len(blocks.kinds) > 0
            begin, end = blocks.starts[piece], blocks.starts[piece + 1]
        if desk[WAY] == UPWARD:
            rates = rates_at(task.parameters, walk.cursor[layout.ITERATION])
            for visit in range(end - 1, begin - 1, -1):
                infoset = order[visit]
                if infoset < 0:  # a root, seen from the top
                    take_value(tree, tables, ~infoset, looks_ahead)
                    continue
                kind = blocks.kinds[infoset] if is_cut else np.uint8(INNER)
                if kind == IN_TOP:
                    continue
                parent = infosets[infoset]["parent"]
                if kind == ROOT:
                    parent = infosets[infoset]["first_sequence"]
                update_infoset(task, tree, tables, passes, infoset, parent, rates)
        else:
            weight = walk.clock[layout.AVERAGE_WEIGHT]
            for visit in range(begin, end):
                infoset = order[visit]
                if infoset < 0 or (is_cut and blocks.kinds[infoset] == IN_TOP):
                    continue
                move_plans(infosets, tables, infoset, weight)

    return do_piece


def make_loop(rule: Rule, do_piece: Any, deliver: Any, *, once: bool = False) -> Any:
    """Makes `iterate(frame, desk, leads)` for algorithms that sample nothing.

    It starts the tables of infosets that are new, then runs whole iterations until the
    job's limits. What the frame holds is said in tables.py. `teams.run` calls it in
    some threads, with NUM_NOTES notes; the leader returns DONE.

    Args:
        rule: the local rule.
        do_piece: see `make_piece`.
        deliver: `deliver(frame, desk, tables, first, end)` may write into the gradient,
            before an update of the players `first .. end - 1`, what the leaves pay
            them; returns how many nodes it touches.
        once: whether a call makes at most one update.
    """
    rates, looks_ahead, start_tables = rule.rates, rule.looks_ahead, make_start(rule)

    @inlined
    def begin(task, tables, walk, num_players):
        """Begins the next update; returns whether the job allows one."""
        if is_at_end(task, walk):
            return False
        first, is_alone = walk.cursor[layout.PLAYER], task.job[layout.ALTERNATING] != 0
        walk.marks[layout.WALKER] = first if is_alone else num_players - 1
        begin_update(task, tables, walk, rates, False)
        return True

    @inlined
    def loop(frame, task, tree, tables, walk, blocks, desk, leads):
        if not leads:
            take_pieces(do_piece, frame, desk, False)
            return layout.DONE
        cursor, num_blocks = walk.cursor, len(blocks.ends) - 1
        num_players = tree.utilities.shape[1]
        start_tables(task, tree.infosets, tables, walk.known)

        # One pass of this loop is the update of one player, or of all players at once.
        # Before and after it, all plans are those of the policies, and the gradient is
        # 0.
        while begin(task, tables, walk, num_players):
            first, end = cursor[layout.PLAYER], walk.marks[layout.WALKER] + 1
            walk.marks[layout.TOUCHED] += deliver(frame, desk, tables, first, end)
            begin_piece, end_piece = first * num_blocks, end * num_blocks
            go_up(do_piece, frame, blocks, desk, begin_piece, end_piece)
            go_down(do_piece, frame, blocks, desk, begin_piece, end_piece)
            if load(desk, FAILED) != 0:  # which raises in the thread's stead
                break
            end_update(task, tables, walk, num_players)
            if looks_ahead:
                for sequence in range(num_players):
                    tables.ahead[sequence] = 0.0
            if once:
                break
        return layout.DONE

    @jit(nogil=True, views_only=True)
    def iterate(frame, desk, leads):
        task, tables = views(frame, Task), views(frame, Tables)
        tree, walk = tree_in(frame, task.job), views(frame, Walk)
        blocks = views(frame, layout.Blocks)
        return loop(frame, task, tree, tables, walk, blocks, desk, leads)

    return iterate


@for_rule
def make_passes(rule: Rule, *, estimated: bool = False) -> Any:
    """Makes the loop of `make_loop` for passes over the rows of leaves.

    If the gradients are `estimated`, a call makes one update, before which they have
    been written into the tables, and counts no nodes.
    """

    @inlined
    def count_nodes(frame, desk, tables, first, end):
        """Delivers nothing, since pieces read the rows of leaves."""
        if estimated:
            return 0
        return (end - first) * np.int64(views(frame, Task).job[layout.NUM_NODES])

    do_piece = make_piece(rule, has_rows=not estimated)
    return make_loop(rule, do_piece, count_nodes, once=estimated)


def compile_for_threads(kernel: Any) -> None:
    """Compiles a kernel for passes before threads meet in it.

    The seconds of the first iteration hold no compiler then.
    """
    if IS_COMPILED:
        kernel.compile((types.int64[::1], types.int64[::1], types.boolean))
