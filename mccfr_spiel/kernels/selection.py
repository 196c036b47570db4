"""Sampling methods that follow a subset of the updated player's actions.

**Average-strategy sampling** (Gibson, Burch, Lanctot, Szafron 2012) selects each action
independently, with a probability that grows with the action's share of the average
strategy. Weights below the action are divided by that probability.

**Pruning.** As in Pluribus (Brown, Sandholm 2019), 95 % of the walks skip *poor*
actions, except where they end the game. An action is poor if its cumulative regret is
below a threshold and its probability is 0, so that the value of the infoset does not
depend on it. (If no regret is positive, the policy is uniform, and no action is poor.)
The regret of a skipped action stays constant. The other walks follow every action and
detect improvements. Regrets are limited by a floor slightly below the threshold, so
that improved actions recover quickly.
"""

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.randomness import (
    NO_PLACES,
    child_place,
    place_below,
    uniform,
)
from mccfr_spiel.kernels.sampling import Floats
from mccfr_spiel.kernels.stack import Moves, Spot

# --- average-strategy sampling --------------------------------------------------------


@inlined
def follow_probability(settings: Floats, played: float, total: float) -> float:
    """Returns the probability that average-strategy sampling follows an action.

    It equals max(epsilon, min(1, (bonus + threshold S(a)) / (bonus + sum S))) (Gibson
    et al. 2012).

    Args:
        settings: see `tables.NUM_SETTINGS`.
        played: S(a), the sum of weighted plans in `Tables.average` at the action.
        total: sum S, the total of S over all actions of the infoset.
    """
    bonus, least = settings[layout.BONUS], settings[layout.EPSILON]
    whole = bonus + total
    if not whole > 0.0:  # no bonus, and the average is still 0 at this infoset
        return 1.0
    return min(1.0, max(least, (bonus + settings[layout.THRESHOLD] * played) / whole))


@inlined
def push_picked(
    tables: layout.Tables,
    walk: layout.Walk,
    height: int,
    spot: Spot,
    moves: Moves,
    settings: np.ndarray,
    stream: int,
    own: int,
    places: int,
) -> int:
    """Pushes the children selected by average-strategy sampling.

    `Tables.average` does not yet include the debt to this infoset (lazy_average.py), so
    the debt is added here.

    Args:
        tables: the tables with the average and the policies.
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        settings: see `tables.NUM_SETTINGS`.
        stream: key of the walk's stream of draws.
        own: place (key of draws) of the infoset. Keys for its actions are derived from
            it.
        places: NO_PLACES, or the kind of places to store, see randomness.py.

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
        if places != NO_PLACES:
            walk.place[height] = place_below(spot.place, child, places)
        height += 1
    return height


# --- pruning of actions with very negative regret -------------------------------------


SHARE_PRUNED = 0.95
"""Fraction of walks that skip poor actions; the other walks follow every action."""

FLOOR = 31 / 30
"""Floor of regrets divided by the threshold (Pluribus: -310M / -300M)."""

PRUNING_PLACE = np.uint64(0x13198A2E03707344)
"""Place (key) of the draw that decides whether a walk skips poor actions."""

LOOK = -1.0
"""Weight on the stack that marks a child after a poor action.

When the child is popped, the walk looks at it: if it is a leaf, its payoff is added
with weight 1; otherwise it is skipped. This cannot be decided when the child is pushed,
because the child may be unexpanded then.
"""


@inlined
def poor_regret(stream: int, settings: np.ndarray) -> float:
    """Returns the regret below which a walk skips actions.

    It is -inf for the walks that follow every action, which a draw selects.
    """
    prunes = uniform(stream, PRUNING_PLACE) < SHARE_PRUNED
    return settings[layout.PRUNE_BELOW] if prunes else -np.inf


@inlined
def push_kept(
    tables: layout.Tables,
    walk: layout.Walk,
    height: int,
    spot: Spot,
    moves: Moves,
    poor: float,
    places: int,
) -> tuple[int, float]:
    """Pushes the second to last children; after poor actions with the weight LOOK.

    As in `push_other_children`, the walk visits the first child next.

    Args:
        tables: the tables with the policies and the regrets.
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        poor: regret below which actions are skipped.
        places: NO_PLACES, or the kind of places to store, see randomness.py.

    Returns:
        The new height, and the weight of the first child.
    """
    for child in range(moves.count - 1, 0, -1):
        walk.node[height] = moves.first + child
        walk.sequence[height] = moves.start + child
        walk.weight[height] = kept_weight(tables, moves.start + child, poor)
        if places != NO_PLACES:
            walk.place[height] = place_below(spot.place, child, places)
        walk.debt[height] = spot.debt
        height += 1
    return height, kept_weight(tables, moves.start, poor)


@inlined
def kept_weight(tables: layout.Tables, s: int, poor: float) -> float:
    """Returns the weight of the child after sequence s: LOOK if s is poor, else 1.

    The action is poor if its regret is below the argument `poor` and its probability is
    0; see the top of this file.
    """
    # An action with negative regret has a positive probability if no regret of the
    # infoset is positive, because the policy is uniform then. The value of the infoset
    # depends on such an action, so it must not be skipped.
    is_poor = tables.memory[s] < poor and tables.policy[s] == 0.0
    return LOOK if is_poor else 1.0
