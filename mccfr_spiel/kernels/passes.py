"""Passes over a complete tree: the loop for algorithms that do not sample.

A pass visits no nodes. The leaves are listed once, as rows grouped by the last sequence
of a player (`tables.Passes`). The gradient of a player at a sequence is a sum over its
rows: the payoff of the leaf times the probability that chance and the other players
reach it. The plans of all players, which contain these probabilities, are kept from one
update to the next.

An update makes two passes over the infosets of a player. The pass upward moves the
policies, bottom-up. The pass downward recomputes the plans, top-down, and adds the old
plans to the average.

Threads share both passes by tickets (tickets.py) for pieces. blocks.py describes how
infosets are cut into pieces and a top, and why the cut never changes a result.
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

WAY, NUM_NOTES = NOTES, 1
"""The leader's only note: the direction of the pass. NUM_NOTES counts the notes."""

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
    """Processes the pieces `first .. end - 1` bottom-up, then the top."""
    # The note is written before the tickets open, so every thread that claims one
    # reads the right direction.
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
    """Processes the top, then the pieces `first .. end - 1` top-down."""
    desk[WAY] = DOWNWARD
    if len(blocks.top) > 0:
        process(work, desk, np.int64(THE_TOP))
    share(process, work, desk, first, end)


@inlined
def take_value(
    tree: layout.TreeArrays, tables: layout.Tables, root: int, looks_ahead: bool
) -> None:
    """Moves the value of a root from its first sequence to its parent sequence."""
    start, parent = tree.infosets[root]["first_sequence"], tree.infosets[root]["parent"]
    tables.gradient[parent] += tables.gradient[start]
    tables.gradient[start] = 0.0
    if looks_ahead:
        tables.ahead[parent] += tables.ahead[start]
        tables.ahead[start] = 0.0


def make_piece(rule: Rule, *, has_rows: bool) -> Any:
    """Compiles `do_piece(frame, desk, piece)`, which processes a piece or the top.

    The direction is the leader's note WAY.

    Args:
        rule: the local rule.
        has_rows: whether payoffs are read from the rows of leaves. Otherwise they must
            be in `Tables.gradient`, and in `Tables.ahead` if the rule looks ahead.
    """
    looks_ahead, update, rates_at = rule.looks_ahead, rule.update, rule.rates

    @inlined
    def update_infoset(task, tree, tables, passes, infoset, parent, rates):
        """Completes the gradient of an infoset by its leaves, and moves the policy.

        It adds the value of the infoset to the gradient of `parent`.
        """
        infosets, gradient, plan = tree.infosets, tables.gradient, tables.plan
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        if has_rows:
            # `gradient` contains the values of infosets below, `ahead` the predicted
            # ones. Both receive the same payoffs of leaves.
            for s in range(start, stop):
                below = gradient[s]
                gradient[s] = add_rows(passes, plan, s, passes.others.shape[1], below)
                if looks_ahead:
                    tables.ahead[s] += gradient[s] - below
        value = 0.0
        if len(tables.locked) > 0 and tables.locked[infoset] != 0:
            # A locked policy does not move, but the parent needs the value.
            for s in range(start, stop):
                value += tables.policy[s] * gradient[s]
                gradient[s] = 0.0
        else:
            value = update(tables, infoset, parent, start, stop, task.parameters, rates)
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
            # Infosets in the top, and roots, of all updated players.
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
                if infoset < 0:  # a root, complete
                    take_value(tree, tables, ~infoset, looks_ahead)
                    continue
                kind = blocks.kinds[infoset] if is_cut else np.uint8(INNER)
                if kind == IN_TOP:
                    continue
                parent = infosets[infoset]["parent"]
                # The parent sequence of a root belongs to the top, so the value stays
                # in the first sequence until the top moves it.
                if kind == ROOT:
                    parent = infosets[infoset]["first_sequence"]
                update_infoset(task, tree, tables, passes, infoset, parent, rates)
        else:
            weight = walk.clock[layout.AVERAGE_WEIGHT]
            # Top-down: the plan of a parent sequence is new when it is read.
            for visit in range(begin, end):
                infoset = order[visit]
                if infoset < 0 or (is_cut and blocks.kinds[infoset] == IN_TOP):
                    continue
                move_plans(infosets, tables, infoset, weight)

    return do_piece


def make_loop(rule: Rule, do_piece: Any, deliver: Any, *, once: bool = False) -> Any:
    """Makes `iterate(frame, desk, leads)`, the loop over iterations without sampling.

    It initializes the tables of new infosets, then runs whole iterations until the
    limits of the job. `teams.run` calls it in several threads, with NUM_NOTES notes.
    The leader returns DONE.

    Args:
        rule: the local rule.
        do_piece: see `make_piece`.
        deliver: `deliver(frame, desk, tables, first, end)` returns the number of nodes
            touched. It may write the payoffs of leaves into the gradient before an
            update of the players `first .. end - 1`.
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

        # Each pass of this loop updates one player, or all players at once. Invariant:
        # `plan` holds the plans of the current policies, and the gradient is zero. The
        # loop ends at the limits of the job.
        while begin(task, tables, walk, num_players):
            first, end = cursor[layout.PLAYER], walk.marks[layout.WALKER] + 1
            walk.marks[layout.TOUCHED] += deliver(frame, desk, tables, first, end)
            begin_piece, end_piece = first * num_blocks, end * num_blocks
            go_up(do_piece, frame, blocks, desk, begin_piece, end_piece)
            go_down(do_piece, frame, blocks, desk, begin_piece, end_piece)
            # Pieces may be missing. `teams.run` raises the exception of the thread.
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
        """Returns the number of nodes; pieces read the rows, so nothing is written."""
        if estimated:
            return 0
        return (end - first) * np.int64(
            layout.views(frame, layout.Task).job[layout.NUM_NODES]
        )

    do_piece = make_piece(rule, has_rows=not estimated)
    return make_loop(rule, do_piece, count_nodes, once=estimated)


def compile_for_threads(kernel: Any) -> None:
    """Compiles a loop for passes before threads call it.

    So the time of the first iteration does not include compilation.
    """
    if IS_COMPILED:
        kernel.compile((types.int64[::1], types.int64[::1], types.boolean))
