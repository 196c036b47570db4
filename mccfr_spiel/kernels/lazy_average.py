"""The average policy, stored as a lazily updated sum of realization plans.

The average policy is the policy of the weighted sum of all iterations' realization
plans. To add each plan in its iteration, a solver would have to visit every sequence.
But while the policy of an infoset does not change, the sum at each of its sequences
grows by the policy times the growth of the sum at the parent sequence. So it suffices
to add this product at the next update of the infoset, before its policy changes. The
result is the same sum.

`Tables.average[s]` is the sum at sequence s as of the last update of its infoset.
`Tables.paid[i]` is the sum at the parent sequence of infoset i at that time. The growth
of the sum at the parent sequence since then is the *debt* to the infoset. To *pay* the
debt means to add it, times the policy, to the sums at the infoset's sequences.
"""

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.discounts import scheduled
from mccfr_spiel.kernels.jit import inlined, jit, pasted


@inlined
def average_weight(iteration: int, settings: np.ndarray, before: float) -> float:
    """Returns the weight of an iteration's plans in the average.

    The weight of iteration t is t ** gamma. If gamma changes over time, Zhang, McAleer
    and Sandholm (2024) multiply the average by ((t - 1) / t) ** gamma(t) before they
    add iteration t. Here the average keeps its size, and the weight grows by the
    inverse factor from iteration to iteration. The average policy is the same. If a
    user's function defines the weights, they are stored behind the settings.

    Args:
        iteration: number of the iteration, counted from 1.
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
    # To multiply all later weights has the same effect as to discount the average.
    gamma = scheduled(gamma, change, settings[layout.HORIZON], iteration)
    return before * (iteration / (iteration - 1)) ** gamma


@pasted
def pay_debt(
    tables: layout.Tables, infoset: int, settled: float, start: int, stop: int
) -> None:
    """Pays the debt to an infoset: adds the missing terms to its part of the average.

    Args:
        tables: the tables; `average` and `paid` change.
        infoset: the infoset.
        settled: present sum at the parent sequence, including the debts of ancestors.
        start: first sequence of the infoset.
        stop: end of its sequences.
    """
    # The policy was constant since the last payment, so one product replaces the terms
    # of all iterations since then.
    debt = settled - tables.paid[infoset]
    for s in range(start, stop):
        tables.average[s] += tables.policy[s] * debt
    tables.paid[infoset] = settled


@jit
def settle_average(
    infosets: np.ndarray, policy: np.ndarray, average: np.ndarray, paid: np.ndarray
) -> None:
    """Pays the debts to all infosets: completes the sums in `average`.

    `average` may be a copy of `Tables.average`; `paid` does not change. Ancestors come
    first, so the sum at a parent sequence is complete when it is read.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        debt = average[infosets[infoset]["parent"]] - paid[infoset]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            average[s] += policy[s] * debt


@jit
def normalize(infosets: np.ndarray, average: np.ndarray) -> None:
    """Turns sums of plans into a policy, in place.

    The policy is uniform where all sums are 0. Equal sums of n actions result in
    exactly 1 / n, so that they do not differ from this case by rounding.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        total = 0.0
        are_equal = True
        for s in range(start, stop):
            total += average[s]
            are_equal = are_equal and average[s] == average[start]
        # Because of rounding, x / (x + x + x) can differ from 1 / 3.
        for s in range(start, stop):
            average[s] = 1.0 / (stop - start) if are_equal else average[s] / total


@inlined
def pay_met(
    infosets: np.ndarray, tables: layout.Tables, met: np.ndarray, first: int, stop: int
) -> None:
    """Pays the debts to the infosets `met[first:stop]`, ancestors first."""
    for visit in range(first, stop):
        infoset = np.int64(met[visit])
        start = np.int64(infosets[infoset]["first_sequence"])
        end = start + infosets[infoset]["num_actions"]
        settled = tables.average[infosets[infoset]["parent"]]
        pay_debt(tables, infoset, settled, start, end)
