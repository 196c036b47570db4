"""Experiments of many panels: settings that become a sweep, a summary and figures.

An experiment is panels of curves; a curve is a setting that is run with some seeds.
`sweep` makes the table that experiments/sweeps.py runs, `summarize` makes one CSV file
of its results, and `save_experiment` draws from that file alone, for which alone it
needs matplotlib.
"""

import math
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.folders import Table, read_table, write_rows
from mccfr_spiel.experiments.runs import COLUMNS, aligned, row_dues
from mccfr_spiel.experiments.settings import Settings, measure
from mccfr_spiel.experiments.sweeps import key, keyed

SUMMARY = "summary.csv"
"""The file of a summary. A row has means over seeds, and the standard deviation of
NashConv, at the point where each seed has reached `due` iterations (or nodes touched,
if the settings go by those)."""


class Curve(NamedTuple):
    """A setting of an experiment.

    Attributes:
        label: of the curve in the legend; it also names the files.
        settings: what is run. The seed is replaced by each of the experiment's.
        family: the figure shows only the best curve of each family; a curve without
            family is always shown.
    """

    label: str
    settings: Settings
    family: str = ""


class Panel(NamedTuple):
    """Curves on one game.

    Attributes:
        title: of the game in the figure; it also names the files.
        curves: in the order of the legend.
        num_nodes: the nodes of the game's tree, each of which a gradient evaluation
            touches once.
    """

    title: str
    curves: tuple[Curve, ...]
    num_nodes: int


class Experiment(NamedTuple):
    """An experiment of a paper, or one of ours.

    Attributes:
        panels: in the order of the figure.
        axes: the horizontal axes, (column, "linear" or "log"), of each row of panels.
        seeds: how many runs each curve is the mean of, unless the user says otherwise.
    """

    panels: tuple[Panel, ...]
    axes: tuple[tuple[str, str], ...] = (("nodes_touched", "log"),)
    seeds: int = 1


def sweep(
    experiment: Experiment, *, seeds: int | None = None, only: str = ""
) -> dict[str, Settings]:
    """The sweep of an experiment as a table key -> settings, seed by seed.

    Args:
        experiment: what is run.
        seeds: how many seeds, from 0 on; None for as many as the experiment has.
        only: keep only the keys that contain this, such as a game's name.

    Raises:
        ValueError: no key has `only` in it, or two curves have the same key.
    """
    if seeds is not None and seeds < 1:
        raise ValueError(f"seeds={seeds} is not at least 1.")
    table = keyed(
        (panel.title, curve.label, curve.settings._replace(seed=seed))
        for seed in range(seeds or experiment.seeds)
        for panel in experiment.panels
        for curve in panel.curves
    )
    chosen = {name: one for name, one in table.items() if only in name}
    if not chosen:
        names = sorted({name.rpartition("_s")[0] for name in table})
        raise ValueError(f"only={only!r} is part of none of {', '.join(names)}.")
    return chosen


def summarize(experiment: Experiment, folder: pathlib.Path) -> pathlib.Path:
    """Writes the means over the finished runs in a sweep's folder; returns the path."""
    path = folder / SUMMARY
    curves = ((panel, curve) for panel in experiment.panels for curve in panel.curves)
    write_rows(path, [row for pair in curves for row in _means(*pair, folder)])
    return path


def _means(
    panel: Panel, curve: Curve, folder: pathlib.Path
) -> Iterator[dict[str, Any]]:
    """The means of a curve over its seeds, at each number of iterations (or of nodes
    touched) at which a row was due.

    Each seed contributes its row of the first iteration that reached the number. That
    is the same rule for every seed, even where one iteration has passed several numbers
    and left one row for all of them. A seed that ended earlier is left out; the column
    `seeds` says how many are in.
    """
    pattern = re.compile(re.escape(key(panel.title, curve.label, 0)[:-1]) + r"\d+\.csv")
    files = [path for path in folder.iterdir() if pattern.fullmatch(path.name)]
    tables = [read_table(path).numbers() for path in sorted(files)]
    column = measure(curve.settings)
    reached = [table[column] for table in tables]
    for due, at in aligned(reached, row_dues(curve.settings)):
        rows = [
            {name: values[i] for name, values in table.items()}
            for table, i in zip(tables, at, strict=True)
            if i < len(table[column])
        ]
        if not rows:
            return
        means = {
            name: np.mean([row.get(name, math.nan) for row in rows])
            for name in COLUMNS
            if name not in ("due", "exploitability")
        }
        gaps = [row["nash_conv"] for row in rows]
        yield {
            "panel": panel.title,
            "curve": curve.label,
            "family": curve.family,
            "seeds": len(rows),
            "due": due,
            "gradient_evaluations": means["nodes_touched"] / panel.num_nodes,
            "nash_conv_std": np.std(gaps, ddof=1) if len(gaps) > 1 else 0.0,
        } | {name: "" if math.isnan(one) else one for name, one in means.items()}


# --- a summary -> its figures ---------------------------------------------------


def read_summary(path: pathlib.Path) -> dict[str, dict[str, list[dict[str, str]]]]:
    """The rows of a summary as panel -> curve -> rows."""
    panels: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in read_table(path).rows:
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


def _line(rows: list[dict[str, str]]) -> dict[str, Any]:
    """The fields of a curve's `plotting.Line`. A curve of a single row, such as that of
    a linear program, is a vertical line at its seconds."""
    names = set(rows[0]) - {"panel", "curve", "family"}
    columns = Table(_of_all_seeds(rows), sorted(names)).numbers()
    if len(rows) == 1:
        return {"across": {"seconds": columns["seconds"]}, "up": np.zeros(0)}
    up, spread = columns["nash_conv"], columns["nash_conv_std"]
    ends = {"low": up - spread, "high": up + spread}
    return {"across": columns, "up": up, "beside": {"bound": columns["bound"]}} | ends


def save_experiment(
    experiment: Experiment,
    summary: pathlib.Path,
    *,
    formats: Sequence[str] = ("png", "svg"),
) -> None:
    """Draws an experiment beside its summary: figure.png and figure.svg.

    They show mean NashConv with a band of one standard deviation; a curve ends where
    the first of its seeds ends. With one horizontal axis the panels are wrapped into
    rows. With several, each panel has a row of its own, with a column for each axis. Of
    each family of curves a panel has the one that ends lowest; if there are families,
    appendix.png and appendix.svg show all of them.

    Args:
        experiment: what is drawn.
        summary: from `summarize`.
        formats: of the files, see `plotting.FORMATS`.
    """
    from mccfr_spiel.experiments.plotting import Line, lines_figure, save_figure

    names = {"figure": True}
    if any(curve.family for panel in experiment.panels for curve in panel.curves):
        names["appendix"] = False
    for name, best_only in names.items():
        lines: dict[str, dict[str, Line]] = {}
        for title, curves in read_summary(summary).items():
            chosen = best_of_families(curves) if best_only else curves
            # A family has one look in all panels, whichever curve of it is drawn there.
            lines[title] = {
                label: Line(**_line(rows), kind=rows[-1]["family"] if best_only else "")
                for label, rows in chosen.items()
            }
        figure = lines_figure(lines, experiment.axes)
        for ending in formats:
            save_figure(figure, summary.with_name(f"{name}.{ending}"))
