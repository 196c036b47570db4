"""Fixing a policy at some infosets, and solving the rest of the game on from there.

An infoset where the policy is fixed is a move of chance in the *restricted* game. That
is solved by CFR+ (Tammelin 2014) over whole passes, beginning with the policy at hand.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mccfr_spiel.exploring.numbers import (
    Level,
    gradients,
    levels_of,
    owners,
    pass_up,
)
from mccfr_spiel.kernels.whole_walks import add_reaches
from mccfr_spiel.tree.full_pass import FullPass, full_pass
from mccfr_spiel.tree.game_tree import GameTree

_SHARE = 0.1
"""Of the largest regret, with which solving on begins."""


class Change(NamedTuple):
    """A policy that was changed, as one step of a list that can be undone.

    Attributes:
        words: what was done.
        policy: `[S]` the policy after it.
        fixed: the infosets where it is fixed.
        iterations: all that it was solved on for.
    """

    words: str
    policy: np.ndarray
    fixed: frozenset[int]
    iterations: int


def with_row(
    tree: GameTree, policy: np.ndarray, infoset: int, row: list[float]
) -> np.ndarray:
    """A copy of a policy with other probabilities at one infoset.

    Raises:
        ValueError: they are no distribution over its actions.
    """
    if not 0 <= infoset < tree.num_infosets:
        raise ValueError(f"There is no infoset {infoset}.")
    _, start, _, size, _ = tree.infosets[infoset].item()
    found = np.array(row, np.float64)
    if found.shape != (size,):
        raise ValueError(f"{len(row)} probabilities are given for {size} actions.")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise ValueError(f"{row} are no probabilities: they must be 0 or more.")
    changed = policy.copy()
    changed[start : start + size] = found / found.sum()
    return changed


def free_infosets(tree: GameTree, fixed: frozenset[int]) -> np.ndarray:
    """`[I]` whether the players may move as they like."""
    is_free = np.ones(tree.num_infosets, np.bool_)
    is_free[list(fixed)] = False
    return is_free


def restricted_best_returns(
    tree: GameTree, policy: np.ndarray, fixed: frozenset[int]
) -> np.ndarray:
    """`[P]` what best responses get that keep to the policy where it is fixed."""
    passes = full_pass(tree)
    values = gradients(passes, passes.plan(policy))
    pass_up(levels_of(tree), policy, values, free_infosets(tree, fixed))
    return values[: tree.num_players].copy()


def solve_on(
    tree: GameTree,
    policy: np.ndarray,
    fixed: frozenset[int],
    iterations: int,
    tell: Callable[[int], object] = lambda done: None,
) -> np.ndarray:
    """Solves the restricted game by CFR+, from a policy on; returns the average `[S]`.

    The first regrets are in proportion to the policy, which they therefore keep for a
    while, and a tenth of the largest that one iteration could bring. In Leduc poker
    that was better than more, less and none.

    Args:
        tree: the whole tree.
        policy: `[S]` to begin with, and to keep to at the fixed infosets.
        fixed: the infosets where it is fixed.
        iterations: how many.
        tell: is called with the number of iterations done.
    """
    passes = full_pass(tree)
    is_free = free_infosets(tree, fixed)
    levels = [levels_of(tree, player) for player in range(tree.num_players)]
    current, regrets = policy.copy(), _first_regrets(tree, passes, policy)
    average = np.zeros_like(policy)
    # One pass updates each player in turn against the others' newest policies, and adds
    # the player's plan to the average with the iteration as its weight.
    for iteration in range(1, iterations + 1):
        for player, mine in enumerate(levels):
            _update(passes, mine, player, current, regrets, is_free)
        plan = passes.plan(current)
        average += iteration * plan
        tell(iteration)
    found = current.copy()
    for level in (level for mine in levels for level in mine):
        summed = average[level.sequences]
        total = level.spread(level.sums(summed))
        free = level.spread(is_free[level.infosets]) & (total > 0)
        found[level.sequences[free]] = summed[free] / total[free]
    return found


def _first_regrets(tree: GameTree, passes: FullPass, policy: np.ndarray) -> np.ndarray:
    """`[S]` with what CFR+ begins: see `solve_on`."""
    reach = np.zeros(tree.num_infosets)
    add_reaches(tree.arrays, passes.plan(policy), reach)
    largest = float(np.abs(tree.utilities).max(initial=0.0))
    regrets = _SHARE * largest * policy
    regrets[tree.num_players :] *= reach[owners(tree)[tree.num_players :]]
    return regrets


def _update(
    passes: FullPass,
    levels: list[Level],
    player: int,
    current: np.ndarray,
    regrets: np.ndarray,
    is_free: np.ndarray,
) -> None:
    """Regret matching+ for one player, at the infosets that are free."""
    values = passes.gradient(passes.plan(current), player)
    pass_up(levels, current, values)
    for level in levels:
        mine = values[level.sequences]
        played = level.spread(level.sums(current[level.sequences] * mine))
        grown = np.maximum(regrets[level.sequences] + mine - played, 0.0)
        total = level.spread(level.sums(grown))
        # Without regrets any policy will do. The one at hand is better than an even one
        # where the others do not lead yet.
        before = current[level.sequences]
        matched = np.divide(grown, total, out=before, where=total > 0)
        free = level.spread(is_free[level.infosets])
        regrets[level.sequences[free]] = grown[free]
        current[level.sequences[free]] = matched[free]
