"""Implements `Solver.run`: iterates to a goal and records rows of metrics."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from mccfr_spiel.common import display, refusals
from mccfr_spiel.solving.due_rows import COUNTERS, log_spaced, reached
from mccfr_spiel.solving.history import (
    Given,
    History,
    labelled,
    pot_percent,
    prepare,
    row_of,
)


class Goal(NamedTuple):
    """The end of a run.

    Attributes:
        column: "iteration" or "nodes_touched", the quantity that `last` limits.
        last: the total count at which the run ends.
        pot_percent: exploitability in percent of the pot at which the run ends
            earlier; None for no such limit.
    """

    column: str
    last: int
    pot_percent: float | None = None


def goal_of(
    solver: Any,
    num_iterations: int | None,
    until_nodes: float | None,
    until_pot_percent: float | None,
) -> Goal:
    """Returns the goal of a run. The arguments are those of `Solver.run`.

    Raises:
        ValueError: not exactly one argument besides `solver` is given, or its value is
            out of range.
    """
    ends = num_iterations, until_nodes, until_pot_percent
    if [end is None for end in ends].count(False) != 1:
        raise ValueError(
            "Expected exactly one of num_iterations, until_nodes, until_pot_percent."
        )
    if until_pot_percent is not None:
        percent = refusals.number(
            until_pot_percent, "until_pot_percent", 0.0, math.inf, open_low=True
        )
        return Goal("iteration", solver.most_iterations, percent)
    if num_iterations is not None:
        more = refusals.integer(num_iterations, "num_iterations", 0)
        return Goal("iteration", solver.num_iterations + more)
    return Goal("nodes_touched", refusals.count(until_nodes, "until_nodes"))


def run_and_measure(
    solver: Any,
    goal: Goal,
    metrics: Given,
    callback: Callable[[dict[str, Any]], object] | None,
    progress: bool | None,
    rows_per_decade: int,
) -> History:
    """Runs a solver to a goal; appends rows to its history and returns the history.

    Args:
        solver: the solver.
        goal: the end of the run.
        metrics, callback, progress, rows_per_decade: see `Solver.run`.

    Raises:
        ValueError: `callback` or a metric is not a function, a metric does not return a
            number, or an iteration fails, see `Solver.iterate`.
    """
    if not (callback is None or callable(callback)):
        raise ValueError(f"callback={callback!r} must be a function of a row.")
    measured = labelled(metrics, {})
    if goal.pot_percent is not None:
        measured = {"pot_percent": pot_percent(solver.tree.game), **measured}
    prepare(solver, measured)
    start = getattr(solver, COUNTERS[goal.column])
    dues = log_spaced(start + 1, goal.last, rows_per_decade)
    with display.Bar(
        total=goal.last - start,
        disable=display.hides_bar(progress),
        unit_scale=True,
        unit=f" {goal.column}",
    ) as bar:

        def watch(done: int) -> None:
            bar.update(min(done, goal.last) - start - bar.n)

        for _ in reached(solver, goal.column, dues, watch):
            row = row_of(solver, measured)
            solver.history.append(row)
            is_stopped = callback is not None and callback(row)
            is_good = goal.pot_percent is not None
            is_good = is_good and row["pot_percent"] <= goal.pot_percent
            if is_stopped or is_good:
                break
    return solver.history
