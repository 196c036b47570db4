"""How an action or an outcome is drawn, for compiled code and for plain Python.

A draw is a number in [0, 1) from randomness.py. The alternatives divide that interval
among themselves in their order, and the one in whose part the number falls is chosen.

Each function exists twice, by the same lines: the one called `plain_...` runs as
Python, the other one is compiled. Python must choose like compiled code to the last
bit, because a tree is grown where the compiled walk is going to go (growth.py).
"""

from collections.abc import Sequence

import numpy as np

from mccfr_spiel.compiled.jit import jit, pasted

Floats = Sequence[float] | np.ndarray | memoryview


_VERY_MANY = 4096


def plain_draw_action(probs: Floats, start: int, count: int, draw: float) -> int:
    """Draws one of `count` alternatives with the probabilities `probs[start]` and on.

    The probabilities are subtracted from the number one by one until it is negative.
    Should rounding leave it at 0 or above, the last alternative of positive probability
    is chosen, so that one of probability 0 never is.

    Returns:
        The number of the alternative, from 0 on.
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


def plain_draw_explored(
    policy: Floats, start: int, count: int, epsilon: float, draw: float
) -> tuple[int, float]:
    """As `plain_draw_action`, from a policy mixed with the uniform one.

    An alternative has the probability (1 - epsilon) b + epsilon / count, where b is the
    policy's. With epsilon 0 that is b, to the bit.

    Returns:
        The number of the alternative, from 0 on, and its probability.
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

    The first guess is right if the distribution is uniform. From there one looks down
    and up for the first sum above the number, which takes few steps if the distribution
    is nearly uniform, as most are. Among very many outcomes it is found by halving.
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
draw_explored = pasted(plain_draw_explored)
draw_chance = pasted(plain_draw_chance)


@jit
def count_sequences(infosets, counts):
    """Adds to `counts` `[S]`, ones at first, the sequences at and below each one.

    The balanced strategy plays every action in proportion to them (Farina, Kroer,
    Sandholm 2020, section 4.2.1). Infosets are taken from the last one up, so that all
    below an infoset have been counted when its own count goes to the parent sequence.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        total = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            total += counts[s]
        counts[infosets[infoset]["parent"]] += total
