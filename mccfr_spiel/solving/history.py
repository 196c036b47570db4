"""The rows that `Solver.run` records, and the metrics in them.

A metric is a function of a solver, such as `ms.metrics.nash_conv`.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.infosets.string_checks import (
    pot_of,
)
from mccfr_spiel.common.display import html_table, text_table

Metric = Callable[[Any], float]
"""A function of a solver that returns a number."""

Given = str | Metric | Iterable[str | Metric] | Mapping[str, Metric]
"""The types of the argument `metrics`: a metric or its name, several of these, or a
mapping label -> metric."""


class History(list[dict[str, Any]]):
    """The rows that `Solver.run` has recorded, in order.

    Each row is a dictionary with the keys iteration, nodes_touched, seconds and the
    labels of the metrics. `pandas.DataFrame(solver.history)` converts the rows. The
    repr is a table.
    """

    def __repr__(self) -> str:
        if not self:
            return "History of no rows"
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        """The table for notebooks."""
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
    """Returns a metric: exploitability of the average policy in percent of the pot.

    The pot is that at the start of the game.

    Raises:
        ValueError: the game has no pot at its start.
    """
    pot = pot_of(game)
    if not pot > 0:
        raise ValueError(
            f"{game} starts without a pot, unlike subgames of poker. Use "
            "num_iterations instead."
        )

    def measure(solver: Any) -> float:
        own = own_nash_conv(solver)
        if own is None:
            passes = full_pass(solver.tree, solver.threads)
            own = passes.nash_conv(solver.average_vector())
        return 50 * own / pot

    return measure


def own_nash_conv(solver: Any, *, is_current: bool = False) -> float | None:
    """NashConv of the average policy, or of the current one, if the solver evaluates
    its own tables; otherwise None."""
    state = getattr(solver, "state", None)
    returns = None if state is None else state.returns(is_current=is_current)
    if returns is None:
        return None
    on_policy, best = returns
    return float(np.maximum(best - on_policy, 0.0).sum())


def labelled(metrics: Given, names: Mapping[str, Metric]) -> dict[str, Metric]:
    """Converts the `metrics` argument to label -> metric.

    Args:
        metrics: see `Given`. Without a mapping, the label of a metric is its name.
        names: name -> metric, for metrics that may be given by name.

    Raises:
        ValueError: a name is unknown, two labels are equal, a label is unsuitable for
            CSV files, or an element is not a function of a solver.
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
    by_label: dict[str, Any] = {}
    for label, given in pairs:
        metric: Any
        metric = names.get(given) if isinstance(given, str) else given
        if not _takes_one(metric):
            known = f", or one of {', '.join(names)}"
            known = known if names else ", such as ms.metrics.nash_conv"
            raise ValueError(
                f"Metric {given!r} must be a function of the solver{known}."
            )
        if not isinstance(label, str) or not label or set(label) & set(',"\r\n'):
            raise ValueError(
                f"Metric label {label!r} must be a word without commas, quotation "
                "marks and line ends."
            )
        if label in by_label:
            raise ValueError(
                f"Two metrics have the label {label!r}. Use different labels: "
                "metrics={'first': ..., 'second': ...}."
            )
        by_label[label] = metric
    return by_label


def _takes_one(function: Any) -> bool:
    """Whether a value is a function that accepts a solver as its only argument.

    A function whose first parameter is called `game`, such as `ms.nash_conv`, is
    rejected, because it expects a game and a policy.
    """
    try:
        signature = inspect.signature(function)
        if next(iter(signature.parameters), "") == "game":
            return False
        signature.bind(None)
    except ValueError:  # some built-in functions lack a signature
        return True
    except TypeError:  # not a function
        return False
    return True


def _name_of(metric: str | Metric) -> str:
    if isinstance(metric, str):
        return metric
    return getattr(metric, "__name__", type(metric).__name__)


def prepare(solver: Any, metrics: Mapping[str, Metric]) -> None:
    """Prepares a solver for metrics that need data of all iterations.

    Such a metric has a method `prepare(solver)`.

    Raises:
        ValueError: the solver cannot collect the data, or has already begun.
    """
    for metric in metrics.values():
        prepare_solver = getattr(metric, "prepare", None)
        if prepare_solver is not None:
            prepare_solver(solver)


def row_of(solver: Any, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    """Returns a row: the counters of a solver, and label -> value of the metrics."""
    return {
        "iteration": solver.num_iterations,
        "nodes_touched": solver.nodes_touched,
        "seconds": round(solver.seconds, 6),
        **{
            label: _measured(label, metric, solver) for label, metric in metrics.items()
        },
    }


def _measured(label: str, metric: Metric, solver: Any) -> float:
    """The value of a metric for a solver.

    Raises:
        ValueError: the metric did not return a number.
    """
    value = metric(solver)
    try:
        return float(value)
    except (TypeError, ValueError):
        hint = f" Did you mean the result of {label}(...)?" * callable(value)
        raise ValueError(
            f"The metric {label!r} returned {value!r}, expected a number.{hint}"
        ) from None
