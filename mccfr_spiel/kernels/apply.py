"""The update after the walks of an iteration, the only writer of learned state.

Walks leave a gradient, and a list of the infosets that they met, ancestors first. An
update processes this list bottom-up. At each infoset it adds the debt to the average
(lazy_average.py), moves the policy by the local rule, clears the gradient, and adds the
value of the infoset to the gradient of the parent sequence.

All debts of an update must be paid with the old policies. A walk that runs alone has
stored the average at each parent sequence in `Walk.settled`, so each infoset can pay
right before its policy moves. Otherwise all infosets of the list pay first.

visits.py has the update for players with imperfect recall.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.batches import GROWING, present_batch, walks_at
from mccfr_spiel.kernels.discounts import advance, rates_since
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.lazy_average import average_weight, pay_debt, pay_met
from mccfr_spiel.kernels.minimizers import Rule
from mccfr_spiel.kernels.regret_rules import match_kept
from mccfr_spiel.kernels.selection import FLOOR

UNCHANGED = (1.0, 1.0, 1.0)
"""Rates of rules without discounts."""


@pasted
def is_at_end(task: layout.Task, walk: layout.Walk) -> bool:
    """Whether the next update would begin an iteration beyond the limits of the job."""
    job, cursor = task.job, walk.cursor
    is_last = cursor[layout.ITERATION] == np.int64(job[layout.LAST_ITERATION])
    is_enough = cursor[layout.NODES_TOUCHED] >= np.int64(job[layout.NODE_LIMIT])
    return cursor[layout.PLAYER] == 0 and (is_last or is_enough)


@pasted
def weight_of(task: layout.Task, weight: float, iteration: int) -> float:
    """Returns the increment of the average at each updated player's empty sequence.

    It is the weight of the iteration. With growing batches it is also multiplied by the
    number of walks, because the gradient has one term per walk.
    """
    batch_size = np.int64(task.job[layout.BATCH])
    return (
        weight * walks_at(batch_size, iteration)[1] if batch_size == GROWING else weight
    )


@pasted
def is_due(task: layout.Task, walk: layout.Walk, num_players: int) -> bool:
    """Whether the update is due when all walks for a player are complete.

    With simultaneous updates the walks for the next player come first.
    """
    marks = walk.marks
    marks[layout.WALK] = 0
    if task.job[layout.ALTERNATING] == 0 and marks[layout.WALKER] < num_players - 1:
        marks[layout.WALKER] += 1
        return False
    return True


@inlined
def after_stretch(
    task: layout.Task, walk: layout.Walk, num_walks: int, num_players: int
) -> Any:
    """Counts walks of a batch that threads make in several stretches.

    Returns:
        DONE if the update is due, PAUSED if Python should handle signals before the
        next walks, else GROW.
    """
    marks, batch = walk.marks, present_batch(task, walk)
    marks[layout.WALK] = min(marks[layout.WALK] + num_walks, batch)
    if marks[layout.WALK] == batch:
        return np.int64(layout.DONE if is_due(task, walk, num_players) else layout.GROW)
    visited = walk.cursor[layout.NODES_TOUCHED] + marks[layout.TOUCHED]
    is_long = visited >= np.int64(task.job[layout.PAUSE_LIMIT])
    return np.int64(layout.PAUSED if is_long else layout.GROW)


@pasted
def begin_update(
    task: layout.Task,
    tables: layout.Tables,
    walk: layout.Walk,
    rates: Any,
    discounts: bool,
) -> None:
    """Begins an iteration if this is its first update, and adds it to the average.

    Args:
        task: the job and the settings.
        tables: the tables; `average` changes at the updated players' empty sequences.
        walk: the walk; `cursor` and `clock` change.
        rates: the function `rates` of the rule.
        discounts: whether the rule discounts memories.
    """
    cursor, clock = walk.cursor, walk.clock
    if cursor[layout.PLAYER] == 0:
        cursor[layout.ITERATION] += 1
        iteration, before = cursor[layout.ITERATION], clock[layout.AVERAGE_WEIGHT]
        clock[layout.AVERAGE_WEIGHT] = average_weight(iteration, task.settings, before)
        if discounts:
            advance(clock, rates(task.parameters, iteration))
    weight = weight_of(task, clock[layout.AVERAGE_WEIGHT], cursor[layout.ITERATION])
    # WALKER is the last player with walks: PLAYER itself if players alternate.
    for p in range(cursor[layout.PLAYER], walk.marks[layout.WALKER] + 1):
        tables.average[p] += weight


@pasted
def end_update(
    task: layout.Task, tables: layout.Tables, walk: layout.Walk, num_players: int
) -> None:
    """Counts the touched nodes, selects the next player and resets the marks."""
    cursor, marks = walk.cursor, walk.marks
    for p in range(num_players):  # values of the roots, at the empty sequences
        tables.gradient[p] = 0.0
    cursor[layout.NODES_TOUCHED] += marks[layout.TOUCHED]
    if task.job[layout.ALTERNATING] != 0:
        is_last = cursor[layout.PLAYER] == num_players - 1
        cursor[layout.PLAYER] = 0 if is_last else cursor[layout.PLAYER] + 1
    marks[layout.WALKER] = cursor[layout.PLAYER]
    marks[layout.NUM_MET] = marks[layout.TOUCHED] = 0
    marks[layout.NOTED] = marks[layout.PASSED] = 0


def make_apply(
    rule: Rule,
    *,
    met_once: bool = False,
    carried: bool = False,
    skips: bool = False,
    part: int = layout.ALONE,
) -> Any:
    """Makes `apply(task, tree, tables, walk, met, first, stop, home)`.

    It updates the infosets `met[first:stop]` as described above. Where threads share a
    batch (shared_walks.py), the root of a block leaves its value in its own first
    sequence, and the top adds it to the parent later. The debts of the top must be paid
    before.

    Args:
        rule: the local rule.
        met_once: whether walks meet each infoset at most once, so that `is_met` is
            unused.
        carried: whether `Walk.settled` has the average at each parent sequence. Reading
            the parent's entry of the average instead would wait for the parent's
            payment at each level of the tree.
        skips: whether walks skip actions of very negative regret.
        part: part of the walk. For TOP_PART and BLOCK_PART, `home` is `Cut.home`,
            otherwise None.
    """
    update, discounts = rule.update, rule.discounts
    in_top, in_block = part == layout.TOP_PART, part == layout.BLOCK_PART
    pays = not (carried or in_top)

    @inlined
    def move(task, tables, clock, infoset, parent, start, end):
        rates = UNCHANGED
        if discounts:
            rates = rates_since(tables, clock, infoset)
        if skips:
            floor = FLOOR * task.settings[layout.PRUNE_BELOW]
            return match_kept(tables, start, end, floor)
        return update(tables, infoset, parent, start, end, task.parameters, rates)

    @inlined
    def apply(task, tree, tables, walk, met, first, stop, home):
        infosets, gradient = tree.infosets, tables.gradient
        if pays:
            pay_met(infosets, tables, met, first, stop)
        # Bottom-up, so that `gradient[start:end]` contains the values of all infosets
        # below. It is zero after the pass.
        for visit in range(stop - 1, first - 1, -1):
            infoset = np.int64(met[visit])
            start = np.int64(infosets[infoset]["first_sequence"])
            end = start + infosets[infoset]["num_actions"]
            parent = np.int64(infosets[infoset]["parent"])
            if carried:
                pay_debt(tables, infoset, walk.settled[visit], start, end)
            if not met_once:
                tables.is_met[infoset] = 0
            # A nonnegative entry marks the root of a block. The block has updated the
            # root, and the value is in the first sequence of the root.
            if in_top and home[start] >= 0:
                gradient[parent] += gradient[start]
                gradient[start] = 0.0
                continue
            value = move(task, tables, walk.clock, infoset, parent, start, end)
            # Odd entries mark roots. The parent belongs to the top, where threads of
            # other blocks would interfere, so the value stays in the block.
            if in_block and home[start] & 1 != 0:
                parent = start
            gradient[parent] += value

    return apply
