"""Experiments of many panels: settings -> sweep -> summary -> figures.

| function | input | output |
|---|---|---|
| `sweep` | an experiment | the table of settings that `sweeps.run_sweep` runs |
| `summarize` | the folder of the sweep | summary.csv, the means over seeds |
| `save_experiment` | summary.csv | figures (needs matplotlib) |

The experiments of the papers are in `papers.py`.
"""

import math
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common import refusals
from mccfr_spiel.common.csv_files import CsvTable, read_table, write_rows
from mccfr_spiel.experiments.runs import COLUMNS, aligned, row_dues
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.experiments.sweeps import key, keyed

SUMMARY = "summary.csv"
"""The file of a summary. A row has the means over seeds, and the standard deviation of
NashConv, of the first rows that reached `due` iterations (or nodes touched)."""


class Curve(NamedTuple):
    """A setting of an experiment.

    Attributes:
        label: label in the legend and part of the file names.
        settings: the run. Its seed is replaced by the seeds of the experiment.
        family: name of a group of curves, of which the figure shows only the best; ""
            for a curve that is always shown.
    """

    label: str
    settings: Settings
    family: str = ""


class Panel(NamedTuple):
    """Curves on one game.

    Attributes:
        title: title of the panel and part of the file names.
        curves: curves in the order of the legend.
        num_nodes: number of nodes of the game tree, which is the cost of one gradient
            evaluation in nodes touched.
    """

    title: str
    curves: tuple[Curve, ...]
    num_nodes: int


class Experiment(NamedTuple):
    """Panels that are run and drawn together.

    Attributes:
        panels: panels in the order of the figure.
        axes: horizontal axes, (column, "linear" or "log"); each panel is drawn once per
            axis.
        seeds: default number of runs of each curve.
    """

    panels: tuple[Panel, ...]
    axes: tuple[tuple[str, str], ...] = (("nodes_touched", "log"),)
    seeds: int = 1


def sweep(
    experiment: Experiment, *, seeds: int | None = None, only: str = ""
) -> dict[str, Settings]:
    """Makes the sweep of an experiment, key -> settings, seed by seed.

    Args:
        experiment: the experiment.
        seeds: number of seeds, counted from 0; by default `experiment.seeds`.
        only: keep only keys that contain this text, such as the name of a game.

    Raises:
        ValueError: no key contains `only`, or two curves have the same key.
    """
    seeds = experiment.seeds if seeds is None else refusals.integer(seeds, "seeds", 1)
    table = keyed(
        (panel.title, curve.label, curve.settings._replace(seed=seed))
        for seed in range(seeds)
        for panel in experiment.panels
        for curve in panel.curves
    )
    chosen = {name: settings for name, settings in table.items() if only in name}
    if not chosen:
        names = sorted({name.rpartition("_s")[0] for name in table})
        raise ValueError(
            f"only={only!r} matches no setting. Expected a part of {', '.join(names)}."
        )
    return chosen


# --- files of a sweep -> summary ------------------------------------------


def summarize(experiment: Experiment, folder: pathlib.Path) -> pathlib.Path:
    """Writes the means over the finished runs in a sweep's folder; returns the path."""
    path = folder / SUMMARY
    curves = ((panel, curve) for panel in experiment.panels for curve in panel.curves)
    write_rows(path, [row for pair in curves for row in _means(*pair, folder)])
    return path


def _means(
    panel: Panel, curve: Curve, folder: pathlib.Path
) -> Iterator[dict[str, Any]]:
    """Yields the means of a curve over its seeds, at each due number.

    Each seed contributes its first row that reached the due number, even if this row
    has passed several due numbers. A seed that ended before is left out; the column
    `seeds` counts the others.
    """
    pattern = re.compile(re.escape(key(panel.title, curve.label, 0)[:-1]) + r"\d+\.csv")
    files = [path for path in folder.iterdir() if pattern.fullmatch(path.name)]
    tables = [read_table(path).numbers() for path in sorted(files)]
    column = curve.settings.progress_column
    reached = [table[column] for table in tables]
    for due, indices in aligned(reached, row_dues(curve.settings)):
        pairs = zip(tables, indices, strict=True)
        rows = [(table, i) for table, i in pairs if i < len(table[column])]
        if not rows:
            return
        means = {
            name: np.mean([t[name][i] if name in t else math.nan for t, i in rows])
            for name in COLUMNS
            if name not in ("due", "exploitability")
        }
        gaps = [table["nash_conv"][i] for table, i in rows]
        yield {
            "panel": panel.title,
            "curve": curve.label,
            "family": curve.family,
            "seeds": len(rows),
            "due": due,
            "gradient_evaluations": means["nodes_touched"] / panel.num_nodes,
            "nash_conv_std": np.std(gaps, ddof=1) if len(gaps) > 1 else 0.0,
        } | {name: "" if math.isnan(mean) else mean for name, mean in means.items()}


# --- summary -> figures ---------------------------------------------------


def read_summary(path: pathlib.Path) -> dict[str, dict[str, list[dict[str, str]]]]:
    """Reads a summary as panel -> curve -> rows."""
    panels: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in read_table(path).rows:
        panels.setdefault(row["panel"], {}).setdefault(row["curve"], []).append(row)
    return panels


def best_of_families(
    curves: Mapping[str, list[dict[str, str]]],
) -> dict[str, list[dict[str, str]]]:
    """Selects the curves without a family, and in each family the lowest at its end."""
    best: dict[str, str] = {}
    for label, rows in curves.items():
        family = rows[-1]["family"] or label
        if family not in best or _end(rows) < _end(curves[best[family]]):
            best[family] = label
    return {label: curves[label] for label in best.values()}


def _end(rows: list[dict[str, str]]) -> float:
    return float(_of_all_seeds(rows)[-1]["nash_conv"] or "nan")


def _of_all_seeds(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows with all seeds of the curve. Where seeds have ended, the mean of the
    remaining seeds would jump."""
    num_seeds = max(int(row["seeds"]) for row in rows)
    return [row for row in rows if int(row["seeds"]) == num_seeds]


def _line(rows: list[dict[str, str]]) -> dict[str, Any]:
    """The fields of a curve's `plotting.Line`.

    A curve with a single row, such as a linear program, is a vertical line at its
    seconds.
    """
    names = set(rows[0]) - {"panel", "curve", "family"}
    columns = CsvTable(_of_all_seeds(rows), sorted(names)).numbers()
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
    """Draws an experiment into the folder of its summary: figure.png and figure.svg.

    A figure shows the mean NashConv with a band of one standard deviation. A curve ends
    where its first seed ends. With one horizontal axis, panels are wrapped into rows;
    with several, each panel is a row with one column per axis. If curves have families,
    the figure shows the best curve of each, and appendix.png and appendix.svg show all.

    Args:
        experiment: the experiment.
        summary: path from `summarize`.
        formats: file formats, see `run_files.FORMATS`.
    """
    from mccfr_spiel.experiments.figure_styles import (
        save_figure,
    )
    from mccfr_spiel.experiments.plotting import (
        Line,
        lines_figure,
    )

    names = {"figure": True}
    if any(curve.family for panel in experiment.panels for curve in panel.curves):
        names["appendix"] = False
    for name, best_only in names.items():
        lines: dict[str, dict[str, Line]] = {}
        for title, curves in read_summary(summary).items():
            chosen = best_of_families(curves) if best_only else curves
            # A family looks alike in all panels, whichever curve is the best.
            lines[title] = {
                label: Line(**_line(rows), kind=rows[-1]["family"] if best_only else "")
                for label, rows in chosen.items()
            }
        figure = lines_figure(lines, experiment.axes)
        for ending in formats:
            save_figure(figure, summary.with_name(f"{name}.{ending}"))
