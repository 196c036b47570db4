"""The result of `ms.solve`."""

import math
import os
import pathlib
from typing import NamedTuple

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.common import display
from mccfr_spiel.common.atomic_files import write_file
from mccfr_spiel.common.checkpoint import CHECKPOINT
from mccfr_spiel.common.csv_files import write_rows
from mccfr_spiel.evaluation.metrics import GameValue
from mccfr_spiel.evaluation.responses import LearnedResponse
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.solving.reading import (
    BINARY_POLICY,
)
from mccfr_spiel.solving.solver import Solver

LINEAR_PROGRAM = "linear program"
"""Name of the linear program in traces and texts."""

TRACE, SOLVER, TEXT = "trace.csv", CHECKPOINT, "solution.txt"
"""Files of `Solution.save` beside the policy."""


class Step(NamedTuple):
    """One evaluation during a search.

    Attributes:
        algorithm: name of the algorithm.
        iterations: iterations that this algorithm has run.
        nodes_touched: nodes that this algorithm has touched.
        seconds: time since the start of the search, without compilation.
        nash_conv: NashConv of the average policy. On games that only walks can enter,
            the gain of learned responses, which is a lower bound.
        low, high: bounds on the value for player 0; nan if there are none.
    """

    algorithm: str
    iterations: int
    nodes_touched: int
    seconds: float
    nash_conv: float
    low: float = math.nan
    high: float = math.nan


class Solution(NamedTuple):
    """A policy with a certificate of its quality.

    Attributes:
        policy: average policy of the best algorithm at its last evaluation.
        nash_conv: NashConv of `policy`; None if it cannot be computed.
        gains: gain of each player from a best response, one float per player; None if
            it cannot be computed.
        value_bounds: lower and upper bound on the value for player 0; None unless the
            game has two players and a constant sum.
        target: NashConv that was requested, in the game's payoffs.
        reached: whether `nash_conv` is at most `target`.
        algorithm: the algorithm of `policy`; None for the linear program.
        iterations: iterations after which `algorithm` yields `policy`, from the same
            seed; 0 for the linear program.
        solver: the solver of `policy`, which can continue; None for the linear program.
        trace: evaluations of all algorithms in the order in which they happened.
        seconds: time of the search, with reading the game and without compilation.
        cce_gap: what a player can have gained in the run by one fixed policy instead
            of the sequence of policies, at most; see `Solver.cce_gaps`. None in games
            with a value.
        responses: learned response of each player if NashConv cannot be computed.
        reason: why the target was not reached, as a clause; empty if it was reached.
    """

    policy: SequencePolicy
    nash_conv: float | None
    gains: tuple[float, ...] | None
    value_bounds: GameValue | None
    target: float
    reached: bool
    algorithm: Algorithm | None
    iterations: int
    solver: Solver | None
    trace: tuple[Step, ...]
    seconds: float
    cce_gap: float | None = None
    responses: tuple[LearnedResponse, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        """Value, NashConv, algorithm, iterations and time in one sentence each."""
        facts = []
        if self.value_bounds is not None:
            low, high = rounded_outwards(*self.value_bounds)
            facts.append(f"value of player 0 in [{low}, {high}]")
        if self.nash_conv is not None:
            facts.append(f"NashConv {display.short(self.nash_conv)}")
        facts.append(str(self.algorithm or LINEAR_PROGRAM))
        if self.iterations:
            facts.append(display.counted(self.iterations, "iteration"))
        facts.append(f"{self.seconds:.1f} s")
        sentences = [", ".join(facts)]
        if self.value_bounds is None and self.gains is not None:
            gains = ", ".join(display.short(gain) for gain in self.gains)
            sentences.append(f"gains of the players from best responses: {gains}")
        if self.cce_gap is not None:
            gap = display.short(self.cce_gap)
            sentences.append(f"gap to a coarse correlated equilibrium {gap}")
        if self.responses:
            bound = display.short(lower_bound(self.responses))
            sentences.append(
                f"learned responses gain {bound}, which is only a lower bound on "
                "NashConv: the game is too large to compute it"
            )
        if not self.reached:
            goal = display.short(self.target)
            sentences.append(f"target NashConv {goal} not reached: {self.reason}")
        return "; ".join(sentences)

    @display.never_raises
    def __repr__(self) -> str:
        return display.line(self, display.title(self.policy.game), str(self))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the solution to a folder, which is created if it does not exist.

        The files are `policy.bin` (for `ms.load_policy`), `solver.checkpoint` (for
        `ms.Solver.load`; not for the linear program), `trace.csv` and `solution.txt`,
        which holds the text of the solution. Existing files are replaced, each one
        atomically.

        Raises:
            OSError: a file cannot be written.
        """
        path = pathlib.Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        self.policy.save(path / BINARY_POLICY)
        if self.solver is not None:
            self.solver.save(path / SOLVER)
        write_rows(path / TRACE, [step._asdict() for step in self.trace])
        write_file(path / TEXT, f"{self}\n".encode())


def lower_bound(responses: tuple[LearnedResponse, ...]) -> float:
    """Sum of the gains of learned responses, a lower bound on NashConv."""
    return sum(max(response.gain.mean, 0.0) for response in responses)


def rounded_outwards(low: float, high: float) -> tuple[str, str]:
    """Both ends of an interval with two more digits than the width needs.

    The lower end is rounded down and the upper end up, so that the printed interval
    contains the interval.
    """
    width = max(high - low, 1e-12 * max(abs(low), abs(high))) or 1.0
    digits = max(1 - math.floor(math.log10(width)), 0) + 1
    unit = 10.0**-digits
    lower, upper = f"{low:.{digits}f}", f"{high:.{digits}f}"
    if float(lower) > low:
        lower = f"{low - unit:.{digits}f}"
    if float(upper) < high:
        upper = f"{high + unit:.{digits}f}"
    return lower, upper
