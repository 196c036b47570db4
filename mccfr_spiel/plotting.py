"""Result files -> figures; the only user of matplotlib (the extra `plot`)."""

import csv
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

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
