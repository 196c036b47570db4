"""The whole-tree loop, and what else is computed in passes over a complete tree.

Where nothing is sampled no node is walked to. The leaves are listed once
(`walk_leaves`), as rows grouped by the sequence that led a player there. Then a
player's gradient is a sum
over rows: what a leaf pays, times the probability that the others and chance play to
it. The plans of all players, which say that, are kept from one update to the next.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
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
    if num_others == 1:  # the same as below, without the inner loop's cost
        for row in range(ends[sequence], ends[sequence + 1]):
            value += payoffs[row] * plan[others[row, 0]]
    else:
        for row in range(ends[sequence], ends[sequence + 1]):
            reach = payoffs[row]
            for other in range(num_others):
                reach *= plan[others[row, other]]
            value += reach
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


def make_passes(rule: int, tied: bool) -> Any:
    """Compiles `iterate` for algorithms that sample nothing; see `make_iterate`."""
    floored = rule == number_of("regret_matching_plus")
    looks_ahead = rule_of(rule).looks_ahead

    @jit
    def iterate(frame):
        task = views(frame, Task)
        job, parameters = task.job, task.parameters
        alternating = job[ALTERNATING] != 0
        last_iteration = np.int64(job[LAST_ITERATION])
        node_limit = np.int64(job[NODE_LIMIT])
        tree = tree_in(frame, job)
        tables, walk = views(frame, Tables), views(frame, Walk)
        passes, plan = views(frame, Passes), views(frame, Plans).plan
        infosets, cursor, clock = tree.infosets, walk.cursor, walk.clock
        gradient = tables.gradient
        members, member_ends = passes.members, passes.member_ends
        start_tables(tree, tables, walk.known, rule, job[SEED], parameters)
        num_players = tree.utilities.shape[1]
        iteration, player = cursor[ITERATION], cursor[PLAYER]
        touched = cursor[NODES_TOUCHED]

        # One pass of this loop is the update of one player, or of all players at the
        # last one's turn if they are updated at once.
        while True:
            if player == 0:
                if iteration == last_iteration or touched >= node_limit:
                    break
                iteration += 1
                clock[AVERAGE_WEIGHT] = average_weight(
                    iteration, task.settings, clock[AVERAGE_WEIGHT]
                )
            weight = clock[AVERAGE_WEIGHT]
            tables.average[player] += weight
            touched += len(tree.nodes)
            if alternating or player == num_players - 1:
                rates = rates_at(rule, parameters, iteration)
                begin = member_ends[player] if alternating else 0
                end = member_ends[player + 1]
                # From the last infoset up: all values below an infoset have been passed
                # to its sequences, and the leaves' payoffs are added to them.
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
                # From the first infoset down: the plan of an infoset's parent is the
                # new one when the infoset's turn comes.
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
def walk_leaves(tree, next_row, others, payoffs, fill):
    """Goes over a complete tree, depth first, to make the rows of `Passes`.

    Args:
        next_row: `[S]` int64. Counts the rows of each sequence, or with `fill` says
            where its next one goes.
    """
    nodes, utilities = tree.nodes, tree.utilities
    chance_probs = tree.chance_probs
    num_players = utilities.shape[1]
    height = 1024
    stack_node = np.empty(height, np.int32)
    stack_prob = np.empty(height)
    stack_sequences = np.empty((height, num_players), np.int32)
    mine = np.arange(num_players).astype(np.int32)
    stack_node[0] = 0
    stack_prob[0] = 1.0
    stack_sequences[0] = mine
    top = 1
    while top > 0:
        top -= 1
        prob = stack_prob[top]
        mine[:] = stack_sequences[top]
        record = nodes[stack_node[top]]
        acting = record["player"]
        start = record["start"]
        if acting == TERMINAL:
            for player in range(num_players):
                row = next_row[mine[player]]
                next_row[mine[player]] += 1
                if fill:
                    payoffs[row] = prob * utilities[start, player]
                    for p in range(num_players):
                        if p != player:
                            others[row, p - (p > player)] = mine[p]
            continue
        count = np.int64(record["num_children"])
        first = record["first_child"]
        if top + count > height:
            more = top + count
            stack_node = np.concatenate((stack_node, np.empty(more, np.int32)))
            stack_prob = np.concatenate((stack_prob, np.empty(more)))
            stack_sequences = np.concatenate(
                (stack_sequences, np.empty((more, num_players), np.int32))
            )
            height += more
        for child in range(count - 1, -1, -1):
            stack_node[top] = first + child
            stack_prob[top] = prob
            stack_sequences[top] = mine
            if acting == CHANCE_NODE:
                stack_prob[top] = prob * chance_probs[start + child]
            else:
                stack_sequences[top, acting] = start + child
            top += 1


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
