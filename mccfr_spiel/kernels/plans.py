"""Realization plans, and gradients from the leaf list of a complete tree.

The plan of a sequence is the product of the player's own probabilities of all actions
up to and including the sequence: plan[s] = plan[parent] policy[s], and 1 at empty
sequences.
"""

import numpy as np

from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.tables import Passes, Tables


@pasted
def add_rows(
    passes: Passes, plan: np.ndarray, sequence: int, num_others: int, value: float
) -> float:
    """Returns `value` plus the weighted payoffs of the leaves right after a sequence.

    These leaves are the rows of `passes` for the sequence. Their payoffs contain the
    probability of chance and are multiplied by the plans of the other players. Rows are
    added to `value` one by one, because a separate sum of the rows would round
    differently.

    Args:
        passes: the leaves, grouped by sequence.
        plan: `[S]` plans of all players.
        sequence: the sequence.
        num_others: number of players minus 1.
        value: the initial value of the sum.
    """
    ends, others, payoffs = passes.ends, passes.others, passes.payoffs
    # Numba tests signed indices for negative values, which count from the end. Unsigned
    # indices avoid the test, a third of the time of this loop.
    group = np.uint64(sequence)
    row, stop = np.uint64(ends[group]), np.uint64(ends[group + np.uint64(1)])
    if num_others == 1:  # for two players, a faster loop with the same result
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
    """Adds the old plan at an infoset to the average and computes the new plan.

    The plan of the parent sequence must be new already.
    """
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
    """Computes the gradient of a player's expected utility, from the leaves only.

    The gradient at a sequence is the sum over the leaves right after the sequence,
    before the player's next decision, of the payoff times the probability that chance
    and the other players reach the leaf. Values of the player's later infosets are not
    added.

    Args:
        infosets: infosets of a complete tree.
        passes: the leaves, grouped by sequence.
        player: the player.
        plan: `[S]` plans of all players.
        gradient: `[S]` output; only the player's sequences are written.
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

    Args:
        infosets: infosets of a complete tree.
        policy: the policies.
        plan: output. The caller sets the empty sequences to 1.
    """
    # Ancestors come first, because their numbers are smaller.
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
