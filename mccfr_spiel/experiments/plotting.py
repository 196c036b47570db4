"""Result files -> figures. Only this module imports matplotlib (the extra `plot`)."""

import os
import pathlib
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from mccfr_spiel.experiments.panels import Experiment
from mccfr_spiel.storage.results_folder import RESULTS
from mccfr_spiel.storage.row_file import read_whole_table

_TITLE_WIDTH = 60
"""Characters of a title that fit on one line of a figure."""

_LABELS = {
    "iteration": "iterations",
    "nodes_touched": "nodes touched",
    "seconds": "seconds",
    "nash_conv": "NashConv",
    "exploitability": "exploitability",
    "last_nash_conv": "NashConv of the current policy",
}


def read_columns(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """The columns of a results.csv, or of the one in a folder; an empty field is nan.

    Raises:
        ValueError: the file is not a table of numbers.
        OSError: it cannot be read.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / RESULTS
    try:
        return _columns(path)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a table of numbers, as the {RESULTS} of a run is: {error}"
        ) from error


def _columns(path: pathlib.Path) -> dict[str, list[float]]:
    rows, _, names = read_whole_table(path)
    return {name: [float(row[name] or "nan") for row in rows] for name in names}


def convergence_figure(
    results: Mapping[str, str | os.PathLike[str]],
    *,
    x: str = "nodes_touched",
    y: str = "nash_conv",
    title: str = "",
) -> Figure:
    """A line for each result file on logarithmic axes, a dashed one for its bounds, and
    a dotted one for its current policy, if that was measured.

    Args:
        results: label -> path of a results.csv, or of the folder that has it.
        x, y: the columns on the axes. Bounds, which are on NashConv, and the current
            policy's NashConv are drawn with NashConv only.
        title: above the axes; a long one is broken into lines.

    Raises:
        ValueError: a file is not a table of numbers, or lacks one of the columns.
        OSError: a file cannot be read.
    """
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes: Any = figure.add_subplot()
    for label, path in results.items():
        columns = read_columns(path)
        for name in (x, y):
            if name not in columns:
                raise ValueError(
                    f"{path} has no column {name!r}; it has {', '.join(columns)}."
                )
        # An exact equilibrium has NashConv 0, which a logarithmic axis cannot show.
        points = [(a, b) for a, b in zip(columns[x], columns[y], strict=True) if b > 0]
        if points:
            axes.plot(*zip(*points, strict=True), marker=".", label=label)
        lasts = columns.get("last_nash_conv", ()) if y == "nash_conv" else ()
        ends = [(a, b) for a, b in zip(columns[x], lasts, strict=False) if b > 0]
        if ends:
            axes.plot(*zip(*ends, strict=True), ":", label=f"current policy of {label}")
        limits = columns.get("bound", ()) if y == "nash_conv" else ()
        bounds = [*zip(columns[x], limits, strict=False)]
        bounds = [(a, b) for a, b in bounds if b > 0]  # nan, no bound, is not above 0
        if bounds:
            axes.plot(*zip(*bounds, strict=True), "--", label=f"bound of {label}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(_LABELS.get(x, x))
    axes.set_ylabel(_LABELS.get(y, y))
    axes.set_title("\n".join(textwrap.wrap(title, _TITLE_WIDTH)))
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
    """The panels of an experiment: mean NashConv with a band of one standard deviation.

    A curve of a single row, such as that of a linear program, is drawn as a vertical
    line at its seconds. A curve ends where the first of its seeds ends.

    Args:
        summary: from `panels.summarize`.
        horizontal: the horizontal axis of each row of panels, (column, "linear" or
            "log").
        best_only: whether to draw only the curve that ends lowest of each family in a
            panel.
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
    """The rows of a summary as panel -> curve -> rows."""
    panels: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in read_whole_table(pathlib.Path(path)).rows:
        panels.setdefault(row["panel"], {}).setdefault(row["curve"], []).append(row)
    return panels


def best_of_families(
    curves: Mapping[str, list[dict[str, str]]],
) -> dict[str, list[dict[str, str]]]:
    """The curves without a family, and the one of each family that ends lowest."""
    best: dict[str, str] = {}
    for label, rows in curves.items():
        family = rows[-1]["family"] or label
        if family not in best or _end(rows) < _end(curves[best[family]]):
            best[family] = label
    return {label: curves[label] for label in best.values()}


def _end(rows: list[dict[str, str]]) -> float:
    return float(_of_all_seeds(rows)[-1]["nash_conv"] or "nan")


def _of_all_seeds(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows that are means over all seeds of the curve. Where some seeds have ended,
    the mean of the others would seem to jump."""
    most = max(int(row["seeds"]) for row in rows)
    return [row for row in rows if int(row["seeds"]) == most]


def _draw(
    axes: Any, label: str, rows: list[dict[str, str]], x: str, number: int
) -> None:
    rows = _of_all_seeds(rows)

    def column(name: str) -> np.ndarray:
        return np.array([float(row[name] or "nan") for row in rows])

    across, mean, spread = column(x), column("nash_conv"), column("nash_conv_std")
    drawn = mean > 0  # a logarithmic axis cannot show 0
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

    If it has families of curves, appendix.png and appendix.svg show all of them.
    """
    names = {"figure": True}
    if any(curve.family for panel in experiment.panels for curve in panel.curves):
        names["appendix"] = False
    for name, best_only in names.items():
        figure = experiment_figure(summary, experiment.axes, best_only=best_only)
        path = summary.with_name(name)
        figure.savefig(path.with_suffix(".png"), dpi=150, facecolor="white")
        # With a fixed salt and no date, the same figure is the same file.
        with rc_context({"svg.hashsalt": name}):
            figure.savefig(
                path.with_suffix(".svg"), facecolor="white", metadata={"Date": None}
            )
