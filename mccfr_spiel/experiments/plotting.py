"""Results -> figures: lines with bands, convergence of runs, estimates by play.

The modules `plotting`, `figure_styles` and `comparison_table` import matplotlib (the
extra `plot`), so other modules import them only when they draw.
"""

import math
import os
import pathlib
import re
import textwrap
import types
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.style import context

from mccfr_spiel.algorithms import SCHEDULES
from mccfr_spiel.common import refusals
from mccfr_spiel.common.csv_files import (
    read_table,
)
from mccfr_spiel.experiments.algorithm_names import METHODS
from mccfr_spiel.experiments.figure_styles import (
    STYLES,
    WIDEST_ROW,
    Look,
    add_legends,
    looks,
    panels,
    save_figure,
)
from mccfr_spiel.solving.reading import (
    RESULTS,
)

_TITLE_WIDTH = 36
"""Characters per line of a panel's title; a single panel has longer lines."""

_ABBREVIATIONS = ("cfr", "egt", "lp", "lcfr", "dcfr", "pcfr", "pdcfr", "sapcfr")

LABELS = {
    "last_iterate": "NashConv of the last iterate",
    "head_to_head": "value against the opponent",
    "iteration": "iterations",
    "nodes_touched": "nodes touched",
    "nash_conv": "NashConv",
    "conditional_gap": "largest conditional gap",
    "mean_conditional_gap": "mean conditional gap",
}
"""Column -> label of the axis; other columns are labelled by name."""


_BESIDE = {"last_nash_conv": ("current policy", "--"), "bound": ("bound", ":")}
"""Columns drawn as thin lines -> (words in the legend, dashes)."""


class Line(NamedTuple):
    """A line of a panel. Arrays have one entry per point.

    Attributes:
        across: column -> coordinates on a horizontal axis with that column. Panels with
            another axis do not show the line.
        up: heights; empty for a vertical line at the first entry of `across`.
        low, high: ends of a band around the line, or None.
        beside: column in _BESIDE -> heights of a thin line in the same color.
        kind: lines of the same kind look alike in all panels; "" for the label.
    """

    across: Mapping[str, np.ndarray]
    up: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    beside: Mapping[str, np.ndarray] = types.MappingProxyType({})
    kind: str = ""


def lines_figure(
    contents: Mapping[str, Mapping[str, Line]],
    axes: Sequence[tuple[str, str]],
    y: str = "nash_conv",
    y_scale: str | None = "log",
    *,
    style: str = "paper",
) -> Figure:
    """Draws a panel for each title and axis, with a line for each label.

    Args:
        contents: title -> label -> line.
        axes: horizontal axes, (column, "log" or "linear"). With one axis, panels are
            wrapped into rows; with several, each title is a row.
        y: column on the vertical axis.
        y_scale: "log" or "linear"; None for "log" if all heights are positive and the
            largest is at least ten times the smallest.
        style: "paper" or "dark".

    Raises:
        ValueError: the style is unknown.
    """
    refusals.choice(style, "style", STYLES)
    with context(STYLES[style]):
        drawn = [pair for lines in contents.values() for pair in lines.items()]
        look = looks((line.kind or label for label, line in drawn), style)
        scale = y_scale or _scale_of(np.concatenate([line.up for _, line in drawn]))
        shape = count, columns = len(contents), len(axes)
        if columns == 1:
            columns = 2 if count in (2, 4) else min(count, WIDEST_ROW)
            shape = math.ceil(count / columns), columns
        figure, grid = panels(*shape, style)
        width = _TITLE_WIDTH if shape[1] > 1 else 5 * _TITLE_WIDTH // 3
        places = [(title, *axis) for title in contents for axis in axes]
        for panel, (title, x, x_scale) in zip(grid.flat, places, strict=False):
            for label, line in contents[title].items():
                if x in line.across:
                    kind = look[line.kind or label]
                    _draw(panel, legend_name(label), kind, line, x, (x_scale, scale))
            panel.set_title(_title(title, width))
            panel.set_xlabel(LABELS.get(x, x.replace("_", " ")))
            panel.set(xscale=x_scale, yscale=scale)
        for panel in grid[:, 0]:
            panel.set_ylabel(LABELS.get(y, y.replace("_", " ")))
        for panel in grid.flat[len(places) :]:
            panel.remove()
        add_legends(figure, grid.flat[: len(places)])
    return figure


def _draw(
    panel: Any, label: str, look: Look, line: Line, x: str, scales: tuple[str, str]
) -> None:
    """Draws a line with its band and thin lines.

    Points that an axis cannot show are skipped: an exact equilibrium has NashConv 0 on
    a logarithmic axis, and values that were not measured are nan.
    """
    across = line.across[x]
    if not len(line.up):
        if len(across):
            panel.axvline(across[0], color=look["color"], lw=1, label=label)
        return

    def shown(heights: np.ndarray) -> np.ndarray:
        can = np.isfinite(across) & np.isfinite(heights)
        for values, scale in zip((across, heights), scales, strict=True):
            can &= (values > 0) | (scale != "log")
        return can

    here = shown(line.up)
    dots = {"marker": "."} if here.sum() == 1 else {}  # a single point needs a marker
    if here.any():
        panel.plot(across[here], line.up[here], **look, **dots, label=label)
    if line.low is not None and line.high is not None and (line.high > line.low).any():
        low = line.low if scales[1] != "log" else np.maximum(line.low, line.up / 10)
        ends = low[here], line.high[here]
        panel.fill_between(across[here], *ends, color=look["color"], alpha=0.2, lw=0)
    for name, heights in line.beside.items():
        title, dashes = _BESIDE[name]
        if (here := shown(heights)).any():
            thin = {"color": look["color"], "lw": 0.8, "alpha": 0.8}
            name = f"{title} of {label}"
            panel.plot(across[here], heights[here], dashes, **thin, label=name)


def _title(text: str, width: int) -> str:
    """Breaks a title, such as a load string, into at most three lines after commas."""
    text = re.sub(",(?! )", ", ", text)
    return textwrap.fill(text, width, max_lines=3, placeholder=" ...")


def _scale_of(values: np.ndarray) -> str:
    values = values[np.isfinite(values)]
    is_log = len(values) and values.min() > 0 and values.max() >= 10 * values.min()
    return "log" if is_log else "linear"


def convergence_figure(
    results: Mapping[str, str | os.PathLike[str]],
    *,
    title: str = "",
    style: str = "paper",
) -> Figure:
    """Draws NashConv over nodes touched on logarithmic axes, a line per result file.

    Bounds are dotted, and the current policy is dashed, if they were measured.

    Args:
        results: label -> path of a results.csv, or of its folder.
        title: title; a long one is broken into lines.
        style: "paper" or "dark".

    Raises:
        ValueError: a file is not a table of numbers, or lacks a column.
        OSError: a file cannot be read.
    """
    lines = {}
    for label, path in results.items():
        file = pathlib.Path(path)
        if file.is_dir():
            file = file / RESULTS
        file.stat()
        try:
            columns = read_table(file).numbers()
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{file} is not a table of numbers, such as the {RESULTS} of a run: "
                f"{error}"
            ) from error
        for name in ("nodes_touched", "nash_conv"):
            if name not in columns:
                raise ValueError(
                    f"{path} lacks the column {name!r}, among {', '.join(columns)}."
                )
        beside = {name: columns[name] for name in _BESIDE if name in columns}
        lines[label] = Line(columns, columns["nash_conv"], beside=beside)
    return lines_figure({title: lines}, [("nodes_touched", "log")], style=style)


def save_estimates(
    result: Mapping[str, Any], picture: str | os.PathLike[str], title: str
) -> None:
    """Draws the estimates of `responses.evaluated_by_play` with their intervals.

    Args:
        result: the content of evaluation.json.
        picture: path of the file.
        title: title.
    """
    with context(STYLES["paper"]):
        figure, grid = panels(1, 1, "paper")
        axes, labels = grid.flat[0], []
        for player, estimates in enumerate(result["players"]):
            for name, estimate in estimates.items():
                if isinstance(estimate, dict):
                    mean, half = estimate["mean"], estimate["half_width"]
                    row = -len(labels)
                    axes.errorbar(mean, row, xerr=half, fmt="o", capsize=3)
                    labels.append(f"player {player}: {name.replace('_', ' ')}")
        axes.axvline(0.0, linewidth=0.8, color="gray")
        axes.set_yticks([-row for row in range(len(labels))], labels)
        axes.set_xlabel("return per play, 95% intervals")
        axes.set_title(_title(title, _TITLE_WIDTH))
        save_figure(figure, picture)


def legend_name(name: str) -> str:
    """The name of an algorithm in legends: "cfr_plus" is "CFR+".

    Labels that users chose are kept.
    """
    if name not in METHODS and name not in SCHEDULES:
        return name
    words = name.replace("hs_", "HS-").replace("_plus", "+").replace("_", " ")
    return " ".join(
        word.upper() if word.removeprefix("HS-").strip("+") in _ABBREVIATIONS else word
        for word in words.split()
    )
