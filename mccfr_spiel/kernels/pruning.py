"""Pruning in sampled walks: actions of very negative regret are not followed.

As in Pluribus (Brown, Sandholm 2019), most walks leave out an action whose cumulative
regret is below a threshold, unless it ends the game. Such an action is never played
while another one has a positive regret, so the value at the infoset is known without
it. Its own regret stays as it is. A walk in which nothing is pruned comes by often
enough to see whether it has become better, and regrets have a floor a little below the
threshold, so that it can then come back.

Here an action is only left out if it has probability 0: where no regret is positive,
the policy is uniform, and the value is that of all actions.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined, pasted
from mccfr_spiel.compiled.randomness import child_place, plain_uniform, uniform
from mccfr_spiel.kernels.stack import Visit
from mccfr_spiel.kernels.tables import PRUNE_BELOW, Tables, Walk

SHARE_PRUNED = 0.95
"""Of all walks."""

FLOOR = 31 / 30
"""The floor of regrets as a multiple of the threshold, as in Pluribus."""

PRUNING_PLACE = np.uint64(0x13198A2E03707344)
"""The place of the draw that decides whether a walk prunes."""

LOOK = -1.0
"""The weight on the stack of a node to be visited only if it is a leaf, where it counts
as 1. Other nodes have 1."""

SKIPPED = -float(np.finfo(np.float64).max)
"""What stands for the gradient of an action that was left out."""


def plain_is_poor(policy: float, regret: float, threshold: float) -> bool:
    """Whether a walk that prunes leaves out an action, unless it ends the game."""
    return regret < threshold and policy == 0.0


is_poor = inlined(plain_is_poor)


@inlined
def poor_regret(stream: int, settings: np.ndarray) -> float:
    """The regret below which the walk with the key `stream` leaves out actions; minus
    infinity if it leaves out none."""
    prunes = uniform(stream, PRUNING_PLACE) < SHARE_PRUNED
    return settings[PRUNE_BELOW] if prunes else -np.inf


def plain_prunes(stream: int) -> bool:
    """Whether a walk prunes, with Python's integers."""
    return plain_uniform(stream, int(PRUNING_PLACE)) < SHARE_PRUNED


@inlined
def push_kept(
    tables: Tables, walk: Walk, top: int, at: Visit, poor: float, placed: bool
) -> tuple[int, float]:
    """As `stack.push_other_children`, in a walk that may leave out actions.

    Whether a child ends the game is known when it is taken from the stack, after it was
    expanded: so it does not matter how far the tree has grown.

    Args:
        tables: with the policies and the regrets.
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        poor: the regret below which actions are left out.
        placed: whether places are asked.

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
    for s in range(start, stop):
        if total > 0.0:
            policy[s] = max(memory[s], 0.0) / total
        else:
            policy[s] = 1.0 / (stop - start)
    return value
