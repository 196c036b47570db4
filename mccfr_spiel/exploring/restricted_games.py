"""Fixing a policy at some infosets and solving the rest of the game.

The *restricted* game is the game in which the moves at fixed infosets are chance moves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mccfr_spiel.arenas.hand_arena import HandNames
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.exploring.shown_policies import part_at
from mccfr_spiel.solving.solver import Solver


def with_row(
    tree: GameTree, policy: np.ndarray, infosets: Sequence[int], row: Any
) -> np.ndarray:
    """A copy of a policy `[S]` with new probabilities at infosets with the same
    actions.

    Raises:
        ValueError: `row` is no distribution over the actions, up to a positive factor.
    """
    size = int(tree.infosets[infosets[0]]["num_actions"])
    if not isinstance(row, list) or not all(isinstance(x, int | float) for x in row):
        raise ValueError(f"row={row!r}: expected a list of numbers.")
    probabilities = np.array(row, np.float64)
    if probabilities.shape != (size,):
        raise ValueError(f"row={row} has {len(row)} probabilities: expected {size}.")
    is_valid = np.isfinite(probabilities).all() and (probabilities >= 0).all()
    if not (is_valid and probabilities.sum() > 0):
        raise ValueError(
            f"row={row}: probabilities must be finite, nonnegative and not all 0."
        )
    changed = policy.copy()
    starts = tree.infosets["first_sequence"][infosets]
    changed[starts[:, None] + np.arange(size)] = probabilities / probabilities.sum()
    return changed


def same_decision(tree: GameTree, infoset: int) -> Sequence[int]:
    """The infosets of all hands at the same public decision as `infoset`.

    Raises:
        ValueError: `tree` is not a tree of hands.
    """
    names = tree.infoset_names
    if not isinstance(names, HandNames):
        raise ValueError("all_hands must be empty: this game has no tree of hands.")
    node, _ = names.numbering.node_and_hand(infoset)
    return range(*names.numbering.first[node : node + 2].tolist())


def restricted_solver(
    tree: GameTree, policy: np.ndarray, fixed: frozenset[int]
) -> Solver:
    """A CFR+ solver of the restricted game.

    Args:
        tree: the whole tree.
        policy: `[S]` the policy at the fixed infosets.
        fixed: the fixed infosets.

    Raises:
        ValueError: both players have an infoset with the string of a fixed one.
    """
    locked = {tree.info_state(i): part_at(tree, i, policy).tolist() for i in fixed}
    return Solver(tree, "cfr_plus", store=tree.store, locked=locked)
