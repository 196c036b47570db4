"""Weights of iterations that have not begun yet, for the mean gradient of played
policies (solving/played_gradients.py)."""

import numpy as np

from mccfr_spiel.kernels.batches import GROWING, walks_at
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.lazy_average import average_weight


@jit
def weight_of_next(
    settings: np.ndarray, iteration: int, before: float, batch: int
) -> float:
    """Returns the weight with which an iteration's plans will enter the average.

    Args:
        settings: the settings, see `tables.EPSILON`.
        iteration: number of the iteration, counted from 1, which begins next.
        before: weight of the previous iteration, `clock[AVERAGE_WEIGHT]`.
        batch: walks per player and iteration, or GROWING.
    """
    weight = average_weight(iteration, settings, before)
    return weight * walks_at(batch, iteration)[1] if batch == GROWING else weight


@jit
def best_values(infosets: np.ndarray, values: np.ndarray) -> None:
    """Replaces gradients at leaves by values of best responses, in place.

    Args:
        infosets: all infosets of the game.
        values: `[S]` gradient that excludes the values of infosets below; afterwards
            entry p is the largest inner product with a plan of player p.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        highest = -np.inf
        for s in range(start, start + infosets[infoset]["num_actions"]):
            highest = max(highest, values[s])
        values[infosets[infoset]["parent"]] += highest
