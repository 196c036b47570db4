"""Fixing a policy at some infosets, and solving the rest of the game.

An infoset where the policy is fixed is a move of chance in the *restricted* game.
"""

from collections.abc import Callable, Sequence

import numpy as np

from mccfr_spiel.algorithms import CFR_PLUS
from mccfr_spiel.kernels.evaluation import pass_up
from mccfr_spiel.solver import Solver
from mccfr_spiel.tree.full_pass import full_pass
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.infosets import HandNames


def with_row(
    tree: GameTree, policy: np.ndarray, infosets: Sequence[int], row: list[float]
) -> np.ndarray:
    """A copy of a policy with other probabilities at infosets of the same actions.

    Raises:
        ValueError: they are no distribution over the actions.
    """
    _, _, _, size, _ = tree.infosets[infosets[0]].item()
    found = np.array(row, np.float64)
    if found.shape != (size,):
        raise ValueError(f"{len(row)} probabilities are given for {size} actions.")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise ValueError(f"{row} are no probabilities: they must be 0 or more.")
    changed = policy.copy()
    starts = tree.infosets["first_sequence"][infosets]
    changed[starts[:, None] + np.arange(size)] = found / found.sum()
    return changed


def beside(tree: GameTree, infoset: int) -> Sequence[int]:
    """The infosets of all hands at the decision of one, in a tree of hands."""
    names = tree.infoset_names
    if not isinstance(names, HandNames):
        raise ValueError("Only a tree of hands knows which decisions are one to see.")
    node, _ = names.found.node_and_hand(infoset)
    first, hands = names.found.first[node], names.found.members[names.found.rows[node]]
    return range(first, first + len(hands))


def restricted_best_returns(
    tree: GameTree, policy: np.ndarray, fixed: frozenset[int]
) -> np.ndarray:
    """`[P]` what best responses get that keep to the policy where it is fixed."""
    passes, players = full_pass(tree), range(tree.num_players)
    plan, is_fixed = passes.plan(policy), np.zeros(tree.num_infosets, np.bool_)
    is_fixed[list(fixed)] = True
    values = sum((passes.gradient(plan, p) for p in players), np.zeros_like(plan))
    pass_up(tree.infosets, policy, is_fixed, values)
    return values[: tree.num_players].copy()


def solve_on(
    tree: GameTree,
    policy: np.ndarray,
    fixed: frozenset[int],
    iterations: int,
    tell: Callable[[int], object] = lambda done: None,
) -> np.ndarray:
    """Solves the restricted game by CFR+; returns the average `[S]`.

    Args:
        tree: the whole tree.
        policy: `[S]` to keep to at the fixed infosets.
        fixed: the infosets where it is fixed.
        iterations: how many.
        tell: is called with the number of iterations done.

    Raises:
        ValueError: both players have the string of a fixed infoset.
    """
    locked = {}
    for infoset in fixed:
        _, start, _, size, _ = tree.infosets[infoset].item()
        locked[tree.info_state(infoset)] = policy[start : start + size]
    solver = Solver(tree, CFR_PLUS, store=tree.store, locked=locked)
    for done in range(1, iterations + 1):
        solver.iterate(1)
        tell(done)
    return solver.average_vector()
