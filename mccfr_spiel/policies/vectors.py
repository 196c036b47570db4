"""Policy vectors: arrays `[S]` with one probability per sequence of an infoset table.

The elements of the empty sequences are 1.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common.display import brief

MOST_OFF = 1e-6
"""Tolerance for the sum of the probabilities at an infoset."""


def checked_vector(tree: InfosetTable, vector: np.ndarray) -> np.ndarray:
    """Returns a policy vector after checking it.

    Args:
        tree: the infosets.
        vector: `[S]` the vector.

    Raises:
        ValueError: the vector has another shape, or is not a distribution over the
            actions of an infoset.
    """
    check_shape(tree, vector, vector)
    if tree.num_infosets == 0:
        return vector
    first = tree.infosets["first_sequence"]
    is_right = np.abs(np.add.reduceat(vector, first) - 1) < MOST_OFF
    is_right &= np.minimum.reduceat(vector, first) >= 0
    if not is_right.all():
        infoset = int(np.argmin(is_right))
        start = first[infoset]
        values = vector[start : start + tree.infosets[infoset]["num_actions"]]
        raise ValueError(
            f"The policy at the state {tree.info_state(infoset)!r} is "
            f"{values.tolist()}, expected a distribution over the {len(values)} legal "
            "actions."
        )
    return vector


def check_shape(tree: InfosetTable, vector: np.ndarray, given: Any) -> None:
    """Raises ValueError unless a vector has the shape `[S]`.

    Args:
        tree: the infosets.
        vector: the vector.
        given: the user's value, for the message.
    """
    if vector.shape != (tree.num_sequences,):
        raise ValueError(
            f"Policy vector {given!r} for {brief(tree.source)} of shape "
            f"{vector.shape}, expected shape ({tree.num_sequences},)."
        )


def uniform_vector(tree: InfosetTable) -> np.ndarray:
    """Returns the vector `[S]` of the uniform policy."""
    counts = tree.infosets["num_actions"]
    return np.concatenate((np.ones(tree.num_players), np.repeat(1 / counts, counts)))


def sequences_of(tree: InfosetTable, player: int) -> np.ndarray:
    """Returns the indices of a player's nonempty sequences."""
    owners = np.repeat(tree.infosets["player"], tree.infosets["num_actions"])
    return tree.num_players + np.flatnonzero(owners == player)
