"""The table that `compare` returns, a pandas DataFrame that draws itself.

This module imports pandas (the extra `plot`), so it is imported apart.
"""

import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mccfr_spiel.experiments.plotting import Line, lines_figure, save_figure
from mccfr_spiel.experiments.runs import aligned

BANDS = ("std", "range")
"""What a band may show: a standard deviation to each side, or the least and largest."""

WHICH = ("game", "algorithm", "seed", "due", "iteration", "nodes_touched", "seconds")
"""The columns that no metric can have."""


class Comparison(pd.DataFrame):
    """One row for each point that was recorded of each run.

    The columns are game, algorithm, seed; due, the number of nodes (or iterations) at
    which the row was due; iteration, nodes_touched, seconds; and a column for each
    metric. Everything that a DataFrame can do, this can, and what it returns is a
    Comparison again: `table[table.game == "kuhn_poker"].plot()`.
    """

    @property
    def _constructor(self) -> type["Comparison"]:
        return Comparison

    @property
    def metrics(self) -> list[str]:
        """The columns that hold metrics, the first of which is drawn by default."""
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
        """Draws a panel for each game, with the means over seeds and bands.

        Seeds are compared where their rows were due: each contributes its first row
        that has reached the number. A curve ends where the first of its seeds ends.

        Args:
            x: a column, by default that by which rows were due: nodes_touched or
                iteration. Seconds are means over the seeds, too.
            y: the metric; by default the first.
            style: "paper", for print, or "dark".
            band: "std", one standard deviation to each side, or "range", from the
                lowest to the highest seed.
            x_scale, y_scale: "log" or "linear"; by default y is logarithmic if all
                values are above 0 and the largest is ten times the least.
            path: also write the figure into that file, which ends with .png, .svg or
                .pdf.

        Returns:
            A matplotlib figure, which notebooks show and `savefig` writes.

        Raises:
            ValueError: there is no such column, style, band or scale, or no row.
        """
        if y is None:
            y = next(iter(self.metrics), "")
        if x is None:
            by_iterations = bool((self["due"] == self["iteration"]).all())
            x = "iteration" if by_iterations else "nodes_touched"
        for name in (x, y):
            if name not in self.columns:
                raise ValueError(
                    f"The table has no column {name!r}; it has "
                    f"{', '.join(map(str, self.columns))}."
                )
        if band not in BANDS:
            raise ValueError(f"band={band!r} is none of {', '.join(BANDS)}.")
        for scale in (x_scale, y_scale):
            if scale not in ("log", "linear", None):
                raise ValueError(f"The scale {scale!r} is neither log nor linear.")
        if not len(self):
            raise ValueError("The table has no rows to draw.")
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
        """The metrics at the end of the runs: mean and standard deviation over seeds.

        The index is (game, algorithm), and `seeds` says how many runs there are.
        """
        rows = self.sort_values("due", kind="stable")  # users may sort by others
        ends = rows.groupby(["game", "algorithm", "seed"]).tail(1).sort_index()
        groups = pd.DataFrame(ends).groupby(["game", "algorithm"], sort=False)
        columns: dict[str, Any] = {"seeds": groups.size()}
        for name in self.metrics:
            columns[name] = groups[name].mean()
            columns[f"{name} std"] = groups[name].std(ddof=1)
        return pd.DataFrame(columns)


def _line(rows: Any, x: str, y: str, band: str) -> Line:
    """The means of a curve over its seeds, where its rows were due, and the band."""
    rows = rows.sort_values("due", kind="stable")
    seeds = [one for _, one in rows.groupby("seed", sort=True)]
    reached = [one["due"].to_numpy() for one in seeds]
    dues = np.unique(np.concatenate(reached))
    dues = dues[dues <= min(one[-1] for one in reached)]
    at = np.array([places for _, places in aligned(reached, dues)])
    across, up = (
        np.stack([s[name].to_numpy(float)[at[:, k]] for k, s in enumerate(seeds)])
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
    """The rows of a finished sweep.

    Args:
        finished: of each run, the game's label, the algorithm's, the seed, and the file
            of its rows.
        metrics: the columns beside `runs.COLUMNS`.
    """
    parts = [
        pd.read_csv(path).assign(game=game, algorithm=algorithm, seed=seed)
        for game, algorithm, seed, path in finished
    ]
    rows = pd.concat(parts, ignore_index=True)
    ordered = sorted(metrics, key=lambda name: name != "nash_conv")
    return Comparison(rows[[*WHICH, *ordered]])
