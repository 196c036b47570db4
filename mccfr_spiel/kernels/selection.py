"""Samplings that follow some of the updated player's actions at an infoset, not all.

**Average-strategy sampling** (Gibson, Burch, Lanctot, Szafron 2012) decides for each
action separately whether to follow it. The probability grows with the action's share of
the average strategy. Payoffs below the action are divided by that probability.

**Pruning.** As in Pluribus (Brown, Sandholm 2019), 95 % of the walks leave out actions
whose cumulative regret is below a threshold, except actions that end the game. Such an
action has probability 0 while another action has positive regret, so the value of the
infoset is known without it, and its own regret stays as it is. The remaining walks
follow every action, so that an action that has improved is noticed. Regrets have a
floor a little below the threshold, so that such an action can come back.

Only actions of probability 0 are left out. Where no regret is positive the policy is
uniform, and the value needs all actions.
"""

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.randomness import child_place, uniform
from mccfr_spiel.kernels.sampling import Floats
from mccfr_spiel.kernels.stack import Moves, Spot
from mccfr_spiel.kernels.tables import Tables, Walk

# --- average-strategy sampling --------------------------------------------------------


@inlined
def follow_probability(settings: Floats, played: float, total: float) -> float:
    """The probability with which average-strategy sampling follows an action.

    It is max(epsilon, min(1, (bonus + threshold S(a)) / (bonus + sum S))) (Gibson et
    al. 2012).

    Args:
        settings: see `tables.NUM_SETTINGS`.
        played: the weighted sum of plans S of the action.
        total: the sum of S over the infoset's actions.
    """
    bonus, least = settings[layout.BONUS], settings[layout.EPSILON]
    whole = bonus + total
    if not whole > 0.0:  # the average is still empty here
        return 1.0
    return min(1.0, max(least, (bonus + settings[layout.THRESHOLD] * played) / whole))


@inlined
def push_picked(
    tables: Tables,
    walk: Walk,
    height: int,
    spot: Spot,
    moves: Moves,
    settings: np.ndarray,
    stream: int,
    own: int,
    placed: bool,
) -> int:
    """Pushes the children that average-strategy sampling follows.

    The stored average lags behind, because debts are paid by the update only. The sum
    that a sequence will have by then follows from the debt that the walk carries.

    Args:
        tables: the tables with the average and the policies.
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        settings: see `tables.NUM_SETTINGS`.
        stream: the key of the walk.
        own: the infoset's place. Each action draws at a place below it.
        placed: whether places are stored.

    Returns:
        The new height.
    """
    total = 0.0
    for s in range(moves.start, moves.start + moves.count):
        total += tables.average[s] + tables.policy[s] * spot.debt
    for child in range(moves.count - 1, -1, -1):
        s = moves.start + child
        played = tables.average[s] + tables.policy[s] * spot.debt
        likelihood = follow_probability(settings, played, total)
        if uniform(stream, child_place(own, child)) >= likelihood:
            continue
        walk.node[height] = moves.first + child
        walk.sequence[height] = s
        walk.weight[height] = spot.weight / likelihood
        walk.debt[height] = spot.debt
        if placed:
            walk.place[height] = child_place(spot.place, child)
        height += 1
    return height


# --- pruning of actions with very negative regret -------------------------------------


SHARE_PRUNED = 0.95
"""Fraction of walks that prune; the others follow every action."""

FLOOR = 31 / 30
"""Floor of regrets as a multiple of the threshold, as in Pluribus."""

PRUNING_PLACE = np.uint64(0x13198A2E03707344)
"""Place of the draw that decides whether a walk prunes."""

LOOK = -1.0
"""Weight on the stack of a poor action's child. The child is paid with weight 1 if it
is a leaf and skipped otherwise. Only the visit shows which, because the child may not
have been expanded when it is pushed."""


@inlined
def poor_regret(stream: int, settings: np.ndarray) -> float:
    """The regret below which the walk with the key `stream` skips actions; minus
    infinity if it skips none."""
    prunes = uniform(stream, PRUNING_PLACE) < SHARE_PRUNED
    return settings[layout.PRUNE_BELOW] if prunes else -np.inf


@inlined
def push_kept(
    tables: Tables,
    walk: Walk,
    height: int,
    spot: Spot,
    moves: Moves,
    poor: float,
    placed: bool,
) -> tuple[int, float]:
    """Pushes as `push_other_children`, with the weight LOOK for poor actions.

    Args:
        tables: the tables with the policies and the regrets.
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        poor: the regret below which actions are skipped.
        placed: whether places are stored.

    Returns:
        The new height, and the weight of the first child.
    """
    for child in range(moves.count - 1, 0, -1):
        walk.node[height] = moves.first + child
        walk.sequence[height] = moves.start + child
        walk.weight[height] = kept_weight(tables, moves.start + child, poor)
        if placed:
            walk.place[height] = child_place(spot.place, child)
        walk.debt[height] = spot.debt
        height += 1
    return height, kept_weight(tables, moves.start, poor)


@inlined
def kept_weight(tables: Tables, s: int, poor: float) -> float:
    """The weight of the child after a sequence: LOOK if the action is poor, else 1."""
    is_poor = tables.memory[s] < poor and tables.policy[s] == 0.0
    return LOOK if is_poor else 1.0
