"""Samplings that follow a subset of the updated player's actions at an infoset.

**Average-strategy sampling** (Gibson, Burch, Lanctot, Szafron 2012) selects each action
independently, with a probability that grows with the action's share of the average
strategy. Weights below the action are divided by that probability.

**Pruning.** As in Pluribus (Brown, Sandholm 2019), 95 % of the walks skip actions with
cumulative regrets below a threshold, except actions that end the game. A skipped action
has probability 0 as long as another regret is positive, so the infoset's value does not
depend on it. The regret of a skipped action stays constant. The other walks follow
every action and detect improvements. A floor slightly below the threshold limits
regrets, so that improved actions recover quickly.

Only actions with probability 0 are skipped. If no regret is positive, the policy is
uniform and the value depends on all actions.
"""

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.randomness import child_place, uniform
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
        played: S(a), the action's sum of weighted plans in the average.
        total: sum of S over all actions of the infoset.
    """
    bonus, least = settings[layout.BONUS], settings[layout.EPSILON]
    whole = bonus + total
    if not whole > 0.0:  # no plan has been added to the average here
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
    placed: bool,
) -> int:
    """Pushes the children selected by average-strategy sampling.

    Stored averages omit debts until the next update. The debt of the walk is therefore
    added here.

    Args:
        tables: the tables with the average and the policies.
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        settings: see `tables.NUM_SETTINGS`.
        stream: key of the walk's draws.
        own: place of the infoset. Each action has its own place, derived from it.
        placed: True to store places.

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
"""Fraction of walks that skip actions; the others follow every action."""

FLOOR = 31 / 30
"""Floor of regrets, as a multiple of the threshold (Pluribus: -310M and -300M)."""

PRUNING_PLACE = np.uint64(0x13198A2E03707344)
"""Place of the draw that decides whether a walk skips actions."""

LOOK = -1.0
"""Weight that marks the child of a poor action on the stack. When popped, a leaf is
paid with weight 1, and any other node is skipped. The decision waits until then,
because the child may be unexpanded when it is pushed."""


@inlined
def poor_regret(stream: int, settings: np.ndarray) -> float:
    """Returns the regret below which a walk skips actions; -inf if it skips none."""
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
    placed: bool,
) -> tuple[int, float]:
    """Pushes children like `push_other_children`; poor actions get the weight LOOK.

    Args:
        tables: the tables with the policies and the regrets.
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        poor: regret below which actions are skipped.
        placed: True to store places.

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
def kept_weight(tables: layout.Tables, s: int, poor: float) -> float:
    """Returns the weight of a child: LOOK after a poor action, else 1."""
    # A poor action is played only if no regret is positive and the policy is uniform.
    # The value of the infoset then depends on the action.
    is_poor = tables.memory[s] < poor and tables.policy[s] == 0.0
    return LOOK if is_poor else 1.0
