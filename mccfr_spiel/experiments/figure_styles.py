"""Styles, panels, legends and files of figures.

The style "paper" is for print, "dark" for slides and dark pages; their parameters are
in the `.mplstyle` files of this folder. Figures have their printed size: three panels
are as wide as a page of text, with letters of 8 points, so figures should not be
scaled.
"""

import io
import itertools
import math
import os
import pathlib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.style import context
from matplotlib.transforms import ScaledTranslation

from mccfr_spiel.common.atomic_files import (
    write_file,
)
from mccfr_spiel.experiments.run_files import (
    FORMATS,
)

_WIDTH, _HEIGHT = 2.4, 2.1
"""Inches per panel in rows of three."""

WIDEST_ROW = 3
"""Maximum number of panels in a row."""

_BELOW = 0.42
"""Inches from an axis to the legend below it; the label of the axis is in between."""

_DPI = 250
_DASHES = ("-", "--", "-.", ":", (0, (7, 1, 1, 1, 1, 1)))
"""Five patterns, so that two families of four curves do not share patterns."""

_HERE = __name__.rpartition(".")[0]

STYLES = {"paper": [f"{_HERE}.paper"], "dark": [f"{_HERE}.paper", f"{_HERE}.dark"]}
"""Style -> its files, as matplotlib names the style files of a package."""

_DEEP = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_PALE = ("#56b4e9", "#ff9f50", "#35d0a0", "#f0a0cc", "#f0e442", "#8fb8ff", "#ffffff")
_PALETTES = {"paper": _DEEP, "dark": _PALE}
"""The colors of curves, in order.

Color-blind readers can distinguish them (Okabe, Ito 2008). In grey, dashes distinguish
curves.
"""

Look = dict[str, Any]
"""Color, dashes and height of a curve, as arguments of matplotlib's `plot`."""


def looks(names: Iterable[str], style: str) -> dict[str, Look]:
    """Returns a look for each distinct name, in order.

    Dashed lines are drawn above solid ones, so coinciding curves stay visible.
    """
    colors = itertools.cycle(_PALETTES[style])
    dashes = itertools.cycle(enumerate(_DASHES))
    kinds = zip(dict.fromkeys(names), colors, dashes, strict=False)
    return {
        name: {"color": color, "linestyle": dash, "zorder": 2 + 0.1 * height}
        for name, color, (height, dash) in kinds
    }


def panels(rows: int, columns: int, style: str) -> tuple[Figure, Any]:
    """Makes a figure with a grid of panels; returns it and its axes `[rows,
    columns]`."""
    width = _WIDTH * columns if columns > 1 else 1.5 * _WIDTH
    height = _HEIGHT * rows if columns > 1 else 1.35 * _HEIGHT * rows
    figure = ShownFigure(figsize=(width, height), layout="constrained", style=style)
    return figure, figure.subplots(rows, columns, squeeze=False)


class ShownFigure(Figure):
    """A figure with a fixed style, which notebooks show without pyplot.

    matplotlib places ticks and embeds fonts while it draws, so the style must be active
    during drawing as well.
    """

    def __init__(self, *args: Any, style: str, **settings: Any) -> None:
        self._style = STYLES[style]
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
        """The PNG for notebooks (IPython's display protocol)."""
        return to_bytes(self, "png", dpi=150)


# --- legends ---------------------------------------------------------------------


def add_legends(figure: Figure, grid: Sequence[Any]) -> None:
    """Adds legends outside the panels, where they hide no curve.

    If one panel has the curves of all panels, the figure gets one legend below it.
    Otherwise each panel gets a legend.
    """
    entries = [_entries(axes) for axes in grid]
    longest = max(entries, key=len)
    if not longest:
        return
    if all(labels.keys() <= longest.keys() for labels in entries):
        columns = _legend_columns(figure, longest)
        figure.legend(
            longest.values(), longest, loc="outside lower center", ncols=columns
        )
        return
    for axes, labels in zip(grid, entries, strict=True):
        if labels:
            below = ScaledTranslation(0, -_BELOW, figure.dpi_scale_trans)
            axes.legend(
                labels.values(),
                labels,
                loc="upper center",
                bbox_to_anchor=(0.45, 0),
                bbox_transform=axes.transAxes + below,
            )


def _entries(axes: Any) -> dict[str, Any]:
    """Label -> first curve of a panel with that label."""
    first: dict[str, Any] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        first.setdefault(label, handle)
    return first


def _legend_columns(figure: Figure, labels: Collection[str]) -> int:
    """The number of legend columns, in rows as even as the figure's width allows."""
    inches = 0.06 * max(map(len, labels)) + 0.5
    fit = max(1, int(figure.get_size_inches()[0] / inches))
    rows = math.ceil(len(labels) / fit)
    return math.ceil(len(labels) / rows)


# --- files -----------------------------------------------------------------------


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a figure; the ending of the path selects the format.

    The same figure gives the same bytes.

    Raises:
        ValueError: the ending is not one of FORMATS.
    """
    path = pathlib.Path(path)
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise ValueError(f"{path} must end with .{' or .'.join(FORMATS)}.")
    write_file(path, to_bytes(figure, kind))


def to_bytes(figure: Figure, kind: str, *, dpi: int = _DPI) -> bytes:
    """Returns the bytes of a figure's file; `kind` is one of FORMATS."""
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "mccfr_spiel"}):
        figure.savefig(stream, format=kind, dpi=dpi, metadata=dates.get(kind))
    return stream.getvalue()
