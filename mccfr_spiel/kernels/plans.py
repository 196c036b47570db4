"""Realization plans, and gradients from the leaf list of a complete tree.

The plan of a sequence is the product of the player's own probabilities on the way to
it: plan[s] = plan[parent] policy[s], and 1 at empty sequences.
"""

import numpy as np

from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.tables import Passes, Tables


@pasted
def add_rows(
    passes: Passes, plan: np.ndarray, sequence: int, num_others: int, value: float
) -> float:
    """Returns `value` plus the payoffs of the leaves right after a sequence.

    Each payoff is multiplied by the plans of the other players. Rows are added to
    `value` one by one, because a separate sum of the rows would round differently.
    """
    ends, others, payoffs = passes.ends, passes.others, passes.payoffs
    # Numba tests signed indices for negative values, which count from the end. Unsigned
    # indices avoid the test, a third of the time of this loop.
    group = np.uint64(sequence)
    row, stop = np.uint64(ends[group]), np.uint64(ends[group + np.uint64(1)])
    if num_others == 1:  # two players: same result without the inner loop
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
    infosets: np.ndarray, tables: Tables, infoset: int, weight: float
) -> None:
    """Adds the old plan at an infoset to the average and computes the new plan."""
    start, plan = infosets[infoset]["first_sequence"], tables.plan
    mass = plan[infosets[infoset]["parent"]]
    for s in range(start, start + infosets[infoset]["num_actions"]):
        tables.average[s] += weight * plan[s]
        plan[s] = mass * tables.policy[s]


@jit(nogil=True)
def fill_gradient(
    infosets: np.ndarray,
    passes: Passes,
    player: int,
    plan: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Computes a player's utility gradient, without the values of infosets below.

    Args:
        infosets: infosets of a complete tree.
        passes: the leaves.
        player: the player.
        plan: `[S]` plans of all players.
        gradient: `[S]` output, at the player's sequences.
    """
    num_others = passes.others.shape[1]
    gradient[player] = add_rows(passes, plan, player, num_others, 0.0)
    for m in range(passes.member_ends[player], passes.member_ends[player + 1]):
        start = infosets[passes.members[m]]["first_sequence"]
        for s in range(start, start + infosets[passes.members[m]]["num_actions"]):
            gradient[s] = add_rows(passes, plan, s, num_others, 0.0)


@jit(nogil=True)
def fill_plan(infosets, policy, plan):
    """Computes the plans `[S]` of policies `[S]` of all players.

    `plan` must be 1 at the empty sequences.
    """
    # Infosets are in topological order, so parents come first.
    for infoset in range(len(infosets)):
        fill_plan_at(infosets, policy, plan, infoset)


@inlined
def fill_plan_at(
    infosets: np.ndarray, policy: np.ndarray, plan: np.ndarray, infoset: int
) -> None:
    """Computes the plan at an infoset from the plan of its parent sequence."""
    start = infosets[infoset]["first_sequence"]
    mass = plan[infosets[infoset]["parent"]]
    for s in range(start, start + infosets[infoset]["num_actions"]):
        plan[s] = mass * policy[s]
