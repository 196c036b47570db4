"""Weighted mean gradients of the policies that a solver has played.

For weights w_t and joint policies sigma_t, let G_i be the weighted mean of player i's
gradients. The largest inner product of G_i with a plan, minus the weighted mean of
player i's returns, is what the player could have gained by one fixed policy. It needs
one number per sequence, however many iterations there are.

Two gradients of player i in iteration t are averaged, each in a `MeanGradient`:

    played    at sigma_t, the joint policy with which the iteration begins. The result
              is the gap of the coarse correlated equilibrium.
    updates   at the policies of the others when player i is updated. The result is the
              external regret divided by the sum of weights. With alternating updates
              the players before i have already changed their policies.

The gradients are computed before an iteration begins, by passes over the whole game, in
addition to the passes or walks of the algorithm.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.kernels.played_means import best_values, weight_of_next
from mccfr_spiel.solving.restored_tables import copy_table

BITS = 7
"""Algorithms that sample divide their iterations into blocks. Blocks have 1 iteration
while numbers of iterations have at most this many bits, then 2, 4, 8, ... with each
further bit: at least 64 blocks while t doubles. The gradient is computed at one random
iteration of each block."""


class MeanGradient:
    """A weighted mean of gradients, and of the returns on which they are based.

    Attributes:
        owners: `[S]` player of each sequence.
        gradient: `[S]` weighted sum of gradients.
        sums: `[P + 1]` weighted sums of the players' returns, and sum of the weights.
    """

    def __init__(self, infosets: np.ndarray, num_players: int) -> None:
        """Allocates the sums for a game with these infosets."""
        owners = np.repeat(infosets["player"], infosets["num_actions"])
        self.owners = np.concatenate([np.arange(num_players), owners])
        self._infosets = infosets
        self.gradient = np.zeros(len(self.owners))
        self.sums = np.zeros(num_players + 1)

    def add(self, gradient: np.ndarray, plan: np.ndarray, weight: float) -> None:
        """Adds a term.

        Args:
            gradient: `[S]` gradient of all players.
            plan: `[S]` plans whose inner product with the gradient is the return.
            weight: weight of the iteration.
        """
        num_players = len(self.sums) - 1
        returns = np.bincount(self.owners, gradient * plan, num_players)
        self.gradient += weight * gradient
        self.sums[:num_players] += weight * returns
        self.sums[num_players] += weight

    def gaps(self) -> np.ndarray:
        """`[P]` gain of each player from the best fixed policy, per unit of weight."""
        num_players = len(self.sums) - 1
        values = self.gradient.copy()
        best_values(self._infosets, values)
        return (values[:num_players] - self.sums[:-1]) / self.sums[-1]

    def copy(self) -> "MeanGradient":
        """A copy with sums of its own."""
        copied = MeanGradient(self._infosets, len(self.sums) - 1)
        copied.gradient[:], copied.sums[:] = self.gradient, self.sums
        return copied


class PlayedGradients:
    """The mean gradients of one solver.

    Args:
        state: SolverState of the solver, before its first iteration.
        full_pass: computes gradients of the solver's game.
        updates: whether `updates` is computed, too.

    Attributes:
        played: mean of the gradients at the policies with which iterations begin.
        updates: mean of the gradients of the updates; None if not requested. It lacks
            the last iteration, because its policies are known only at its end.
        due: `[1]` number of the next iteration whose gradient is computed.
    """

    def __init__(self, state: Any, full_pass: FullPass, *, updates: bool) -> None:
        """Allocates the sums."""
        self._state, self._full_pass = state, full_pass
        tree = state.tree
        self._samples = state.algorithm.sampling.is_sampled
        parts = tree.infosets, tree.num_players
        self.played = MeanGradient(*parts)
        self.updates = MeanGradient(*parts) if updates else None
        self._last_plan = np.zeros(len(self.played.gradient) if updates else 0)
        self._last_weight = np.zeros(1)
        self.due = np.ones(1, np.int64)
        self.due[0] = self._point_of_block(1)

    @property
    def num_vectors(self) -> int:
        """Number of vectors `[S]` in memory, with those of a computation."""
        return 5 if self.updates is None else 8

    def begin(self, last: int) -> int:
        """Computes the gradient if it is due; called before iterations are run.

        Args:
            last: the last iteration that the caller wants to run.

        Returns:
            The last iteration, at most `last`, that may run before the next call.
        """
        counts, due = self._state.counts, int(self.due[0])
        if counts[layout.PLAYER] == 0 and counts[layout.ITERATION] + 1 == due:
            self._add(due)
        return min(last, int(self.due[0]) - 1)

    def _add(self, iteration: int) -> None:
        """Adds the gradient of the present policies with the weight of their block."""
        state, plan = self._state, self._plan()
        gradient = self._full_pass.gradients(plan, range(self._num_players))
        before = state.walk.clock[layout.AVERAGE_WEIGHT]
        weight = weight_of_next(state.task.settings, iteration, before, state.batch)
        start, stop = _block_of(iteration, self._samples)
        updates = self.updates
        of_updates = None if updates is None else self._gradient_of_updates(plan)
        # Ctrl-C between two of these lines would leave contradictory sums.
        with signals_deferred():
            self.played.add(gradient, plan, weight * (stop - start))
            self.due[0] = self._point_of_block(stop)
            if updates is not None and of_updates is not None:
                updates.add(of_updates, self._last_plan, self._last_weight[0])
                self._last_plan[:], self._last_weight[0] = plan, weight

    def _plan(self) -> np.ndarray:
        """`[S]` plans of the present policies."""
        size = len(self.played.gradient)
        return self._full_pass.plan(self._state.settled().policy[:size].copy())

    def _gradient_of_updates(self, plan: np.ndarray) -> np.ndarray:
        """`[S]` gradient of the updates in the last iteration.

        Args:
            plan: `[S]` plans after this iteration.
        """
        gradient, mixed = np.zeros_like(plan), self._last_plan.copy()
        # When a player is updated, the players before have changed their policies.
        for player in range(self._num_players):
            gradient += self._full_pass.gradient(mixed, player)
            if self._state.algorithm.alternating:
                is_own = self.played.owners == player
                mixed[is_own] = plan[is_own]
        return gradient

    @property
    def _num_players(self) -> int:
        return self._state.tree.num_players

    def _point_of_block(self, start: int) -> int:
        """The iteration that represents the block with this iteration."""
        start, stop = _block_of(start, self._samples)
        if stop - start == 1:
            return start
        words = np.random.SeedSequence([self._state.seed % 2**64, start])
        return start + int(words.generate_state(1)[0]) % (stop - start)

    @property
    def is_empty(self) -> bool:
        """Whether no iteration has begun."""
        return not self.played.sums[-1]

    # --- results and files ---------------------------------------------------

    def gaps(self) -> np.ndarray:
        """`[P]` gaps of the coarse correlated equilibrium."""
        return self.played.gaps()

    def external_regrets(self) -> np.ndarray:
        """`[P]` external regrets divided by the sum of weights."""
        assert self.updates is not None
        mean, plan = self.updates.copy(), self._plan()
        last_plan, last_weight = self._last_plan, float(self._last_weight[0])
        mean.add(self._gradient_of_updates(plan), last_plan, last_weight)
        return mean.gaps()

    def saved(self) -> dict[str, np.ndarray]:
        """The arrays of a checkpoint, which `restore` reads."""
        arrays = {
            "played_gradient": self.played.gradient,
            "played_sums": self.played.sums,
            "played_due": self.due,
        }
        if self.updates is not None:
            arrays |= {
                "updates_gradient": self.updates.gradient,
                "updates_sums": self.updates.sums,
                "last_plan": self._last_plan,
                "last_weight": self._last_weight,
            }
        return arrays

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Copies the arrays of a checkpoint, an untrusted file.

        Raises:
            DamagedError: the arrays do not fit the solver, whose counters are restored.
            KeyError: an array is missing.
        """
        for name, table in self.saved().items():
            copy_table(name, arrays[name], table)
        begun, due = self._state.counts[layout.ITERATION], int(self.due[0])
        if due <= begun or due != self._point_of_block(due):
            raise DamagedError(
                f"The checkpoint's mean gradient is due in iteration {due} after "
                f"{begun} iterations."
            )


def _block_of(iteration: int, samples: bool) -> tuple[int, int]:
    """The half-open range of iterations that the gradient at one of them represents."""
    size = 1 << max(iteration.bit_length() - BITS, 0) * samples
    start = iteration - iteration % size
    return start, start + size
