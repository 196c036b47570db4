"""Restricted games."""

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
    """A copy of a policy with other probabilities at infosets of the same actions.

    Raises:
        ValueError: they are no distribution over the actions.
    """
    size = int(tree.infosets[infosets[0]]["num_actions"])
    if not isinstance(row, list) or not all(isinstance(x, int | float) for x in row):
        raise ValueError(f"row={row!r} is no list of numbers.")
    found = np.array(row, np.float64)
    if found.shape != (size,):
        raise ValueError(f"{len(row)} probabilities are given for {size} actions.")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise ValueError(f"{row} are no probabilities: they must be 0 or more.")
    changed = policy.copy()
    starts = tree.infosets["first_sequence"][infosets]
    changed[starts[:, None] + np.arange(size)] = found / found.sum()
    return changed


def same_decision(tree: GameTree, infoset: int) -> Sequence[int]:
    """The infosets of all hands at the decision of one, in a tree of hands."""
    names = tree.infoset_names
    if not isinstance(names, HandNames):
        raise ValueError("Only a tree of hands knows which decisions are one to see.")
    node, _ = names.found.node_and_hand(infoset)
    first, hands = names.found.first[node], names.found.members[names.found.rows[node]]
    return range(first, first + len(hands))


def restricted_solver(
    tree: GameTree, policy: np.ndarray, fixed: frozenset[int]
) -> Solver:
    """A solver of the restricted game by CFR+.

    Args:
        tree: the whole tree.
        policy: `[S]` to keep to at the fixed infosets.
        fixed: the infosets where it is fixed.

    Raises:
        ValueError: both players have the string of a fixed infoset.
    """
    locked = {tree.info_state(i): part_at(tree, i, policy).tolist() for i in fixed}
    return Solver(tree, "cfr_plus", store=tree.store, locked=locked)
