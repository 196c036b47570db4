"""The update after some walks: the only writer of what a solver has learned.

Walks leave a gradient that is 0 except at the sequences of the infosets that they met,
and the list of these infosets, ancestors first. An update goes through that list twice.
Ancestors first, each infoset pays its debt to the average, while no policy has moved
yet. From the last one up, a rule moves each policy, clears the gradient that it has
used, and passes a value up to the parent's gradient.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.averaging import average_weight, pay_debt
from mccfr_spiel.kernels.batches import GROWING, batch_at
from mccfr_spiel.kernels.minimizers import number_of, rates_at, rule_of, update
from mccfr_spiel.kernels.pruning import FLOOR, match_pruned
from mccfr_spiel.kernels.rates import advance, rates_since
from mccfr_spiel.kernels.tables import (
    AVERAGE_WEIGHT,
    BATCH,
    PRUNE_BELOW,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.ties import gather_regrets, move_tied, pay_tied

UNCHANGED = (1.0, 1.0, 1.0)
"""The rates of rules that do not discount."""

_FLOORED = number_of("regret_matching_plus")


@inlined
def begin_iteration(
    task: Task, clock: np.ndarray, iteration: int, rule: int, discounts: bool
) -> None:
    """Moves the clock on to a new iteration."""
    before = clock[AVERAGE_WEIGHT]
    clock[AVERAGE_WEIGHT] = average_weight(iteration, task.settings, before)
    if discounts:
        advance(clock, rates_at(rule, task.parameters, iteration))


@inlined
def weight_of(task: Task, weight: float, iteration: int, batched: bool) -> float:
    """What an iteration adds to each updated player's empty sequence in the average.

    Where batches grow, its weight is taken times the walks, as the gradient has a term
    for each walk.
    """
    given = task.job.view(np.int64)[BATCH]
    if batched and given == GROWING:
        return weight * batch_at(given, iteration)
    return weight


@inlined
def pay_met(
    infosets: np.ndarray, tables: Tables, met: np.ndarray, first: int, stop: int
) -> None:
    """Has the infosets `met[first:stop]` pay their debts to the average."""
    for visit in range(first, stop):
        infoset = np.int64(met[visit])
        start = np.int64(infosets[infoset]["first_sequence"])
        end = start + infosets[infoset]["num_actions"]
        pay_debt(tables, infoset, np.int64(infosets[infoset]["parent"]), start, end)


def make_move(rule: int, tied: bool, *, skips: bool) -> Any:
    """Makes `move(task, tree, tables, clock, infoset)`, which moves the policy at an
    infoset, clears its gradient, and returns what goes up to its parent.

    Args:
        rule: the number of the local rule.
        tied: whether an abstraction ties infosets; then only regrets are added up.
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
        elif tied:
            value = gather_regrets(tree, tables, infoset, start, stop)
        else:
            value = update(
                rule, tables, infoset, parent, start, stop, parameters, rates
            )
        return value

    return move


@inlined
def move_all_tied(
    tree: TreeArrays, tables: Tables, walk: Walk, num_met: int, rule: int
) -> None:
    """Moves the policy at the infosets met and at those tied to them; see ties.py."""
    chain = np.empty(len(tree.infosets), np.int32)
    for visit in range(num_met):
        pay_tied(tree, tables, walk.met[visit], chain)
    for visit in range(num_met):
        move_tied(tree, tables, walk.met[visit], rule == _FLOORED)


def make_apply(rule: int, tied: bool, *, skips: bool, met_once: bool) -> Any:
    """Makes `apply(task, tree, tables, walk, num_met)`, the update described above.

    Args:
        rule, tied, skips: as in `make_move`.
        met_once: whether no walk comes to an infoset a second time, so that `is_met` is
            not used.
    """
    move = make_move(rule, tied, skips=skips)

    @inlined
    def apply(task, tree, tables, walk, num_met):
        infosets, gradient = tree.infosets, tables.gradient
        pay_met(infosets, tables, walk.met, 0, num_met)
        for visit in range(num_met - 1, -1, -1):
            infoset = walk.met[visit]
            if not met_once:
                tables.is_met[infoset] = 0
            value = move(task, tree, tables, walk.clock, infoset)
            gradient[infosets[infoset]["parent"]] += value
        if tied:
            move_all_tied(tree, tables, walk, num_met, rule)
        for p in range(tree.utilities.shape[1]):
            gradient[p] = 0.0

    return apply
