"""Values, regrets and best responses of a policy, at every infoset of a whole tree.

All of them are *counterfactual* here: summed over the histories of an infoset, each
weighted by how the others and chance play to it. Divided by the sum of these weights
(`Numbers.reach`) they are what the player gets on average once it is there.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.kernels.passes import add_reaches
from mccfr_spiel.tree.full_pass import FullPass, full_pass
from mccfr_spiel.tree.game_tree import GameTree


class Group(NamedTuple):
    """Some infosets and their sequences.

    Attributes:
        infosets: `[n]` their numbers.
        parents: `[n]` each player's last sequence before the infoset.
        sizes: `[n]` how many sequences each has.
        starts: `[n]` where each infoset begins in `sequences`.
        sequences: `[m]` their sequences, one infoset after the other.
    """

    infosets: np.ndarray
    parents: np.ndarray
    sizes: np.ndarray
    starts: np.ndarray
    sequences: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """`[n]` the sum over each infoset's sequences of values `[m]`."""
        return np.add.reduceat(values, self.starts)

    def largest(self, values: np.ndarray) -> np.ndarray:
        """`[n]` the largest of each infoset's values `[m]`."""
        return np.maximum.reduceat(values, self.starts)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """`[m]` for each sequence the value `[n]` of its infoset."""
        return np.repeat(values, self.sizes)

    def shares(self, weights: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        """`[m]` distributions in proportion to weights, or those of `otherwise` where
        all weights of an infoset are 0."""
        total = self.spread(self.sums(weights))
        return np.divide(weights, total, out=otherwise.copy(), where=total > 0)


def group_of(tree: GameTree, infosets: np.ndarray) -> Group:
    """The group of some infosets `[n]`."""
    rows = tree.infosets[infosets]
    sizes = rows["num_actions"].astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    firsts = np.repeat(rows["first_sequence"] - starts, sizes)
    return Group(
        infosets, rows["parent"], sizes, starts, firsts + np.arange(len(firsts))
    )


def owners(tree: GameTree) -> np.ndarray:
    """`[S]` the infoset of each sequence, -1 for the empty ones."""
    sizes = tree.infosets["num_actions"]
    numbers = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return np.concatenate((np.full(tree.num_players, -1, np.int32), numbers))


def levels_of(tree: GameTree) -> list[Group]:
    """All infosets, in groups by how many own decisions come before them."""
    above = owners(tree)[tree.infosets["parent"]]
    depths = np.zeros(len(above), np.int32)
    at = above
    while (at >= 0).any():  # each pass goes up by one decision
        depths += at >= 0
        at = np.where(at >= 0, above[at], -1)
    count = int(depths.max(initial=-1)) + 1
    return [group_of(tree, np.flatnonzero(depths == depth)) for depth in range(count)]


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
        visits: `[I]` about how many walks came to the infoset to update it; None if it
            is not known how the policy was found.
    """

    policy: np.ndarray
    plan: np.ndarray
    reach: np.ndarray
    values: np.ndarray
    best: np.ndarray
    returns: np.ndarray
    best_returns: np.ndarray
    gains: np.ndarray
    visits: np.ndarray | None = None


def leaf_values(passes: FullPass, plan: np.ndarray) -> np.ndarray:
    """`[S]` what the leaves right after each sequence pay its player."""
    players = range(passes.tree.num_players)
    return np.sum([passes.gradient(plan, player) for player in players], axis=0)


def pass_up(
    levels: list[Group],
    policy: np.ndarray,
    values: np.ndarray,
    is_free: np.ndarray | None = None,
) -> None:
    """Turns what leaves pay `[S]` into the values of sequences, from the last up.

    Args:
        levels: see `levels_of`.
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


class Origin(NamedTuple):
    """How a policy was found.

    Attributes:
        algorithm: of the solver.
        iterations: that it has made.
    """

    algorithm: Algorithm
    iterations: int

    @property
    def walks(self) -> int:
        """For each player; of batches that grow, at least so many."""
        batch = self.algorithm.batch
        return self.iterations * (batch if isinstance(batch, int) else 1)


def visits_of(passes: FullPass, numbers: Numbers, origin: Origin) -> np.ndarray:
    """`[I]` about how many walks came to each infoset in its player's updates.

    Nothing counts them. A walk comes there with the probability that what it samples
    leads there, which is taken for the average policy: what the current policies were
    at each time is not kept.
    """
    tree, sampling = passes.tree, origin.algorithm.sampling
    reach = numbers.reach
    if not sampling.is_sampled:
        return np.full(tree.num_infosets, float(origin.walks))
    if not sampling.opponents:
        reach = np.zeros_like(reach)
        add_reaches(tree.arrays, np.ones_like(numbers.plan), reach)
    own = np.ones_like(reach)
    if sampling.player != "all":
        share = {"epsilon": sampling.epsilon, "balanced": 1.0}.get(sampling.player, 0.0)
        even = np.ones_like(numbers.policy)
        sizes = tree.infosets["num_actions"]
        even[tree.num_players :] = 1 / np.repeat(sizes, sizes)
        mixed = (1 - share) * numbers.policy + share * even
        own = passes.plan(mixed)[tree.infosets["parent"]]
    return origin.walks * np.minimum(reach, 1.0) * own


def numbers_of(
    tree: GameTree, policy: np.ndarray, origin: Origin | None = None
) -> Numbers:
    """All numbers of a policy vector, in a few passes over the leaves and the nodes.

    The gain of a best response is split by the performance difference lemma (Kakade,
    Langford 2002): the player's own reach of an infoset under the policy, times what
    the best move there is better than the policy's if a best response follows both.

    Raises:
        ValueError: the tree is not complete, or its leaves do not fit its budget.
    """
    passes, levels = full_pass(tree), levels_of(tree)
    plan = passes.plan(policy)
    values = leaf_values(passes, plan)
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
    returns = values[: tree.num_players].copy()
    best_returns = best[: tree.num_players].copy()
    found = Numbers(policy, plan, reach, values, best, returns, best_returns, gains)
    if origin is None:
        return found
    return found._replace(visits=visits_of(passes, found, origin))
