"""Realization plans and gradients on the leaf list of a complete tree."""

import numpy as np

from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.tables import Passes, Tables


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
    # An unsigned index is used as it is. Of a signed one each use asks whether it is
    # negative and counts from the end, which takes a third of the time here.
    place = np.uint64(sequence)
    row, stop = np.uint64(ends[place]), np.uint64(ends[place + np.uint64(1)])
    if num_others == 1:  # the same as below, without the inner loop's cost
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
    """Adds an infoset's old plan to the average, and makes that of its new policy."""
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
    """Writes a player's utility gradient at the leaves, given all plans `[S]`."""
    num_others = passes.others.shape[1]
    gradient[player] = add_rows(passes, plan, player, num_others, 0.0)
    for m in range(passes.member_ends[player], passes.member_ends[player + 1]):
        start = infosets[passes.members[m]]["first_sequence"]
        for s in range(start, start + infosets[passes.members[m]]["num_actions"]):
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
