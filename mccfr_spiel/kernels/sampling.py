"""How an action or an outcome is drawn, and what a walk stacks to visit it later.

A draw is a number in [0, 1) from randomness.py. The alternatives divide that interval
among themselves in their order, and the one in whose part the number falls is chosen.

The two functions called `plain_...` run as Python for plays and bots, and are compiled
from the same lines for walks, so both choose alike to the last bit.

Two samplings follow several of the player's actions at an infoset, but not all.

**Average-strategy sampling** (Gibson et al. 2012) draws for each action separately
whether to follow it; the more of the action the average has, the more likely that is.
What is found below the action is divided by that probability.

**Pruning.** As in Pluribus (Brown, Sandholm 2019), most walks leave out an action whose
cumulative regret is below a threshold, unless it ends the game. Such an action is never
played while another one has a positive regret, so the value at the infoset is known
without it. Its own regret stays as it is. A walk in which nothing is pruned comes by
often enough to see whether it has become better, and regrets have a floor a little
below the threshold, so that it can then come back.

Here an action is only left out if it has probability 0: where no regret is positive,
the policy is uniform, and the value is that of all actions.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.randomness import child_place, uniform
from mccfr_spiel.kernels.regret_rules import play_positive
from mccfr_spiel.kernels.tables import Tables, Walk

Floats = Sequence[float] | np.ndarray | memoryview


_VERY_MANY = 4096
"""Among more outcomes than this, one is found by halving."""

MOST_ASIDE = 16
"""The most nodes that a walk sets aside until they are expanded. Python then expands
them at one stop, and keeps the states for the next ones."""


def plain_draw_action(probs: Floats, start: int, count: int, draw: float) -> int:
    """Draws one of `count` alternatives with the probabilities `probs[start]` and on.

    The probabilities are subtracted from the number one by one until it is negative.
    Should rounding leave it at 0 or above, the last alternative of positive probability
    is chosen, so that one of probability 0 never is.

    Returns:
        The number of the alternative, from 0 on.
    """
    chosen = 0
    for child in range(count):
        prob = probs[start + child]
        if prob > 0.0:
            chosen = child
            draw -= prob
            if draw < 0.0:
                break
    return chosen


@pasted
def draw_explored(
    policy: Floats, start: int, count: int, epsilon: float, draw: float
) -> tuple[int, float]:
    """As `draw_action`, from a policy mixed with the uniform one.

    An alternative has the probability (1 - epsilon) b + epsilon / count, where b is the
    policy's. With epsilon 0 that is b, to the bit.

    Returns:
        The number of the alternative, from 0 on, and its probability.
    """
    rest = epsilon / count
    chosen, likelihood = 0, 0.0
    for child in range(count):
        q = (1.0 - epsilon) * policy[start + child] + rest
        if q > 0.0:
            chosen = child
            likelihood = q
            draw -= q
            if draw < 0.0:
                break
    return chosen, likelihood


def plain_draw_chance(cdf: Floats, start: int, count: int, draw: float) -> int:
    """Draws an outcome of chance by the cumulative sums `cdf[start]` and on.

    The first guess is right if the distribution is uniform. From there one looks down
    and up for the first sum above the number, which takes few steps if the distribution
    is nearly uniform, as most are.
    """
    if count > _VERY_MANY:
        low, high = 0, count - 1
        while low < high:
            middle = (low + high) // 2
            if draw < cdf[start + middle]:
                high = middle
            else:
                low = middle + 1
        return low
    chosen = int(draw * count)
    while chosen > 0 and draw < cdf[start + chosen - 1]:
        chosen -= 1
    while draw >= cdf[start + chosen]:
        chosen += 1
    return chosen


draw_action = pasted(plain_draw_action)
draw_chance = pasted(plain_draw_chance)


@jit
def count_sequences(infosets, counts):
    """Adds to `counts` `[S]`, ones at first, the sequences at and below each one.

    The balanced strategy plays every action in proportion to them (Farina, Kroer,
    Sandholm 2020, section 4.2.1). Infosets are taken from the last one up, so that all
    below an infoset have been counted when its own count goes to the parent sequence.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        total = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            total += counts[s]
        counts[infosets[infoset]["parent"]] += total


# --- the stack of a walk: the nodes to be visited later, and what is known of them ----


class Visit(NamedTuple):
    """A node that a walk visits, and what the walk has brought along.

    Attributes:
        first: its first child.
        start: where its moves begin: sequences, or probabilities of chance.
        num_moves: how many there are.
        sequence: the updated player's last one before the node.
        weight: the factor of all payoffs below it.
        place: its history's, see randomness.py.
        debt: what the infoset of `sequence` owes to the average.
    """

    first: Any
    start: Any
    num_moves: Any
    sequence: Any
    weight: float
    place: Any
    debt: float


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
def copy_entry(walk: Walk, entry: int, other: int) -> None:
    """Copies an entry of the stack to another one."""
    walk.node[other] = walk.node[entry]
    walk.sequence[other] = walk.sequence[entry]
    walk.weight[other] = walk.weight[entry]
    walk.place[other] = walk.place[entry]
    walk.debt[other] = walk.debt[entry]


@inlined
def leave(
    walk: Walk, top: int, num_aside: int, status: Any, debt: float, waits: bool
) -> tuple[int, int, Any]:
    """Leaves the node on top of the stack, at which the walk cannot go on yet.

    A missing one is moved to the end of the stack's arrays, where `MOST_ASIDE` entries
    are free, and the walk goes on elsewhere.

    Args:
        walk: with the stack.
        top: its height.
        num_aside: how many nodes have been moved already.
        status: why the walk cannot go on.
        debt: what the infoset of the node's sequence owes.
        waits: whether missing nodes are moved.

    Returns:
        The height, the number, and the status of the walk.
    """
    walk.debt[top - 1] = debt
    if waits and status == layout.GROW:
        top -= 1
        copy_entry(walk, top, len(walk.node) - 1 - num_aside)
        num_aside += 1
        status = np.int64(layout.GROW if num_aside == MOST_ASIDE else layout.DONE)
    return top, num_aside, status


@inlined
def take_back(walk: Walk, top: int, num_aside: int, status: Any) -> tuple[int, Any]:
    """Stacks the nodes that were set aside again, the first of them on top; returns the
    height, and why the walk has stopped."""
    for entry in range(len(walk.node) - num_aside, len(walk.node)):
        copy_entry(walk, entry, top)
        top += 1
    walk.marks[layout.TO_GROW] = num_aside
    if num_aside > 0 and status == layout.DONE:
        status = np.int64(layout.GROW)
    return top, status


@pasted
def push_weighted_children(
    probs: np.ndarray,
    row: int,
    walk: Walk,
    top: int,
    at: Visit,
    prune: bool,
    placed: bool,
    indebted: bool,
) -> int:
    """Stacks all children after a move of another player or of chance.

    Args:
        probs, row: the array with the probabilities of the moves, and where they begin.
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        prune: whether children of probability 0 are left out.
        placed: whether the children's places are stacked, too.
        indebted: whether their debts are.

    Returns:
        The new height.
    """
    for child in range(at.num_moves - 1, -1, -1):
        prob = probs[row + child]
        if not prune or prob > 0.0:
            walk.node[top] = at.first + child
            walk.sequence[top] = at.sequence
            walk.weight[top] = at.weight * prob
            if placed:
                walk.place[top] = child_place(at.place, child)
            if indebted:
                walk.debt[top] = at.debt
            top += 1
    return top


@pasted
def push_other_children(
    walk: Walk, top: int, at: Visit, weighted: bool, placed: bool, indebted: bool
) -> int:
    """Stacks all children but the first after a move of the updated player.

    The first is followed at once. The last child goes below the others, so that they
    are visited in their order.

    Args:
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        weighted: whether the children's weights are stacked, too; else all are 1.
        placed: whether their places are.
        indebted: whether their debts are.

    Returns:
        The new height.
    """
    for child in range(at.num_moves - 1, 0, -1):
        walk.node[top] = at.first + child
        walk.sequence[top] = at.start + child
        if weighted:
            walk.weight[top] = at.weight
        if placed:
            walk.place[top] = child_place(at.place, child)
        if indebted:
            walk.debt[top] = at.debt
        top += 1
    return top


# --- walks that follow several of the player's actions at an infoset, but not all -----


@inlined
def follow_probability(settings: Floats, played: float, total: float) -> float:
    """The probability with which average-strategy sampling follows an action.

    It is (bonus + threshold S(a)) / (bonus + sum S), within [epsilon, 1].

    Args:
        settings: see `tables.NUM_SETTINGS`.
        played: the weighted sum of plans S of the action.
        total: the sum of S over the infoset's actions.
    """
    bonus, least = settings[layout.BONUS], settings[layout.EPSILON]
    whole = bonus + total
    if not whole > 0.0:  # nothing has been played here, so nothing is known
        return 1.0
    return min(1.0, max(least, (bonus + settings[layout.THRESHOLD] * played) / whole))


@inlined
def push_picked(
    tables: Tables,
    walk: Walk,
    top: int,
    at: Visit,
    settings: np.ndarray,
    stream: int,
    own: int,
    placed: bool,
) -> int:
    """Stacks the children that a walk follows after the player's move.

    The average is not paid before the update. What it will then have at a sequence
    follows from the infoset's debt, which the walk carries along.

    Args:
        tables: with the average and the policies.
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        settings: see `tables.NUM_SETTINGS`.
        stream: the key of the walk.
        own: the infoset's place; that of an action's draw is below it.
        placed: whether the children's places are stacked, too.

    Returns:
        The new height.
    """
    total = 0.0
    for s in range(at.start, at.start + at.num_moves):
        total += tables.average[s] + tables.policy[s] * at.debt
    for child in range(at.num_moves - 1, -1, -1):
        s = at.start + child
        played = tables.average[s] + tables.policy[s] * at.debt
        likelihood = follow_probability(settings, played, total)
        if uniform(stream, child_place(own, child)) >= likelihood:
            continue
        walk.node[top] = at.first + child
        walk.sequence[top] = s
        walk.weight[top] = at.weight / likelihood
        walk.debt[top] = at.debt
        if placed:
            walk.place[top] = child_place(at.place, child)
        top += 1
    return top


# --- pruning in sampled walks: actions of very negative regret are not followed -------


SHARE_PRUNED = 0.95
"""The fraction of walks that prune; the others explore every action."""

FLOOR = 31 / 30
"""The floor of regrets as a multiple of the threshold, as in Pluribus."""

PRUNING_PLACE = np.uint64(0x13198A2E03707344)
"""The place of the draw that decides whether a walk prunes."""

LOOK = -1.0
"""The weight that marks a node to be visited only if it is a leaf; it then counts as 1.
"""

SKIPPED = -float(np.finfo(np.float64).max)
"""The gradient written for an action that was left out."""


@inlined
def is_poor(policy: float, regret: float, threshold: float) -> bool:
    """Whether a walk that prunes leaves out an action, unless it ends the game."""
    return regret < threshold and policy == 0.0


@inlined
def poor_regret(stream: int, settings: np.ndarray) -> float:
    """The regret below which the walk with the key `stream` leaves out actions; minus
    infinity if it leaves out none."""
    prunes = uniform(stream, PRUNING_PLACE) < SHARE_PRUNED
    return settings[layout.PRUNE_BELOW] if prunes else -np.inf


@inlined
def push_kept(
    tables: Tables, walk: Walk, top: int, at: Visit, poor: float, placed: bool
) -> tuple[int, float]:
    """As `push_other_children`, in a walk that may leave out actions.

    Whether a child ends the game is known when it is taken from the stack, after it was
    expanded: so it does not matter how far the tree has grown.

    Args:
        tables: with the policies and the regrets.
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        poor: the regret below which actions are left out.
        placed: whether the children's places are stacked, too.

    Returns:
        The new height, and the weight of the first child.
    """
    for child in range(at.num_moves - 1, 0, -1):
        walk.node[top] = at.first + child
        walk.sequence[top] = at.start + child
        walk.weight[top] = kept_weight(tables, at.start + child, poor)
        if placed:
            walk.place[top] = child_place(at.place, child)
        walk.debt[top] = at.debt
        top += 1
    return top, kept_weight(tables, at.start, poor)


@inlined
def kept_weight(tables: Tables, s: int, poor: float) -> float:
    """The weight on the stack of what comes after a sequence."""
    return LOOK if is_poor(tables.policy[s], tables.memory[s], poor) else 1.0


@pasted
def match_pruned(tables: Tables, start: int, stop: int, floor: float) -> float:
    """Regret matching where some actions may have been left out; returns <b, G>.

    Args:
        tables: of which `policy` and `memory` change and `gradient` is cleared.
        start: the infoset's first sequence.
        stop: the end of its sequences.
        floor: the least regret.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    value = 0.0
    for s in range(start, stop):
        if gradient[s] != SKIPPED:  # else its probability is 0
            value += policy[s] * gradient[s]
    total = 0.0
    for s in range(start, stop):
        if gradient[s] != SKIPPED:
            memory[s] = max(memory[s] + gradient[s] - value, floor)
            total += max(memory[s], 0.0)
        gradient[s] = 0.0
    play_positive(policy, memory, start, stop, total)
    return value
