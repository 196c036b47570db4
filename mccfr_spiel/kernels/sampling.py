"""Draws of actions and outcomes.

A draw is a number in [0, 1) from randomness.py. The alternatives partition this
interval in order, and the draw selects the part that contains it.

Bots call the functions `plain_...` as Python. Walks compile the same code, so both
select the same alternative to the last bit.
"""

from collections.abc import Sequence

import numpy as np

from mccfr_spiel.kernels.jit import jit, pasted

Floats = Sequence[float] | np.ndarray | memoryview


_VERY_MANY = 4096
"""Number of outcomes above which bisection replaces the linear search."""


def plain_draw_action(probs: Floats, start: int, count: int, draw: float) -> int:
    """Draws an alternative with the probabilities `probs[start:start + count]`.

    Probabilities are subtracted from the draw until it is negative. If rounding
    prevents this, the last alternative with positive probability is selected.

    Returns:
        The index of the alternative, starting at 0.
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
    """Draws like `draw_action` from a mixture of a policy and the uniform policy.

    The probability of an action is (1 - epsilon) b + epsilon / count, where b is the
    policy's probability. For epsilon = 0 it equals b to the bit.

    Returns:
        The index of the action, starting at 0, and its probability.
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
    """Draws a chance outcome from cumulative probabilities `cdf[start:start + count]`.

    The outcome is the first whose cumulative probability exceeds the draw. A linear
    search starts at the outcome that a uniform distribution would give. It is short
    because most distributions are nearly uniform.

    Returns:
        The index of the outcome, starting at 0.
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
    # Both searches are needed, because the guess may lie on either side.
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
    Sandholm 2020, section 4.2.1).

    Args:
        infosets: `[I]` INFOSET, ancestors first.
        counts: `[S]` float64, initially ones; receives the counts.
    """
    # Bottom-up, so that the counts of an infoset are complete when they are summed.
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        total = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            total += counts[s]
        counts[infosets[infoset]["parent"]] += total
