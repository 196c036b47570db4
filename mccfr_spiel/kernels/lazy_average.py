"""The average policy, stored as lazily updated sums of plans."""

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.discounts import scheduled
from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.tables import Tables


@inlined
def average_weight(iteration: int, settings: np.ndarray, before: float) -> float:
    """The weight of an iteration's plans in the average.

    It is iteration ** gamma. If gamma changes, to gamma(t) in iteration t, then before
    iteration t all that is in the average is multiplied by ((t - 1) / t) ** gamma(t).
    The weights here grow by the inverse instead, which is the same average. If it is a
    user's own, the weight stands behind the settings.

    Args:
        iteration: its number, from 1 on.
        settings: see `tables.NUM_SETTINGS`.
        before: the weight of the iteration before.
    """
    gamma, change = settings[layout.GAMMA], settings[layout.GAMMA_CHANGE]
    first = np.int64(settings[layout.WEIGHTS_FROM])
    if first > 0:
        return settings[layout.NUM_SETTINGS + iteration - first]
    if change == 0.0:
        if gamma == 0.0 or gamma == 1.0:  # no need of a slow power
            return 1.0 * iteration if gamma == 1.0 else 1.0
        return iteration**gamma
    if iteration == 1:
        return 1.0
    gamma = scheduled(gamma, change, settings[layout.HORIZON], iteration)
    return before * (iteration / (iteration - 1)) ** gamma


@pasted
def pay_debt(
    tables: Tables, infoset: int, settled: float, start: int, stop: int
) -> None:
    """Adds to the average what an infoset owes it since it was last met.

    Args:
        tables: of which `average` and `paid` change.
        infoset: whose debt is paid.
        settled: what the average has at the player's sequence before the infoset.
        start: the infoset's first sequence.
        stop: the end of its sequences.
    """
    debt = settled - tables.paid[infoset]
    for s in range(start, stop):
        tables.average[s] += tables.policy[s] * debt
    tables.paid[infoset] = settled


@jit
def settle_average(
    infosets: np.ndarray, policy: np.ndarray, average: np.ndarray, paid: np.ndarray
) -> None:
    """Adds to `average` what every infoset owes it, so that it holds whole sums.

    Ancestors come first, so an infoset's parent has been paid when its turn comes.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        debt = average[infosets[infoset]["parent"]] - paid[infoset]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            average[s] += policy[s] * debt


@jit
def normalize(infosets: np.ndarray, average: np.ndarray) -> None:
    """Turns sums of plans into a policy, uniform where the player never plays to.

    Equal sums become 1 / count to the bit, as at infosets that a tree has not met.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        total = 0.0
        are_equal = True
        for s in range(start, stop):
            total += average[s]
            are_equal = are_equal and average[s] == average[start]
        for s in range(start, stop):
            average[s] = 1.0 / (stop - start) if are_equal else average[s] / total


@inlined
def pay_met(
    infosets: np.ndarray, tables: Tables, met: np.ndarray, first: int, stop: int
) -> None:
    """Has the infosets `met[first:stop]` pay their debts to the average."""
    for visit in range(first, stop):
        infoset = np.int64(met[visit])
        start = np.int64(infosets[infoset]["first_sequence"])
        end = start + infosets[infoset]["num_actions"]
        settled = tables.average[infosets[infoset]["parent"]]
        pay_debt(tables, infoset, settled, start, end)
