"""The excessive gap technique (Nesterov 2005) for two-player zero-sum games."""

import numpy as np
import pyspiel

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.offline.first_order import SLACK, FirstOrderSolver, zeros
from mccfr_spiel.offline.prox_maps import evaluate_gradient, mix_into, prox, respond
from mccfr_spiel.offline.sequence_forms import SequenceForm

_X, _Y = 1, 0
"""The players whose plans the method calls x and y. The plan x minimizes x' A y, and A
holds player 0's payoffs, so x belongs to player 1."""

_LEAST_TAU = 1e-9
"""The practical variant stops below this tau, because rounding leaves no room for a
step."""

_MOST_HALVINGS = 60
"""The largest number of times that the practical variant halves both mu at the
start."""


@jit(nogil=True)
def smoothed_values(sides, scales, gradients, scratch):
    """The sum over both players of `max <gradient, x> - mu d(x)`.

    The excessive gap condition says that this sum is at most 0.
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
        sides: Sides of both players.
        first: number of the first iteration, counted from 1.
        iterations: number of iterations.
        slack: allowed violation of the condition by rounding.
        tau: tau of the practical variant at the end of the last call; 0 for the variant
            in which iteration t uses 2 / (t + 2).
        scales: `[2]` mu of each player, updated.
        plans: Pair of the plans, updated.
        gradients_at: Pair of the gradients at `plans`, updated.
        spare: (three Pairs, two Pairs) of working memory.

    Returns:
        (number of gradient evaluations, tau). The loop ends early when rounding leaves
        no room for another step.
    """
    working, (next_plans, next_gradients) = spare
    gradients, middles, logs = working
    is_practical = tau > 0.0
    evaluations = 0
    # Invariant: the plans satisfy the excessive gap condition. A pass shrinks the mu of
    # one player p by the factor 1 - tau. It mixes p's plan with p's smoothed best
    # response and lets the other player q respond to the mixture. Then q's plan moves
    # towards that response, and p's plan towards the prox step by the gradient at it
    # (Nesterov 2005). The new plans and gradients are written aside until the step is
    # accepted. The practical variant shrinks the larger mu; its inner loop halves tau
    # until the new plans satisfy the condition (Kroer, Farina, Sandholm 2018).
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

    Two smoothing parameters mu_x and mu_y shrink while the excessive gap condition

        max_y {x' A y - mu_y d(y)} <= min_x {x' A y + mu_x d(x)}

    still holds; then the gap is at most `mu_x max d_x + mu_y max d_y`. Both start at
    ||A||, and iteration t = 1, 2, ... shrinks one of them by the factor
    `1 - 2 / (t + 2)`. An iteration makes three gradient evaluations. The last plans are
    the result, so `average_policy()` and `current_policy()` are equal.

    `aggressive=True` is the practical variant (Kroer, Farina, Sandholm 2018). Both mu
    start as small as the condition allows. Each iteration shrinks the larger one by the
    factor 1 - tau. Initially tau is 1/2; it is halved whenever a step would violate the
    condition.
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

        The plan y is the smoothed best response to the uniform plan, and x is a prox
        step from the uniform plan by the gradient at y. With both mu at ||A|| the pair
        satisfies the excessive gap condition.
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
        """Halves both mu while the initial plans satisfy the condition."""
        good = self._scales.copy()
        for _ in range(_MOST_HALVINGS):
            self._scales *= 0.5
            self._start()
            self.gradient_evaluations += 2  # made by `excess`
            if self.excess() < 0:
                break
            good[:] = self._scales
        self._scales[:] = good
        self._start()

    @property
    def gap_bound(self) -> float:
        """mu_x max d_x + mu_y max d_y, which bounds the gap by the condition."""
        return float(np.dot(self._scales, self.ranges))

    def excess(self) -> float:
        """The slack in the excessive gap condition; not negative, up to rounding."""
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
