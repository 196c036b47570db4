"""Policy vectors with a smallest probability of actions.

With n actions and a tremble eps, the smallest probability is f = min(eps, 1 / (2 n)).
"""

import numpy as np

_ROUNDING = 1e-6
"""A probability violates the bound if it is smaller by more than this share. Tables of
float32 round probabilities."""


def within_trembles(
    infosets: np.ndarray, vector: np.ndarray, tremble: float
) -> np.ndarray:
    """Returns a policy vector `[S]` that respects the smallest probabilities.

    A distribution c that violates them is replaced by f + (1 - n f) c. Other infosets
    are unchanged.

    Args:
        infosets: `[I]` all infosets of the game.
        vector: `[S]` the policy.
        tremble: eps, the smallest probability; 0 returns the vector itself.
    """
    if tremble == 0.0 or len(infosets) == 0:
        return vector
    starts, counts = infosets["first_sequence"], infosets["num_actions"]
    floors = np.minimum(tremble, 0.5 / counts)
    lowest = np.minimum.reduceat(vector, starts)
    floors[lowest >= floors * (1.0 - _ROUNDING)] = 0.0
    trembled, first = vector.copy(), starts[0]
    scales = np.repeat(1.0 - counts * floors, counts)
    trembled[first:] = np.repeat(floors, counts) + scales * vector[first:]
    return trembled
