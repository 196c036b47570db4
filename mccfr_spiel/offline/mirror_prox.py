"""Mirror prox (Nemirovski 2004) for two-player zero-sum games."""

import numpy as np
import pyspiel

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.offline.first_order import SLACK, FirstOrderSolver, Pair, zeros
from mccfr_spiel.offline.prox_maps import evaluate_gradient, prox
from mccfr_spiel.offline.sequence_forms import SequenceForm


@jit(nogil=True)
def mirror_prox_steps(sides, iterations, eta, centers, plans, sums, scratch):
    """Runs iterations of mirror prox.

    Each iteration makes two prox steps from the current policies. The first step uses
    the gradients at the current plans; its results are the middle plans w. The second
    step uses the gradients at w; its results are the next plans.

    Args:
        sides: the `Side` of each player.
        iterations: number of iterations.
        eta: the step size.
        centers: Pair of logarithms of the current policies, updated.
        plans: Pair of the plans of these policies, updated.
        sums: Pair of the sums of all plans w so far, updated.
        scratch: three Pairs of working memory: gradients, w, and logarithms of the
            policies of w.
    """
    gradients, middles, logs = scratch
    for _ in range(iterations):
        for p in range(2):
            evaluate_gradient(sides[p], plans[1 - p], gradients[p])
            prox(sides[p], gradients[p], centers[p], 1.0 / eta, logs[p], middles[p])
        for p in range(2):
            evaluate_gradient(sides[p], middles[1 - p], gradients[p])
            prox(sides[p], gradients[p], centers[p], 1.0 / eta, centers[p], plans[p])
            sums[p][:] += middles[p]


def checked_step(step_size: float) -> float:
    """Returns `step_size` as a float.

    Raises:
        ValueError: `step_size` is not a finite positive number.
    """
    largest = np.finfo(np.float64).max
    return refusals.number(step_size, "step_size", 0, largest, open_low=True)


class MirrorProx(FirstOrderSolver):
    """Mirror prox (Nemirovski 2004) with the dilated entropy.

    An iteration computes middle plans w from the plans x and y of the players, and then
    the next plans. Each of these steps is a prox map with the old x or y as center:

        w_x = prox(x, eta B_x y),    w_y = prox(y, eta B_y x)
        next x = prox(x, eta B_x w_y),    next y = prox(y, eta B_y w_x)

    B_x y is the gradient of the player with the plan x, and eta the step size. An
    iteration makes four gradient evaluations. `average_policy()` is the policy of the
    mean of all plans w.
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree | SequenceForm,
        *,
        step_size: float | None = None,
    ) -> None:
        """Starts at the uniform policy.

        Args:
            game: a two-player zero-sum game, its tree or its sequence form.
            step_size: the step size eta; None for 1 / the largest absolute entry of the
                payoff matrix.

        Raises:
            ValueError: `step_size` is not positive, or `sequence_form` refuses the
                game.
        """
        super().__init__(game)
        self.step_size = 1 / self.norm if step_size is None else checked_step(step_size)
        self._centers = tuple(side.uniform.copy() for side in self.sides)
        self._sums = zeros(self.form)
        for side, plan, center in zip(
            self.sides, self.plans, self._centers, strict=True
        ):
            prox(side, np.zeros_like(plan), center, 1.0, center, plan)

    @property
    def gap_bound(self) -> float:
        """The theorem's bound on the saddle-point gap: (max d_x + max d_y) / (eta T).

        T is the number of iterations, and max d_x the maximum of the dilated entropy of
        a plan x. The bound is infinite before the first iteration, and for step sizes
        above the default, which the theorem does not cover.
        """
        if self.step_size > (1 + SLACK) / self.norm:
            return float("inf")
        spread = sum(self.ranges) / self.step_size
        return spread / self.num_iterations if self.num_iterations else float("inf")

    def run(self, iterations: int) -> int:
        mirror_prox_steps(
            self.sides,
            iterations,
            self.step_size,
            self._centers,
            self.plans,
            self._sums,
            self.scratch,
        )
        return 4 * iterations

    def average_plans(self) -> Pair:
        if not self.num_iterations:
            return self.plans
        first, second = self._sums
        return first / self.num_iterations, second / self.num_iterations
