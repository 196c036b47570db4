"""Result files -> figures.

Only this module, figure_style.py and comparison_table.py import matplotlib (the extra
`plot`).
"""

import os
import pathlib
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mccfr_spiel.algorithms import SCHEDULES
from mccfr_spiel.experiments.algorithm_names import METHODS
from mccfr_spiel.experiments.figure_style import (
    Look,
    add_legends,
    finish_axes,
    looks,
    panels,
    save_figure,
    styled,
    wrapped,
)
from mccfr_spiel.storage.results_folder import RESULTS
from mccfr_spiel.storage.row_file import read_whole_table

_TITLE_WIDTH = 60
"""Characters of a title that fit on one line of a figure."""

_PANEL_TITLE_WIDTH = 36

_ABBREVIATIONS = ("cfr", "egt", "lp", "lcfr", "dcfr", "pcfr", "pdcfr", "sapcfr")

LABELS = {
    "last_iterate": "NashConv of the last iterate",
    "head_to_head": "value against the opponent",
    "iteration": "iterations",
    "nodes_touched": "nodes touched",
    "seconds": "seconds",
    "nash_conv": "NashConv",
    "exploitability": "exploitability",
    "last_nash_conv": "NashConv of the current policy",
    "gradient_evaluations": "gradient evaluations",
}
"""What figures call the columns of tables."""


_BESIDE = (("last_nash_conv", "current policy", "--"), ("bound", "bound", ":"))
"""The columns drawn beside NashConv: their words in the legend, and their dashes."""


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
    style: str = "paper",
) -> Figure:
    """A line for each result file, a dotted one for its bounds and a dashed one for its
    current policy, if that was measured, on logarithmic axes.

    Args:
        results: label -> path of a results.csv, or of the folder that has it.
        x, y: the columns on the axes. Bounds, which are on NashConv, and the current
            policy's NashConv are drawn with NashConv only.
        title: above the axes; a long one is broken into lines.
        style: "paper" or "dark".

    Raises:
        ValueError: a file is not a table of numbers, or lacks one of the columns.
        OSError: a file cannot be read.
    """
    with styled(style):
        figure, grid = panels(1, 1, style)
        axes: Any = grid[0, 0]
        for label, look in looks(results, style).items():
            columns = read_columns(results[label])
            for name in (x, y):
                if name not in columns:
                    raise ValueError(
                        f"{results[label]} has no column {name!r}; it has "
                        f"{', '.join(columns)}."
                    )
            across = np.array(columns[x])
            draw_curve(axes, label, look, *_above_0(across, columns[y]))
            if y == "nash_conv":
                for name, words, dashes in _BESIDE:
                    beside = _above_0(across, columns.get(name, ()))
                    draw_beside(axes, f"{words} of {label}", look, *beside, dashes)
        axes.set_xlabel(LABELS.get(x, x))
        axes.set_ylabel(LABELS.get(y, y))
        axes.set_title("\n".join(textwrap.wrap(title, _TITLE_WIDTH)))
        finish_axes(axes, x_scale="log")
        add_legends(figure, [axes])
    return figure


def draw_curve(
    axes: Any,
    label: str,
    look: Look,
    across: np.ndarray,
    mean: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> None:
    """Draws a line, and a band between `low` and `high` if they are given."""
    if not len(mean):
        return
    dots = {"marker": "."} if len(mean) < 2 else {}  # one point makes no line
    axes.plot(across, mean, **look._asdict(), **dots, label=label)
    if low is not None and high is not None:
        axes.fill_between(across, low, high, color=look.color, alpha=0.2, lw=0)


def draw_beside(
    axes: Any,
    label: str,
    look: Look,
    across: np.ndarray,
    up: np.ndarray,
    dashes: str = ":",
) -> None:
    """Draws what belongs to a curve as a thin line: the bound that a theorem promises,
    or the NashConv of the current policy."""
    if len(up):
        line = {"color": look.color, "lw": 0.8, "alpha": 0.8, "label": label}
        axes.plot(across, up, dashes, **line)


def _above_0(
    across: np.ndarray, column: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """The points that a logarithmic axis can show; an exact equilibrium has NashConv 0,
    and a column that was not measured is nan or missing."""
    up = np.array(column)
    drawn = up > 0
    return (across[drawn], up[drawn]) if len(up) else (up, up)


def save_convergence(
    results: Mapping[str, str | os.PathLike[str]],
    picture: str | os.PathLike[str],
    *,
    title: str = "",
    style: str = "paper",
) -> None:
    """Draws NashConv over nodes touched into a picture file."""
    save_figure(convergence_figure(results, title=title, style=style), picture)


def save_estimates(
    result: Mapping[str, Any],
    picture: str | os.PathLike[str],
    *,
    title: str = "",
    style: str = "paper",
) -> None:
    """Draws what `playing.evaluation` has estimated, with its intervals."""
    with styled(style):
        figure, grid = panels(1, 1, style)
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
        axes.set_title("\n".join(textwrap.wrap(title, _PANEL_TITLE_WIDTH)))
        save_figure(figure, picture)


# --- comparisons -----------------------------------------------------------------


def curves_figure(
    games: Mapping[str, Mapping[str, Mapping[str, np.ndarray]]],
    x: str,
    y: str,
    x_scale: str,
    y_scale: str | None,
    *,
    style: str,
) -> Figure:
    """A panel for each game, and in it a curve with a band for each algorithm.

    Args:
        games: game -> algorithm -> the arrays x, mean, low and high.
        x, y: the columns on the axes.
        x_scale: "log" or "linear".
        y_scale: likewise; None for "log" where all values are above 0 and the largest
            is ten times the least.
        style: "paper" or "dark".
    """
    with styled(style):
        figure, grid = panels(*wrapped(len(games)), style)
        look = looks((name for curves in games.values() for name in curves), style)
        drawn = [one for curves in games.values() for one in curves.values()]
        scale = y_scale or _scale_of(np.concatenate([one["mean"] for one in drawn]))
        for axes, (game, curves) in zip(grid.flat, games.items(), strict=False):
            for name, curve in curves.items():
                _draw_band(axes, legend_name(name), look[name], curve, x_scale, scale)
            axes.set_title("\n".join(textwrap.wrap(game, _PANEL_TITLE_WIDTH)))
            axes.set_xlabel(LABELS.get(x, x.replace("_", " ")))
            finish_axes(axes, x_scale=x_scale, y_scale=scale)
        for axes in grid[:, 0]:
            axes.set_ylabel(LABELS.get(y, y.replace("_", " ")))
        for axes in grid.flat[len(games) :]:
            axes.remove()
        add_legends(figure, grid.flat[: len(games)])
    return figure


def _draw_band(
    axes: Any,
    label: str,
    look: Look,
    curve: Mapping[str, np.ndarray],
    x_scale: str,
    y_scale: str,
) -> None:
    across, mean, low, high = (curve[name] for name in ("x", "mean", "low", "high"))
    drawn = np.isfinite(mean) & np.isfinite(across)
    if y_scale == "log":
        drawn &= mean > 0  # a logarithmic axis cannot show 0
        low = np.maximum(low, mean / 10)
    if x_scale == "log":
        drawn &= across > 0
    across, mean, low, high = (one[drawn] for one in (across, mean, low, high))
    has_band = bool((high > low).any())
    draw_curve(axes, label, look, across, mean, *((low, high) if has_band else ()))


def _scale_of(values: np.ndarray) -> str:
    values = values[np.isfinite(values)]
    is_log = len(values) and values.min() > 0 and values.max() >= 10 * values.min()
    return "log" if is_log else "linear"


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
