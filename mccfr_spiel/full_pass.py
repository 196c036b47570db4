"""Whole passes over a complete tree: plans, gradients, best responses.

No node is walked: the leaves are listed once, then one pass over them makes a gradient.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.game_tree import GameTree


class Response(NamedTuple):
    """A best response of one player.

    Attributes:
        value: what the player gets by it.
        choice: `[I]` the sequence it plays at each infoset of that player, 0 elsewhere.
    """

    value: float
    choice: np.ndarray


class FullPass:
    """Passes over a complete tree.

    Attributes:
        tree: the tree.
        arrays: what kernels read.
    """

    def __init__(self, tree: GameTree, arrays: kernels.Passes | None = None) -> None:
        """Lists the leaves, unless `arrays` of an equal tree are given."""
        self.tree = tree
        self.arrays = _list_leaves(tree) if arrays is None else arrays

    def members(self, player: int) -> np.ndarray:
        """The player's infosets, ancestors first."""
        start, stop = self.arrays.member_ends[player : player + 2]
        return self.arrays.members[start:stop]

    def plan(self, policy: np.ndarray) -> np.ndarray:
        """`[S]` the realization plans of all players of a policy vector."""
        plan = np.ones_like(policy)
        kernels.fill_plan(self.tree.infosets, policy, plan)
        return plan

    def gradient(self, plan: np.ndarray, player: int) -> np.ndarray:
        """`[S]` the player's utility gradient, 0 at others' sequences.

        Its product with the plan is what the player gets.
        """
        gradient = np.zeros_like(plan)
        kernels.fill_gradient(self.tree.infosets, self.arrays, player, plan, gradient)
        return gradient

    def best_response(self, gradient: np.ndarray, player: int) -> Response:
        """The best response to a gradient of that player, which is overwritten."""
        choice = np.zeros(self.tree.num_infosets, np.int32)
        kernels.best_response(
            self.tree.infosets, self.members(player), gradient, choice
        )
        return Response(float(gradient[player]), choice)

    def values(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What each player gets `[P]`, and would get by a best response `[P]`."""
        plan = self.plan(policy)
        on_policy = np.zeros(self.tree.num_players)
        best = np.zeros(self.tree.num_players)
        for player in range(self.tree.num_players):
            gradient = self.gradient(plan, player)
            on_policy[player] = inner(gradient, plan)
            best[player] = self.best_response(gradient, player).value
        return on_policy, best

    def nash_conv(self, policy: np.ndarray) -> float:
        """The sum of what each player would gain by a best response."""
        on_policy, best = self.values(policy)
        return float((best - on_policy).sum())


def _list_leaves(tree: GameTree) -> kernels.Passes:
    arrays = tree_arrays(tree)
    counts = np.zeros(tree.num_sequences, np.int64)
    others = np.empty((0, tree.num_players - 1), np.int32)
    payoffs = np.empty(0)
    kernels.walk_leaves(arrays, counts, others, payoffs, False)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    others = np.empty((ends[-1], tree.num_players - 1), np.int32)
    payoffs = np.empty(ends[-1])
    kernels.walk_leaves(arrays, ends[:-1].copy(), others, payoffs, True)
    players = tree.infosets["player"]
    members = np.argsort(players, kind="stable").astype(np.int32)
    counts = np.bincount(players, minlength=tree.num_players)
    member_ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return kernels.Passes(ends, others, payoffs, members, member_ends)


def inner(gradient: np.ndarray, plan: np.ndarray) -> float:
    """What a player gets: without BLAS, whose threads cost more than the sum, and round
    it otherwise on another machine."""
    return float((gradient * plan).sum())


def tree_arrays(tree: GameTree) -> kernels.TreeArrays:
    """The arrays of a tree as it is now."""
    return kernels.TreeArrays(
        tree.nodes,
        tree.infosets,
        tree.chance_probs,
        tree.chance_cdf,
        tree.utilities,
        tree.ties,
    )


def full_pass(tree: GameTree) -> FullPass:
    """The passes over a tree, made at the first call and kept with it.

    Raises:
        ValueError: the tree is not complete.
    """
    if tree.passes is None:
        if not tree.is_complete:
            raise ValueError(
                f"The tree of {tree.game} was only grown where walks went; "
                "call its expand_all() first."
            )
        tree.passes = FullPass(tree)
    return tree.passes
