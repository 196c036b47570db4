"""Draws of actions and outcomes.

A draw is a number in [0, 1) from randomness.py. The probabilities of the alternatives
partition this interval in order, and the draw selects the alternative whose part
contains it.

Bots call the functions `plain_...`, which are not compiled. Walks use compiled versions
of the same code, so that bots and walks always select the same alternative.
"""

from collections.abc import Sequence

import numpy as np

from mccfr_spiel.kernels.jit import jit, pasted

Floats = Sequence[float] | np.ndarray | memoryview


_VERY_MANY = 4096
"""Number of outcomes above which bisection replaces the linear search."""


def plain_draw_action(probs: Floats, start: int, count: int, draw: float) -> int:
    """Selects an alternative with the probabilities `probs[start:start + count]`.

    Probabilities are subtracted from the draw until it is negative. If that never
    happens because of rounding, the last alternative with positive probability is
    selected.

    Returns:
        The index of the alternative, between 0 and `count - 1`.
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
    """Selects an action like `draw_action`, from a mixture with the uniform policy.

    The probability of an action is (1 - epsilon) b + epsilon / count, where b is the
    policy's probability. For epsilon = 0 it equals b to the bit.

    Returns:
        The index of the action, between 0 and `count - 1`, and its probability.
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
    """Selects a chance outcome by cumulative probabilities `cdf[start:start + count]`.

    The result is the first outcome whose cumulative probability exceeds the draw. A
    linear search starts at the outcome that would be selected if all were equally
    likely. The search is short because most distributions are nearly uniform.

    Returns:
        The index of the outcome, between 0 and `count - 1`.
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
    # The first guess may be too high or too low.
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
    """Counts, for each sequence, itself and all later sequences of the same player.

    The balanced strategy plays actions in proportion to these counts (Farina, Kroer,
    Sandholm 2020, section 4.2.1).

    Args:
        infosets: `[I]` INFOSET, ancestors first.
        counts: `[S]` float64, receives the counts. The caller passes ones.
    """
    # Bottom-up, so that the counts of an infoset are complete when they are summed.
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        total = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            total += counts[s]
        counts[infosets[infoset]["parent"]] += total
