"""Passes over a complete tree: the loop for algorithms that do not sample.

A pass visits no nodes. The leaves are listed once, as rows grouped by the last sequence
of a player (`tables.Passes`). The gradient of a player at a sequence is a sum over the
rows of the sequence: the payoff of the leaf times the probability that chance and the
other players reach it. The realization plans of all players, which contain these
probabilities, are kept from one update to the next.

An update makes two passes over the infosets of a player. The pass upward (children
before parents) changes the policies. The pass downward (parents before children)
recomputes the plans, and adds the old plans to the average.

Threads share both passes. The infosets of a player in one block form a *piece*, a unit
of work that one thread claims (tickets.py). The infosets above all blocks are the
*top*, which one thread processes. blocks.py describes this partition, and why it does
not change results. The threads communicate through the *desk*, a shared array of
integers (tickets.py). One thread is the *leader*: it makes the loop over iterations,
and the others help with the pieces.
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
from mccfr_spiel.kernels.tickets import FAILED, NOTES, share, take_pieces
from mccfr_spiel.kernels.trembles import least_of

WAY, NUM_NOTES = NOTES, 1
"""Index on the desk where the leader writes the direction of the pass, for the threads
that process pieces; and the number of such notes of the leader."""

UPWARD, DOWNWARD = range(2)
"""The directions of a pass."""


@pasted
def go_up(
    process: Any,
    work: Any,
    blocks: layout.Blocks,
    desk: np.ndarray,
    first: int,
    end: int,
) -> None:
    """Makes the pass upward: the pieces `first .. end - 1` in parallel, then the top.

    `process(work, desk, piece)` processes a piece, or the top if `piece` is THE_TOP.
    """
    # The direction is written before `share` offers the pieces to other threads, so
    # each thread that claims a piece reads the right direction.
    desk[WAY] = UPWARD
    share(process, work, desk, first, end)
    if len(blocks.top) > 0:
        process(work, desk, np.int64(THE_TOP))


@pasted
def go_down(
    process: Any,
    work: Any,
    blocks: layout.Blocks,
    desk: np.ndarray,
    first: int,
    end: int,
) -> None:
    """Makes the pass downward: the top, then the pieces `first .. end - 1` in parallel.

    `process(work, desk, piece)` processes a piece, or the top if `piece` is THE_TOP.
    """
    desk[WAY] = DOWNWARD
    if len(blocks.top) > 0:
        process(work, desk, np.int64(THE_TOP))
    share(process, work, desk, first, end)


@inlined
def take_value(
    tree: layout.TreeArrays, tables: layout.Tables, root: int, looks_ahead: bool
) -> None:
    """Moves the value of a block's root to the gradient at its parent sequence.

    The piece has stored the value in the gradient at the root's first sequence. With
    `looks_ahead`, the predicted value in `Tables.ahead` is moved in the same way.
    """
    start, parent = tree.infosets[root]["first_sequence"], tree.infosets[root]["parent"]
    tables.gradient[parent] += tables.gradient[start]
    tables.gradient[start] = 0.0
    if looks_ahead:
        tables.ahead[parent] += tables.ahead[start]
        tables.ahead[start] = 0.0


def make_piece(rule: Rule, *, has_rows: bool) -> Any:
    """Compiles `do_piece(frame, desk, piece)`, which processes a piece or the top.

    The top is processed if `piece` is THE_TOP. `desk[WAY]` is the direction: UPWARD
    changes the policies, DOWNWARD recomputes the plans.

    Args:
        rule: the local rule.
        has_rows: whether payoffs are read from the rows of leaves. Otherwise the caller
            has written them into `Tables.gradient`, and into `Tables.ahead` if the rule
            looks ahead.
    """
    looks_ahead, update, rates_at = rule.looks_ahead, rule.update, rule.rates
    trembles = rule.trembles

    @inlined
    def update_infoset(task, tree, tables, passes, infoset, parent, rates):
        """Adds payoffs of leaves to the gradient of an infoset and changes its policy.

        The value of the infoset is added to the gradient at the sequence `parent`.
        """
        infosets, gradient, plan = tree.infosets, tables.gradient, tables.plan
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        if has_rows:
            # `gradient` already contains the values of infosets below, and `ahead`
            # their predicted values. Both receive the same payoffs of leaves.
            for s in range(start, stop):
                below = gradient[s]
                gradient[s] = add_rows(passes, plan, s, passes.others.shape[1], below)
                if looks_ahead:
                    tables.ahead[s] += gradient[s] - below
        value = 0.0
        if len(tables.locked) > 0 and tables.locked[infoset] != 0:
            # A locked policy does not change, but the parent needs the value.
            for s in range(start, stop):
                value += tables.policy[s] * gradient[s]
                gradient[s] = 0.0
        else:
            least = least_of(task.settings, stop - start) if trembles else 0.0
            own = task.parameters
            value = update(tables, infoset, parent, start, stop, own, rates, least)
        gradient[parent] += value

    @jit(nogil=True, views_only=True)
    def do_piece(frame, desk, piece):
        task = layout.views(frame, layout.Task)
        tree, tables = (
            layout.tree_in(frame, task.job),
            layout.views(frame, layout.Tables),
        )
        passes, blocks = (
            layout.views(frame, layout.Passes),
            layout.views(frame, layout.Blocks),
        )
        walk, infosets = layout.views(frame, layout.Walk), tree.infosets
        if piece == THE_TOP:
            # `blocks.top` lists the infosets of the top, and each block's root i as ~i.
            # The range contains the part of every updated player.
            order, is_cut = blocks.top, False
            begin = blocks.top_ends[walk.cursor[layout.PLAYER]]
            end = blocks.top_ends[walk.marks[layout.WALKER] + 1]
        else:
            order, is_cut = passes.members, len(blocks.kinds) > 0
            begin, end = blocks.starts[piece], blocks.starts[piece + 1]
        if desk[WAY] == UPWARD:
            rates = rates_at(task.parameters, walk.cursor[layout.ITERATION])
            # Bottom-up, so that gradients contain the values of all infosets below.
            for visit in range(end - 1, begin - 1, -1):
                infoset = order[visit]
                if infoset < 0:  # a root, which its piece has updated already
                    take_value(tree, tables, ~infoset, looks_ahead)
                    continue
                kind = blocks.kinds[infoset] if is_cut else np.uint8(INNER)
                if kind == IN_TOP:
                    continue
                parent = infosets[infoset]["parent"]
                # The parent sequence of a root belongs to the top, so the value is
                # stored at the root's first sequence. `take_value` moves it later.
                if kind == ROOT:
                    parent = infosets[infoset]["first_sequence"]
                update_infoset(task, tree, tables, passes, infoset, parent, rates)
        else:
            weight = walk.clock[layout.AVERAGE_WEIGHT]
            # Top-down, so the plan at a parent sequence is already recomputed.
            for visit in range(begin, end):
                infoset = order[visit]
                if infoset < 0 or (is_cut and blocks.kinds[infoset] == IN_TOP):
                    continue
                move_plans(infosets, tables, infoset, weight)

    return do_piece


def make_loop(rule: Rule, do_piece: Any, deliver: Any, *, once: bool = False) -> Any:
    """Makes `iterate(frame, desk, leads)`, the loop over iterations without sampling.

    `teams.run` calls `iterate` in several threads, with NUM_NOTES notes on the desk.
    The thread with `leads` = True initializes the tables of new infosets and runs
    iterations up to the limits of the job; the other threads process pieces. `iterate`
    always returns DONE.

    Args:
        rule: the local rule.
        do_piece: processes a piece or the top, see `make_piece`.
        deliver: `deliver(frame, desk, tables, first, end)` is called before each update
            of the players `first .. end - 1`. It returns the number of nodes touched.
            It may write payoffs of leaves into the gradient.
        once: whether a call makes at most one update.
    """
    rates, looks_ahead, start_tables = rule.rates, rule.looks_ahead, make_start(rule)

    @inlined
    def begin(task, tables, walk, num_players):
        """Begins the next update; returns False if the limits of the job forbid it."""
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

        # Each round updates one player, or all players at once. Invariant: `plan` holds
        # the plans of the current policies, and the gradient is zero. The loop ends at
        # the limits of the job.
        while begin(task, tables, walk, num_players):
            first, end = cursor[layout.PLAYER], walk.marks[layout.WALKER] + 1
            walk.marks[layout.TOUCHED] += deliver(frame, desk, tables, first, end)
            begin_piece, end_piece = first * num_blocks, end * num_blocks
            go_up(do_piece, frame, blocks, desk, begin_piece, end_piece)
            go_down(do_piece, frame, blocks, desk, begin_piece, end_piece)
            # Another thread has failed, so not all pieces were processed. `teams.run`
            # raises the exception of that thread.
            if load(desk, FAILED) != 0:
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
        task, tables = (
            layout.views(frame, layout.Task),
            layout.views(frame, layout.Tables),
        )
        tree, walk = layout.tree_in(frame, task.job), layout.views(frame, layout.Walk)
        blocks = layout.views(frame, layout.Blocks)
        return loop(frame, task, tree, tables, walk, blocks, desk, leads)

    return iterate


@for_rule
def make_passes(rule: Rule, *, estimated: bool = False) -> Any:
    """Makes the loop of `make_loop` for the rows of leaves of a complete tree.

    Args:
        rule: the local rule; callers pass its name.
        estimated: whether a user's estimator writes the gradients into the tables. Then
            a call makes one update and counts no nodes.
    """

    @inlined
    def count_nodes(frame, desk, tables, first, end):
        """Returns the number of nodes touched. It writes no payoffs.

        Pieces read the payoffs from the rows of leaves, or the estimator wrote them.
        """
        if estimated:
            return 0
        return (end - first) * np.int64(
            layout.views(frame, layout.Task).job[layout.NUM_NODES]
        )

    do_piece = make_piece(rule, has_rows=not estimated)
    return make_loop(rule, do_piece, count_nodes, once=estimated)


def compile_for_threads(kernel: Any) -> None:
    """Compiles a loop of `make_loop` before it is called.

    So the time of the first iteration does not include compilation.
    """
    if IS_COMPILED:
        kernel.compile((types.int64[::1], types.int64[::1], types.boolean))
