"""A drawing as PDF or PNG: its SVG elements, drawn again by matplotlib.

It knows the few kinds of elements and commands of paths that trees.py makes.
"""

import io
import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

from mccfr_spiel.drawing.layout import FONT

DOTS_PER_INCH = 200
"""Of a PNG. The drawing's units are pixels, of which an inch has 96."""

_PIXELS_PER_INCH = 96
_POINTS_PER_PIXEL = 72 / _PIXELS_PER_INCH

_Style = Mapping[str, str]


def printed(svg: str, kind: str) -> bytes:
    """The drawing as a file.

    Args:
        svg: of `TreeDrawing`.
        kind: "pdf" or "png".

    Raises:
        ImportError: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f"A drawing is written as {kind.upper()} by matplotlib, which is not "
            "installed here: pip install 'mccfr_spiel[plot]'. SVG needs nothing."
        ) from error
    root = ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", svg, count=1))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    size = width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH
    figure = Figure(figsize=size, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    styles = _styles_in(root.findtext("style", ""))
    for element, down in _with_places(root, 0.0):
        draw = _DRAWN.get(element.tag)
        if draw is not None:
            words = element.get("class", "").split()
            style = {k: v for word in words for k, v in styles.get(word, {}).items()}
            draw(axes, element, down, style)
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=DOTS_PER_INCH)
    return file.getvalue()


def _styles_in(text: str) -> dict[str, dict[str, str]]:
    """The rules of classes outside of the dark scheme."""
    rules = re.findall(r"^\.ms-tree \.(\w+) \{ (.*) \}$", text, re.MULTILINE)
    return {name: dict(re.findall(r"([\w-]+): ([^;]+);", body)) for name, body in rules}


def _with_places(element: ElementTree.Element, down: float) -> Any:
    """All elements below one, with how far down their groups are moved."""
    for child in element:
        if child.tag == "g":
            moved = re.match(r"translate\(0 ([\d.]+)\)", child.get("transform", ""))
            yield from _with_places(child, down + float(moved[1] if moved else 0))
        else:
            yield child, down


def _draw_path(
    axes: Any, element: ElementTree.Element, down: float, style: _Style
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    for command, text in re.findall(r"([MCHV])([^MCHV]*)", element.get("d", "")):
        numbers = [float(one) for one in text.split()]
        if command == "H":
            numbers = [numbers[0], points[-1][1]]
        elif command == "V":
            numbers = [points[-1][0], numbers[0]]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        points += pairs
        kinds = {"M": Path.MOVETO, "C": Path.CURVE4}
        codes += [kinds.get(command, Path.LINETO)] * len(pairs)
    dashes = element.get("stroke-dasharray", style.get("stroke-dasharray", ""))
    width = element.get("stroke-width", style.get("stroke-width", "1"))
    patch = PathPatch(
        Path([(x, y + down) for x, y in points], codes),
        fill=False,
        edgecolor=style["stroke"],
        linewidth=float(width) * _POINTS_PER_PIXEL,
    )
    if dashes:
        patch.set_linestyle((0, tuple(float(one) for one in dashes.split())))
    axes.add_patch(patch)


def _draw_circle(
    axes: Any, element: ElementTree.Element, down: float, style: _Style
) -> None:
    from matplotlib.patches import Circle

    x, y, r = (float(element.get(name, 0)) for name in ("cx", "cy", "r"))
    axes.add_patch(Circle((x, y + down), r, color=style["fill"], linewidth=0))


def _draw_polygon(
    axes: Any, element: ElementTree.Element, down: float, style: _Style
) -> None:
    from matplotlib.patches import Polygon

    corners = [
        (float(x), float(y) + down)
        for x, y in (pair.split(",") for pair in element.get("points", "").split())
    ]
    axes.add_patch(Polygon(corners, color=style["fill"], linewidth=0))


def _draw_text(
    axes: Any, element: ElementTree.Element, down: float, style: _Style
) -> None:
    axes.text(
        float(element.get("x", 0)),
        float(element.get("y", 0)) + down,
        element.text or "",
        color=style.get("fill", "#1f2328"),
        alpha=float(element.get("opacity", 1)),
        fontsize=FONT * _POINTS_PER_PIXEL,
        fontweight=style.get("font-weight", "normal"),
        horizontalalignment="center" if "text-anchor" in style else "left",
        parse_math=False,
    )


_DRAWN: dict[str, Callable[[Any, ElementTree.Element, float, _Style], None]] = {
    "path": _draw_path,
    "circle": _draw_circle,
    "polygon": _draw_polygon,
    "text": _draw_text,
}
