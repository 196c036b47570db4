"""Conditional gaps: gains of a best response, given that play reaches an infoset.

The pass runs bottom-up, as in kernels/evaluation.py. It divides the gain at an infoset
by the counterfactual reach of the infoset.
"""

import numpy as np

from mccfr_spiel.kernels.jit import jit

LEAST_REACH = 1e-290
"""Smallest reach of an infoset with beliefs. Below it, the products of probabilities
lose digits because they approach the smallest positive float64."""


@jit(nogil=True)
def fill_gaps(
    infosets: np.ndarray,
    policy: np.ndarray,
    tremble: float,
    reach: np.ndarray,
    values: np.ndarray,
    best: np.ndarray,
    gap: np.ndarray,
    choice: np.ndarray,
) -> None:
    """Computes the conditional gaps of infosets, children before parents.

    The responder plays an action at an infoset with n actions with a probability of at
    least min(tremble, 1 / (2 n)).

    Args:
        infosets: `[I]` all infosets of the game.
        policy: `[S]` policies of all players.
        tremble: smallest probability of an action of the responder.
        reach: `[I]` counterfactual reach of the infosets.
        values: `[S]` the caller passes the weighted payoffs of leaves right after each
            sequence. The values of infosets under the policy are added.
        best: `[S]` the same payoffs. The values of infosets under a best response are
            added.
        gap: `[I]` output; NaN where `reach` is below LEAST_REACH.
        choice: `[I]` output: the best action as a sequence; the first of equal actions.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start, count = (
            infosets[infoset]["first_sequence"],
            infosets[infoset]["num_actions"],
        )
        floor = min(tremble, 0.5 / count)
        value, total, highest, chosen = 0.0, 0.0, -np.inf, start
        for s in range(start, start + count):
            value += policy[s] * values[s]
            total += best[s]
            if best[s] > highest:
                highest, chosen = best[s], s
        if floor > 0.0:
            highest = floor * total + (1.0 - count * floor) * highest
        values[infosets[infoset]["parent"]] += value
        best[infosets[infoset]["parent"]] += highest
        choice[infoset], gap[infoset] = chosen, np.nan
        if reach[infoset] >= LEAST_REACH:
            # A response is worth at least as much as the policy, up to rounding.
            gap[infoset] = max(highest - value, 0.0) / reach[infoset]
