"""Draws of actions and outcomes.

A draw is a number in [0, 1) from randomness.py. The alternatives partition that
interval in their order, and the draw selects the part that contains it.

The functions `plain_...` run as Python for plays and bots. Walks compile the same
lines, so both select the same alternative to the last bit.
"""

from collections.abc import Sequence

import numpy as np

from mccfr_spiel.kernels.jit import jit, pasted

Floats = Sequence[float] | np.ndarray | memoryview


_VERY_MANY = 4096
"""Number of outcomes from which on bisection finds the outcome."""


def plain_draw_action(probs: Floats, start: int, count: int, draw: float) -> int:
    """Draws one of `count` alternatives with the probabilities `probs[start]` and on.

    Probabilities are subtracted from the draw until it is negative. If rounding keeps
    it at 0 or above, the last alternative of positive probability is selected.

    Returns:
        The index of the alternative, from 0 on.
    """
    chosen = 0
    for child in range(count):
        prob = probs[start + child]
        if prob > 0.0:
            chosen = child
            draw -= prob
            if draw < 0.0:
                break
    return chosen


@pasted
def draw_explored(
    policy: Floats, start: int, count: int, epsilon: float, draw: float
) -> tuple[int, float]:
    """Draws as `draw_action` does, from a policy mixed with the uniform one.

    The probability of an alternative is (1 - epsilon) b + epsilon / count, where b is
    its probability under the policy. For epsilon 0 it equals b to the bit.

    Returns:
        The index of the alternative, from 0 on, and its probability.
    """
    rest = epsilon / count
    chosen, likelihood = 0, 0.0
    for child in range(count):
        q = (1.0 - epsilon) * policy[start + child] + rest
        if q > 0.0:
            chosen = child
            likelihood = q
            draw -= q
            if draw < 0.0:
                break
    return chosen, likelihood


def plain_draw_chance(cdf: Floats, start: int, count: int, draw: float) -> int:
    """Draws an outcome of chance by the cumulative sums `cdf[start]` and on.

    The first guess assumes a uniform distribution. A linear search from there finds the
    first sum above the draw. Most distributions are nearly uniform, so it is short.
    """
    if count > _VERY_MANY:
        low, high = 0, count - 1
        while low < high:
            middle = (low + high) // 2
            if draw < cdf[start + middle]:
                high = middle
            else:
                low = middle + 1
        return low
    chosen = int(draw * count)
    while chosen > 0 and draw < cdf[start + chosen - 1]:
        chosen -= 1
    while draw >= cdf[start + chosen]:
        chosen += 1
    return chosen


draw_action = pasted(plain_draw_action)
draw_chance = pasted(plain_draw_chance)


@jit
def count_sequences(infosets, counts):
    """Counts the sequences at and below each sequence.

    The balanced strategy plays actions in proportion to these counts (Farina, Kroer,
    Sandholm 2020, section 4.2.1). Infosets come bottom-up, so that the count of an
    infoset is complete when it is added to the parent sequence.

    Args:
        infosets: the infosets.
        counts: `[S]` ones; the counts are added.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        total = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            total += counts[s]
        counts[infosets[infoset]["parent"]] += total
