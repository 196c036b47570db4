"""The update after the walks of an iteration.

Walks leave a gradient, and a list of the infosets that they visited, ancestors first.
An update processes this list bottom-up. At each infoset it pays the debt to the average
(lazy_average.py), changes the policy by the local rule, clears the gradient, and adds
the value of the infoset to the gradient at the parent sequence.

The debt of an infoset is what the average still owes it: the policy times the growth of
the average at the parent sequence since the last update there. It must be added
("paid") with the old policy and after the debts of all ancestors, whereas policies
change bottom-up. Therefore a walk that one thread runs alone stores the final average
at each parent sequence in `Walk.settled`, and the update pays each debt right before
the policy changes. Otherwise the update first pays the debts of the whole list,
ancestors first.

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
from mccfr_spiel.kernels.trembles import least_of

UNCHANGED = (1.0, 1.0, 1.0)
"""The argument `rates` of rules without discounts: all factors are 1."""


@pasted
def is_at_end(task: layout.Task, walk: layout.Walk) -> bool:
    """Returns whether the next iteration would exceed the limits of the job.

    It returns False if an iteration has begun but not all players are updated.
    """
    job, cursor = task.job, walk.cursor
    is_last = cursor[layout.ITERATION] == np.int64(job[layout.LAST_ITERATION])
    is_enough = cursor[layout.NODES_TOUCHED] >= np.int64(job[layout.NODE_LIMIT])
    return cursor[layout.PLAYER] == 0 and (is_last or is_enough)


@pasted
def weight_of(task: layout.Task, weight: float, iteration: int) -> float:
    """Returns the increase of the average at the empty sequence of an updated player.

    The increase is the weight of the iteration. With growing batches it is multiplied
    by the number of walks, because the gradient has one term per walk.
    """
    batch_size = np.int64(task.job[layout.BATCH])
    return (
        weight * walks_at(batch_size, iteration)[1] if batch_size == GROWING else weight
    )


@pasted
def is_due(task: layout.Task, walk: layout.Walk, num_players: int) -> bool:
    """Returns whether the update is due, after the walks for a player are complete.

    With simultaneous updates, it selects the next player and returns False until the
    walks for all players are complete.
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
    """Counts the walks of a stretch, a part of a batch whose walks threads share.

    Returns:
        A status. DONE: the update is due. GROW: more walks must follow first. PAUSED:
        the same, but Python should handle signals before the next walks.
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
    """Prepares the update of one player, or of all players at once.

    The first update of an iteration increments the iteration number, computes the
    iteration's weight in the average, and advances the discounts. Every update then
    adds the weight at the empty sequences of the updated players. The other sequences
    receive their shares later (lazy_average.py).

    Args:
        task: the job and the settings.
        tables: the tables; `average` changes at the updated players' empty sequences.
        walk: the walk; `cursor` and `clock` change.
        rates: the function `rates` of the rule.
        discounts: whether the rule discounts `Tables.memory`.
    """
    cursor, clock = walk.cursor, walk.clock
    if cursor[layout.PLAYER] == 0:
        cursor[layout.ITERATION] += 1
        iteration, before = cursor[layout.ITERATION], clock[layout.AVERAGE_WEIGHT]
        clock[layout.AVERAGE_WEIGHT] = average_weight(iteration, task.settings, before)
        if discounts:
            advance(clock, rates(task.parameters, iteration))
    weight = weight_of(task, clock[layout.AVERAGE_WEIGHT], cursor[layout.ITERATION])
    # PLAYER is the first updated player and WALKER the last. They are equal if players
    # are updated in turns.
    for p in range(cursor[layout.PLAYER], walk.marks[layout.WALKER] + 1):
        tables.average[p] += weight


@pasted
def end_update(
    task: layout.Task, tables: layout.Tables, walk: layout.Walk, num_players: int
) -> None:
    """Ends the update of one player, or of all players at once.

    It adds the touched nodes to the total, selects the player who is updated next, and
    resets the counters in `Walk.marks`.
    """
    cursor, marks = walk.cursor, walk.marks
    for p in range(num_players):  # the updates left values at the empty sequences
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

    `apply` updates the infosets `met[first:stop]` as described at the top of this file.

    If threads share a batch (shared_walks.py), they first update the blocks of infosets
    in parallel. Then one thread updates the top, the infosets above all blocks. The
    parent sequence of a block's root belongs to the top. Therefore the block stores the
    root's value in the gradient at the root's first sequence, and the update of the top
    moves the value to the parent sequence. The debts of the top must be paid before.

    Args:
        rule: the local rule.
        met_once: whether walks visit each infoset of the updated player at most once,
            so that `is_met` is unused.
        carried: whether `Walk.settled` holds the average at each parent sequence. If
            the update read `Tables.average` instead, the processor would wait at each
            level of the tree until the parent's average is written.
        skips: whether walks skip actions of very negative regret.
        part: ALONE, or TOP_PART or BLOCK_PART to update the top or a block. In these
            cases `home` must be `Cut.home`, otherwise None.
    """
    update, discounts, trembles = rule.update, rule.discounts, rule.trembles
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
        least = least_of(task.settings, end - start) if trembles else 0.0
        own = task.parameters
        return update(tables, infoset, parent, start, end, own, rates, least)

    @inlined
    def apply(task, tree, tables, walk, met, first, stop, home):
        infosets, gradient = tree.infosets, tables.gradient
        if pays:
            pay_met(infosets, tables, met, first, stop)
        # Bottom-up, so that `gradient[start:end]` contains the values of all infosets
        # below. The rule sets these entries to zero.
        for visit in range(stop - 1, first - 1, -1):
            infoset = np.int64(met[visit])
            start = np.int64(infosets[infoset]["first_sequence"])
            end = start + infosets[infoset]["num_actions"]
            parent = np.int64(infosets[infoset]["parent"])
            if carried:
                pay_debt(tables, infoset, walk.settled[visit], start, end)
            if not met_once:
                tables.is_met[infoset] = 0
            # If `home` is not negative, the infoset is the root of a block. The block
            # has updated the root and stored the value at the root's first sequence.
            if in_top and home[start] >= 0:
                gradient[parent] += gradient[start]
                gradient[start] = 0.0
                continue
            value = move(task, tables, walk.clock, infoset, parent, start, end)
            # An odd `home` marks a root. Its parent belongs to the top, where threads
            # of other blocks could write too, so the value stays in the block.
            if in_block and home[start] & 1 != 0:
                parent = start
            gradient[parent] += value

    return apply
