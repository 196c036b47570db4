"""A drawing as PDF or PNG: its SVG elements, drawn again by matplotlib.

It knows the few kinds of elements and commands of paths that trees.py makes.
"""

import io
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

FONT = 11
"""Of all that is written, in pixels."""

DOTS_PER_INCH = 200
"""Of a PNG. The drawing's units are pixels, of which an inch has 96."""

_PIXELS_PER_INCH = 96
_POINTS_PER_PIXEL = 72 / _PIXELS_PER_INCH


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
    # The rules of classes outside of the dark scheme.
    rules = re.findall(
        r"^\.ms-tree \.(\w+) \{ (.*) \}$", root.findtext("style", ""), re.MULTILINE
    )
    styles = {name: re.findall(r"([\w-]+): ([^;]+);", body) for name, body in rules}
    for element, down in _with_places(root, 0.0):
        names = element.get("class", "").split()
        style = {k: v for name in names for k, v in styles.get(name, ())}
        _draw(axes, element, down, style | element.attrib)
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=DOTS_PER_INCH)
    return file.getvalue()


def _with_places(
    element: ElementTree.Element, down: float
) -> Iterator[tuple[ElementTree.Element, float]]:
    """All elements below one, with how far down their groups are moved."""
    for child in element:
        if child.tag == "g":
            moved = re.match(r"translate\(0 ([\d.]+)\)", child.get("transform", ""))
            yield from _with_places(child, down + float(moved[1] if moved else 0))
        else:
            yield child, down


def _draw(
    axes: Any, element: ElementTree.Element, down: float, style: dict[str, str]
) -> None:
    """Draws an element, by its own attributes and those of its classes."""
    from matplotlib.patches import Circle, PathPatch, Polygon
    from matplotlib.path import Path

    if element.tag == "path":
        points: list[tuple[float, float]] = []
        codes: list[Any] = []
        for command, text in re.findall(r"([MCHV])([^MCHV]*)", style["d"]):
            numbers = [float(one) for one in text.split()]
            if command == "H":
                numbers = [numbers[0], points[-1][1]]
            elif command == "V":
                numbers = [points[-1][0], numbers[0]]
            pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
            points += pairs
            kinds = {"M": Path.MOVETO, "C": Path.CURVE4}
            codes += [kinds.get(command, Path.LINETO)] * len(pairs)
        patch = PathPatch(
            Path([(x, y + down) for x, y in points], codes),
            fill=False,
            edgecolor=style["stroke"],
            linewidth=float(style.get("stroke-width", "1")) * _POINTS_PER_PIXEL,
        )
        dashes = [float(one) for one in style.get("stroke-dasharray", "").split()]
        if dashes:
            patch.set_linestyle((0, tuple(dashes)))
        axes.add_patch(patch)
    elif element.tag == "circle":
        x, y, r = (float(style[name]) for name in ("cx", "cy", "r"))
        axes.add_patch(Circle((x, y + down), r, color=style["fill"], linewidth=0))
    elif element.tag == "polygon":
        pairs = [map(float, pair.split(",")) for pair in style["points"].split()]
        corners = [(x, y + down) for x, y in pairs]
        axes.add_patch(Polygon(corners, color=style["fill"], linewidth=0))
    elif element.tag == "text":
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
