"""Runs: when rows are due, and the rows of a solver as it iterates.

| module | provides |
|---|---|
| `run_solvers` | the solver of a run |
| `runs` | its rows |
| `run_recording` | files of rows, checkpoints and policies; reading rows |
| `run_folders` | the folder of a run, and whether its run can be resumed |

Runs of the command line and of sweeps use the same code.
"""

import operator
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.arenas.infosets.string_checks import pot_of
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.evaluation.metrics import last_iterate, nash_conv
from mccfr_spiel.evaluation.theory import nash_conv_bound
from mccfr_spiel.experiments.run_solvers import make_solver
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.offline import GameSolver
from mccfr_spiel.solving.due_rows import COUNTERS, log_spaced, reached
from mccfr_spiel.solving.history import Metric, prepare, row_of
from mccfr_spiel.solving.solver import Solver

COLUMNS: tuple[str, ...] = (
    "iteration",
    "nodes_touched",
    "seconds",
    "nash_conv",
    "exploitability",
    "bound",
    "last_nash_conv",
    "due",
)
"""The keys of a row and the header of results.csv.

`last_nash_conv` is the NashConv of the current policy (`Settings.evaluate_last`). `due`
is the largest number of `row_dues` that the row has reached. Seeds are compared at
equal `due`, because a single iteration may pass several due numbers and then has one
row.
"""

NO_METRICS: Mapping[str, Metric] = types.MappingProxyType({})


# --- when rows are due ---------------------------------------------------------


def row_dues(settings: Settings) -> Iterator[int]:
    """The values of the progress column at which rows are due, ascending.

    They depend on the settings alone, so runs with other seeds have the same due
    numbers. The last one is the end of the run.
    """
    last = settings.last if settings.is_iterative else 1
    if settings.print_freq is not None:
        yield from range(settings.print_freq, last, settings.print_freq)
        yield last
    else:
        yield from log_spaced(settings.rows_from, last, settings.rows_per_decade)


def aligned(
    reached: Sequence[Sequence[float] | np.ndarray], dues: Iterable[float]
) -> Iterator[tuple[float, list[int]]]:
    """Finds the rows at which several seeds are compared.

    Due numbers that select the same rows as the number before are skipped.

    Args:
        reached: for each seed, the progress of its rows, ascending.
        dues: due numbers, ascending.

    Yields:
        A due number, and for each seed the index of the first row that has reached it.
        The index is the number of rows for a seed that ended before.
    """
    before = None
    for due in dues:
        indices = [int(np.searchsorted(progress, due)) for progress in reached]
        if indices != before:
            before = indices
            yield due, indices


# --- running -------------------------------------------------------------------


def run(settings: Settings) -> tuple[GameSolver, list[dict[str, Any]]]:
    """Runs the settings to their end; returns the solver and the rows."""
    solver = make_solver(settings)
    return solver, list(rows(solver, settings))


def rows(
    solver: GameSolver,
    settings: Settings,
    on_progress: Callable[[int], object] = lambda done: None,
    *,
    kept: Sequence[dict[str, Any]] = (),
    metrics: Mapping[str, Metric] = NO_METRICS,
) -> Iterator[dict[str, Any]]:
    """Runs a solver and yields a row, with the keys COLUMNS, whenever a row is due.

    | column | value | None if |
    |---|---|---|
    | seconds | time of the solver's iterations | |
    | nash_conv | NashConv of the average policy | the settings do not evaluate it |
    | exploitability | NashConv / 2 | not a two-player constant-sum game |
    | bound, last_nash_conv | see COLUMNS | the settings do not ask for them |

    Args:
        solver: from `make_solver(settings)` or `load_solver`.
        settings: the run.
        on_progress: called a few times per second with the value of the progress
            column, after all rows due so far. If it returns a true value, the run ends.
        kept: existing rows of the run, see `run_recording.read_rows`.
        metrics: additional columns: label -> function of the solver.
    """
    measures = {**_measures(solver, settings), **metrics}
    prepare(solver, measures)
    has_exploitability = measures.get("nash_conv") is nash_conv
    has_exploitability &= is_two_player_constant_sum(solver.tree.game)
    has_exploitability &= "exploitability" not in metrics
    column = settings.progress_column
    target = settings.target(pot_of(solver.tree.game))
    covered = kept[-1][column] if kept else 0
    if kept and _is_reached(kept[-1]["nash_conv"], target):
        return
    # Lost rows cannot be repeated, because the solver has passed them.
    start = max(covered + 1, getattr(solver, COUNTERS[column]))
    dues = (due for due in row_dues(settings) if due >= start)
    for due in reached(solver, column, dues, on_progress):
        row = {**dict.fromkeys(COLUMNS), **row_of(solver, measures), "due": due}
        if has_exploitability:
            row["exploitability"] = row["nash_conv"] / 2
        yield row
        if _is_reached(row["nash_conv"], target):
            return


def _measures(solver: GameSolver, settings: Settings) -> dict[str, Metric]:
    """The measured columns that the settings ask for: name -> metric.

    The bound of `Solver` is `theory.nash_conv_bound`, with probability 0.95 for
    sampling algorithms. First-order methods provide the bound themselves.

    Raises:
        ValueError: no theorem covers the algorithm.
    """
    measures: dict[str, Metric] = {}
    if settings.evaluate == "exact":
        measures["nash_conv"] = nash_conv
    if settings.bounds and isinstance(solver, Solver):
        bound = nash_conv_bound(solver.tree, solver.algorithm)
        measures["bound"] = lambda solver: float(bound(solver.num_iterations))
    elif settings.bounds:  # a first-order method: `Settings` refuses linear programs
        measures["bound"] = operator.attrgetter("gap_bound")
    if settings.evaluate_last:
        measures["last_nash_conv"] = last_iterate
    return measures


def _is_reached(gap: float | None, target: float | None) -> bool:
    return gap is not None and target is not None and gap <= target
