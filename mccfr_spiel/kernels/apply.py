"""The update after some walks: the only writer of what a solver has learned.

Walks leave a gradient that is 0 except at the sequences of the infosets that they met,
and the list of these infosets, ancestors first. An update takes the infosets from the
last one up. Each pays its debt to the average, then a rule moves its policy, clears the
gradient that it has used, and passes a value up to the parent's gradient. A walk alone
has carried along what the average has before each infoset. Otherwise all debts are paid
first, ancestors first, while no policy has moved yet.

**The average policy** is that of the weighted sum of the realization plans of all
iterations. Adding a plan to the sum in every iteration would visit every sequence.
Instead the sums are lazy, and exact nonetheless. While a policy does not move, what is
added at an infoset is the policy times what is added at its parent sequence. So it is
enough to add, when a walk next meets the infoset and before its policy moves, the
policy times all that has come to the parent since. `Tables.average[s]` is the sum at
sequence s up to then, and `Tables.paid[i]` the sum that infoset i's parent had then;
the difference to what the parent has now is the infoset's debt.

**Players who forget** have an update of their own, see visits.py.

**Batches.** Several walks for a player against the same policies are followed by one
update. They draw from different streams and add to one gradient.
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
from mccfr_spiel.kernels.tables import Tables, Task, Walk

# --- the update after some walks: the only writer of what a solver has learned --------


UNCHANGED = (1.0, 1.0, 1.0)
"""The rates of rules that do not discount."""


@pasted
def is_at_end(task: Task, walk: Walk) -> bool:
    """Whether no walk for the next update may begin, because it would be the first of
    an iteration beyond the limits of the job."""
    job, cursor = task.job, walk.cursor
    is_last = cursor[layout.ITERATION] == np.int64(job[layout.LAST_ITERATION])
    is_enough = cursor[layout.NODES_TOUCHED] >= np.int64(job[layout.NODE_LIMIT])
    return cursor[layout.PLAYER] == 0 and (is_last or is_enough)


@pasted
def weight_of(task: Task, weight: float, iteration: int) -> float:
    """What an iteration adds to each updated player's empty sequence in the average.

    Where batches grow, its weight is taken times the walks, as the gradient has a term
    for each walk.
    """
    given = np.int64(task.job[layout.BATCH])
    return weight * walks_at(given, iteration)[1] if given == GROWING else weight


@pasted
def is_due(task: Task, walk: Walk, num_players: int) -> bool:
    """Whether the update is due when a player's last walk has ended.

    With simultaneous updates, the walks for the next player come first, if there is
    one.
    """
    marks = walk.marks
    marks[layout.WALK] = 0
    if task.job[layout.ALTERNATING] == 0 and marks[layout.WALKER] < num_players - 1:
        marks[layout.WALKER] += 1
        return False
    return True


@inlined
def after_stretch(task: Task, walk: Walk, num_walks: int, num_players: int) -> Any:
    """Counts walks of a batch that is walked in stretches; returns DONE if the update
    is due, PAUSED if signals should be heard before more walks, else GROW."""
    marks, batch = walk.marks, present_batch(task, walk)
    marks[layout.WALK] = min(marks[layout.WALK] + num_walks, batch)
    if marks[layout.WALK] == batch:
        return np.int64(layout.DONE if is_due(task, walk, num_players) else layout.GROW)
    visited = walk.cursor[layout.NODES_TOUCHED] + marks[layout.TOUCHED]
    is_long = visited >= np.int64(task.job[layout.PAUSE_LIMIT])
    return np.int64(layout.PAUSED if is_long else layout.GROW)


@pasted
def begin_update(
    task: Task, tables: Tables, walk: Walk, rates: Any, discounts: bool
) -> None:
    """Begins the iteration if it is the first update of one, and adds it to the average
    of the players whose walks have ended; `rates` and `discounts` are the rule's."""
    cursor, clock = walk.cursor, walk.clock
    if cursor[layout.PLAYER] == 0:
        cursor[layout.ITERATION] += 1
        iteration, before = cursor[layout.ITERATION], clock[layout.AVERAGE_WEIGHT]
        clock[layout.AVERAGE_WEIGHT] = average_weight(iteration, task.settings, before)
        if discounts:
            advance(clock, rates(task.parameters, iteration))
    weight = weight_of(task, clock[layout.AVERAGE_WEIGHT], cursor[layout.ITERATION])
    for p in range(cursor[layout.PLAYER], walk.marks[layout.WALKER] + 1):
        tables.average[p] += weight


@pasted
def end_update(task: Task, tables: Tables, walk: Walk, num_players: int) -> None:
    """Counts the nodes, and says whose turn it is."""
    cursor, marks = walk.cursor, walk.marks
    for p in range(num_players):
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
    """Makes `apply(task, tree, tables, walk, met, first, stop, home)`, the update
    described above, of the infosets `met[first:stop]`.

    At each it moves the policy, clears the gradient, and adds the value to the gradient
    of the parent. Where threads share a batch (shared_walks.py), the root of a block's
    subtree leaves its value in its own first sequence, from which the top takes it. The
    top's debts must be paid before.

    Args:
        rule: the local rule.
        met_once: whether no walk comes to an infoset a second time, so that `is_met` is
            not used.
        carried: whether `Walk.settled` says what the average has before each infoset.
            Then each pays right before it moves, which is quicker. Paying by what its
            parent has paid just now means to wait for that at each level.
        skips: whether walks leave out actions of very negative regret.
        part: of a walk. `home` is that of a Log, and None for a walk alone.
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
        for visit in range(stop - 1, first - 1, -1):
            infoset = np.int64(met[visit])
            start = np.int64(infosets[infoset]["first_sequence"])
            end = start + infosets[infoset]["num_actions"]
            parent = np.int64(infosets[infoset]["parent"])
            if carried:
                pay_debt(tables, infoset, walk.settled[visit], start, end)
            if not met_once:
                tables.is_met[infoset] = 0
            if in_top and home[start] >= 0:
                gradient[parent] += gradient[start]
                gradient[start] = 0.0
                continue
            value = move(task, tables, walk.clock, infoset, parent, start, end)
            if in_block and home[start] & 1 != 0:
                parent = start
            gradient[parent] += value

    return apply
