"""Whole passes over a complete tree: plans, gradients, best responses.

A pass visits no node. It reads a list of the leaves (tree/leaves.py), which is made
once, from its beginning to its end.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.compiled import teams
from mccfr_spiel.compiled.atomics import new_desk
from mccfr_spiel.tree.blocks import LEAST_WORK_AT_ONCE, checked_threads, useful_threads
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.ranges import add_pieces, one_range

_NO_CHOICE = np.zeros(0, np.int32)


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
        ranges: kernels.Ranges | None = None,
        num_threads: int = 1,
    ) -> None:
        """Keeps a tree and the list of its leaves; `full_pass` finds both."""
        self.tree = tree
        self.arrays = arrays
        self.num_threads = 1 if ranges is None else num_threads
        self._ranges = one_range(tree.num_infosets) if ranges is None else ranges

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
        choice = np.zeros(self.tree.num_infosets, np.int32)
        values = self._evaluate(policy, player, player + 1, choice=choice)[1]
        return Response(float(values[0]), choice)

    def expected_returns(self, policy: np.ndarray) -> np.ndarray:
        """`[P]` each player's expected return under a policy vector."""
        return self._evaluate(policy, 0, self.tree.num_players, responds=False)[0]

    def values(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each player's expected return, and that of a best response, both `[P]`."""
        return self._evaluate(policy, 0, self.tree.num_players)

    def _evaluate(
        self,
        policy: np.ndarray,
        player: int,
        end: int,
        *,
        responds: bool = True,
        choice: np.ndarray = _NO_CHOICE,
    ) -> tuple[np.ndarray, np.ndarray]:
        """What the players from `player` to `end - 1` get.

        Args:
            policy: `[S]` of all players.
            player, end: see above.
            responds: whether their best responses are wanted.
            choice: `[I]` zeros, which get these responses, as in `Response`; then
                nobody wants to know the expected returns.

        Returns:
            Their expected returns, and those of best responses.
        """
        tree = self.tree
        policy = np.ascontiguousarray(policy, np.float64)
        vectors = tree.take_vectors()
        num_pieces = 0 if len(choice) else len(vectors.pieces) - 1
        sums = np.zeros((tree.num_players, num_pieces))
        what = tree.infosets, self.arrays, self._ranges, vectors, player, end
        how = policy, choice, responds, sums
        notes = kernels.NUM_EVALUATION_NOTES
        if self.num_threads == 1:
            kernels.evaluate(*what, *how, new_desk(notes), True)
        else:
            teams.run(kernels.evaluate, self.num_threads, *what, *how, notes=notes)
        best = vectors.values[player:end].copy()
        size = len(vectors.plan)
        tree.keep_vectors(vectors)  # an error leaves them to those who may have them
        on_policy = np.zeros(end - player)
        if num_pieces:
            rows = sums[player:end].tolist()
            on_policy[:] = [add_pieces(row, size) for row in rows]
        return on_policy, best

    def nash_conv(self, policy: np.ndarray) -> float:
        """The sum of what each player would gain by a best response.

        A best response gets at least what the policy gets, so a gain below 0 can only
        come from rounding two equal sums, and counts as 0.
        """
        on_policy, best = self.values(policy)
        return float(np.maximum(best - on_policy, 0.0).sum())


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
    return FullPass(tree, passes, tree.list_ranges(num_threads), num_threads)
