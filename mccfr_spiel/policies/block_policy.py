"""BlockPolicy: a policy of a subgame of hold'em, kept as float32 in blocks."""

import functools
from typing import Any

import numpy as np
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.policies.policy import SequencePolicy


class BlockPolicy(SequencePolicy):
    """A policy in proportion to a table in blocks, see arenas/hand_arena.py.

    The vector over all sequences, and lists of all infosets, are made when they are
    first used. Single information states, and `ms.poker.study`, do not need them.

    Attributes:
        weights: the table, whose entries are proportional to the probabilities of the
            actions; all 0 at an infoset with the uniform policy.
    """

    def __init__(self, tree: Any, weights: np.ndarray) -> None:
        """Adopts the table; SequencePolicy would copy a vector.

        Args:
            tree: the arena, a BlockArena.
            weights: the table.
        """
        openspiel_policy.Policy.__init__(self, tree.source, [0, 1])
        self.tree, self.weights = tree, weights
        self._num_infosets = tree.num_infosets
        self.turn_based_game = tree.game

    def __len__(self) -> int:
        return self._num_infosets

    @functools.cached_property
    def vector(self) -> np.ndarray:  # pyright: ignore
        """`[S]` the policy as a vector.

        Raises:
            MemoryBudgetError: the vector does not fit the memory budget of `tree`.
        """
        return self.tree.policy_of(self.weights)

    @property
    def _infosets(self) -> np.ndarray:  # pyright: ignore
        return self.tree.infosets

    def _row(self, infoset: int) -> dict[int, float]:
        weights = self.weights[self.tree.entries_of(infoset)].astype(float)
        total = weights.sum()
        row = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
        actions = self.tree.actions_at(infoset)
        return dict(zip(actions, row.tolist(), strict=True))
