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
from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.minimizers import Rule
from mccfr_spiel.kernels.regret_rules import advance, match_kept, rates_since, scheduled
from mccfr_spiel.kernels.selection import FLOOR
from mccfr_spiel.kernels.tables import Tables, Task, Walk

# --- the average of all plans, kept without touching infosets that no walk meets ------


@inlined
def average_weight(iteration: int, settings: np.ndarray, before: float) -> float:
    """The weight of an iteration's plans in the average.

    It is iteration ** gamma. If gamma changes, to gamma(t) in iteration t, then before
    iteration t all that is in the average is multiplied by ((t - 1) / t) ** gamma(t).
    The weights here grow by the inverse instead, which is the same average. If it is a
    user's own, the weight stands behind the settings.

    Args:
        iteration: its number, from 1 on.
        settings: see `tables.NUM_SETTINGS`.
        before: the weight of the iteration before.
    """
    gamma, change = settings[layout.GAMMA], settings[layout.GAMMA_CHANGE]
    first = np.int64(settings[layout.WEIGHTS_FROM])
    if first > 0:
        return settings[layout.NUM_SETTINGS + iteration - first]
    if change == 0.0:
        if gamma == 0.0 or gamma == 1.0:  # no need of a slow power
            return 1.0 * iteration if gamma == 1.0 else 1.0
        return iteration**gamma
    if iteration == 1:
        return 1.0
    gamma = scheduled(gamma, change, settings[layout.HORIZON], iteration)
    return before * (iteration / (iteration - 1)) ** gamma


@pasted
def pay_debt(
    tables: Tables, infoset: int, settled: float, start: int, stop: int
) -> None:
    """Adds to the average what an infoset owes it since it was last met.

    Args:
        tables: of which `average` and `paid` change.
        infoset: whose debt is paid.
        settled: what the average has at the player's sequence before the infoset.
        start: the infoset's first sequence.
        stop: the end of its sequences.
    """
    debt = settled - tables.paid[infoset]
    for s in range(start, stop):
        tables.average[s] += tables.policy[s] * debt
    tables.paid[infoset] = settled


@jit
def settle_average(
    infosets: np.ndarray, policy: np.ndarray, average: np.ndarray, paid: np.ndarray
) -> None:
    """Adds to `average` what every infoset owes it, so that it holds whole sums.

    Ancestors come first, so an infoset's parent has been paid when its turn comes.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        debt = average[infosets[infoset]["parent"]] - paid[infoset]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            average[s] += policy[s] * debt


@jit
def normalize(infosets: np.ndarray, average: np.ndarray) -> None:
    """Turns sums of plans into a policy, uniform where the player never plays to.

    Equal sums become 1 / count to the bit, as at infosets that a tree has not met.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        total = 0.0
        are_equal = True
        for s in range(start, stop):
            total += average[s]
            are_equal = are_equal and average[s] == average[start]
        for s in range(start, stop):
            average[s] = 1.0 / (stop - start) if are_equal else average[s] / total


# --- batches: several walks for a player against the same policies, then one update ---


GROWING = 0
"""Stands for the number of walks in an iteration where that grows with the
iterations."""

ITERATIONS_A_WALK, MOST_GROWN = 64, 4096
"""A growing batch has one walk for every 64 iterations so far, rounded down to a power
of two, and at most the second number. The policies of 1.6 % of the run are then
as if a walk had not yet been made when the next one begins, which costs next to nothing
(docs/scaling.md)."""


def plain_walks_at(given: int, iteration: int) -> tuple[int, int]:
    """How many walks for a player come before an iteration, and how many it has.

    Draws go by the number of a walk among all of them, from 1 on, so that those of
    batches of one are as they always were, and no two walks share a stream.

    Args:
        given: the walks for a player in an iteration, or GROWING.
        iteration: from 1 on.
    """
    if given != GROWING:
        return (iteration - 1) * given, given
    # One pass counts the walks of the iterations from `first` on that have one batch.
    walks, first, batch = 0, 1, 1
    while batch < MOST_GROWN and iteration >= 2 * ITERATIONS_A_WALK * batch:
        walks += (2 * ITERATIONS_A_WALK * batch - first) * batch
        first = 2 * ITERATIONS_A_WALK * batch
        batch *= 2
    return walks + (iteration - first) * batch, batch


walks_at = inlined(plain_walks_at)

NUM_GROUPS, NODES_OF_GROUP = 32, (1024, 2**18)
"""The groups into which a batch of walks over rules is cut, and the least and the most
nodes of a group. A batch has more groups only where they would exceed the most."""


@pasted
def present_iteration(walk: Walk) -> Any:
    """The number of the iteration to which the walks for the next update belong."""
    return walk.cursor[layout.ITERATION] + (walk.cursor[layout.PLAYER] == 0)


@pasted
def present_batch(task: Task, walk: Walk) -> Any:
    """The walks for each player in that iteration."""
    return walks_at(np.int64(task.job[layout.BATCH]), present_iteration(walk))[1]


@inlined
def walks_of_group(task: Task, walk: Walk, num_players: int) -> Any:
    """How many walks of the present batch make a group; 0 if they are not left to
    groups.

    It follows from how long walks have been so far, the same for any number of threads.
    """
    given, iteration = np.int64(task.job[layout.BATCH]), present_iteration(walk)
    (before, batch), (least, most) = walks_at(given, iteration), NODES_OF_GROUP
    num_walks = num_players * before + walk.cursor[layout.PLAYER] * batch
    touched = walk.cursor[layout.NODES_TOUCHED]
    is_known = num_walks > 0 and touched > 0
    if task.job[layout.HAS_GROUPS] == 0 or batch == 1 or not is_known:
        return np.int64(0)
    mean = touched / num_walks
    groups = min(np.int64(mean * batch / least), NUM_GROUPS, batch)
    if groups < 2 or mean > most:
        return np.int64(0)
    return min(-(-batch // groups), max(np.int64(most / mean), 1))


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
