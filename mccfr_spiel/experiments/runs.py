"""Runs: a solver made from settings, and the loop that yields the rows of its table.

What becomes of a row is the caller's business: the command line prints it and
experiments/results.py writes it, experiments/sweeps.py only writes it.
"""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.evaluation.metrics import last_iterate, nash_conv
from mccfr_spiel.evaluation.theory import nash_conv_bound
from mccfr_spiel.experiments.settings import (
    Settings,
    budget_of,
    measure,
    new_tree,
)
from mccfr_spiel.policies.policy import GameSolver
from mccfr_spiel.solver import Solver
from mccfr_spiel.solving.cluster import Cluster, check_can_split
from mccfr_spiel.solving.running import (
    COUNTERS,
    Metric,
    log_spaced,
    measured,
    reached,
)
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import pot_of

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
"""The keys of a row and the header of results.csv. `last_nash_conv` is that of the
current policy, which `Settings.evaluate_last` asks for. `due` is the largest number of
`row_dues` that the row has reached. Rows of two seeds are compared by it, because one
iteration may pass several of these numbers and then leaves only one row."""

NO_METRICS: Mapping[str, Metric] = types.MappingProxyType({})


# --- making solvers ------------------------------------------------------------


def make_solver(
    settings: Settings,
    tree: GameTree | None = None,
    *,
    cluster: Cluster | None = None,
) -> GameSolver:
    """The solver that the settings describe; its tree is whole for exact evaluation,
    unless that takes worlds, or the solver goes over histories.

    Args:
        settings: the run.
        tree: the game's whole tree, if there is one already.
        cluster: where batches of walks are split, see `Solver`.

    Raises:
        ValueError: the game cannot be solved; see `GameTree`, `Solver` and
            `OfflineMethod.start`.
    """
    tree = tree or new_tree(settings, budget_of(settings))
    method = settings.algorithm
    makes_whole = isinstance(method, Algorithm) and not method.sampling.is_sampled
    takes_worlds = tree.declares_worlds and tree.is_surely_larger_than(tree.max_nodes)
    if settings.evaluate == "exact" and not (makes_whole or takes_worlds):
        tree.expand_all()
    if not isinstance(method, Algorithm):
        return method.start(tree)
    return Solver(
        tree,
        method,
        seed=settings.seed,
        store=settings.store,
        threads=settings.threads,
        cluster=cluster,
    )


def check_cluster(settings: Settings) -> None:
    """Raises ValueError, in words, if a cluster cannot split a run's batches."""
    if not isinstance(settings.algorithm, Algorithm):
        raise ValueError(
            f"A cluster splits batches of walks, and {settings.algorithm.name} makes "
            "none. Use an algorithm that samples, with a batch."
        )
    check_can_split(new_tree(settings), settings.algorithm)


def make_bound(solver: GameSolver) -> Callable[[], float]:
    """The least NashConv that theory promises of the solver's average policy now.

    For `Solver` the bound is that of `theory.nash_conv_bound` (with probability 0.95 if
    the algorithm samples); a first-order method has its own.

    Raises:
        ValueError: no theorem covers the method.
    """
    if isinstance(solver, Solver):
        bound = nash_conv_bound(solver.tree, solver.algorithm)
        return lambda: float(bound(solver.num_iterations))
    method: Any = solver  # a first-order one: `Settings` refuses bounds of others
    return lambda: method.gap_bound


# --- when rows are due ---------------------------------------------------------
#
# At numbers that depend on the settings alone, so that runs which differ only in their
# seeds can be compared at the same numbers.


def row_dues(settings: Settings) -> Iterator[int]:
    """The numbers of iterations, or of nodes touched if the settings go by those, after
    which a row is due: increasing, and ending with the last of the run."""
    last = settings.until_nodes_touched or settings.iterations
    if not settings.is_iterative:
        last = 1
    if settings.print_freq is not None:
        yield from range(settings.print_freq, last, settings.print_freq)
        yield last
    else:
        yield from log_spaced(settings.rows_from, last, settings.rows_per_decade)


def policy_dues(settings: Settings) -> Iterator[int]:
    """The numbers, counted as in `row_dues`, of which the policies are kept: each by
    the first row that reaches it."""
    if settings.keep_policies is not None:
        last = settings.until_nodes_touched or settings.iterations
        yield from log_spaced(1, last, settings.keep_policies)


def aligned(
    reached: Sequence[Sequence[float] | np.ndarray], dues: Iterable[float]
) -> Iterator[tuple[float, list[int]]]:
    """The rows of several seeds that are compared: for each due number, which row of
    each seed is the first to reach it; behind the last one for a seed that ended
    earlier. Of due numbers that have the same rows, the first one.

    Args:
        reached: for each seed, what its rows have reached, ascending.
        dues: ascending.
    """
    before = None
    for due in dues:
        at = [int(np.searchsorted(one, due)) for one in reached]
        if at != before:
            before = at
            yield due, at


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
    """Runs the solver and yields a row, with the keys COLUMNS, whenever one is due.

    NashConv is that of the average policy, and None if the settings do not evaluate it.
    Exploitability is NashConv / 2 in two-player constant-sum games and None in others.
    The bound and the current policy's NashConv are None unless the settings ask for
    them. Seconds are those that the solver has spent on iterations.

    Args:
        solver: from `make_solver(settings)` or `resuming.load_solver`.
        settings: the run.
        on_progress: called a few times a second with the number of iterations done, or
            of nodes touched if the settings go by those. Every row due so far has then
            been yielded. The run ends if it returns something true.
        kept: the rows of the run that exist already, see `resuming.read_rows`.
        metrics: what a row holds beside COLUMNS: label -> function of the solver.
    """
    make_row = _row_maker(solver, settings, metrics)
    column, target = measure(settings), settings.target(pot_of(solver.tree.game))
    covered = kept[-1][column] if kept else 0
    if kept and _is_reached(kept[-1]["nash_conv"], target):
        return
    # A row that was lost cannot be made again, because the solver is beyond it.
    start = max(covered + 1, getattr(solver, COUNTERS[column]))
    dues = (due for due in row_dues(settings) if due >= start)
    for due in reached(solver, column, dues, on_progress):
        row = make_row(due)
        yield row
        if _is_reached(row["nash_conv"], target):
            return


def _row_maker(
    solver: GameSolver, settings: Settings, metrics: Mapping[str, Metric]
) -> Callable[[int], dict[str, Any]]:
    """A function that measures the solver as it is now; its argument is `due`."""
    exploitable = is_two_player_constant_sum(solver.tree.game)
    bound = make_bound(solver) if settings.bounds else lambda: None

    def make_row(due: int) -> dict[str, Any]:
        gap = last = None
        if settings.evaluate == "exact":
            gap = nash_conv(solver)
        if settings.evaluate_last:
            last = last_iterate(solver)
        return {
            "iteration": solver.num_iterations,
            "nodes_touched": solver.nodes_touched,
            "seconds": round(solver.seconds, 6),
            "nash_conv": gap,
            "exploitability": gap / 2 if gap is not None and exploitable else None,
            "bound": bound(),
            "last_nash_conv": last,
            "due": due,
            **{label: measured(label, metrics[label], solver) for label in metrics},
        }

    return make_row


def _is_reached(gap: float | None, target: float | None) -> bool:
    return gap is not None and target is not None and gap <= target
