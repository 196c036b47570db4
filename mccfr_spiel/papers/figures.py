"""The summary of an experiment -> its figures; needs matplotlib."""

import os
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from mccfr_spiel.common.results_folder import Table, read_table
from mccfr_spiel.experiments.plotting import Line, lines_figure, save_figure
from mccfr_spiel.papers.panels import Experiment


def experiment_figure(
    summary: str | os.PathLike[str],
    horizontal: Sequence[tuple[str, str]],
    *,
    best_only: bool = True,
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
    """
    lines = {}
    for title, curves in read_summary(summary).items():
        chosen = best_of_families(curves) if best_only else curves
        # A family has one look in all panels, whichever of its curves is drawn there.
        lines[title] = {
            label: _line(rows, rows[-1]["family"] if best_only else label)
            for label, rows in chosen.items()
        }
    return lines_figure(lines, horizontal)


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


def _line(rows: list[dict[str, str]], kind: str) -> Line:
    names = set(rows[0]) - {"panel", "curve", "family"}
    columns = Table(_of_all_seeds(rows), sorted(names)).numbers()
    if len(rows) == 1:
        return Line({"seconds": columns["seconds"]}, np.zeros(0), kind=kind)
    up, spread = columns["nash_conv"], columns["nash_conv_std"]
    beside = {"bound": columns["bound"]}
    return Line(columns, up, up - spread, up + spread, beside, kind)


def save_experiment(
    experiment: Experiment,
    summary: pathlib.Path,
    *,
    formats: Sequence[str] = ("png", "svg"),
) -> None:
    """Draws an experiment beside its summary: figure.png and figure.svg.

    If it has families of curves, appendix.png and appendix.svg show all of them.

    Args:
        experiment: what is drawn.
        summary: from `panels.summarize`.
        formats: of the files, see `plotting.FORMATS`.
    """
    names = {"figure": True}
    if any(curve.family for panel in experiment.panels for curve in panel.curves):
        names["appendix"] = False
    for name, best_only in names.items():
        figure = experiment_figure(summary, experiment.axes, best_only=best_only)
        for ending in formats:
            save_figure(figure, summary.with_name(f"{name}.{ending}"))
