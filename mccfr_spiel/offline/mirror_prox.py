"""Mirror prox, a first-order method for two-player zero-sum games."""

import pyspiel

from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.kernels import DONE
from mccfr_spiel.offline.dilated_entropy import prox
from mccfr_spiel.offline.first_order import SLACK, FirstOrderSolver, Pair
from mccfr_spiel.offline.sequence_form import SequenceForm
from mccfr_spiel.offline.shared_steps import (
    GRADIENT,
    LOG,
    MIDDLE,
    OWN_0,
    OWN_1,
    PLAN,
    add,
    dismiss,
    evaluate,
    help_or_lead,
    prox_step,
)
from mccfr_spiel.tree.game_tree import GameTree

_CENTER, _SUM = OWN_0, OWN_1
"""Rows: the logarithms of the current policy, and the sum of all plans w so far."""


@jit(nogil=True)
def mirror_prox_steps(frames, iterations, eta, desk, leads):
    """Runs iterations of mirror prox.

    Each iteration takes two prox steps from the same centers: the first to the middle
    plans w, the second, with the gradients at w, to the next plans.

    Args:
        frames: of Steps, of whose vectors the centers, plans and sums are updated.
        iterations: how many.
        eta: the step size.
        desk, leads: see `compiled/teams.py`.
    """
    if not help_or_lead(frames, desk, leads):
        return DONE
    for _ in range(iterations):
        for p in range(2):
            evaluate(frames, desk, p, PLAN, GRADIENT)
            prox_step(frames, desk, p, GRADIENT, _CENTER, 1.0 / eta, LOG, MIDDLE)
        for p in range(2):
            evaluate(frames, desk, p, MIDDLE, GRADIENT)
            prox_step(frames, desk, p, GRADIENT, _CENTER, 1.0 / eta, _CENTER, PLAN)
            add(frames, desk, p, MIDDLE, _SUM)
    dismiss(desk)
    return DONE


class MirrorProx(FirstOrderSolver):
    """Mirror prox (Nemirovski 2004) with the dilated entropy.

    `w_x = prox_x(x, eta B_x y)`, `w_y = prox_y(y, eta B_y x)`, then
    `x = prox_x(x, eta B_x w_y)`, `y = prox_y(y, eta B_y w_x)` with the old x, y as
    centers. The answer, `average_policy()`, is the average of the w. An iteration takes
    four gradient evaluations.
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree | SequenceForm,
        *,
        step_size: float | None = None,
        threads: int | None = 1,
    ) -> None:
        """Starts at the uniform policy.

        Args:
            game: a two-player zero-sum game, its tree or its sequence form.
            step_size: eta. By default 1 / ||A||, where ||A|| is A's largest absolute
                entry.
            threads: see `FirstOrderSolver`.

        Raises:
            ValueError: the step size is not above 0, `threads` is no number of threads,
                or `sequence_form` refuses.
        """
        super().__init__(game, threads)
        if step_size is None:
            step_size = 1 / self.norm
        if not 0 < step_size < float("inf"):
            raise ValueError(f"step_size={step_size!r} is not a number above 0.")
        self.step_size = float(step_size)
        for side, own in zip(self.sides, self.steps.own, strict=True):
            vectors = own.vectors
            center = vectors[_CENTER]
            center[:] = side.uniform
            prox(side, vectors[GRADIENT], center, 1.0, center, vectors[PLAN])

    @property
    def gap_bound(self) -> float:
        """The theorem's bound on the gap, (max d_x + max d_y) / (eta T). It is infinite
        for a step size above the default, which the theorem does not cover."""
        if self.step_size > (1 + SLACK) / self.norm:
            return float("inf")
        spread = sum(self.ranges) / self.step_size
        return spread / self.num_iterations if self.num_iterations else float("inf")

    def run(self, iterations: int) -> None:
        self.run_steps(mirror_prox_steps, iterations, self.step_size)
        self.num_iterations += iterations
        self.gradient_evaluations += 4 * iterations

    def average_plans(self) -> Pair:
        if not self.num_iterations:
            return self.rows(PLAN)
        first, second = self.rows(_SUM)
        return first / self.num_iterations, second / self.num_iterations

    def current_plans(self) -> Pair:
        return self.rows(PLAN)
