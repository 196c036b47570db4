"""The update after some walks: the only writer of what a solver has learned.

Walks leave a gradient that is 0 except at the sequences of the infosets that they met,
and the list of these infosets, ancestors first. An update takes the infosets from the
last one up. Each pays its debt to the average, then a rule moves its policy, clears the
gradient that it has used, and passes a value up to the parent's gradient. A walk alone
has carried along what the average has before each infoset. Otherwise all debts are paid
first, ancestors first, while no policy has moved yet.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.averaging import average_weight, pay_debt
from mccfr_spiel.kernels.batches import GROWING, batch_at
from mccfr_spiel.kernels.minimizers import rates_at, rule_of, update
from mccfr_spiel.kernels.pruning import FLOOR, match_pruned
from mccfr_spiel.kernels.rates import advance, rates_since
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    AVERAGE_WEIGHT,
    BATCH,
    ITERATION,
    LAST_ITERATION,
    NODE_LIMIT,
    NODES_TOUCHED,
    NOTED,
    NUM_MET,
    PASSED,
    PLAYER,
    PRUNE_BELOW,
    TOUCHED,
    WALK,
    WALKER,
    Tables,
    Task,
    Walk,
)

UNCHANGED = (1.0, 1.0, 1.0)
"""The rates of rules that do not discount."""


@inlined
def is_at_end(task: Task, walk: Walk) -> bool:
    """Whether no walk for the next update may begin, because it would be the first of
    an iteration beyond the limits of the job."""
    limits, cursor = task.job.view(np.int64), walk.cursor
    is_last = cursor[ITERATION] == limits[LAST_ITERATION]
    is_enough = cursor[NODES_TOUCHED] >= limits[NODE_LIMIT]
    return cursor[PLAYER] == 0 and (is_last or is_enough)


@inlined
def weight_of(task: Task, weight: float, iteration: int) -> float:
    """What an iteration adds to each updated player's empty sequence in the average.

    Where batches grow, its weight is taken times the walks, as the gradient has a term
    for each walk.
    """
    given = task.job.view(np.int64)[BATCH]
    return weight * batch_at(given, iteration) if given == GROWING else weight


@inlined
def is_due(task: Task, walk: Walk, num_players: int) -> bool:
    """Whether the update is due when a player's last walk has ended.

    With simultaneous updates, the walks for the next player come first, if there is
    one.
    """
    marks = walk.marks
    marks[WALK] = 0
    if task.job[ALTERNATING] == 0 and marks[WALKER] < num_players - 1:
        marks[WALKER] += 1
        return False
    return True


@inlined
def begin_update(
    task: Task, tables: Tables, walk: Walk, rule: int, discounts: bool
) -> None:
    """Begins the iteration if it is the first update of one, and adds it to the average
    of the players whose walks have ended."""
    cursor, clock = walk.cursor, walk.clock
    if cursor[PLAYER] == 0:
        cursor[ITERATION] += 1
        iteration, before = cursor[ITERATION], clock[AVERAGE_WEIGHT]
        clock[AVERAGE_WEIGHT] = average_weight(iteration, task.settings, before)
        if discounts:
            advance(clock, rates_at(rule, task.parameters, iteration))
    weight = weight_of(task, clock[AVERAGE_WEIGHT], cursor[ITERATION])
    for p in range(cursor[PLAYER], walk.marks[WALKER] + 1):
        tables.average[p] += weight


@inlined
def end_update(task: Task, tables: Tables, walk: Walk, num_players: int) -> None:
    """Counts the nodes, and says who is next."""
    cursor, marks = walk.cursor, walk.marks
    for p in range(num_players):
        tables.gradient[p] = 0.0
    cursor[NODES_TOUCHED] += marks[TOUCHED]
    if task.job[ALTERNATING] != 0:
        is_last = cursor[PLAYER] == num_players - 1
        cursor[PLAYER] = 0 if is_last else cursor[PLAYER] + 1
    marks[WALKER] = cursor[PLAYER]
    marks[NUM_MET] = marks[TOUCHED] = marks[NOTED] = marks[PASSED] = 0


@inlined
def pay_met(
    infosets: np.ndarray, tables: Tables, met: np.ndarray, first: int, stop: int
) -> None:
    """Has the infosets `met[first:stop]` pay their debts to the average."""
    for visit in range(first, stop):
        infoset = np.int64(met[visit])
        start = np.int64(infosets[infoset]["first_sequence"])
        end = start + infosets[infoset]["num_actions"]
        settled = tables.average[infosets[infoset]["parent"]]
        pay_debt(tables, infoset, settled, start, end)


def make_move(rule: int, *, skips: bool) -> Any:
    """Makes `move(task, tree, tables, clock, infoset)`, which moves the policy at an
    infoset, clears its gradient, and returns what goes up to its parent.

    Args:
        rule: the number of the local rule.
        skips: whether walks leave out actions of very negative regret.
    """
    discounts = rule_of(rule).discounts

    @inlined
    def move(task, tree, tables, clock, infoset):
        infosets, parameters = tree.infosets, task.parameters
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        parent = infosets[infoset]["parent"]
        rates = UNCHANGED
        if discounts:
            rates = rates_since(tables, clock, infoset)
        if skips:
            floor = FLOOR * task.settings[PRUNE_BELOW]
            value = match_pruned(tables, start, stop, floor)
        else:
            value = update(
                rule, tables, infoset, parent, start, stop, parameters, rates
            )
        return value

    return move


def make_apply(rule: int, *, skips: bool, met_once: bool, carried: bool) -> Any:
    """Makes `apply(task, tree, tables, walk, num_met)`, the update described above.

    Args:
        rule, skips: as in `make_move`.
        met_once: whether no walk comes to an infoset a second time, so that `is_met` is
            not used.
        carried: whether `Walk.settled` says what the average has before each infoset.
            Then each pays right before it moves, which is quicker. Paying by what its
            parent has paid just now means to wait for that at each level.
    """
    move = make_move(rule, skips=skips)

    @inlined
    def apply(task, tree, tables, walk, num_met):
        infosets, gradient = tree.infosets, tables.gradient
        if not carried:
            pay_met(infosets, tables, walk.met, 0, num_met)
        for visit in range(num_met - 1, -1, -1):
            infoset = np.int64(walk.met[visit])
            if carried:
                start = np.int64(infosets[infoset]["first_sequence"])
                stop = start + infosets[infoset]["num_actions"]
                pay_debt(tables, infoset, walk.settled[visit], start, stop)
            if not met_once:
                tables.is_met[infoset] = 0
            value = move(task, tree, tables, walk.clock, infoset)
            gradient[infosets[infoset]["parent"]] += value

    return apply
