"""Values, regrets and best responses of a policy, at every infoset of a whole tree.

All of them are *counterfactual* here: summed over the histories of an infoset, each
weighted by how the others and chance play to it. Divided by the sum of these weights
(`Numbers.reach`) they are what the player gets on average once it is there.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.kernels.whole_walks import add_reaches
from mccfr_spiel.tree.full_pass import FullPass, full_pass
from mccfr_spiel.tree.game_tree import GameTree


class Level(NamedTuple):
    """Infosets with as many own decisions before them, of one or all players.

    Attributes:
        infosets: `[n]` their numbers.
        sequences: `[m]` their sequences, one infoset after the other.
        starts: `[n]` where each infoset begins in `sequences`.
        sizes: `[n]` how many each has.
        parents: `[n]` each player's last sequence before the infoset.
    """

    infosets: np.ndarray
    sequences: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    parents: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """`[n]` the sum over each infoset's sequences of values `[m]`."""
        return np.add.reduceat(values, self.starts)

    def largest(self, values: np.ndarray) -> np.ndarray:
        """`[n]` the largest of each infoset's values `[m]`."""
        return np.maximum.reduceat(values, self.starts)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """`[m]` for each sequence the value `[n]` of its infoset."""
        return np.repeat(values, self.sizes)


def owners(tree: GameTree) -> np.ndarray:
    """`[S]` the infoset of each sequence, -1 for the empty ones."""
    sizes = tree.infosets["num_actions"]
    numbers = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return np.concatenate((np.full(tree.num_players, -1, np.int32), numbers))


def levels_of(tree: GameTree, player: int | None = None) -> list[Level]:
    """The infosets of one player, or of all, by their own decisions before them."""
    infosets = tree.infosets
    above = owners(tree)[infosets["parent"]]
    depths = np.zeros(len(infosets), np.int32)
    at = above.copy()
    while (at >= 0).any():  # each pass goes up by one decision
        depths += at >= 0
        at = np.where(at >= 0, above[at], -1)
    mine = np.arange(len(infosets))
    if player is not None:
        mine = np.flatnonzero(infosets["player"] == player)
    levels = []
    for depth in range(int(depths.max(initial=-1)) + 1):
        numbers = mine[depths[mine] == depth]
        if len(numbers):
            levels.append(_level(infosets, numbers))
    return levels


def _level(infosets: np.ndarray, numbers: np.ndarray) -> Level:
    sizes = infosets["num_actions"][numbers].astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    firsts = infosets["first_sequence"][numbers]
    sequences = np.repeat(firsts - starts, sizes) + np.arange(sizes.sum())
    return Level(numbers, sequences, starts, sizes, infosets["parent"][numbers])


class Numbers(NamedTuple):
    """What a policy is worth.

    Attributes:
        policy: `[S]` the policy.
        plan: `[S]` the players' realization plans.
        reach: `[I]` how the others and chance play to the infosets.
        values: `[S]` what its player gets after a sequence, counterfactually.
        best: `[S]` the same if the player plays a best response from then on.
        returns: `[P]` the players' expected returns.
        best_returns: `[P]` those of best responses to the others.
        gains: `[I]` how much of a player's gain by a best response comes from moving
            otherwise at the infoset. Those of a player add up to the whole gain.
    """

    policy: np.ndarray
    plan: np.ndarray
    reach: np.ndarray
    values: np.ndarray
    best: np.ndarray
    returns: np.ndarray
    best_returns: np.ndarray
    gains: np.ndarray

    @property
    def nash_conv(self) -> float:
        """The sum of what each player would gain by a best response."""
        return float(np.maximum(self.best_returns - self.returns, 0.0).sum())


def gradients(passes: FullPass, plan: np.ndarray) -> np.ndarray:
    """`[S]` what the leaves right after each sequence pay its player."""
    found = np.zeros_like(plan)
    for player in range(passes.tree.num_players):
        found += passes.gradient(plan, player)  # 0 at the sequences of others
    return found


def pass_up(
    levels: list[Level],
    policy: np.ndarray,
    values: np.ndarray,
    is_free: np.ndarray | None = None,
) -> None:
    """Turns what leaves pay `[S]` into the values of sequences, from the last up.

    Args:
        levels: of one player or of all.
        policy: `[S]` how the values below an infoset are averaged.
        values: `[S]`, which is changed.
        is_free: `[I]` where the largest value counts in place of the average.
    """
    for level in reversed(levels):
        mine = values[level.sequences]
        found = level.sums(policy[level.sequences] * mine)
        if is_free is not None:
            found = np.where(is_free[level.infosets], level.largest(mine), found)
        np.add.at(values, level.parents, found)


def numbers_of(tree: GameTree, policy: np.ndarray) -> Numbers:
    """All numbers of a policy vector, in a few passes over the leaves and the nodes.

    The gain of a best response is split by the performance difference lemma (Kakade,
    Langford 2002): the player's own reach of an infoset under the policy, times what
    the best move there is better than the policy's if a best response follows both.

    Raises:
        ValueError: the tree is not complete, or its leaves do not fit its budget.
    """
    passes = full_pass(tree)
    plan = passes.plan(policy)
    levels = levels_of(tree)
    values = gradients(passes, plan)
    best = values.copy()
    pass_up(levels, policy, values)
    pass_up(levels, policy, best, np.ones(tree.num_infosets, np.bool_))
    reach = np.zeros(tree.num_infosets)
    add_reaches(tree.arrays, plan, reach)
    gains = np.zeros(tree.num_infosets)
    for level in levels:
        mine = best[level.sequences]
        played = level.sums(policy[level.sequences] * mine)
        gap = np.maximum(level.largest(mine) - played, 0.0)
        gains[level.infosets] = plan[level.parents] * gap
    num_players = tree.num_players
    returns, best_returns = values[:num_players].copy(), best[:num_players].copy()
    return Numbers(policy, plan, reach, values, best, returns, best_returns, gains)
