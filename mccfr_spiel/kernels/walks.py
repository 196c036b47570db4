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
from mccfr_spiel.compiled.jit import inlined, jit, pasted
from mccfr_spiel.compiled.prefetch import prefetch
from mccfr_spiel.compiled.randomness import (
    ROOT_PLACE,
    child_place,
    stream_key,
    uniform,
)
from mccfr_spiel.kernels.averaging import average_weight, pay_debt
from mccfr_spiel.kernels.baselines import control, learn, note_leaf
from mccfr_spiel.kernels.batches import (
    batch_at,
    enter_average,
    note_gradient,
    undo_gradient,
    walk_number,
)
from mccfr_spiel.kernels.minimizers import (
    number_of,
    rates_at,
    rule_of,
    start_tables,
    update,
)
from mccfr_spiel.kernels.picking import Pick, push_picked
from mccfr_spiel.kernels.pruning import (
    LOOK,
    SKIPPED,
    poor_regret,
    push_kept,
    update_pruned,
)
from mccfr_spiel.kernels.rates import advance, rates_since
from mccfr_spiel.kernels.sampling import draw_action, draw_chance, draw_explored
from mccfr_spiel.kernels.stack import (
    Visit,
    push,
    push_other_children,
    push_weighted_children,
)
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    AVERAGE_WEIGHT,
    BATCH,
    DEPTH,
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
    NUM_UNDO,
    PAUSE_LIMIT,
    PAUSED,
    PLAYER,
    SEED,
    STACK_FULL,
    TOO_UNLIKELY,
    TOP,
    WALK,
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

_FLOORED = number_of("regret_matching_plus")

_NODES_A_LINE, _FLOATS_A_LINE = 64 // NODE.itemsize, 64 // 8
"""How many fit in one line of the processor's cache, which is loaded as a whole."""


UNCHANGED = (1.0, 1.0, 1.0)
"""The rates of rules that do not discount."""


class Sampled(NamedTuple):
    """What a walk samples, as constants of its loop; see `algorithms.Sampling`.

    Attributes:
        chance: whether chance is sampled.
        opponents: whether the other players are.
        player: how the updated player is.
        prune: whether an opponent's action of probability 0 is not followed.
        skips: whether actions of very negative regret are not, see pruning.py.
        batched: whether an iteration makes several walks for each player.
        baseline: "learned", "predictive", or "" for none, see baselines.py.
    """

    chance: bool
    opponents: bool
    player: str
    prune: bool
    skips: bool
    batched: bool
    baseline: str

    @property
    def draws_own(self) -> bool:
        """Whether one of the player's actions is followed at each infoset."""
        return self.player in ("epsilon", "balanced")

    @property
    def follows_one(self) -> bool:
        """Whether the stack holds nothing but the node where a single history is."""
        samples_all = self.draws_own and self.chance and self.opponents
        return samples_all and not self.baseline

    @property
    def picks_own(self) -> bool:
        """Whether some of them are, see picking.py."""
        return self.player == "average"

    @property
    def branches(self) -> bool:
        """Whether walks with baselines follow all of the player's actions."""
        return self.baseline != "" and self.player == "all"

    @property
    def meets_once(self) -> bool:
        """Whether each of the player's infosets is met at most once before an update,
        as it is with chance and all opponents sampled."""
        return self.chance and self.opponents and not self.batched

    @property
    def is_weighted(self) -> bool:
        """Whether not every weight is 1, as it is in external sampling."""
        everyone_else = self.chance and self.opponents
        return self.player != "all" or self.skips or not everyone_else


@inlined
def begin_iteration(
    task: Task, clock: np.ndarray, iteration: int, rule: int, discounts: bool
) -> None:
    """Moves the clock on to a new iteration."""
    before = clock[AVERAGE_WEIGHT]
    clock[AVERAGE_WEIGHT] = average_weight(iteration, task.settings, before)
    if discounts:
        advance(clock, rates_at(rule, task.parameters, iteration))


@pasted
def draw_own(
    tables: Tables, at: Visit, explores: bool, settings: np.ndarray, draw: float
) -> tuple[int, float]:
    """Draws an action of the updated player.

    Args:
        tables: with the policies.
        at: the node.
        explores: whether to draw from the policy mixed with the uniform one; else from
            the balanced strategy.
        settings: which say how much of the uniform policy is in the mixture.
        draw: a number in [0, 1).

    Returns:
        The number of the action, from 0 on, and its probability.
    """
    if explores:
        epsilon = settings[EPSILON]
        return draw_explored(tables.policy, at.start, at.num_moves, epsilon, draw)
    chosen = draw_action(tables.balance, at.start, at.num_moves, draw)
    return chosen, float(tables.balance[at.start + chosen])


@pasted
def prefetch_children(nodes: np.ndarray, at: Visit, is_far: bool) -> None:
    """Asks for all children of a node, of which one is about to be drawn, if they are
    likely not to be in the processor's caches."""
    if is_far:
        for child in range(at.first, at.first + at.num_moves, _NODES_A_LINE):
            prefetch(nodes, child)


@inlined
def meet(
    tables: Tables,
    walk: Walk,
    num_met: int,
    infoset: int,
    at: Visit,
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
        at: the node.
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
    start, stop = at.start, at.start + at.num_moves
    if is_far:  # for the update
        for s in range(start, stop, _FLOATS_A_LINE):
            prefetch(tables.memory, s)
            prefetch(tables.gradient, s)
    pay_debt(tables, infoset, at.sequence, start, stop)
    return num_met + 1


@inlined
def update_met(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    num_met: int,
    met_once: bool,
    rule: int,
    discounts: bool,
    tied: bool,
) -> None:
    """Moves the policy at the infosets met, bottom up, and clears the gradient.

    Ancestors were met first. Taken from the last one up, an infoset has been passed the
    values of all below it when its turn comes. Where an abstraction ties infosets, they
    only collect regrets here, and `move_all_tied` moves them.
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
        if tied:
            value = gather_regrets(tree, tables, infoset, start, stop)
        else:
            value = update(
                rule, tables, infoset, parent, start, stop, parameters, rates
            )
        tables.gradient[parent] += value


@inlined
def move_all_tied(
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    num_met: int,
    floored: bool,
    chain: np.ndarray,
) -> None:
    """Moves the policy at the infosets met and at those tied to them; see ties.py."""
    for visit in range(num_met):
        pay_tied(tree, tables, walk.met[visit], chain)
    for visit in range(num_met):
        move_tied(tree, tables, walk.met[visit], floored)


def make_walks(sampled: Sampled, rule: int, tied: bool) -> Any:
    """Compiles `iterate` for algorithms that sample or prune; see `make_iterate`."""
    go_on = make_loop(sampled, rule, tied)

    @jit
    def iterate(frame):
        task = views(frame, Task)
        tree = tree_in(frame, task.job)
        return go_on(task, tree, views(frame, Tables), views(frame, Walk))

    return iterate


def make_loop(sampled: Sampled, rule: int, tied: bool) -> Any:
    """Compiles the loop of `iterate`; its records are arguments for `jit.pasted`."""
    chance, opponents, player_sampling, prune, skips, batched, baseline = sampled
    learns, foresees = baseline != "", baseline == "predictive"
    explores, player_sampled = player_sampling == "epsilon", player_sampling != "all"
    draws_own, picks_own = sampled.draws_own, sampled.picks_own
    once, weighted = sampled.meets_once, sampled.is_weighted
    branches, follows_one = sampled.branches, sampled.follows_one
    discounts = rule_of(rule).discounts

    @inlined
    def go_on(task, tree, tables, walk):
        job, settings = task.job, task.settings
        seed, alternating = job[SEED], job[ALTERNATING] != 0
        limits = job.view(np.int64)
        nodes, infosets, cursor = tree.nodes, tree.infosets, walk.cursor
        policy, gradient = tables.policy, tables.gradient
        start_tables(tree, tables, walk.known, rule, seed, task.parameters)
        num_players, capacity = tree.utilities.shape[1], len(walk.node)
        is_large = len(nodes) > LARGE
        chain = np.empty(len(infosets) if tied else 0, np.int32)
        iteration, player, top = cursor[ITERATION], cursor[PLAYER], cursor[TOP]
        num_met, touched, status = cursor[NUM_MET], cursor[NODES_TOUCHED], DONE
        given, nth = limits[BATCH], cursor[WALK]
        noted, room = cursor[NUM_UNDO] if batched else 0, len(walk.undo_sequence)
        depth = cursor[DEPTH] if learns else 0

        # One pass of this loop is a walk for one player and, if it is the last one of a
        # batch, the update after it. When a walk cannot go on, the cursor says where it
        # stands, and the next call goes on there: with a stack that is not empty.
        while True:
            if top == 0:
                if not batched or nth == 0:
                    if player == 0:
                        is_last = iteration == limits[LAST_ITERATION]
                        if is_last or touched >= limits[NODE_LIMIT]:
                            break
                        iteration += 1
                        begin_iteration(task, walk.clock, iteration, rule, discounts)
                    enter_average(tables, walk, player, given, iteration, batched)
                cursor[NUM_MET_BEFORE] = num_met
                cursor[NODES_TOUCHED_BEFORE] = touched
                top, depth = push(walk, 0, 0, player, 1.0, ROOT_PLACE), 0
                if batched and nth > 0 and touched >= limits[PAUSE_LIMIT]:
                    status = PAUSED
                    break
            number = walk_number(given, iteration, nth) if batched else iteration
            stream = stream_key(seed, number, player, num_players)
            poor = poor_regret(stream, settings) if skips else 0.0

            # One pass takes a node from the stack and follows a single history from it
            # to a leaf. What else is to be visited on the way goes onto the stack.
            while top > 0 and status == DONE:
                top -= 1
                node = walk.node[top]
                sequence: Any = np.int64(walk.sequence[top])
                weight = walk.weight[top] if weighted else 1.0
                place = walk.place[top] if chance else ROOT_PLACE
                # One pass visits a node of that history and goes to a child, `chosen`.
                while True:
                    record = nodes[node]
                    acting, start = record["player"], record["start"]
                    count: Any = np.int64(record["num_children"])
                    first = record["first_child"]
                    is_full = not follows_one and top + count + depth >= capacity
                    if skips and weight == LOOK and acting >= CHANCE_NODE:
                        gradient[sequence] = SKIPPED
                        break
                    if acting == TERMINAL:
                        payoff = abs(weight) * tree.utilities[start, player]
                        # not <=: an infinite weight times 0 is NaN.
                        if player_sampled and not abs(payoff) <= MAX_WEIGHT:
                            status = TOO_UNLIKELY
                        else:
                            touched += 1
                            gradient[sequence] += payoff
                            if branches:
                                depth = note_leaf(walk, depth, payoff)
                            break
                    elif acting == UNEXPANDED:
                        status = GROW
                    elif is_full or (batched and noted + count > room):
                        status = STACK_FULL
                    if status != DONE:
                        top = push(walk, top, node, sequence, weight, place)
                        cursor[NODE_TO_GROW] = node
                        break
                    touched, chosen, q = touched + 1, 0, 1.0 * (acting == player)
                    at = Visit(first, start, count, sequence, weight, place)
                    is_far = is_large and draws_own
                    prefetch_children(nodes, at, is_far)
                    if acting == player:
                        infoset = record["infoset"]
                        if batched:
                            noted = note_gradient(tables, walk, noted, infoset, at)
                        num_met = meet(tables, walk, num_met, infoset, at, once, is_far)
                        own_place = infosets[infoset]["place"]
                        if picks_own:
                            pick = Pick(settings, stream, own_place, chance)
                            top = push_picked(tables, walk, top, at, pick)
                            break
                        if draws_own:
                            draw = uniform(stream, own_place)
                            chosen, q = draw_own(tables, at, explores, settings, draw)
                            weight /= q
                        elif skips:
                            top, weight = push_kept(tables, walk, top, at, poor, chance)
                        else:
                            top = push_other_children(walk, top, at, weighted, chance)
                        sequence = start + chosen
                    elif acting != CHANCE_NODE and opponents:
                        draw = uniform(stream, infosets[record["infoset"]]["place"])
                        chosen = draw_action(policy, start, count, draw)
                    elif acting == CHANCE_NODE and chance:
                        prefetch_children(nodes, at, is_large and not draws_own)
                        draw = uniform(stream, place)
                        chosen = draw_chance(tree.chance_cdf, start, count, draw)
                    else:
                        top = push_weighted_children(
                            tree, tables, walk, top, at, acting, prune, chance
                        )
                        break
                    if learns and acting != CHANCE_NODE:
                        depth = control(
                            tables, walk, depth, at, player, chosen, q, branches
                        )
                    node = first + chosen
                    place = child_place(place, chosen) if chance else place

            if status != DONE:
                break
            if learns and not foresees:
                learn(tree, tables, walk, depth, player, start, settings, branches)
            if batched:
                nth, noted = nth + 1, 0
                if nth < batch_at(given, iteration):
                    continue
                nth = 0
            if alternating or player == num_players - 1:
                if skips:
                    update_pruned(tree, tables, walk, num_met, settings)
                else:
                    update_met(
                        task, tree, tables, walk, num_met, once, rule, discounts, tied
                    )
                if tied:
                    move_all_tied(tree, tables, walk, num_met, rule == _FLOORED, chain)
                num_met = 0
                for p in range(num_players):
                    gradient[p] = 0.0
            if foresees:
                learn(tree, tables, walk, depth, player, start, settings, branches)
            player = (player + 1) % num_players

        cursor[ITERATION], cursor[PLAYER], cursor[TOP] = iteration, player, top
        cursor[NUM_MET], cursor[NODES_TOUCHED] = num_met, touched
        cursor[WALK], cursor[NUM_UNDO], cursor[DEPTH] = nth, noted, depth
        return status

    return go_on


@jit
def restart_walk(infosets: np.ndarray, tables: Tables, walk: Walk) -> None:
    """Takes back what the present walk has done, so that it begins at the root.

    What it paid to the average stays, since those debts are paid.
    """
    gradient, cursor = tables.gradient, walk.cursor
    undo_gradient(gradient, walk, cursor[NUM_UNDO])
    cursor[NUM_UNDO] = cursor[DEPTH] = 0
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
