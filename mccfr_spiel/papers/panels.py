"""Experiments of many panels: settings that become a sweep, a summary and a figure.

An experiment is panels of curves; a curve is a setting that is run with some seeds.
`sweep` makes the table that experiments/sweeps.py runs, `summarize` makes one CSV file
of its results, and experiments/plotting.py draws from that file alone.
"""

import math
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.results_folder import read_table, write_rows
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
