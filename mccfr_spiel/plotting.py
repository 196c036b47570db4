"""Result files -> figures; the only user of matplotlib (the extra `plot`)."""

import csv
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from mccfr_spiel.reproduction import Experiment

_LABELS = {
    "iteration": "iterations",
    "nodes_touched": "nodes touched",
    "seconds": "seconds",
    "nash_conv": "NashConv",
    "exploitability": "exploitability",
}


def read_columns(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """The columns of a results.csv; an empty field is nan."""
    with pathlib.Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        table = list(reader)
        names = list(reader.fieldnames or ())
    return {name: [float(row[name] or "nan") for row in table] for name in names}


def convergence_figure(
    results: Mapping[str, str | os.PathLike[str]],
    *,
    x: str = "nodes_touched",
    y: str = "nash_conv",
    title: str = "",
) -> Figure:
    """One line for each result file, and one for its bounds; logarithmic axes.

    Args:
        results: label -> path of a results.csv.
        x, y: the columns on the axes.
        title: above the axes.
    """
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes: Any = figure.add_subplot()
    for label, path in results.items():
        columns = read_columns(path)
        # A logarithmic axis has no place for 0, an exact equilibrium.
        points = [(a, b) for a, b in zip(columns[x], columns[y], strict=True) if b > 0]
        if points:
            axes.plot(*zip(*points, strict=True), marker=".", label=label)
        bounds = [*zip(columns[x], columns.get("bound", ()), strict=False)]
        bounds = [(a, b) for a, b in bounds if b > 0]  # nan is not
        if bounds:
            axes.plot(*zip(*bounds, strict=True), "--", label=f"bound of {label}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(_LABELS.get(x, x))
    axes.set_ylabel(_LABELS.get(y, y))
    axes.set_title(title)
    axes.grid(which="both", alpha=0.3)
    if axes.lines:
        axes.legend()
    return figure


def save_convergence(
    results: Mapping[str, str | os.PathLike[str]],
    picture: str | os.PathLike[str],
    *,
    title: str = "",
) -> None:
    """Draws NashConv over nodes touched into a picture file."""
    convergence_figure(results, title=title).savefig(picture, dpi=150)


# --- experiments of many panels ------------------------------------------------

_DASHES = ("-", "--", "-.", ":")
_AXES = {
    "iteration": "iterations",
    "nodes_touched": "nodes touched",
    "gradient_evaluations": "gradient evaluations",
    "seconds": "seconds",
}


def experiment_figure(
    summary: str | os.PathLike[str],
    horizontal: Sequence[tuple[str, str]],
    *,
    best_only: bool = True,
) -> Figure:
    """The panels of an experiment: mean NashConv, a band of one standard deviation.

    A curve of a single row, such as a linear program's, is a vertical line at its
    seconds.

    Args:
        summary: from `reproduction.summarize`.
        horizontal: the axes of each row of panels, (column, "linear" or "log").
        best_only: of each family of curves in a panel, draw only the one that ends
            lowest.
    """
    panels = read_summary(summary)
    columns = len(panels)
    size = 3.6 * columns, 3.4 * len(horizontal)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(horizontal), columns, squeeze=False)
    for (x, scale), row in zip(horizontal, grid, strict=True):
        for axes, (title, curves) in zip(row, panels.items(), strict=True):
            chosen = best_of_families(curves) if best_only else curves
            for number, (label, curve) in enumerate(chosen.items()):
                _draw(axes, label, curve, x, number)
            axes.set_xscale(scale)
            axes.set_yscale("log")
            axes.set_title(title)
            axes.set_xlabel(_AXES[x])
            axes.grid(which="major", alpha=0.3)
            if chosen:
                axes.legend(fontsize=7)
        row[0].set_ylabel("NashConv")
    return figure


def read_summary(
    path: str | os.PathLike[str],
) -> dict[str, dict[str, list[dict[str, str]]]]:
    """Panel -> curve -> rows of a summary."""
    panels: dict[str, dict[str, list[dict[str, str]]]] = {}
    with pathlib.Path(path).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            panels.setdefault(row["panel"], {}).setdefault(row["curve"], []).append(row)
    return panels


def best_of_families(
    curves: Mapping[str, list[dict[str, str]]],
) -> dict[str, list[dict[str, str]]]:
    """Those without a family, and of each family the one that ends lowest."""
    best: dict[str, str] = {}
    for label, rows in curves.items():
        family = rows[-1]["family"] or label
        if family not in best or _end(rows) < _end(curves[best[family]]):
            best[family] = label
    return {label: curves[label] for label in best.values()}


def _end(rows: list[dict[str, str]]) -> float:
    return float(rows[-1]["nash_conv"])


def _draw(
    axes: Any, label: str, rows: list[dict[str, str]], x: str, number: int
) -> None:
    def column(name: str) -> np.ndarray:
        return np.array([float(row[name] or "nan") for row in rows])

    across, mean, spread = column(x), column("nash_conv"), column("nash_conv_std")
    drawn = mean > 0  # a logarithmic axis has no place for 0
    across, mean, spread = across[drawn], mean[drawn], spread[drawn]
    color, dash = f"C{number % 10}", _DASHES[number % len(_DASHES)]
    if len(rows) == 1:
        if x == "seconds":
            axes.axvline(column(x)[0], color=color, lw=1, label=label)
        return
    axes.plot(across, mean, color=color, linestyle=dash, label=label)
    if spread.any():
        low = np.maximum(mean - spread, mean / 10)
        axes.fill_between(across, low, mean + spread, color=color, alpha=0.2, lw=0)
    bound = column("bound")[drawn]
    if (bound > 0).any():
        axes.plot(across, bound, color=color, linestyle=":", lw=1, alpha=0.7)


def save_experiment(experiment: Experiment, summary: pathlib.Path) -> None:
    """Draws an experiment beside its summary: figure.png and figure.svg.

    Where it has families of curves, all of them are in appendix.png and appendix.svg.
    """
    names = {"figure": True}
    if any(curve.family for panel in experiment.panels for curve in panel.curves):
        names["appendix"] = False
    for name, best_only in names.items():
        figure = experiment_figure(summary, experiment.axes, best_only=best_only)
        path = summary.with_name(name)
        figure.savefig(path.with_suffix(".png"), dpi=150, facecolor="white")
        with rc_context({"svg.hashsalt": name}):  # else the same figure differs
            figure.savefig(
                path.with_suffix(".svg"), facecolor="white", metadata={"Date": None}
            )
