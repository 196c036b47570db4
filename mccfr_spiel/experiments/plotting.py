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
from mccfr_spiel.experiments.panels import Experiment
from mccfr_spiel.storage.results_folder import RESULTS
from mccfr_spiel.storage.row_file import read_whole_table

_TITLE_WIDTH = 60
"""Characters of a title that fit on one line of a figure."""

_PANEL_TITLE_WIDTH = 36

_ABBREVIATIONS = ("cfr", "egt", "lp", "lcfr", "dcfr", "pcfr", "pdcfr", "sapcfr")

_LABELS = {
    "last_iterate": "NashConv of the last iterate",
    "head_to_head": "value against the opponent",
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
            # An exact equilibrium has NashConv 0, which no logarithmic axis can show.
            across, up = np.array(columns[x]), np.array(columns[y])
            drawn = up > 0
            if drawn.any():
                draw_curve(axes, label, look, across[drawn], up[drawn])
            of_last = columns.get("last_nash_conv", ()) if y == "nash_conv" else ()
            last = np.array(of_last)
            drawn = last > 0
            if drawn.any():
                label_of_last = f"current policy of {label}"
                draw_last(axes, label_of_last, look, across[drawn], last[drawn])
            bounds = np.array(columns.get("bound", ()) if y == "nash_conv" else ())
            drawn = bounds > 0  # nan, no bound, is not above 0
            if drawn.any():
                draw_bound(
                    axes, f"bound of {label}", look, across[drawn], bounds[drawn]
                )
        axes.set_xlabel(_LABELS.get(x, x))
        axes.set_ylabel(_LABELS.get(y, y))
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
    dots = {"marker": "."} if len(mean) < 2 else {}  # one point makes no line
    axes.plot(across, mean, **look._asdict(), **dots, label=label)
    if low is not None and high is not None:
        axes.fill_between(across, low, high, color=look.color, alpha=0.2, lw=0)


def draw_last(
    axes: Any, label: str, look: Look, across: np.ndarray, last: np.ndarray
) -> None:
    """Draws how far the current policy is from an equilibrium."""
    axes.plot(across, last, "--", color=look.color, lw=0.8, alpha=0.8, label=label)


def draw_bound(
    axes: Any, label: str, look: Look, across: np.ndarray, bound: np.ndarray
) -> None:
    """Draws what a theorem promises of a curve."""
    axes.plot(across, bound, ":", color=look.color, lw=0.8, alpha=0.8, label=label)


def save_convergence(
    results: Mapping[str, str | os.PathLike[str]],
    picture: str | os.PathLike[str],
    *,
    title: str = "",
    style: str = "paper",
) -> None:
    """Draws NashConv over nodes touched into a picture file."""
    save_figure(convergence_figure(results, title=title, style=style), picture)


# --- experiments of many panels ------------------------------------------------

_AXES = _LABELS | {"gradient_evaluations": "gradient evaluations"}


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
            axes.set_xlabel(_AXES[x])
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
    if (bound > 0).any():
        draw_bound(axes, "bound", look, across, bound)


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
            axes.set_xlabel(_LABELS.get(x, x.replace("_", " ")))
            finish_axes(axes, x_scale=x_scale, y_scale=scale)
        for axes in grid[:, 0]:
            axes.set_ylabel(_LABELS.get(y, y.replace("_", " ")))
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
    if not len(mean):
        return
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
