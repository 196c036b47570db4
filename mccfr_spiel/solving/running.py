"""How `Solver.run` goes on and measures, and what runs a solver's iterations.

`reached` is the loop of every run: it goes from one number of iterations, or of nodes
touched, at which something is due to the next, in slices short enough for progress to
be seen.
"""

import inspect
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyspiel

from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.infosets.loading import pot_of
from mccfr_spiel.common.display import html_table, text_table

Metric = Callable[[Any], float]
"""A function of a solver that measures it."""

COUNTERS = {"iteration": "num_iterations", "nodes_touched": "nodes_touched"}
"""What a solver calls the columns by which rows may be due."""

SLICE_SECONDS = 0.25
"""Compiled code cannot be interrupted, so work runs in slices of about this many
seconds, and between them Ctrl-C is noticed and progress is shown."""

Given = str | Metric | Iterable[str | Metric] | Mapping[str, Metric]
"""What users may give: a metric or its name, several of them, or label -> metric."""


class History(list[dict[str, Any]]):
    """The rows that `Solver.run` has recorded, in their order.

    Each is a dictionary with iteration, nodes_touched, seconds and the metrics, so
    `pandas.DataFrame(solver.history)` is the table of them. It shows itself as a table.
    """

    def __repr__(self) -> str:
        if not self:
            return "History of no rows"
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        """The table as notebooks show it."""
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]], range]:
        names = list(self[-1]) if self else []
        rows = [[_shown(row.get(name)) for name in names] for row in self]
        return names, rows, range(len(names))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def pot_percent(game: pyspiel.Game) -> Metric:
    """A metric: the exploitability of the average policy in percent of the pot.

    Raises:
        ValueError: the game has no pot to begin with.
    """
    pot = pot_of(game)
    if not pot > 0:
        raise ValueError(
            f"{game} has no pot at the start, as subgames of poker have; give "
            "num_iterations."
        )

    def measure(solver: Any) -> float:
        passes = full_pass(solver.tree, solver.threads)
        return 50 * passes.nash_conv(solver.average_vector()) / pot

    return measure


def reached(
    solver: Any,
    column: str,
    dues: Iterator[int],
    watch: Callable[[int], object] = lambda done: None,
) -> Iterator[int]:
    """Runs the solver and yields each due number when it has reached it; of several
    that one iteration has passed, the largest.

    Args:
        solver: is not beyond the first due number.
        column: the name in COUNTERS of what is counted.
        dues: ascending.
        watch: is called with what is done before each due number and a few times a
            second. The run ends if it returns something true.
    """
    due, size = next(dues, None), 1
    # One pass runs the solver for a slice, at most up to the next due number.
    while due is not None:
        began = time.perf_counter()
        done = getattr(solver, COUNTERS[column])
        if column == "iteration":
            solver.iterate(min(size, due - done))
        else:
            solver.iterate_until(min(due, done + size))
        done = getattr(solver, COUNTERS[column])
        size = next_slice(size, time.perf_counter() - began)
        if done >= due:
            passed = due
            while due is not None and due <= done:
                passed, due = due, next(dues, None)
            yield passed
        # Only now, when the caller has the row: `watch` may save a checkpoint, which
        # must not lack it.
        if watch(done):
            return


def next_slice(size: int, seconds: float) -> int:
    """The size of a slice after one that took so long."""
    if seconds < SLICE_SECONDS / 2:
        return min(2 * size, 2**40)
    return max(size // 2, 1) if seconds > 2 * SLICE_SECONDS else size


def log_spaced(first: int, last: int, per_decade: int) -> Iterator[int]:
    """The integers 10 ** (k / per_decade), rounded, from `first` on; then `last`."""
    due = first - 1
    while (due := _next_power(due, per_decade)) < last:
        yield due
    yield last


def _next_power(previous: int, per_decade: int) -> int:
    """The next integer that is 10 ** (k / per_decade), rounded, for some integer k."""
    # Where at least two powers are rounded to the next integer, no search is needed.
    per_decade = min(per_decade, 2**53)
    if per_decade * math.log10((previous + 1.5) / (previous + 0.5)) > 2:
        return previous + 1
    # Many small powers are rounded to the same integer, so the search begins at the
    # first k whose power may be larger than `previous`, and skips those that are not.
    power = max(math.floor(per_decade * math.log10(previous + 0.5)) - 1, 0)
    while (due := round(10 ** (power / per_decade))) <= previous:
        power += 1
    return due


# --- metrics ---------------------------------------------------------------------


def labelled(metrics: Given, names: Mapping[str, Metric]) -> dict[str, Metric]:
    """Label -> metric for what a user has given.

    Args:
        metrics: see `Given`. A function without a label is called by its name.
        names: the metrics that may be given by name.

    Raises:
        ValueError: a name is unknown or given twice, or something is no function.
    """
    if isinstance(metrics, str) or callable(metrics):
        metrics = (metrics,)
    try:
        if isinstance(metrics, Mapping):
            pairs = list(metrics.items())
        else:
            pairs = [(_name_of(metric), metric) for metric in metrics]
    except TypeError:
        pairs = [("", metrics)]
    found: dict[str, Any] = {}
    for label, given in pairs:
        metric: Any
        metric = names.get(given) if isinstance(given, str) else given
        if not _takes_one(metric):
            known = f", or one of {', '.join(names)}"
            known = known if names else ", such as ms.metrics.nash_conv"
            raise ValueError(
                f"{given!r} is no metric: give a function of the solver{known}."
            )
        if not isinstance(label, str) or not label or set(label) & set(',"\r\n'):
            raise ValueError(
                f"{label!r} cannot name a column: use a word without commas, quotation "
                "marks and line ends."
            )
        if label in found:
            raise ValueError(
                f"Two metrics are called {label!r}. Give them labels, as "
                "metrics={'one': ..., 'other': ...}."
            )
        found[label] = metric
    return found


def _takes_one(function: Any) -> bool:
    """Whether a function can be called with a solver as its only argument.

    Functions of a game and a policy, such as `ms.nash_conv`, are refused by the name of
    their first parameter.
    """
    try:
        signature = inspect.signature(function)
        if next(iter(signature.parameters), "") == "game":
            return False
        signature.bind(None)
    except ValueError:  # it is built in, and does not say
        return True
    except TypeError:  # or it is no function
        return False
    return True


def _name_of(metric: str | Metric) -> str:
    if isinstance(metric, str):
        return metric
    return getattr(metric, "__name__", type(metric).__name__)


def row_of(solver: Any, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    """A row: where a solver is, and what metrics with labels say of it."""
    return {
        "iteration": solver.num_iterations,
        "nodes_touched": solver.nodes_touched,
        "seconds": round(solver.seconds, 6),
        **{label: _measured(label, one, solver) for label, one in metrics.items()},
    }


def _measured(label: str, metric: Metric, solver: Any) -> float:
    """The number that a metric gives of a solver.

    Raises:
        ValueError: it gives something else.
    """
    value = metric(solver)
    try:
        return float(value)
    except (TypeError, ValueError):
        how = f" Give what {label}(...) returns." * callable(value)
        raise ValueError(
            f"The metric {label!r} returned {value!r}, which is no number.{how}"
        ) from None
