"""Fixing a policy at some infosets, and solving the rest of the game on from there.

An infoset where the policy is fixed is a move of chance in the *restricted* game. That
is solved by CFR+ (Tammelin 2014) over whole passes, beginning with the policy at hand.
"""

from collections.abc import Callable, Sequence

import numpy as np

from mccfr_spiel.exploring.numbers import (
    Group,
    group_of,
    leaf_values,
    levels_of,
    pass_up,
)
from mccfr_spiel.tree.full_pass import FullPass, full_pass
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.infosets import HandNames

_SHARE = 0.1
"""Of the largest regret, with which solving on begins."""


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
    values = leaf_values(passes, passes.plan(policy))
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

    Args:
        tree: the whole tree.
        policy: `[S]` to begin with, and to keep to at the fixed infosets.
        fixed: the infosets where it is fixed.
        iterations: how many.
        tell: is called with the number of iterations done.
    """
    passes, levels = full_pass(tree), levels_of(tree)
    everywhere = free_infosets(tree, fixed)
    players = tree.infosets["player"]
    free = [
        group_of(tree, np.flatnonzero(everywhere & (players == player)))
        for player in range(tree.num_players)
    ]
    current, regrets = policy.copy(), _first_regrets(passes, levels, policy)
    average = np.zeros_like(policy)
    # One pass updates each player in turn against the others' newest policies, and adds
    # all plans to the average with the iteration as their weight.
    for iteration in range(1, iterations + 1):
        for player, mine in enumerate(free):
            values = passes.gradient(passes.plan(current), player)
            pass_up(levels, current, values)
            here, before = values[mine.sequences], current[mine.sequences]
            played = mine.spread(mine.sums(before * here))
            grown = np.maximum(regrets[mine.sequences] + here - played, 0.0)
            regrets[mine.sequences] = grown
            # Without regrets any policy will do. The one at hand is better than an even
            # one where the others do not lead yet.
            current[mine.sequences] = mine.shares(grown, before)
        average += iteration * passes.plan(current)
        tell(iteration)
    for mine in free:
        weights, last = average[mine.sequences], current[mine.sequences]
        current[mine.sequences] = mine.shares(weights, last)
    return current


def _first_regrets(
    passes: FullPass, levels: list[Group], policy: np.ndarray
) -> np.ndarray:
    """`[S]` with what CFR+ begins: in proportion to the policy, which is therefore kept
    for a while, and a tenth of the largest value that an action of the infoset has. In
    Leduc poker that was better than more, less and none."""
    values = leaf_values(passes, passes.plan(policy))
    pass_up(levels, policy, values)
    regrets = np.zeros_like(policy)
    for level in levels:
        largest = level.largest(np.abs(values[level.sequences]))
        regrets[level.sequences] = _SHARE * level.spread(largest)
    return regrets * policy
