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

    Each iteration makes two prox steps from the same centers: the first to the middle
    plans w, the second, with the gradients at w, to the next plans.

    Args:
        sides: Sides of both players.
        iterations: number of iterations.
        eta: the step size.
        centers: Pair of logarithms of the current policies, updated.
        plans: Pair of the plans of these policies, updated.
        sums: Pair of the sums of all plans w so far, updated.
        scratch: Pairs for gradients, w, and logarithms of w's policy.
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
    """`step_size` as a float; raises ValueError unless it is finite and positive."""
    largest = np.finfo(np.float64).max
    return refusals.number(step_size, "step_size", 0, largest, open_low=True)


class MirrorProx(FirstOrderSolver):
    """Mirror prox (Nemirovski 2004) with the dilated entropy.

    `w_x = prox_x(x, eta B_x y)`, `w_y = prox_y(y, eta B_y x)`, then `x = prox_x(x, eta
    B_x w_y)`, `y = prox_y(y, eta B_y w_x)` with the old x, y as centers.
    `average_policy()` is the average of the w. An iteration makes four gradient
    evaluations.
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
            step_size: eta. None: 1 / ||A||, where ||A|| is the largest absolute entry
                of A.

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
        """The theorem's bound on the gap, (max d_x + max d_y) / (eta T).

        It is infinite if the step size is above the default, because the theorem does
        not cover larger steps.
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
