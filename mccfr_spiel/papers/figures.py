"""The summary of an experiment -> its figures; needs matplotlib."""

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mccfr_spiel.experiments.plotting import (
    LABELS,
    Look,
    add_legends,
    draw_beside,
    draw_curve,
    finish_axes,
    looks,
    panels,
    save_figure,
    styled,
    wrapped,
)
from mccfr_spiel.papers.panels import Experiment
from mccfr_spiel.storage.results_folder import read_table


def experiment_figure(
    summary: str | os.PathLike[str],
    horizontal: Sequence[tuple[str, str]],
    *,
    best_only: bool = True,
    style: str = "paper",
) -> Figure:
    """The panels of an experiment: mean NashConv with a band of one standard deviation.

    With one horizontal axis the panels are wrapped into rows. With several, each panel
    has a row of its own, with a column for each axis. A curve of a single row, such as
    that of a linear program, is drawn as a vertical line at its seconds. A curve ends
    where the first of its seeds ends.

    Args:
        summary: from `panels.summarize`.
        horizontal: the horizontal axes, (column, "linear" or "log").
        best_only: whether to draw only the curve that ends lowest of each family in a
            panel.
        style: "paper" or "dark".
    """
    contents = read_summary(summary)
    shape = len(contents), len(horizontal)
    if len(horizontal) == 1:
        shape = wrapped(len(contents))
    with styled(style):
        figure, grid = panels(*shape, style)
        places = [(title, *axis) for title in contents for axis in horizontal]
        # A family has one look in all panels, whichever of its curves is drawn there.
        kinds = [
            kind_of(label, rows, best_only=best_only)
            for curves in contents.values()
            for label, rows in curves.items()
        ]
        look = looks(kinds, style)
        for axes, (title, x, scale) in zip(grid.flat, places, strict=False):
            curves = contents[title]
            chosen = best_of_families(curves) if best_only else curves
            for label, rows in chosen.items():
                kind = kind_of(label, rows, best_only=best_only)
                _draw(axes, label, look[kind], rows, x)
            axes.set_title(title)
            axes.set_xlabel(LABELS[x])
            finish_axes(axes, x_scale=scale)
        for axes in grid[:, 0]:
            axes.set_ylabel("NashConv")
        for axes in grid.flat[len(places) :]:
            axes.remove()
        add_legends(figure, grid.flat[: len(places)])
    return figure


def kind_of(label: str, rows: list[dict[str, str]], *, best_only: bool) -> str:
    """What tells a curve from others: its family where that has one curve, its label
    where all are drawn."""
    return (rows[-1]["family"] or label) if best_only else label


def read_summary(
    path: str | os.PathLike[str],
) -> dict[str, dict[str, list[dict[str, str]]]]:
    """The rows of a summary as panel -> curve -> rows."""
    panels: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in read_table(pathlib.Path(path)).rows:
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
    axes: Any, label: str, look: Look, rows: list[dict[str, str]], x: str
) -> None:
    rows = _of_all_seeds(rows)

    def column(name: str) -> np.ndarray:
        return np.array([float(row[name] or "nan") for row in rows])

    across, mean, spread = column(x), column("nash_conv"), column("nash_conv_std")
    drawn = mean > 0  # a logarithmic axis cannot show 0
    across, mean, spread = across[drawn], mean[drawn], spread[drawn]
    if len(rows) == 1:
        if x == "seconds":
            axes.axvline(column(x)[0], color=look.color, lw=1, label=label)
        return
    low = high = None
    if spread.any():
        low, high = np.maximum(mean - spread, mean / 10), mean + spread
    draw_curve(axes, label, look, across, mean, low, high)
    bound = column("bound")[drawn]
    draw_beside(axes, "bound", look, across[bound > 0], bound[bound > 0])


def save_experiment(
    experiment: Experiment,
    summary: pathlib.Path,
    *,
    formats: Sequence[str] = ("png", "svg"),
    style: str = "paper",
) -> None:
    """Draws an experiment beside its summary: figure.png and figure.svg.

    If it has families of curves, appendix.png and appendix.svg show all of them.

    Args:
        experiment: what is drawn.
        summary: from `panels.summarize`.
        formats: of the files, see `figure_style.FORMATS`.
        style: "paper" or "dark".
    """
    names = {"figure": True}
    if any(curve.family for panel in experiment.panels for curve in panel.curves):
        names["appendix"] = False
    for name, best_only in names.items():
        figure = experiment_figure(
            summary, experiment.axes, best_only=best_only, style=style
        )
        for ending in formats:
            save_figure(figure, summary.with_name(f"{name}.{ending}"))
