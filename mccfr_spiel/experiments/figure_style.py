"""How figures look: their styles, the ticks of logarithmic axes, legends, and files.

There are two styles, "paper" for print and "dark" for slides and dark pages. Sizes are
those on the page: three panels are as wide as the text of a page, and letters have 8
points there, so figures should not be scaled.
"""

import contextlib
import io
import math
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    ScalarFormatter,
)
from matplotlib.transforms import ScaledTranslation

from mccfr_spiel.storage.atomic import write_file

FORMATS = ("png", "svg", "pdf")
"""The kinds of files that figures are written into."""

_WIDTH, _HEIGHT = 2.4, 2.1
"""Inches of a panel, if there are three beside each other."""

_WIDEST = 3
"""Panels beside each other."""

_BELOW = 0.42
"""Inches from the axis to a legend below it, with the axis' label in between."""

_DPI = 250
_DASHES = ("-", "--", "-.", ":", (0, (7, 1, 1, 1, 1, 1)))
"""Five, so that two families of four curves do not share them."""

_COMMON: dict[Any, Any] = {
    "axes.grid": True,
    "axes.grid.which": "major",
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8,
    "figure.dpi": 150,
    "font.family": "STIXGeneral",
    "font.size": 8,
    "grid.linewidth": 0.4,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.2,
    "mathtext.fontset": "stix",
    "pdf.fonttype": 42,  # publishers refuse the other kind
    "xtick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "xtick.minor.size": 1.5,
    "xtick.minor.width": 0.4,
    "ytick.labelsize": 7.5,
    "ytick.major.width": 0.6,
    "ytick.minor.size": 1.5,
    "ytick.minor.width": 0.4,
}


def _colors(paper: str, ink: str, grid: str) -> dict[Any, Any]:
    """The settings of a page of one color with ink of another."""
    of_paper = ("axes.facecolor", "figure.facecolor", "savefig.facecolor")
    of_ink = ("axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "text.color")
    ticks = ("xtick.color", "ytick.color")
    return {
        **dict.fromkeys(of_paper, paper),
        **dict.fromkeys((*of_ink, *ticks), ink),
        "grid.color": grid,
    }


class _Style(NamedTuple):
    """The settings of matplotlib, and the colors of curves in their order.

    Both lists of colors can be told apart by people who confuse red and green (Okabe,
    Ito 2008); dashes tell curves apart in grey.
    """

    settings: dict[Any, Any]
    palette: tuple[str, ...]


_STYLES = {
    "paper": _Style(
        _COMMON | _colors("white", "black", "#dddddd"),
        ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"),
    ),
    "dark": _Style(
        _COMMON | _colors("#16181d", "#e8e8e8", "#3a3e47"),
        ("#56b4e9", "#ff9f50", "#35d0a0", "#f0a0cc", "#f0e442", "#8fb8ff", "#ffffff"),
    ),
}

STYLES: tuple[str, ...] = tuple(_STYLES)
"""The names of the styles."""


class Look(NamedTuple):
    """How a curve is drawn: the broken lines above the solid ones, so that curves that
    coincide are all seen."""

    color: str
    linestyle: Any
    zorder: float


@contextlib.contextmanager
def styled(style: str) -> Iterator[None]:
    """Applies a style to figures that are made within the block.

    Raises:
        ValueError: there is no such style.
    """
    check_style(style)
    with rc_context(_STYLES[style].settings):
        yield


def check_style(style: str) -> None:
    """Raises ValueError if there is no style of that name."""
    if style not in STYLES:
        raise ValueError(f"style={style!r} is none of {', '.join(STYLES)}.")


def looks(names: Iterable[str], style: str) -> dict[str, Look]:
    """A look for each name, in their order, whatever panels they are drawn in."""
    palette = _STYLES[style].palette
    return {
        name: Look(
            palette[i % len(palette)],
            _DASHES[i % len(_DASHES)],
            2 + 0.1 * (i % len(_DASHES)),
        )
        for i, name in enumerate(dict.fromkeys(names))
    }


def panels(rows: int, columns: int, style: str) -> tuple[Figure, Any]:
    """A figure with a grid of panels, and its axes `[rows, columns]`."""
    width = _WIDTH * columns if columns > 1 else 1.5 * _WIDTH
    height = _HEIGHT * rows if columns > 1 else 1.35 * _HEIGHT * rows
    figure = ShownFigure(figsize=(width, height), layout="constrained", style=style)
    return figure, figure.subplots(rows, columns, squeeze=False)


def wrapped(count: int) -> tuple[int, int]:
    """Rows and columns for so many panels, none of which belong together."""
    columns = 2 if count in (2, 4) else min(count, _WIDEST)
    return math.ceil(count / columns), columns


class ShownFigure(Figure):
    """A figure that keeps its style, and that notebooks show without pyplot.

    matplotlib makes ticks and embeds fonts when it draws, so the settings of the style
    must apply then, too.
    """

    def __init__(self, *args: Any, style: str, **settings: Any) -> None:
        self._style = _STYLES[style].settings
        super().__init__(*args, **settings)

    def draw(self, renderer: Any) -> None:
        """Draws the figure in its style."""
        with rc_context(self._style):
            super().draw(renderer)

    def savefig(self, fname: Any, **settings: Any) -> None:
        """Saves the figure in its style, at a resolution for print."""
        with rc_context(self._style):
            super().savefig(fname, **{"dpi": _DPI, **settings})

    def _repr_png_(self) -> bytes:
        """The picture as notebooks ask for it."""
        return to_bytes(self, "png", dpi=150)


# --- axes ------------------------------------------------------------------------


def finish_axes(axes: Any, *, x_scale: str, y_scale: str = "log") -> None:
    """Sets the scales and ticks of a panel in which all curves have been drawn."""
    for axis, scale in ((axes.xaxis, x_scale), (axes.yaxis, y_scale)):
        if scale == "log":
            _log_axis(axes, axis)
        else:
            _linear_axis(axis)


def _linear_axis(axis: Any) -> None:
    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    formatter = ScalarFormatter(useMathText=True)
    formatter.set_powerlimits((-3, 4))
    axis.set_major_formatter(formatter)


def _log_axis(axes: Any, axis: Any) -> None:
    """Ticks at powers of ten; where there are less than two, at other round numbers.

    Labels are plain numbers from 0.001 to 1,000, and powers of ten beyond.
    """
    axis_name = axis.axis_name
    getattr(axes, f"set_{axis_name}scale")("log")
    low, high = sorted(getattr(axes, f"get_{axis_name}lim")())
    powers = math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1
    axis.set_minor_formatter(NullFormatter())
    if powers >= 2:
        axis.set_major_locator(LogLocator(numticks=6))
        axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=12))
        if powers > 8:
            axis.set_minor_locator(NullLocator())
        is_plain = low >= 0.0009 and high <= 1100
        axis.set_major_formatter(FuncFormatter(_plain if is_plain else _power))
        return
    if high / low >= 4:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(LogLocator(subs=(3, 4, 6, 7, 8, 9)))
    else:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_plain))


def _plain(value: float, _position: int) -> str:
    """0.02, 5 or 20,000; numbers below 0.001 as 2e-4."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}".replace("e-0", "e-")


def _power(value: float, _position: int) -> str:
    return f"$10^{{{round(math.log10(value))}}}$"


# --- legends ---------------------------------------------------------------------


def add_legends(figure: Figure, grid: Sequence[Any]) -> None:
    """Adds legends beside the panels, where they hide no curve.

    If all panels show the same curves there is one below the figure, otherwise one
    below each panel.
    """
    entries = [_entries(axes) for axes in grid]
    shown = [labels for _, labels in entries if labels]
    if not shown:
        return
    longest = max(shown, key=len)
    if all(set(labels) <= set(longest) for labels in shown):
        handles = next(handles for handles, labels in entries if labels is longest)
        figure.legend(
            handles,
            longest,
            loc="outside lower center",
            ncols=_legend_columns(figure, longest),
        )
        return
    for axes, (handles, labels) in zip(grid, entries, strict=True):
        if labels:
            below = ScaledTranslation(0, -_BELOW, figure.dpi_scale_trans)
            axes.legend(
                handles,
                labels,
                loc="upper center",
                bbox_to_anchor=(0.45, 0),
                bbox_transform=axes.transAxes + below,
            )


def _entries(axes: Any) -> tuple[list[Any], list[str]]:
    """The curves of a panel and their labels, each label once."""
    handles, labels = axes.get_legend_handles_labels()
    first = dict(zip(reversed(labels), reversed(handles), strict=True))
    labels = list(dict.fromkeys(labels))
    return [first[label] for label in labels], labels


def _legend_columns(figure: Figure, labels: Sequence[str]) -> int:
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
