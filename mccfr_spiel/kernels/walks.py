"""The sampled loop: walks over the tree that follow or sample each player's moves.

A walk is made for one player. It starts at the root and adds, at each leaf that it
meets, the leaf's payoff times a weight to the gradient of the player's last sequence
before it. The weight makes up for what was sampled, so that the gradient is right on
average. After the walk the player's infosets that it met are updated, from the bottom
up.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.compiled.prefetch import prefetch
from mccfr_spiel.compiled.randomness import (
    ROOT_PLACE,
    child_place,
    stream_key,
    uniform,
)
from mccfr_spiel.kernels.averaging import average_weight, pay_debt
from mccfr_spiel.kernels.minimizers import (
    number_of,
    rates_at,
    rule_of,
    start_tables,
    update,
)
from mccfr_spiel.kernels.rates import advance, rates_since
from mccfr_spiel.kernels.sampling import draw_action, draw_chance, draw_explored
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    AVERAGE_WEIGHT,
    DONE,
    EPSILON,
    GROW,
    ITERATION,
    LAST_ITERATION,
    NODE_LIMIT,
    NODE_TO_GROW,
    NODES_TOUCHED,
    NODES_TOUCHED_BEFORE,
    NUM_MET,
    NUM_MET_BEFORE,
    PLAYER,
    SEED,
    STACK_FULL,
    TOO_UNLIKELY,
    TOP,
    Tables,
    Task,
    TreeArrays,
    Walk,
    tree_in,
    views,
)
from mccfr_spiel.kernels.ties import gather_regrets, move_tied, pay_tied

MAX_WEIGHT = 1e290
"""Sums of payoffs that were multiplied by their weights up to this still fit a double.
"""

LARGE = 2**16
"""Trees of more nodes do not stay in the processor's caches. There a walk that follows
one history waits for memory at each step (see prefetch.py)."""

_NODES_A_LINE, _FLOATS_A_LINE = 64 // NODE.itemsize, 64 // 8
"""How many fit in one line of the processor's cache, which is loaded as a whole."""


UNCHANGED = (1.0, 1.0, 1.0)
"""The rates of rules that do not discount."""


class Sampled(NamedTuple):
    """What a walk samples, as constants of its loop; see `algorithms.Sampling`."""

    chance: bool
    opponents: bool
    player: str
    prune: bool


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
def push(
    walk: Walk, top: int, node: int, sequence: int, weight: float, place: int
) -> int:
    """Stacks a node to be walked on from later; returns the new height."""
    walk.node[top] = node
    walk.sequence[top] = sequence
    walk.weight[top] = weight
    walk.place[top] = place
    return top + 1


@inlined
def push_own_children(
    walk: Walk,
    top: int,
    first: int,
    start: int,
    count: int,
    weight: float,
    place: int,
    weighted: bool,
    placed: bool,
) -> int:
    """Stacks all children of the updated player's node but the first, which is followed
    at once; returns the new height.

    The last child goes below the others, so that they are visited in their order.
    Weights and places are stacked only where the walk asks for them.
    """
    for child in range(count - 1, 0, -1):
        walk.node[top] = first + child
        walk.sequence[top] = start + child
        if weighted:
            walk.weight[top] = weight
        if placed:
            walk.place[top] = child_place(place, child)
        top += 1
    return top


@inlined
def push_weighted_children(
    walk: Walk,
    top: int,
    first: int,
    probs: np.ndarray,
    start: int,
    count: int,
    sequence: int,
    weight: float,
    place: int,
    prune: bool,
    placed: bool,
) -> int:
    """Stacks all children after a move of another player or of chance.

    Args:
        walk: whose stack it is.
        top: the height of the stack.
        first: the first child.
        probs: the probabilities of the moves, from `start` on.
        start: where they begin.
        count: how many children the node has.
        sequence: the updated player's last one.
        weight: of what is below the node.
        place: of the node's history.
        prune: whether children of probability 0 are left out.
        placed: whether places are asked; else they are not stacked.

    Returns:
        The new height.
    """
    for child in range(count - 1, -1, -1):
        prob = probs[start + child]
        if not prune or prob > 0.0:
            walk.node[top] = first + child
            walk.sequence[top] = sequence
            walk.weight[top] = weight * prob
            if placed:
                walk.place[top] = child_place(place, child)
            top += 1
    return top


@inlined
def draw_own(
    tables: Tables, start: int, count: int, explores: bool, epsilon: float, draw: float
) -> tuple[int, float]:
    """Draws an action of the updated player.

    Args:
        tables: with the policies.
        start: the first sequence of the infoset.
        count: how many actions it has.
        explores: whether to draw from the policy mixed with the uniform one; else from
            the balanced strategy.
        epsilon: how much of the uniform policy is in the mixture.
        draw: a number in [0, 1).

    Returns:
        The number of the action, from 0 on, and its probability.
    """
    if explores:
        return draw_explored(tables.policy, start, count, epsilon, draw)
    chosen = draw_action(tables.balance, start, count, draw)
    return chosen, float(tables.balance[start + chosen])


@inlined
def prefetch_children(nodes: np.ndarray, first: int, count: int) -> None:
    """Asks for all children of a node, of which one is about to be drawn."""
    for child in range(first, first + count, _NODES_A_LINE):
        prefetch(nodes, child)


@inlined
def meet(
    tables: Tables,
    walk: Walk,
    num_met: int,
    infoset: int,
    parent: int,
    start: int,
    stop: int,
    met_once: bool,
    is_far: bool,
) -> int:
    """Notes an infoset of the updated player for the update, unless it has been noted.

    Its debt to the average is paid now, while its policy has not moved yet.

    Args:
        tables: of which `is_met`, `average` and `paid` change.
        walk: whose list `met` gets the infoset.
        num_met: how long the list is.
        infoset: the infoset.
        parent: the player's last sequence before it.
        start: its first sequence.
        stop: the end of its sequences.
        met_once: whether no walk comes to an infoset a second time.
        is_far: whether its tables are likely not to be in the processor's caches.

    Returns:
        How long the list is now.
    """
    if not met_once:
        if tables.is_met[infoset] != 0:
            return num_met
        tables.is_met[infoset] = 1
    walk.met[num_met] = infoset
    if is_far:  # for the update
        for s in range(start, stop, _FLOATS_A_LINE):
            prefetch(tables.memory, s)
            prefetch(tables.gradient, s)
    pay_debt(tables, infoset, parent, start, stop)
    return num_met + 1


@inlined
def update_met(
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    num_met: int,
    met_once: bool,
    rule: int,
    discounts: bool,
    task: Task,
) -> None:
    """Moves the policy at the infosets met, bottom up, and clears the gradient.

    Ancestors were met first. Taken from the last one up, an infoset has been passed the
    values of all below it when its turn comes.
    """
    infosets, parameters = tree.infosets, task.parameters
    for visit in range(num_met - 1, -1, -1):
        infoset = walk.met[visit]
        if not met_once:
            tables.is_met[infoset] = 0
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        parent = infosets[infoset]["parent"]
        rates = UNCHANGED
        if discounts:
            rates = rates_since(tables, walk.clock, infoset)
        value = update(rule, tables, infoset, parent, start, stop, parameters, rates)
        tables.gradient[parent] += value


@inlined
def update_tied(
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    num_met: int,
    met_once: bool,
    floored: bool,
    chain: np.ndarray,
) -> None:
    """As `update_met`, where an abstraction ties infosets; see ties.py."""
    infosets = tree.infosets
    for visit in range(num_met - 1, -1, -1):
        infoset = walk.met[visit]
        if not met_once:
            tables.is_met[infoset] = 0
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        value = gather_regrets(tree, tables, infoset, start, stop)
        tables.gradient[infosets[infoset]["parent"]] += value
    for visit in range(num_met):
        pay_tied(tree, tables, walk.met[visit], chain)
    for visit in range(num_met):
        move_tied(tree, tables, walk.met[visit], floored)


def make_walks(sampled: Sampled, rule: int, tied: bool) -> Any:
    """Compiles `iterate` for algorithms that sample or prune; see `make_iterate`."""
    chance, opponents, player_sampling, prune = sampled
    explores = player_sampling == "epsilon"
    player_sampled = player_sampling != "all"
    # With chance and all opponents sampled, a walk meets each of the player's infosets
    # at most once; if the player is not sampled then, every weight is 1.
    met_once = chance and opponents
    weighted = player_sampled or not met_once
    floored = rule == number_of("regret_matching_plus")
    discounts = rule_of(rule).discounts

    @jit
    def iterate(frame):
        task = views(frame, Task)
        job, epsilon = task.job, task.settings[EPSILON]
        seed, alternating = job[SEED], job[ALTERNATING] != 0
        last_iteration = np.int64(job[LAST_ITERATION])
        node_limit = np.int64(job[NODE_LIMIT])
        tree = tree_in(frame, job)
        tables, walk = views(frame, Tables), views(frame, Walk)
        nodes, infosets, cursor = tree.nodes, tree.infosets, walk.cursor
        policy, gradient = tables.policy, tables.gradient
        start_tables(tree, tables, walk.known, rule, seed, task.parameters)
        num_players, capacity = tree.utilities.shape[1], len(walk.node)
        is_large = len(nodes) > LARGE
        chain = np.empty(len(infosets) if tied else 0, np.int32)
        iteration, player, top = cursor[ITERATION], cursor[PLAYER], cursor[TOP]
        num_met, touched, status = cursor[NUM_MET], cursor[NODES_TOUCHED], DONE

        # One pass of this loop is a walk for one player and the update after it. When a
        # walk cannot go on, the cursor says where it stands, and the next call goes on
        # there: with a stack that is not empty.
        while True:
            if top == 0:
                if player == 0:
                    if iteration == last_iteration or touched >= node_limit:
                        break
                    iteration += 1
                    begin_iteration(task, walk.clock, iteration, rule, discounts)
                tables.average[player] += walk.clock[AVERAGE_WEIGHT]
                cursor[NUM_MET_BEFORE] = num_met
                cursor[NODES_TOUCHED_BEFORE] = touched
                top = push(walk, 0, 0, player, 1.0, ROOT_PLACE)
            stream = stream_key(seed, iteration, player, num_players)

            # One pass takes a node from the stack and follows a single history from it
            # to a leaf. What else is to be visited on the way goes onto the stack.
            while top > 0 and status == DONE:
                top -= 1
                node = walk.node[top]
                sequence = walk.sequence[top]
                weight = walk.weight[top] if weighted else 1.0
                place = walk.place[top] if chance else ROOT_PLACE
                # One pass visits one node of that history and goes to one of its
                # children, `chosen`.
                while True:
                    record = nodes[node]
                    acting, start = record["player"], record["start"]
                    count = np.int64(record["num_children"])
                    first = record["first_child"]
                    if acting == TERMINAL:
                        payoff = weight * tree.utilities[start, player]
                        # not <=: an infinite weight times 0 is NaN.
                        if player_sampled and not abs(payoff) <= MAX_WEIGHT:
                            status = TOO_UNLIKELY
                        else:
                            touched += 1
                            gradient[sequence] += payoff
                            break
                    elif acting == UNEXPANDED:
                        status = GROW
                    elif top + count > capacity:
                        status = STACK_FULL
                    if status != DONE:
                        top = push(walk, top, node, sequence, weight, place)
                        cursor[NODE_TO_GROW] = node
                        break
                    touched += 1
                    chosen = 0
                    if is_large and player_sampled:
                        prefetch_children(nodes, first, count)
                    if acting == player:
                        infoset = record["infoset"]
                        num_met = meet(
                            tables,
                            walk,
                            num_met,
                            infoset,
                            sequence,
                            start,
                            start + count,
                            met_once,
                            is_large and player_sampled,
                        )
                        if player_sampled:
                            draw = uniform(stream, infosets[infoset]["place"])
                            chosen, likelihood = draw_own(
                                tables, start, count, explores, epsilon, draw
                            )
                            weight /= likelihood
                        else:
                            top = push_own_children(
                                walk,
                                top,
                                first,
                                start,
                                count,
                                weight,
                                place,
                                weighted,
                                chance,
                            )
                        sequence = start + chosen
                    elif acting != CHANCE_NODE and opponents:
                        draw = uniform(stream, infosets[record["infoset"]]["place"])
                        chosen = draw_action(policy, start, count, draw)
                    elif acting == CHANCE_NODE and chance:
                        if is_large and not player_sampled:
                            prefetch_children(nodes, first, count)
                        draw = uniform(stream, place)
                        chosen = draw_chance(tree.chance_cdf, start, count, draw)
                    else:
                        top = push_weighted_children(
                            walk,
                            top,
                            first,
                            tree.chance_probs if acting == CHANCE_NODE else policy,
                            start,
                            count,
                            sequence,
                            weight,
                            place,
                            prune and acting != CHANCE_NODE,
                            chance,
                        )
                        break
                    node = first + chosen
                    if chance:
                        place = child_place(place, chosen)

            if status != DONE:
                break
            if alternating or player == num_players - 1:
                if tied:
                    update_tied(tree, tables, walk, num_met, met_once, floored, chain)
                else:
                    update_met(
                        tree, tables, walk, num_met, met_once, rule, discounts, task
                    )
                num_met = 0
                for p in range(num_players):
                    gradient[p] = 0.0
            player = (player + 1) % num_players

        cursor[ITERATION], cursor[PLAYER], cursor[TOP] = iteration, player, top
        cursor[NUM_MET], cursor[NODES_TOUCHED] = num_met, touched
        return status

    return iterate


@jit
def restart_walk(infosets: np.ndarray, tables: Tables, walk: Walk) -> None:
    """Takes back what the present walk has done, so that it begins at the root.

    What it paid to the average stays, since those debts are paid.
    """
    gradient, cursor = tables.gradient, walk.cursor
    for visit in range(cursor[NUM_MET_BEFORE], cursor[NUM_MET]):
        infoset = walk.met[visit]
        tables.is_met[infoset] = 0
        start = infosets[infoset]["first_sequence"]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            gradient[s] = 0.0
    gradient[cursor[PLAYER]] = 0.0
    cursor[NUM_MET] = cursor[NUM_MET_BEFORE]
    cursor[NODES_TOUCHED] = cursor[NODES_TOUCHED_BEFORE]
    cursor[TOP] = push(walk, 0, 0, cursor[PLAYER], 1.0, ROOT_PLACE)
