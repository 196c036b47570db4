"""One algorithm on a game: its progress, and a forecast of the remaining work."""

import contextlib
import math
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.evaluation.metrics import GameValue
from mccfr_spiel.solutions.targets import Deadline
from mccfr_spiel.solving.solver import Solver

FIRST_FORECAST = 16
"""Iterations before the first forecast. NashConv of fewer follows no power law."""

SLOPES = 0.6, 3.0
"""Least and greatest slope of NashConv over iterations, both logarithmic, in forecasts.
CFR has about 0.5, CFR+ 1, predictive rules up to 3 and more."""

GROWTH = 1.1, 2.0
"""Least and greatest factor between the iterations of two evaluations."""

STALL_ITERATIONS, STALL_FACTOR = 2_000, 0.95
"""An algorithm has stalled if it has run this many iterations and the last three
quarters of them reduced NashConv by less than this factor."""


class Evaluated(NamedTuple):
    """The quality of a policy.

    Attributes:
        gains: `[P]` gain of each player from a best response.
        value: bounds on the value for player 0; None without a value.
    """

    gains: np.ndarray
    value: GameValue | None

    @property
    def nash_conv(self) -> float:
        """Sum of the gains."""
        return float(self.gains.sum())


def evaluated(
    table: Any, vector: np.ndarray, has_value: bool, threads: int | None
) -> Evaluated:
    """Evaluates a policy vector by one full pass.

    Args:
        table: an arena that knows all information sets.
        vector: `[S]` probability of each sequence.
        has_value: whether the game has two players and a constant sum.
        threads: number of threads; None for one per core.
    """
    returns, best = full_pass(table, threads).values(vector)
    gains = np.maximum(best - returns, 0.0)
    if not has_value:
        return Evaluated(gains, None)
    constant = float(returns.sum())
    return Evaluated(gains, GameValue(constant - float(best[1]), float(best[0])))


class Racer:
    """A solver in a race, with its evaluations.

    Attributes:
        algorithm: the algorithm.
        solver: its solver.
        points: iterations and NashConv of each evaluation.
        last: the latest evaluation; None before the first.
        trial: nodes that the algorithm touches before its forecasts count.
    """

    def __init__(
        self,
        table: Any,
        algorithm: Algorithm,
        has_value: bool,
        *,
        threads: int | None,
        seed: int,
        trial: float = 0.0,
    ) -> None:
        """Prepares the solver.

        Args:
            table: an arena that knows all information sets.
            algorithm: a full-width algorithm.
            has_value: whether the game has two players and a constant sum.
            threads: threads of the solver and of evaluations.
            seed: seed of the solver.
            trial: see the class.

        Raises:
            MemoryBudgetError: the tables do not fit in `max_memory`.
        """
        self.algorithm = algorithm
        self.solver = Solver(table, algorithm, seed=seed, threads=threads)
        if not has_value:
            with contextlib.suppress(ValueError):  # arenas without these gradients
                self.solver.track_cce()
        self.points: list[tuple[int, float]] = []
        self.last: Evaluated | None = None
        self.trial = trial
        self._has_value = has_value

    @property
    def nash_conv(self) -> float:
        """NashConv at the latest evaluation; inf before the first."""
        return self.points[-1][1] if self.points else math.inf

    @property
    def has_stalled(self) -> bool:
        """Whether more iterations no longer reduce NashConv."""
        if not self.points or self.points[-1][0] < STALL_ITERATIONS:
            return False
        last = self.points[-1][0]
        earlier = min(gap for at, gap in self.points if at <= last / 4)
        return min(gap for _, gap in self.points) > STALL_FACTOR * earlier

    def slope(self) -> float:
        """Slope of log NashConv over log iterations since a quarter of the iterations,
        within SLOPES."""
        last, gap = self.points[-1]
        recent = [point for point in self.points if point[0] >= last / 4]
        first, before = recent[0]
        if first == last or gap <= 0.0:
            return 1.0
        return float(np.clip(math.log(before / gap) / math.log(last / first), *SLOPES))

    def iterations_to(self, target: float) -> float:
        """Forecast of the total number of iterations to a NashConv."""
        last, gap = self.points[-1]
        ratio = min(max(gap / target, 1.0), 1e100)  # its powers do not overflow
        return last * ratio ** (1.0 / self.slope())

    def nodes_to(self, target: float) -> float:
        """Forecast of the nodes that remain to be touched; 0 during the trial and
        before FIRST_FORECAST iterations."""
        if not self.points or self.points[-1][0] < FIRST_FORECAST:
            return 0.0
        if self.solver.nodes_touched < self.trial:
            return 0.0
        done = self.points[-1][0]
        more = self.iterations_to(target) / done - 1.0
        return more * self.solver.nodes_touched

    def cce_gap(self) -> float | None:
        """Largest gap of a player to a coarse correlated equilibrium; None in games
        with a value, and if the solver cannot measure it."""
        if self._has_value:
            return None
        try:
            return float(self.solver.cce_gaps().max())
        except ValueError:
            return None

    def advance(self, target: float, deadline: Deadline) -> None:
        """Iterates up to the next evaluation, or to the deadline, and evaluates."""
        goal = 1
        if self.points:
            done = self.points[-1][0]
            factor = np.clip(self.iterations_to(target) / done, *GROWTH)
            goal = max(math.ceil(done * factor), done + 1)
        self._iterate(goal, deadline)
        solver = self.solver
        vector = solver.average_vector()
        self.last = evaluated(solver.tree, vector, self._has_value, solver.threads)
        self.points.append((solver.num_iterations, self.last.nash_conv))

    def _iterate(self, goal: int, deadline: Deadline) -> None:
        solver = self.solver
        if deadline.end == math.inf:
            solver.iterate(goal - solver.num_iterations)
            return
        while (done := solver.num_iterations) < goal:
            each = solver.seconds / done if done else math.inf
            fitting = int(deadline.left / each) if each > 0 else goal
            if done and fitting < 1:
                return
            solver.iterate(min(goal - done, max(fitting, 1)))
