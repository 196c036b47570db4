"""Whole passes over a complete tree: plans, gradients, best responses.

A pass visits no node. It reads a list of the leaves (tree/leaves.py), which is made
once, from its beginning to its end.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.compiled import teams
from mccfr_spiel.tree.blocks import LEAST_WORK_AT_ONCE, checked_threads, useful_threads
from mccfr_spiel.tree.game_tree import GameTree


class Response(NamedTuple):
    """A best response of one player.

    Attributes:
        value: what the player gets by playing it.
        choice: `[I]` the sequence that it plays at each of the player's infosets, 0 at
            the others.
    """

    value: float
    choice: np.ndarray


class FullPass:
    """Passes over a complete tree.

    Attributes:
        tree: the tree.
        arrays: the list of its leaves, see `kernels.Passes`.
        num_threads: the threads that share the work of `values`, `expected_returns`
            and `respond`. They change no bit of it.
    """

    def __init__(
        self,
        tree: GameTree,
        arrays: kernels.Passes,
        blocks: kernels.Blocks | None = None,
        num_threads: int = 1,
    ) -> None:
        """Keeps a tree and the list of its leaves; `full_pass` finds both."""
        self.tree = tree
        self.arrays = arrays
        self.num_threads = 1 if blocks is None else num_threads
        self._blocks = blocks

    def members(self, player: int) -> np.ndarray:
        """The player's infosets, ancestors first."""
        start, stop = self.arrays.member_ends[player : player + 2]
        return self.arrays.members[start:stop]

    def plan(self, policy: np.ndarray) -> np.ndarray:
        """`[S]` all players' realization plans under a policy vector."""
        plan = np.ones_like(policy)
        kernels.fill_plan(self.tree.infosets, policy, plan)
        return plan

    def gradient(self, plan: np.ndarray, player: int) -> np.ndarray:
        """`[S]` a player's utility gradient, 0 at the sequences of others.

        Its inner product with the plan is the player's expected return.
        """
        gradient = np.zeros_like(plan)
        kernels.fill_gradient(self.tree.infosets, self.arrays, player, plan, gradient)
        return gradient

    def best_response(self, gradient: np.ndarray, player: int) -> Response:
        """The player's best response to a gradient, which is overwritten."""
        choice = np.zeros(self.tree.num_infosets, np.int32)
        kernels.best_response(
            self.tree.infosets, self.members(player), gradient, choice
        )
        return Response(float(gradient[player]), choice)

    def respond(self, policy: np.ndarray, player: int) -> Response:
        """The player's best response to a policy vector of all players."""
        if self.num_threads > 1:
            return self._share(policy, player, player + 1)[2][0]
        return self.best_response(self.gradient(self.plan(policy), player), player)

    def expected_returns(self, policy: np.ndarray) -> np.ndarray:
        """`[P]` each player's expected return under a policy vector."""
        num_players = self.tree.num_players
        if self.num_threads > 1:
            return self._share(policy, 0, num_players)[0]
        plan = self.plan(policy)
        gradients = (self.gradient(plan, player) for player in range(num_players))
        return np.array([inner(gradient, plan) for gradient in gradients])

    def values(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each player's expected return, and that of a best response, both `[P]`."""
        if self.num_threads > 1:
            on_policy, best, _ = self._share(policy, 0, self.tree.num_players)
            return on_policy, best
        plan = self.plan(policy)
        on_policy = np.zeros(self.tree.num_players)
        best = np.zeros(self.tree.num_players)
        for player in range(self.tree.num_players):
            gradient = self.gradient(plan, player)
            on_policy[player] = inner(gradient, plan)
            best[player] = self.best_response(gradient, player).value
        return on_policy, best

    def _share(
        self, policy: np.ndarray, player: int, end: int
    ) -> tuple[np.ndarray, np.ndarray, list[Response]]:
        """What the players from `player` to `end - 1` get, and by best responses.

        Returns:
            Their expected returns, those of best responses, and these. All responses
            have one array for their choices.
        """
        plan, values = np.empty_like(policy), np.empty_like(policy)
        products = np.zeros((self.tree.num_players, len(policy)))
        choice = np.zeros(self.tree.num_infosets, np.int32)
        teams.run(
            kernels.respond_in_threads,
            self.num_threads,
            *(self.tree.infosets, self.arrays, self._blocks, player, end),
            *(policy, plan, values, products, choice),
            notes=kernels.NUM_NOTES,
        )
        # The same sums as in `inner`, zeros of other players included.
        sums = teams.run_each(self.num_threads, np.sum, products[player:end])
        on_policy = np.array([float(total) for total in sums])
        responses = [Response(float(values[p]), choice) for p in range(player, end)]
        return on_policy, values[player:end].copy(), responses

    def nash_conv(self, policy: np.ndarray) -> float:
        """The sum of what each player would gain by a best response.

        A best response gets at least what the policy gets, so a gain below 0 can only
        come from rounding two equal sums, and counts as 0.
        """
        on_policy, best = self.values(policy)
        return float(np.maximum(best - on_policy, 0.0).sum())


def inner(gradient: np.ndarray, plan: np.ndarray) -> float:
    """The inner product of a gradient and a plan: the player's expected return.

    BLAS is avoided, since its threads cost more than the sum, and since it rounds
    differently on other machines.
    """
    return float((gradient * plan).sum())


def full_pass(tree: GameTree, threads: int | None = 1) -> FullPass:
    """The passes over a complete tree, which keeps the list of its leaves.

    The tree must not keep the FullPass itself: the two would hold each other, and only
    the garbage collector could free them, which does not notice memory of NumPy's.

    Args:
        tree: the tree.
        threads: at most so many threads share a pass; None for one for each core. None
            of them changes a bit of what comes out, and a pass has fewer where more
            would gain nothing.

    Raises:
        MemoryBudgetError: the list does not fit the tree's `max_memory`.
        ValueError: the tree is not complete, or `threads` no number of threads.
    """
    threads = checked_threads(threads)
    passes = tree.list_leaves()
    num_threads = useful_threads(threads, passes, LEAST_WORK_AT_ONCE)
    if num_threads == 1:
        return FullPass(tree, passes)
    return FullPass(tree, passes, tree.list_blocks(), num_threads)
