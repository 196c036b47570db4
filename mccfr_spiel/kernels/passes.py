"""The whole-tree loop, and what else is computed in passes over a complete tree.

Where nothing is sampled no node is walked to. The leaves are listed once, by
`whole_walks.walk_leaves`, as rows grouped by the sequence that led a player there. Then
a player's gradient is a sum over rows: what a leaf pays, times the probability that the
others and chance play to it. The plans of all players, which say that, are kept from
one update to the next.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.jit import inlined, jit, pasted
from mccfr_spiel.kernels.averaging import average_weight
from mccfr_spiel.kernels.minimizers import (
    number_of,
    rates_at,
    rule_of,
    start_tables,
    update,
)
from mccfr_spiel.kernels.rates import Rates
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    AVERAGE_WEIGHT,
    DONE,
    ITERATION,
    LAST_ITERATION,
    NODE_LIMIT,
    NODES_TOUCHED,
    PLAYER,
    SEED,
    Passes,
    Plans,
    Tables,
    Task,
    TreeArrays,
    Walk,
    tree_in,
    views,
)
from mccfr_spiel.kernels.ties import gather_regrets, move_tied


@pasted
def add_rows(
    passes: Passes, plan: np.ndarray, sequence: int, num_others: int, value: float
) -> float:
    """`value` plus what the leaves after a sequence pay, given the other players'
    plans.

    The rows are added to `value` one by one. Their sum, made apart, would be rounded
    differently.
    """
    ends, others, payoffs = passes.ends, passes.others, passes.payoffs
    # An unsigned index is used as it is. Of a signed one each use asks whether it is
    # negative and counts from the end, which takes a third of the time here.
    place = np.uint64(sequence)
    row, stop = np.uint64(ends[place]), np.uint64(ends[place + np.uint64(1)])
    if num_others == 1:  # the same as below, without the inner loop's cost
        while row < stop:
            value += payoffs[row] * plan[np.uint64(others[row, 0])]
            row += np.uint64(1)
    else:
        while row < stop:
            reach = payoffs[row]
            for other in range(num_others):
                reach *= plan[np.uint64(others[row, other])]
            value += reach
            row += np.uint64(1)
    return value


@inlined
def move_plans(
    infosets: np.ndarray,
    tables: Tables,
    plan: np.ndarray,
    infoset: int,
    weight: float,
) -> None:
    """Adds an infoset's old plan to the average, and makes that of its new policy."""
    start = infosets[infoset]["first_sequence"]
    mass = plan[infosets[infoset]["parent"]]
    for s in range(start, start + infosets[infoset]["num_actions"]):
        tables.average[s] += weight * plan[s]
        plan[s] = mass * tables.policy[s]


@inlined
def update_infoset(
    tree: TreeArrays,
    tables: Tables,
    passes: Passes,
    plan: np.ndarray,
    infoset: int,
    parent: int,
    tied: bool,
    rule: int,
    looks_ahead: bool,
    parameters: np.ndarray,
    rates: Rates,
) -> None:
    """Adds the leaves' payoffs to an infoset's gradient and moves its policy.

    The values of the infosets below it must be in the gradient, and in `Tables.ahead`
    if the rule looks ahead. Its own value is added at `parent`, the sequence before it.
    """
    infosets, gradient = tree.infosets, tables.gradient
    num_others = passes.others.shape[1]
    start = infosets[infoset]["first_sequence"]
    stop = start + infosets[infoset]["num_actions"]
    for s in range(start, stop):
        below = gradient[s]
        gradient[s] = add_rows(passes, plan, s, num_others, below)
        if looks_ahead:
            tables.ahead[s] += gradient[s] - below
    if tied:
        value = gather_regrets(tree, tables, infoset, start, stop)
    else:
        value = update(rule, tables, infoset, parent, start, stop, parameters, rates)
    gradient[parent] += value


@inlined
def next_update(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    clock: np.ndarray,
    iteration: int,
    player: int,
    touched: int,
) -> tuple[bool, int, int, int]:
    """Counts the next turn, and begins an iteration if that is the first player's.

    If all players are updated at once, that is at the last one's turn, and the turns
    before it are counted, too.

    Args:
        task: with the job's limits.
        tree: the arrays of the tree.
        tables: of which the average's weights at the empty sequences grow.
        clock: which moves on to a new iteration.
        iteration: the number of the last iteration begun.
        player: whose turn comes.
        touched: the nodes touched.

    Returns:
        Whether there is an update, False at the job's limits; then its iteration and
        player, and the nodes touched with it.
    """
    job = task.job
    last_player = tree.utilities.shape[1] - 1
    # One pass of this loop counts one turn.
    while True:
        if player == 0:
            is_last = iteration == np.int64(job[LAST_ITERATION])
            if is_last or touched >= np.int64(job[NODE_LIMIT]):
                return False, iteration, player, touched
            iteration += 1
            before = clock[AVERAGE_WEIGHT]
            clock[AVERAGE_WEIGHT] = average_weight(iteration, task.settings, before)
        tables.average[player] += clock[AVERAGE_WEIGHT]
        touched += len(tree.nodes)
        if job[ALTERNATING] != 0 or player == last_player:
            return True, iteration, player, touched
        player += 1


def make_passes(rule: int, tied: bool) -> Any:
    """Compiles `iterate` for algorithms that sample nothing; see `make_iterate`."""
    floored = rule == number_of("regret_matching_plus")
    looks_ahead = rule_of(rule).looks_ahead

    @jit
    def iterate(frame):
        task = views(frame, Task)
        job, parameters = task.job, task.parameters
        alternating = job[ALTERNATING] != 0
        tree = tree_in(frame, job)
        tables, walk = views(frame, Tables), views(frame, Walk)
        passes, plan = views(frame, Passes), views(frame, Plans).plan
        infosets, cursor = tree.infosets, walk.cursor
        gradient = tables.gradient
        members, member_ends = passes.members, passes.member_ends
        start_tables(tree, tables, walk.known, rule, job[SEED], parameters)
        num_players = tree.utilities.shape[1]
        iteration, player = cursor[ITERATION], cursor[PLAYER]
        touched = cursor[NODES_TOUCHED]

        # One pass of this loop is the update of one player, or of all players at the
        # last one's turn if they are updated at once.
        while True:
            goes_on, iteration, player, touched = next_update(
                task, tree, tables, walk.clock, iteration, player, touched
            )
            if not goes_on:
                break
            weight = walk.clock[AVERAGE_WEIGHT]
            rates = rates_at(rule, parameters, iteration)
            begin = member_ends[player] if alternating else 0
            end = member_ends[player + 1]
            # From the last infoset up: all values below an infoset have been passed to
            # its sequences, and the leaves' payoffs are added to them.
            for visit in range(end - 1, begin - 1, -1):
                update_infoset(
                    tree,
                    tables,
                    passes,
                    plan,
                    members[visit],
                    infosets[members[visit]]["parent"],
                    tied,
                    rule,
                    looks_ahead,
                    parameters,
                    rates,
                )
            if tied:
                for visit in range(begin, end):
                    move_tied(tree, tables, members[visit], floored)
            # From the first infoset down: the plan of an infoset's parent is the new
            # one when the infoset's turn comes.
            for visit in range(begin, end):
                move_plans(infosets, tables, plan, members[visit], weight)
            for sequence in range(num_players):
                gradient[sequence] = 0.0
                if looks_ahead:
                    tables.ahead[sequence] = 0.0
            player = (player + 1) % num_players

        cursor[ITERATION] = iteration
        cursor[PLAYER] = player
        cursor[NODES_TOUCHED] = touched
        return DONE

    return iterate


# --- over the whole tree, once ---------------------------------------------------


@jit(nogil=True)
def fill_gradient(
    infosets: np.ndarray,
    passes: Passes,
    player: int,
    plan: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Writes a player's utility gradient at the leaves, given all plans `[S]`."""
    first, last = passes.member_ends[player], passes.member_ends[player + 1]
    num_others = passes.others.shape[1]
    gradient[player] = add_rows(passes, plan, player, num_others, 0.0)
    for m in range(first, last):
        fill_gradient_at(infosets, passes, plan, gradient, passes.members[m])


@inlined
def fill_gradient_at(
    infosets: np.ndarray,
    passes: Passes,
    plan: np.ndarray,
    gradient: np.ndarray,
    infoset: int,
) -> None:
    """Writes the gradient of the leaves at an infoset."""
    num_others = passes.others.shape[1]
    start = infosets[infoset]["first_sequence"]
    for s in range(start, start + infosets[infoset]["num_actions"]):
        gradient[s] = add_rows(passes, plan, s, num_others, 0.0)


@jit(nogil=True)
def fill_plan(infosets, policy, plan):
    """Writes the plans of all players from their policies."""
    for infoset in range(len(infosets)):
        fill_plan_at(infosets, policy, plan, infoset)


@inlined
def fill_plan_at(
    infosets: np.ndarray, policy: np.ndarray, plan: np.ndarray, infoset: int
) -> None:
    """Writes the plan at an infoset whose parent has one."""
    start = infosets[infoset]["first_sequence"]
    mass = plan[infosets[infoset]["parent"]]
    for s in range(start, start + infosets[infoset]["num_actions"]):
        plan[s] = mass * policy[s]


@jit
def best_response(infosets, members, gradient, choice):
    """Maximizes over one player's plans, bottom up.

    Args:
        members: the player's infosets, ancestors first.
        gradient: `[S]` the gradient at the leaves; changed to the values of sequences.
        choice: `[I]` gets the first sequence of the highest value at each infoset.
    """
    for m in range(len(members) - 1, -1, -1):
        infoset = members[m]
        best = best_sequence(infosets, gradient, infoset)
        choice[infoset] = best
        gradient[infosets[infoset]["parent"]] += gradient[best]


@inlined
def best_sequence(infosets: np.ndarray, gradient: np.ndarray, infoset: int) -> int:
    """The first sequence of the highest value at an infoset."""
    start = infosets[infoset]["first_sequence"]
    best = start
    for s in range(start + 1, start + infosets[infoset]["num_actions"]):
        if gradient[s] > gradient[best]:
            best = s
    return best
