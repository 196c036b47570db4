"""The excessive gap technique, a first-order method for two-player zero-sum games."""

import numpy as np
import pyspiel

from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.kernels import DONE
from mccfr_spiel.offline.first_order import SLACK, FirstOrderSolver, Pair
from mccfr_spiel.offline.sequence_form import SequenceForm
from mccfr_spiel.offline.shared_steps import (
    GRADIENT,
    LOG,
    MIDDLE,
    OWN_0,
    OWN_1,
    OWN_2,
    PLAN,
    UNIFORM,
    Own,
    copy,
    dismiss,
    evaluate,
    help_or_lead,
    mix,
    prox_step,
    views,
)
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.lock import reads

_ORDER = (1, 0)
"""The players whose plans the method calls x and y. The plan x minimizes x' A y, and A
holds player 0's payoffs, so x is player 1's."""

_START, _STEPS, _CHECK, _PRACTICAL_START, _PRACTICAL_STEPS = range(5)
"""What `excessive_gap` does."""

_TAU, _EVALUATIONS, _SLACK = range(3)
"""The entries of the progress: tau of the practical variant, its gradient evaluations,
and the slack in the condition, as it was asked for last."""

_LEAST_TAU = 1e-9
"""Below it the practical variant stops, since rounding leaves no room for a step."""
_MOST_HALVINGS = 60
"""How often the practical variant may halve both mu at its start."""


_KNOWN, _NEXT_PLAN, _NEXT_KNOWN = OWN_0, OWN_1, OWN_2
"""Rows of the practical variant: the gradients at its plans, and the plans of a step
that it tries, with the gradients at those."""


@jit
def egt_start(frames, order, scales, desk):
    """Writes the plans from which the excessive gap technique starts.

    The plan y is the smoothed best response to the uniform plan, and x is a prox step
    from the uniform plan by the gradient at y. With both mu at ||A|| the pair meets the
    excessive gap condition.
    """
    x, y = order
    views(frames[x], Own).vectors[GRADIENT, :] = 0.0
    prox_step(frames, desk, x, GRADIENT, UNIFORM, 1.0, LOG, MIDDLE)
    evaluate(frames, desk, y, MIDDLE, GRADIENT)
    prox_step(frames, desk, y, GRADIENT, UNIFORM, scales[y], LOG, PLAN)
    evaluate(frames, desk, x, PLAN, GRADIENT)
    prox_step(frames, desk, x, GRADIENT, LOG, scales[x], LOG, PLAN)


@jit
def egt_steps(frames, order, first, iterations, scales, desk):
    """Runs iterations of the excessive gap technique, from number `first` on.

    Each iteration shrinks the mu of one player p and moves both plans so that the
    excessive gap condition still holds. It mixes p's plan with p's smoothed best
    response and lets the other player q respond to the mixture. Then q's plan moves
    towards that response, and p's plan towards the prox step by the gradient at it.

    Args:
        frames: of Steps, of whose vectors the plans are updated.
        order: (x, y), the players whose mu the even and the odd iterations shrink.
        first: the number of the first iteration, counted from 1.
        iterations: how many.
        scales: `[2]` the mu, updated.
        desk: see `compiled/teams.py`.
    """
    for t in range(first, first + iterations):
        tau = 2.0 / (t + 2.0)
        p = order[t % 2]
        q = 1 - p
        evaluate(frames, desk, p, PLAN, GRADIENT)
        prox_step(frames, desk, p, GRADIENT, UNIFORM, scales[p], LOG, MIDDLE)
        mix(frames, desk, p, PLAN, MIDDLE, tau, MIDDLE)
        evaluate(frames, desk, q, MIDDLE, GRADIENT)
        prox_step(frames, desk, q, GRADIENT, UNIFORM, scales[q], LOG, MIDDLE)
        evaluate(frames, desk, p, MIDDLE, GRADIENT)
        scales[p] *= 1.0 - tau
        prox_step(frames, desk, p, GRADIENT, LOG, scales[p] / tau, LOG, MIDDLE)
        mix(frames, desk, p, PLAN, MIDDLE, tau, PLAN)
        mix(frames, desk, q, PLAN, MIDDLE, tau, PLAN)


@jit
def smoothed_values(frames, desk, scales, gradient):
    """The sum over both players of max <gradient, x> - mu d(x); `gradient` is a row.

    The excessive gap condition says that this sum is at most 0.
    """
    total = 0.0
    for p in range(2):
        copy(frames, desk, p, gradient, GRADIENT)
        total += prox_step(frames, desk, p, GRADIENT, UNIFORM, scales[p], LOG, MIDDLE)
    return total


@jit
def check_condition(frames, scales, progress, desk):
    """Writes the slack in the excessive gap condition into `progress`."""
    for p in range(2):
        evaluate(frames, desk, p, PLAN, _NEXT_KNOWN)
    progress[_SLACK] = -smoothed_values(frames, desk, scales, _NEXT_KNOWN)


@jit
def aggressive_egt_start(frames, desk):
    """Writes the gradients at the plans, which the practical variant keeps."""
    for p in range(2):
        evaluate(frames, desk, p, PLAN, _KNOWN)


@jit
def aggressive_egt_steps(frames, iterations, slack, scales, progress, desk):
    """Runs iterations of the practical variant of the excessive gap technique.

    Each iteration shrinks the larger mu by the factor 1 - tau. The inner loop tries the
    step and writes its plans aside. If they break the excessive gap condition, it tries
    again with half the tau; otherwise the new plans and their gradients replace the old
    ones. Those gradients are kept because both the next step and the check need them.
    The loop ends early when rounding leaves no room for another step.

    Args:
        frames: of Steps, of whose vectors the plans and their gradients are updated.
        iterations: how many.
        slack: how much rounding may violate the condition.
        scales: `[2]` the mu, updated.
        progress: see _TAU; updated.
        desk: see `compiled/teams.py`.
    """
    for _ in range(iterations):
        p = 0 if scales[0] > scales[1] else 1
        q = 1 - p
        old_scale = scales[p]
        while True:
            tau = progress[_TAU]
            scales[p] = old_scale
            copy(frames, desk, p, _KNOWN, GRADIENT)
            prox_step(frames, desk, p, GRADIENT, UNIFORM, scales[p], LOG, MIDDLE)
            mix(frames, desk, p, PLAN, MIDDLE, tau, MIDDLE)
            evaluate(frames, desk, q, MIDDLE, GRADIENT)
            prox_step(frames, desk, q, GRADIENT, UNIFORM, scales[q], LOG, MIDDLE)
            evaluate(frames, desk, p, MIDDLE, GRADIENT)
            mix(frames, desk, p, _KNOWN, GRADIENT, tau, _NEXT_KNOWN)
            scales[p] *= 1.0 - tau
            prox_step(frames, desk, p, GRADIENT, LOG, scales[p] / tau, LOG, MIDDLE)
            mix(frames, desk, p, PLAN, MIDDLE, tau, _NEXT_PLAN)
            mix(frames, desk, q, PLAN, MIDDLE, tau, _NEXT_PLAN)
            evaluate(frames, desk, q, _NEXT_PLAN, _NEXT_KNOWN)
            progress[_EVALUATIONS] += 3
            if smoothed_values(frames, desk, scales, _NEXT_KNOWN) <= slack:
                break
            progress[_TAU] *= 0.5
            if progress[_TAU] < _LEAST_TAU:
                scales[p] = old_scale
                return
        for player in range(2):
            copy(frames, desk, player, _NEXT_PLAN, PLAN)
            copy(frames, desk, player, _NEXT_KNOWN, _KNOWN)


@jit(nogil=True)
def excessive_gap(
    frames, task, order, first, iterations, slack, scales, progress, desk, leads
):
    """Does one of the tasks below; one compiled function has the code of all.

    Args:
        frames: of Steps.
        task: _START, _STEPS, _CHECK, _PRACTICAL_START or _PRACTICAL_STEPS.
        order, first, iterations, slack, scales, progress: see the tasks' functions.
        desk, leads: see `compiled/teams.py`.
    """
    if not help_or_lead(frames, desk, leads):
        return DONE
    if task == _START:
        egt_start(frames, order, scales, desk)
    elif task == _STEPS:
        egt_steps(frames, order, first, iterations, scales, desk)
    elif task == _CHECK:
        check_condition(frames, scales, progress, desk)
    elif task == _PRACTICAL_START:
        aggressive_egt_start(frames, desk)
    else:
        aggressive_egt_steps(frames, iterations, slack, scales, progress, desk)
    dismiss(desk)
    return DONE


class ExcessiveGap(FirstOrderSolver):
    """The excessive gap technique (Nesterov 2005) with the dilated entropy.

    Two smoothing parameters mu_x and mu_y shrink while the excessive gap condition

        max_y {x' A y - mu_y d(y)} <= min_x {x' A y + mu_x d(x)}

    continues to hold; then the gap is at most `mu_x max d_x + mu_y max d_y`. Both start
    at ||A||, and iteration t = 1, 2, ... shrinks one of them by the factor
    1 - 2 / (t + 2). An iteration takes three gradient evaluations. The last plans are
    the answer, so `average_policy()` and `current_policy()` are the same.

    `aggressive=True` is the practical variant (Kroer, Farina, Sandholm 2018). The mu
    start as small as the condition allows, each iteration shrinks the larger one by the
    factor 1 - tau, and tau, initially 1/2, is halved whenever a step would break the
    condition.
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree | SequenceForm,
        *,
        aggressive: bool = False,
        threads: int | None = 1,
    ) -> None:
        """Starts both plans so that the excessive gap condition holds.

        Args:
            game: a two-player zero-sum game, its tree or its sequence form.
            aggressive: whether to run the practical variant.
            threads: see `FirstOrderSolver`.

        Raises:
            ValueError: `sequence_form` refuses the game, or `threads` is no number of
                threads.
        """
        super().__init__(game, threads)
        self.aggressive = aggressive
        self._scales = np.full(2, self.norm)
        self._progress = np.array([0.5, 0.0, 0.0])
        self._start()
        if aggressive:
            self._shrink_start()

    def _start(self) -> None:
        self._do(_START)
        self.gradient_evaluations += 2

    def _shrink_start(self) -> None:
        """Halves both mu for as long as the condition holds at the start."""
        good = self._scales.copy()
        for _ in range(_MOST_HALVINGS):
            self._scales *= 0.5
            self._start()
            self.gradient_evaluations += 2  # the two of the check
            if self.excess() < 0:
                break
            good[:] = self._scales
        self._scales[:] = good
        self._start()
        self._do(_PRACTICAL_START)
        self.gradient_evaluations += 2

    @property
    def gap_bound(self) -> float:
        """mu_x max d_x + mu_y max d_y, which by the condition bounds the gap."""
        return float(np.dot(self._scales, self.ranges))

    @reads
    def excess(self) -> float:
        """The slack in the excessive gap condition; at least 0, up to rounding."""
        self._do(_CHECK)
        return float(self._progress[_SLACK])

    def _do(self, task: int, iterations: int = 0) -> None:
        self.run_steps(
            excessive_gap,
            task,
            _ORDER,
            self.num_iterations + 1,
            iterations,
            SLACK * self.norm,
            self._scales,
            self._progress,
        )

    def run(self, iterations: int) -> None:
        if self.aggressive:
            before = self._progress[_EVALUATIONS]
            self._do(_PRACTICAL_STEPS, iterations)
            self.gradient_evaluations += int(self._progress[_EVALUATIONS] - before)
        else:
            self._do(_STEPS, iterations)
            self.gradient_evaluations += 3 * iterations
        self.num_iterations += iterations

    def average_plans(self) -> Pair:
        return self.rows(PLAN)

    current_plans = average_plans
