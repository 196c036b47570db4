"""The average policy, stored as a lazily updated sum of realization plans.

The average policy is the policy of the weighted sum of all iterations' plans. Adding
each plan eagerly would visit every sequence in every iteration. But as long as the
policy of an infoset does not move, its sequences receive the policy times the increase
at the parent sequence. So it suffices to add this product when a walk meets the infoset
again, before the policy moves. The sums stay exact.

`Tables.average[s]` is the sum at sequence s at the last payment of its infoset.
`Tables.paid[i]` is the sum at the parent sequence of infoset i at that time. The
difference to the current sum at the parent is the *debt* of the infoset.
"""

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.discounts import scheduled
from mccfr_spiel.kernels.jit import inlined, jit, pasted


@inlined
def average_weight(iteration: int, settings: np.ndarray, before: float) -> float:
    """Returns the weight of an iteration's plans in the average.

    The weight is iteration ** gamma. If gamma changes over time, the definition is that
    the average is multiplied by ((t - 1) / t) ** gamma(t) before iteration t is added
    (Zhang, McAleer, Sandholm 2024). Instead, the weights here grow by the inverse
    factor, which results in the same average. Weights of a user's function are stored
    behind the settings.

    Args:
        iteration: index of the iteration, from 1 on.
        settings: the settings, see `tables.EPSILON`.
        before: weight of the previous iteration.
    """
    gamma, change = settings[layout.GAMMA], settings[layout.GAMMA_CHANGE]
    first = np.int64(settings[layout.WEIGHTS_FROM])
    if first > 0:
        return settings[layout.NUM_SETTINGS + iteration - first]
    if change == 0.0:
        if gamma == 0.0 or gamma == 1.0:  # avoids a slow power
            return 1.0 * iteration if gamma == 1.0 else 1.0
        return iteration**gamma
    if iteration == 1:
        return 1.0
    # Multiplying all later weights has the same effect as discounting the average.
    gamma = scheduled(gamma, change, settings[layout.HORIZON], iteration)
    return before * (iteration / (iteration - 1)) ** gamma


@pasted
def pay_debt(
    tables: layout.Tables, infoset: int, settled: float, start: int, stop: int
) -> None:
    """Pays the debt of an infoset to the average.

    Args:
        tables: the tables; `average` and `paid` change.
        infoset: the infoset.
        settled: sum at the parent sequence.
        start: first sequence of the infoset.
        stop: end of its sequences.
    """
    # The policy is constant between payments, so one product pays for all iterations.
    debt = settled - tables.paid[infoset]
    for s in range(start, stop):
        tables.average[s] += tables.policy[s] * debt
    tables.paid[infoset] = settled


@jit
def settle_average(
    infosets: np.ndarray, policy: np.ndarray, average: np.ndarray, paid: np.ndarray
) -> None:
    """Pays the debts of all infosets into `average`, which may be a copy.

    Infosets are in topological order, so the sum at a parent sequence is complete when
    it is read. `paid` does not change.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        debt = average[infosets[infoset]["parent"]] - paid[infoset]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            average[s] += policy[s] * debt


@jit
def normalize(infosets: np.ndarray, average: np.ndarray) -> None:
    """Turns sums of plans into a policy, uniform where the player never arrives.

    Equal sums result in exactly 1 / count, as at infosets that were never met.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        total = 0.0
        are_equal = True
        for s in range(start, stop):
            total += average[s]
            are_equal = are_equal and average[s] == average[start]
        # By rounding, x / (x + x + x) can differ from 1 / 3.
        for s in range(start, stop):
            average[s] = 1.0 / (stop - start) if are_equal else average[s] / total


@inlined
def pay_met(
    infosets: np.ndarray, tables: layout.Tables, met: np.ndarray, first: int, stop: int
) -> None:
    """Pays the debts of the infosets `met[first:stop]`."""
    for visit in range(first, stop):
        infoset = np.int64(met[visit])
        start = np.int64(infosets[infoset]["first_sequence"])
        end = start + infosets[infoset]["num_actions"]
        settled = tables.average[infosets[infoset]["parent"]]
        pay_debt(tables, infoset, settled, start, end)
