"""Draws figures from result files: their lines, styles, legends and formats.

Only this module and comparison_table.py import matplotlib (the extra `plot`).

There are two styles, "paper" for print and "dark" for slides and dark pages; their
settings are in the files `.mplstyle` beside this one. Sizes are those on the page:
three panels are as wide as the text of a page, and letters have 8 points there, so
figures should not be scaled.
"""

import io
import itertools
import math
import os
import pathlib
import re
import textwrap
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.style import context
from matplotlib.transforms import ScaledTranslation

from mccfr_spiel.algorithms import SCHEDULES
from mccfr_spiel.common import refusals
from mccfr_spiel.common.atomic_files import write_file
from mccfr_spiel.common.csv_files import read_table
from mccfr_spiel.experiments.algorithm_names import METHODS
from mccfr_spiel.experiments.run_files import FORMATS
from mccfr_spiel.solving.reading import RESULTS

# --- how figures look -----------------------------------------------------------------


_WIDTH, _HEIGHT = 2.4, 2.1
"""Inches of a panel, if there are three beside each other."""

_WIDEST = 3
"""Panels beside each other."""

_BELOW = 0.42
"""Inches from the axis to a legend below it, with the axis' label in between."""

_DPI = 250
_DASHES = ("-", "--", "-.", ":", (0, (7, 1, 1, 1, 1, 1)))
"""Five, so that two families of four curves do not share them."""

_HERE = __name__.rpartition(".")[0]

_STYLES = {"paper": [f"{_HERE}.paper"], "dark": [f"{_HERE}.paper", f"{_HERE}.dark"]}
"""The files of each style, as matplotlib names those of a package."""

_DEEP = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_PALE = ("#56b4e9", "#ff9f50", "#35d0a0", "#f0a0cc", "#f0e442", "#8fb8ff", "#ffffff")
_PALETTES = {"paper": _DEEP, "dark": _PALE}
"""The colors of curves in their order.

Those of both styles can be told apart by people who confuse red and green (Okabe, Ito
2008); dashes tell curves apart in grey.
"""

Look = dict[str, Any]
"""How a curve is drawn, as matplotlib's `plot` takes it."""


def looks(names: Iterable[str], style: str) -> dict[str, Look]:
    """A look for each name, in their order, whatever panels they are drawn in.

    The broken lines are above the solid ones, so curves that coincide are all seen.
    """
    colors = itertools.cycle(_PALETTES[style])
    dashes = itertools.cycle(enumerate(_DASHES))
    kinds = zip(dict.fromkeys(names), colors, dashes, strict=False)
    return {
        name: {"color": color, "linestyle": dash, "zorder": 2 + 0.1 * height}
        for name, color, (height, dash) in kinds
    }


def panels(rows: int, columns: int, style: str) -> tuple[Figure, Any]:
    """A figure with a grid of panels, and its axes `[rows, columns]`."""
    width = _WIDTH * columns if columns > 1 else 1.5 * _WIDTH
    height = _HEIGHT * rows if columns > 1 else 1.35 * _HEIGHT * rows
    figure = ShownFigure(figsize=(width, height), layout="constrained", style=style)
    return figure, figure.subplots(rows, columns, squeeze=False)


class ShownFigure(Figure):
    """A figure that keeps its style, and that notebooks show without pyplot.

    matplotlib makes ticks and embeds fonts when it draws, so the settings of the style
    must apply then, too.
    """

    def __init__(self, *args: Any, style: str, **settings: Any) -> None:
        self._style = _STYLES[style]
        super().__init__(*args, **settings)

    def draw(self, renderer: Any) -> None:
        """Draws the figure in its style."""
        with context(self._style):
            super().draw(renderer)

    def savefig(self, fname: Any, **settings: Any) -> None:
        """Saves the figure in its style, at a resolution for print."""
        with context(self._style):
            super().savefig(fname, **{"dpi": _DPI, **settings})

    def _repr_png_(self) -> bytes:
        """The picture as notebooks ask for it."""
        return to_bytes(self, "png", dpi=150)


# --- legends ---------------------------------------------------------------------


def add_legends(figure: Figure, grid: Sequence[Any]) -> None:
    """Adds legends beside the panels, where they hide no curve.

    If all panels show the same curves there is one below the figure, otherwise one
    below each panel.
    """
    entries = [_entries(axes) for axes in grid]
    longest = max(entries, key=len)
    if not longest:
        return
    if all(one.keys() <= longest.keys() for one in entries):
        columns = _legend_columns(figure, longest)
        figure.legend(
            longest.values(), longest, loc="outside lower center", ncols=columns
        )
        return
    for axes, one in zip(grid, entries, strict=True):
        if one:
            below = ScaledTranslation(0, -_BELOW, figure.dpi_scale_trans)
            axes.legend(
                one.values(),
                one,
                loc="upper center",
                bbox_to_anchor=(0.45, 0),
                bbox_transform=axes.transAxes + below,
            )


def _entries(axes: Any) -> dict[str, Any]:
    """The labels of a panel's curves, and the first curve of each."""
    first: dict[str, Any] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        first.setdefault(label, handle)
    return first


def _legend_columns(figure: Figure, labels: Collection[str]) -> int:
    """As many columns as the figure is wide enough for."""
    inches = 0.06 * max(map(len, labels)) + 0.5
    fit = max(1, int(figure.get_size_inches()[0] / inches))
    rows = math.ceil(len(labels) / fit)
    return math.ceil(len(labels) / rows)


# --- files -----------------------------------------------------------------------


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a figure into a file of the kind that its name ends with.

    The same figure gives the same bytes each time.
    """
    path = pathlib.Path(path)
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise ValueError(f"{path} does not end with one of .{', .'.join(FORMATS)}.")
    write_file(path, to_bytes(figure, kind))


def to_bytes(figure: Figure, kind: str, *, dpi: int = _DPI) -> bytes:
    """The figure as the bytes of a file of that kind, one of FORMATS."""
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "mccfr_spiel"}):
        figure.savefig(stream, format=kind, dpi=dpi, metadata=dates.get(kind))
    return stream.getvalue()


# --- results -> figures ---------------------------------------------------------------


_TITLE_WIDTH = 36
"""Characters of a title that fit on one line of a panel; of a single panel, more."""

_ABBREVIATIONS = ("cfr", "egt", "lp", "lcfr", "dcfr", "pcfr", "pdcfr", "sapcfr")

LABELS = {
    "last_iterate": "NashConv of the last iterate",
    "head_to_head": "value against the opponent",
    "iteration": "iterations",
    "nodes_touched": "nodes touched",
    "nash_conv": "NashConv",
}
"""What figures call the columns of tables; others are called by their own words."""


_BESIDE = {"last_nash_conv": ("current policy", "--"), "bound": ("bound", ":")}
"""The columns drawn beside NashConv: their words in the legend, and their dashes."""


class Line(NamedTuple):
    """A line of a panel.

    Attributes:
        across: the columns for horizontal axes, name -> `[k]`. A panel whose axis is
            another one does not show the line.
        up: `[k]` the heights; empty for a vertical line at the first of `across`.
        low, high: `[k]` the ends of a band around it, if it has one.
        beside: thin lines of the same color: a name in _BESIDE -> `[k]` their heights.
        kind: lines of one kind look alike in all panels; by default those of one label.
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
    """A panel for each title and axis, with a line for each label.

    Args:
        contents: title -> label -> line.
        axes: the horizontal axes, (column, "log" or "linear"). With one of them panels
            are wrapped into rows; with several, each title has a row of its own.
        y: the column on the vertical axis.
        y_scale: its scale; None for "log" where all heights are above 0 and the largest
            is ten times the least.
        style: "paper" or "dark".

    Raises:
        ValueError: there is no such style.
    """
    refusals.choice(style, "style", _STYLES)
    with context(_STYLES[style]):
        drawn = [pair for lines in contents.values() for pair in lines.items()]
        look = looks((line.kind or label for label, line in drawn), style)
        scale = y_scale or _scale_of(np.concatenate([line.up for _, line in drawn]))
        shape = count, columns = len(contents), len(axes)
        if columns == 1:
            columns = 2 if count in (2, 4) else min(count, _WIDEST)
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
    """Draws a line with its band and what is beside it. What an axis cannot show is
    left out: an exact equilibrium has NashConv 0, and what was not measured is nan."""
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
    dots = {"marker": "."} if here.sum() == 1 else {}  # one point makes no line
    if here.any():
        panel.plot(across[here], line.up[here], **look, **dots, label=label)
    if line.low is not None and line.high is not None and (line.high > line.low).any():
        low = line.low if scales[1] != "log" else np.maximum(line.low, line.up / 10)
        ends = low[here], line.high[here]
        panel.fill_between(across[here], *ends, color=look["color"], alpha=0.2, lw=0)
    for name, heights in line.beside.items():
        words, dashes = _BESIDE[name]
        if (here := shown(heights)).any():
            how = {"color": look["color"], "lw": 0.8, "alpha": 0.8}
            name = f"{words} of {label}"
            panel.plot(across[here], heights[here], dashes, **how, label=name)


def _title(text: str, width: int) -> str:
    """A title, such as a load string, in at most three lines that end behind commas."""
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
    """NashConv over nodes touched on logarithmic axes, a line for each result file, a
    dotted one for its bounds and a dashed one for its current policy, if that was
    measured.

    Args:
        results: label -> path of a results.csv, or of the folder that has it.
        title: above the axes; a long one is broken into lines.
        style: "paper" or "dark".

    Raises:
        ValueError: a file is not a table of numbers, or lacks one of the columns.
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
                f"{file} is not a table of numbers, as the {RESULTS} of a run is: "
                f"{error}"
            ) from error
        for name in ("nodes_touched", "nash_conv"):
            if name not in columns:
                raise ValueError(
                    f"{path} has no column {name!r}; it has {', '.join(columns)}."
                )
        beside = {name: columns[name] for name in _BESIDE if name in columns}
        lines[label] = Line(columns, columns["nash_conv"], beside=beside)
    return lines_figure({title: lines}, [("nodes_touched", "log")], style=style)


def save_estimates(
    result: Mapping[str, Any], picture: str | os.PathLike[str], title: str
) -> None:
    """Draws what `responses.evaluated_by_play` has estimated, with its intervals."""
    with context(_STYLES["paper"]):
        figure, grid = panels(1, 1, "paper")
        axes, labels = grid.flat[0], []
        for player, estimates in enumerate(result["players"]):
            for name, one in estimates.items():
                if isinstance(one, dict):
                    mean, half, row = one["mean"], one["half_width"], -len(labels)
                    axes.errorbar(mean, row, xerr=half, fmt="o", capsize=3)
                    labels.append(f"player {player}: {name.replace('_', ' ')}")
        axes.axvline(0.0, linewidth=0.8, color="gray")
        axes.set_yticks([-row for row in range(len(labels))], labels)
        axes.set_xlabel("return a play, 95% intervals")
        axes.set_title(_title(title, _TITLE_WIDTH))
        save_figure(figure, picture)


def legend_name(name: str) -> str:
    """What a legend calls an algorithm: `cfr_plus` is CFR+, words have no underscores.

    Labels that users have chosen stay as they are.
    """
    if name not in METHODS and name not in SCHEDULES:
        return name
    words = name.replace("hs_", "HS-").replace("_plus", "+").replace("_", " ")
    return " ".join(
        word.upper() if word.removeprefix("HS-").strip("+") in _ABBREVIATIONS else word
        for word in words.split()
    )
