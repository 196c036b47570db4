"""Policy vectors: checks, the uniform policy, the sequences of a player."""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common.display import brief

MOST_OFF = 1e-6
"""How far from 1 the probabilities at an infoset may add up to."""


def checked_vector(tree: InfosetTable, vector: np.ndarray) -> np.ndarray:
    """Returns the vector `[S]`; raises ValueError unless it is a distribution at every
    infoset of the tree."""
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
            f"The policy is no distribution over the {len(values)} legal actions at "
            f"the state {tree.info_state(infoset)!r}: {values.tolist()}"
        )
    return vector


def check_shape(tree: InfosetTable, vector: np.ndarray, given: Any) -> None:
    """Raises ValueError, which shows what was given, unless a vector `[S]` is over a
    tree's sequences."""
    if vector.shape != (tree.num_sequences,):
        raise ValueError(
            f"A policy vector for {brief(tree.source)} has the shape "
            f"({tree.num_sequences},), not {vector.shape}: {given!r}."
        )


def uniform_vector(tree: InfosetTable) -> np.ndarray:
    """`[S]` the policy that plays all legal actions alike, over a tree's sequences."""
    counts = tree.infosets["num_actions"]
    return np.concatenate((np.ones(tree.num_players), np.repeat(1 / counts, counts)))


def sequences_of(tree: InfosetTable, player: int) -> np.ndarray:
    """The numbers of a player's sequences, the empty one excepted."""
    owners = np.repeat(tree.infosets["player"], tree.infosets["num_actions"])
    return tree.num_players + np.flatnonzero(owners == player)
