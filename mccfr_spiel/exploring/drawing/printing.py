"""A drawing as PDF or PNG: matplotlib draws the elements of the SVG again."""

import io
import re
from typing import Any
from xml.etree import ElementTree

from mccfr_spiel.exploring.drawing.layout import FONT
from mccfr_spiel.exploring.drawing.svg_elements import parsed, styled_elements

DOTS_PER_INCH = 200
"""Resolution of a PNG."""

_PIXELS_PER_INCH = 96

_POINTS_PER_PIXEL = 72 / _PIXELS_PER_INCH


def printed(svg: str, file_format: str) -> bytes:
    """The drawing as the bytes of a file.

    Args:
        svg: text of a `TreeDrawing`.
        file_format: "pdf" or "png".

    Raises:
        ImportError: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f"Writing a drawing as {file_format.upper()} needs matplotlib: pip install "
            "'mccfr_spiel[plot]'. SVG needs no package."
        ) from error
    root = parsed(svg)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    size = width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH
    figure = Figure(figsize=size, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for element, down, style in styled_elements(root):
        _draw(axes, element, down, style)
    file = io.BytesIO()
    figure.savefig(file, format=file_format, dpi=DOTS_PER_INCH)
    return file.getvalue()


def _draw(
    axes: Any, element: ElementTree.Element, down: float, style: dict[str, str]
) -> None:
    """Draws an SVG element with the style of its classes and attributes."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if element.tag == "text":
        axes.text(
            float(style["x"]),
            float(style["y"]) + down,
            element.text or "",
            color=style.get("fill", "#1f2328"),
            alpha=float(style.get("opacity", 1)),
            fontsize=FONT * _POINTS_PER_PIXEL,
            fontweight=style.get("font-weight", "normal"),
            horizontalalignment="center" if "text-anchor" in style else "left",
            parse_math=False,
        )
    elif element.tag == "path":
        points: list[tuple[float, float]] = []
        codes: list[Any] = []
        for command, text in re.findall(r"([MCHV])([^MCHV]*)", style["d"]):
            numbers = [float(number) for number in text.split()]
            if command == "H":
                numbers = [numbers[0], points[-1][1]]
            elif command == "V":
                numbers = [points[-1][0], numbers[0]]
            pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
            points += pairs
            kinds = {"M": Path.MOVETO, "C": Path.CURVE4}
            codes += [kinds.get(command, Path.LINETO)] * len(pairs)
        dashes = tuple(map(float, style.get("stroke-dasharray", "").split()))
        patch = PathPatch(
            Path([(x, y + down) for x, y in points], codes),
            fill=False,
            edgecolor=style["stroke"],
            linewidth=float(style.get("stroke-width", "1")) * _POINTS_PER_PIXEL,
            linestyle=(0, dashes) if dashes else "solid",
        )
        axes.add_patch(patch)
    elif element.tag in ("circle", "polygon"):
        if element.tag == "circle":
            x, y, r = (float(style[name]) for name in ("cx", "cy", "r"))
            outline = Path.circle((x, y + down), r)
        else:
            pairs = [map(float, pair.split(",")) for pair in style["points"].split()]
            corners = [(x, y + down) for x, y in pairs]
            outline = Path([*corners, corners[0]], closed=True)
        axes.add_patch(PathPatch(outline, color=style["fill"], linewidth=0))
