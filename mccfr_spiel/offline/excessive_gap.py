"""The excessive gap technique (Nesterov 2005) for two-player zero-sum games."""

import numpy as np
import pyspiel

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.offline.first_order import SLACK, FirstOrderSolver, zeros
from mccfr_spiel.offline.prox_maps import evaluate_gradient, mix_into, prox, respond
from mccfr_spiel.offline.sequence_forms import SequenceForm

_X, _Y = 1, 0
"""The players with the plans x and y of the paper. There, x minimizes a bilinear form
and y maximizes it. As the matrix A contains player 0's payoffs, y is the plan of player
0, and x the plan of player 1."""

_LEAST_TAU = 1e-9
"""The practical variant stops if tau falls below this number, because the progress of a
step would be smaller than rounding errors."""

_MOST_HALVINGS = 60
"""The largest number of times that the practical variant halves both smoothing
parameters before the first iteration."""


@jit(nogil=True)
def smoothed_values(sides, scales, gradients, scratch):
    """Returns the sum over both players of `max over x of <gradient, x> - mu d(x)`.

    x are the player's plans, mu is the player's smoothing parameter (in `scales`), and
    d the dilated entropy. The excessive gap condition says that this sum is at most 0.
    """
    values, middles, logs = scratch
    total = 0.0
    for p in range(2):
        values[p][:] = gradients[p]
        total += respond(sides[p], values[p], scales[p], logs[p], middles[p])
    return total


@jit(nogil=True)
def egt_steps(sides, first, iterations, slack, tau, scales, plans, gradients_at, spare):
    """Runs iterations of the excessive gap technique.

    Args:
        sides: the `Side` of each player.
        first: number of the first iteration, counted from 1.
        iterations: number of iterations.
        slack: allowed violation of the excessive gap condition by rounding.
        tau: for the practical variant, its tau at the end of the last call; 0 for the
            variant in which iteration t has the step 2 / (t + 2).
        scales: `[2]` smoothing parameter mu of each player, updated.
        plans: (plan of player 0, plan of player 1), updated.
        gradients_at: the players' gradients at `plans`, updated.
        spare: (three Pairs, two Pairs) of working memory.

    Returns:
        The number of gradient evaluations, and the new tau. The practical variant
        returns early if a step would be smaller than rounding errors.
    """
    working, (next_plans, next_gradients) = spare
    gradients, middles, logs = working
    is_practical = tau > 0.0
    evaluations = 0
    # Invariant: the plans satisfy the excessive gap condition. Each iteration of the
    # outer loop multiplies the mu of one player p by 1 - step (Nesterov 2005):
    # 1. Mix p's plan with p's smoothed best response.
    # 2. Compute the smoothed best response of the other player q to this mixture. The
    #    new plan of q is a mixture of the old plan and this response.
    # 3. Compute a prox step of p, from p's smoothed best response and with the gradient
    #    at q's response. The new plan of p is a mixture of the old plan and the result.
    # The new plans and gradients replace the old ones when the step is accepted. The
    # practical variant chooses the player with the larger mu. Its inner loop halves the
    # step until the new plans satisfy the condition (Kroer, Farina, Sandholm 2018).
    for t in range(first, first + iterations):
        p = _Y if t % 2 else _X
        step = 2.0 / (t + 2.0)
        if is_practical:
            p = 0 if scales[0] > scales[1] else 1
            step = tau
        q = 1 - p
        old_scale = scales[p]
        while True:
            scales[p] = old_scale
            gradients[p][:] = gradients_at[p]
            respond(sides[p], gradients[p], scales[p], logs[p], middles[p])
            mix_into(plans[p], middles[p], step, middles[p])
            evaluate_gradient(sides[q], middles[p], gradients[q])
            respond(sides[q], gradients[q], scales[q], logs[q], middles[q])
            evaluate_gradient(sides[p], middles[q], gradients[p])
            mix_into(gradients_at[p], gradients[p], step, next_gradients[p])
            scales[p] *= 1.0 - step
            prox(sides[p], gradients[p], logs[p], scales[p] / step, logs[p], middles[p])
            mix_into(plans[p], middles[p], step, next_plans[p])
            mix_into(plans[q], middles[q], step, next_plans[q])
            evaluate_gradient(sides[q], next_plans[p], next_gradients[q])
            evaluations += 3
            if not is_practical:
                break
            if smoothed_values(sides, scales, next_gradients, working) <= slack:
                break
            tau = step = step * 0.5
            if tau < _LEAST_TAU:
                scales[p] = old_scale
                return evaluations, tau
        for player in range(2):
            plans[player][:] = next_plans[player]
            gradients_at[player][:] = next_gradients[player]
    return evaluations, tau


class ExcessiveGap(FirstOrderSolver):
    """The excessive gap technique (Nesterov 2005) with the dilated entropy.

    The method decreases two smoothing parameters mu_x and mu_y, and changes the plans x
    and y such that the excessive gap condition always holds:

        max_y {x' A y - mu_y d(y)} <= min_x {x' A y + mu_x d(x)}

    Here A is the payoff matrix, and d the dilated entropy of a plan (see prox_maps.py).
    The condition implies that the saddle-point gap is at most `mu_x max d_x + mu_y max
    d_y`. Both parameters start at ||A||, the largest absolute entry of A. Iteration
    t = 1, 2, ... multiplies one of them by `1 - 2 / (t + 2)`, and makes three gradient
    evaluations. The last plans are the result, so `average_policy()` and
    `current_policy()` are equal.

    `aggressive=True` is the practical variant (Kroer, Farina, Sandholm 2018). Both
    parameters are halved at the start for as long as the condition holds. Each
    iteration multiplies the larger parameter by 1 - tau. Initially tau is 1/2; it is
    halved whenever a step would violate the condition.
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree | SequenceForm,
        *,
        aggressive: bool = False,
    ) -> None:
        """Starts with plans that satisfy the excessive gap condition.

        Args:
            game: a two-player zero-sum game, its tree or its sequence form.
            aggressive: whether to run the practical variant.

        Raises:
            ValueError: `sequence_form` refuses the game.
        """
        super().__init__(game)
        self.aggressive = aggressive
        self._scales = np.full(2, self.norm)
        self._gradients = zeros(self.form)
        self._spare = (self.scratch, (zeros(self.form), zeros(self.form)))
        self._tau = 0.5 if aggressive else 0.0
        self._start()
        if aggressive:
            self._shrink_start()
        for p in range(2):
            evaluate_gradient(self.sides[p], self.plans[1 - p], self._gradients[p])
        self.gradient_evaluations += 2

    def _start(self) -> None:
        """Writes the initial plans.

        The plan y is the smoothed best response to the uniform plan. The plan x is the
        result of the prox map with the uniform plan as center and the gradient at y. If
        both smoothing parameters are ||A||, the plans satisfy the excessive gap
        condition.
        """
        sides, plans, (to, middles, logs) = self.sides, self.plans, self.scratch
        to[_X][:] = 0.0
        respond(sides[_X], to[_X], 1.0, logs[_X], middles[_X])
        evaluate_gradient(sides[_Y], middles[_X], to[_Y])
        respond(sides[_Y], to[_Y], self._scales[_Y], logs[_Y], plans[_Y])
        evaluate_gradient(sides[_X], plans[_Y], to[_X])
        prox(sides[_X], to[_X], logs[_X], self._scales[_X], logs[_X], plans[_X])
        self.gradient_evaluations += 2

    def _shrink_start(self) -> None:
        """Halves both smoothing parameters for as long as the initial plans satisfy the
        excessive gap condition."""
        good = self._scales.copy()
        for _ in range(_MOST_HALVINGS):
            self._scales *= 0.5
            self._start()
            self.gradient_evaluations += 2  # those in `excess`
            if self.excess() < 0:
                break
            good[:] = self._scales
        self._scales[:] = good
        self._start()

    @property
    def gap_bound(self) -> float:
        """mu_x max d_x + mu_y max d_y, an upper bound on the saddle-point gap."""
        return float(np.dot(self._scales, self.ranges))

    def excess(self) -> float:
        """The right-hand side of the excessive gap condition minus the left-hand side.

        It is not negative, except for rounding errors.
        """
        gradients = zeros(self.form)
        for p in range(2):
            evaluate_gradient(self.sides[p], self.plans[1 - p], gradients[p])
        return -float(
            smoothed_values(self.sides, self._scales, gradients, self.scratch)
        )

    def run(self, iterations: int) -> int:
        evaluations, self._tau = egt_steps(
            self.sides,
            self.num_iterations + 1,
            iterations,
            SLACK * self.norm,
            self._tau,
            self._scales,
            self.plans,
            self._gradients,
            self._spare,
        )
        return evaluations
