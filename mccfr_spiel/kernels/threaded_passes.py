"""Passes over a complete tree by several threads, with the bits of one thread.

`blocks.py` says how the infosets are cut, `compiled/atomics.py` how threads share work.
All threads run the same compiled function. A block is a ticket; the leader opens those
of one stage, and does what is left between two stages by itself.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.atomics import (
    CLOSED,
    FAILED,
    FINISHED,
    NOTES,
    OPENED,
    add_one,
    is_over,
    load,
    next_ticket,
    store,
)
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import rates_at, rule_of, start_tables
from mccfr_spiel.kernels.passes import (
    move_plans,
    next_update,
    update_infoset,
)
from mccfr_spiel.kernels.rates import Rates
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    AVERAGE_WEIGHT,
    DONE,
    ITERATION,
    NODES_TOUCHED,
    PLAYER,
    SEED,
    THREAD_FAILED,
    Blocks,
    Passes,
    Plans,
    Tables,
    Task,
    TreeArrays,
    Walk,
    tree_in,
    views,
)

STAGE, ITERATION_NOW, PLAYER_NOW, TOUCHED_NOW, FIRST_BLOCK, _END = range(
    NOTES, NOTES + 6
)
"""The leader's notes: the stage, the iteration, the player being updated and the nodes
touched, and the block of the first ticket, less that ticket's number."""

NUM_NOTES = _END - NOTES

(UPDATE_BLOCKS, UPDATE_TOP, MOVE_TOP, MOVE_BLOCKS, BEFORE) = range(5)
"""The stages of an update: policies move in all blocks, upward, and in the top; then
plans are made in the top, and in all blocks, downward. BEFORE is the stage of a leader
that has just begun."""


@inlined
def open_tickets(desk: np.ndarray, note: int, first: int, end: int) -> None:
    """Opens a ticket for each of the numbers `first .. end - 1`, such as blocks; all
    earlier tickets are finished. A ticket's number is its own plus the note."""
    opened = load(desk, OPENED)
    store(desk, note, first - opened)
    store(desk, OPENED, opened + end - first)


@jit
def _begin_stage(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    blocks: Blocks,
    desk: np.ndarray,
    looks_ahead: bool,
) -> None:
    """Goes on to the next stage, or closes the desk at the job's limits."""
    num_players = tree.utilities.shape[1]
    stage = desk[STAGE]
    if stage < MOVE_BLOCKS:
        stage += 1
    else:
        if stage == MOVE_BLOCKS:
            for sequence in range(num_players):
                tables.gradient[sequence] = 0.0
                if looks_ahead:
                    tables.ahead[sequence] = 0.0
            desk[PLAYER_NOW] = (desk[PLAYER_NOW] + 1) % num_players
        goes_on, iteration, player, touched = next_update(
            task,
            tree,
            tables,
            walk.clock,
            desk[ITERATION_NOW],
            desk[PLAYER_NOW],
            desk[TOUCHED_NOW],
        )
        desk[ITERATION_NOW], desk[PLAYER_NOW] = iteration, player
        desk[TOUCHED_NOW] = touched
        if not goes_on:
            store(desk, CLOSED, 1)
            return
        stage = UPDATE_BLOCKS
    store(desk, STAGE, stage)
    if stage == UPDATE_BLOCKS or stage == MOVE_BLOCKS:
        last = desk[PLAYER_NOW]
        first = last if task.job[ALTERNATING] != 0 else 0
        open_tickets(
            desk, FIRST_BLOCK, blocks.player_ends[first], blocks.player_ends[last + 1]
        )


@inlined
def take_value(tree: TreeArrays, tables: Tables, root: int, looks_ahead: bool) -> None:
    """Adds the value that a block's root has left to its parent sequence's."""
    start, parent = tree.infosets[root]["first_sequence"], tree.infosets[root]["parent"]
    tables.gradient[parent] += tables.gradient[start]
    tables.gradient[start] = 0.0
    if looks_ahead:
        tables.ahead[parent] += tables.ahead[start]
        tables.ahead[start] = 0.0


@inlined
def _update_infosets(
    tree: TreeArrays,
    tables: Tables,
    passes: Passes,
    plan: np.ndarray,
    order: np.ndarray,
    begin: int,
    end: int,
    in_top: bool,
    rule: int,
    looks_ahead: bool,
    parameters: np.ndarray,
    rates: Rates,
) -> None:
    """Moves the policies at `order[begin:end]`, of a block or of the top, upward."""
    infosets = tree.infosets
    # An infoset of the order passes its value up to its parent. A root, ~infoset, of a
    # block leaves it in its own first sequence, from where the top takes it.
    for visit in range(end - 1, begin - 1, -1):
        infoset = order[visit]
        is_root = infoset < 0
        if is_root:
            infoset = ~infoset
        if is_root and in_top:
            take_value(tree, tables, infoset, looks_ahead)
        else:
            parent = infosets[infoset]["parent"]
            if is_root:
                parent = infosets[infoset]["first_sequence"]
            update_infoset(
                tree,
                tables,
                passes,
                plan,
                infoset,
                parent,
                False,
                rule,
                looks_ahead,
                parameters,
                rates,
            )


@inlined
def _move_plans_of(
    tree: TreeArrays,
    tables: Tables,
    plan: np.ndarray,
    order: np.ndarray,
    begin: int,
    end: int,
    in_top: bool,
    weight: float,
) -> None:
    """Moves the plans at `order[begin:end]`, of a block or of the top, downward."""
    for visit in range(begin, end):
        infoset = order[visit]
        if infoset >= 0:
            move_plans(tree.infosets, tables, plan, infoset, weight)
        elif not in_top:
            move_plans(tree.infosets, tables, plan, ~infoset, weight)


def make_threaded_passes(rule: int) -> Any:
    """Compiles `iterate(frame, desk, leads)` for algorithms that sample nothing.

    Every thread calls it with the same frame and desk, and one of them leads. The
    result is that of `passes.make_passes`, to the bit. The leader returns DONE, or
    THREAD_FAILED if another thread failed.
    """
    looks_ahead = rule_of(rule).looks_ahead

    @jit(nogil=True)
    def iterate(frame, desk, leads):
        task = views(frame, Task)
        tree, walk = tree_in(frame, task.job), views(frame, Walk)
        tables, passes = views(frame, Tables), views(frame, Passes)
        plan, blocks = views(frame, Plans).plan, views(frame, Blocks)
        job, parameters, cursor = task.job, task.parameters, walk.cursor
        if leads:
            start_tables(tree, tables, walk.known, rule, job[SEED], parameters)
            desk[STAGE] = BEFORE
            desk[ITERATION_NOW] = cursor[ITERATION]
            desk[PLAYER_NOW] = cursor[PLAYER]
            desk[TOUCHED_NOW] = cursor[NODES_TOUCHED]

        # One pass of this loop does one block of the present stage. When all blocks are
        # done, the leader opens the next stage, or does the top.
        while True:
            ticket = next_ticket(desk, leads)
            in_top = ticket < 0
            if in_top:
                if not leads or is_over(desk):
                    break
                _begin_stage(task, tree, tables, walk, blocks, desk, looks_ahead)
            stage, last = load(desk, STAGE), desk[PLAYER_NOW]
            order = blocks.members
            if in_top:
                if stage == UPDATE_BLOCKS or stage == MOVE_BLOCKS:
                    continue
                first = last if job[ALTERNATING] != 0 else 0
                order = blocks.top
                begin, end = blocks.top_ends[first], blocks.top_ends[last + 1]
            else:
                block = ticket + desk[FIRST_BLOCK]
                begin, end = blocks.ends[block], blocks.ends[block + 1]
            if stage <= UPDATE_TOP:
                _update_infosets(
                    tree,
                    tables,
                    passes,
                    plan,
                    order,
                    begin,
                    end,
                    in_top,
                    rule,
                    looks_ahead,
                    parameters,
                    rates_at(rule, parameters, desk[ITERATION_NOW]),
                )
            else:
                weight = walk.clock[AVERAGE_WEIGHT]
                _move_plans_of(tree, tables, plan, order, begin, end, in_top, weight)
            if not in_top:
                add_one(desk, FINISHED)

        if leads:
            if load(desk, FAILED) != 0:
                return THREAD_FAILED
            cursor[ITERATION] = desk[ITERATION_NOW]
            cursor[PLAYER] = desk[PLAYER_NOW]
            cursor[NODES_TOUCHED] = desk[TOUCHED_NOW]
        return DONE

    return iterate
