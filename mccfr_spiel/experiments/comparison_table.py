"""The table of `compare`: a pandas DataFrame that draws itself (the extra `plot`)."""

import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mccfr_spiel.experiments.figure_styles import (
    save_figure,
)
from mccfr_spiel.experiments.plotting import (
    Line,
    lines_figure,
)
from mccfr_spiel.experiments.runs import aligned

BANDS = ("std", "range")
"""Bands: one standard deviation to each side, or from the lowest to the highest
seed."""

WHICH = ("game", "algorithm", "seed", "due", "iteration", "nodes_touched", "seconds")
"""The columns that are not metrics."""


class Comparison(pd.DataFrame):
    """One row for each recorded point of each run.

    | columns | content |
    |---|---|
    | game, algorithm, seed | the run |
    | due | number of nodes (or iterations) at which the row was due |
    | iteration, nodes_touched, seconds | progress of the run |
    | the metrics | their values |

    It has all methods of a DataFrame, and their results are Comparisons again:
    `table[table.game == "kuhn_poker"].plot()`.
    """

    @property
    def _constructor(self) -> type["Comparison"]:
        return Comparison

    @property
    def metrics(self) -> list[str]:
        """The columns of metrics; `plot` draws the first one by default."""
        return [name for name in self.columns if name not in WHICH]

    def plot(  # pyright: ignore[reportIncompatibleVariableOverride]
        self,
        x: str | None = None,
        y: str | None = None,
        *,
        style: str = "paper",
        band: str = "std",
        x_scale: str = "log",
        y_scale: str | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """Draws a panel for each game, with means over seeds and bands.

        At each due number, a seed contributes its first row that has reached the
        number. A curve ends where its first seed ends.

        Args:
            x: column on the horizontal axis; by default the column of the due numbers,
                nodes_touched or iteration. Coordinates are means over the seeds.
            y: metric; by default the first.
            style: "paper", for print, or "dark".
            band: "std", one standard deviation to each side, or "range", from the
                lowest to the highest seed.
            x_scale, y_scale: "log" or "linear". By default y is logarithmic if all
                values are positive and the largest is at least ten times the smallest.
            path: file to write the figure to; it ends with .png, .svg or .pdf.

        Returns:
            A matplotlib figure. Notebooks show it, and `savefig` writes it.

        Raises:
            ValueError: a column, style, band or scale is unknown, or there are no rows.
        """
        if y is None:
            y = next(iter(self.metrics), "")
        if x is None:
            by_iterations = bool((self["due"] == self["iteration"]).all())
            x = "iteration" if by_iterations else "nodes_touched"
        for name in (x, y):
            if name not in self.columns:
                raise ValueError(
                    f"Unknown column {name!r}. Expected "
                    f"{', '.join(map(str, self.columns))}."
                )
        if band not in BANDS:
            raise ValueError(f"band={band!r} must be {' or '.join(BANDS)}.")
        for name, scale in {"x_scale": x_scale, "y_scale": y_scale}.items():
            if scale not in ("log", "linear", None):
                raise ValueError(f"{name}={scale!r} must be log or linear.")
        if not len(self):
            raise ValueError("The table is empty.")
        curves = {
            str(game): {
                str(algorithm): _line(rows, x, y, band)
                for algorithm, rows in part.groupby("algorithm", sort=False)
            }
            for game, part in self.groupby("game", sort=False)
        }
        figure = lines_figure(curves, [(x, x_scale)], y, y_scale, style=style)
        if path is not None:
            save_figure(figure, path)
        return figure

    def final(self) -> pd.DataFrame:
        """The final metrics: mean and standard deviation over seeds.

        The index is (game, algorithm). The column `seeds` is the number of runs.
        """
        rows = self.sort_values(
            "due", kind="stable"
        )  # the user can have sorted the table
        ends = rows.groupby(["game", "algorithm", "seed"]).tail(1).sort_index()
        groups = pd.DataFrame(ends).groupby(["game", "algorithm"], sort=False)
        columns: dict[str, Any] = {"seeds": groups.size()}
        for name in self.metrics:
            columns[name] = groups[name].mean()
            columns[f"{name} std"] = groups[name].std(ddof=1)
        return pd.DataFrame(columns)


def _line(rows: Any, x: str, y: str, band: str) -> Line:
    """The mean over seeds at each due number, and the band around it."""
    rows = rows.sort_values("due", kind="stable")
    seeds = [part for _, part in rows.groupby("seed", sort=True)]
    reached = [part["due"].to_numpy() for part in seeds]
    dues = np.unique(np.concatenate(reached))
    dues = dues[dues <= min(progress[-1] for progress in reached)]
    indices = np.array([row for _, row in aligned(reached, dues)])
    across, up = (
        np.stack([s[name].to_numpy(float)[indices[:, k]] for k, s in enumerate(seeds)])
        for name in (x, y)
    )
    mean, spread = up.mean(axis=0), 0.0
    if len(seeds) > 1:
        spread = up.std(axis=0, ddof=1)
    low, high = mean - spread, mean + spread
    if band == "range":
        low, high = up.min(axis=0), up.max(axis=0)
    return Line({x: across.mean(axis=0)}, mean, low, high)


def read_comparison(
    finished: Iterable[tuple[str, str, int, pathlib.Path]], metrics: Sequence[str]
) -> Comparison:
    """Reads the rows of a finished sweep.

    Args:
        finished: for each run: label of the game, label of the algorithm, seed, and
            file of the rows.
        metrics: columns of the metrics.
    """
    parts = [
        pd.read_csv(path).assign(game=game, algorithm=algorithm, seed=seed)
        for game, algorithm, seed, path in finished
    ]
    rows = pd.concat(parts, ignore_index=True)
    ordered = sorted(metrics, key=lambda name: name != "nash_conv")
    return Comparison(rows[[*WHICH, *ordered]])
