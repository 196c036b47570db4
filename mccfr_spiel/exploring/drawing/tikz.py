"""A drawing as a TikZ picture for LaTeX slides and papers.

Every SVG element becomes a TikZ command. Colours have names, such as `gtfill0` for
player 0, so that a document can define other colours before it inputs the picture.
"""

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from mccfr_spiel.exploring.drawing.svg_elements import parsed, styled_elements

_HEAD = r"""% A game tree, drawn by mccfr_spiel. The preamble needs \usepackage{tikz}.
% Options such as scale=0.8 go into \tikzset{gametree/.style={...}}, and a colour
% that the document defines before this file is used instead of the one here.
\begin{tikzpicture}[x=0.75bp, y=-0.75bp, gametree/.append style={}, gametree,
  every node/.style={inner sep=0pt, anchor=base west, font=\footnotesize\sffamily}]"""
_FOOT = r"\end{tikzpicture}"

_POINTS_PER_PIXEL = 0.75
"""Big points (bp) per pixel of an SVG, as in the units x and y of the picture. The unit
y is negative, because the y axis of an SVG points down."""

_TEXT_COLOUR = "#1f2328"

_SPECIAL = {
    **{character: f"\\{character}" for character in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "\u2026": r"\dots{}",
    "\u00b7": r"\textperiodcentered{}",
    "\u2660": r"$\spadesuit$",
    "\u2665": r"$\heartsuit$",
    "\u2666": r"$\diamondsuit$",
    "\u2663": r"$\clubsuit$",
}


def tikz(svg: str) -> str:
    """The content of a .tex file.

    Args:
        svg: text of a `TreeDrawing`.
    """
    commands: list[str] = []
    colours: dict[str, str] = {}
    for element, down, style in styled_elements(parsed(svg)):
        name = _colour_name(element)
        drawn = [*_commands(element, style, down, name)]
        if drawn:
            code = style.get("stroke", style.get("fill", _TEXT_COLOUR))
            colours[name] = code.removeprefix("#").upper()
        commands += drawn
    definitions = [
        rf"\providecolor{{{name}}}{{HTML}}{{{code}}}" for name, code in colours.items()
    ]
    body = [f"  {line}" for line in [*definitions, *commands]]
    return "\n".join([_HEAD, *body, _FOOT, ""])


def _colour_name(element: ElementTree.Element) -> str:
    """The colour's name: the class that has a colour, or `gttext` for plain text."""
    classes = element.get("class", "").split()
    coloured = [name for name in classes if name not in ("link", "title")]
    return f"gt{coloured[-1]}" if coloured else "gttext"


def _commands(
    element: ElementTree.Element,
    style: Mapping[str, str],
    down: float,
    colour: str,
) -> Iterator[str]:
    """The TikZ commands that draw an element; none for elements without a shape."""
    options = [colour]
    if element.tag == "text":
        if "text-anchor" in style:
            options.append("anchor=base")
        if "opacity" in style:
            options.append(f"opacity={style['opacity']}")
        text = escaped(element.text or "")
        if style.get("font-weight") == "bold":
            text = rf"\textbf{{{text}}}"
        at = _point(float(style["x"]), float(style["y"]) + down)
        yield rf"\node[{', '.join(options)}] at {at} {{{text}}};"
    elif element.tag == "path":
        width = float(style.get("stroke-width", "1")) * _POINTS_PER_PIXEL
        options.append(f"line width={width:.2f}bp")
        dashes = style.get("stroke-dasharray", "").split()
        if dashes:
            on, off = (float(length) * _POINTS_PER_PIXEL for length in dashes)
            options.append(f"dash pattern=on {on:g}bp off {off:g}bp")
        yield rf"\draw[{', '.join(options)}] {_path(style['d'], down)};"
    elif element.tag == "circle":
        at = _point(float(style["cx"]), float(style["cy"]) + down)
        yield rf"\fill[{colour}] {at} circle [radius={style['r']}];"
    elif element.tag == "polygon":
        pairs = (map(float, pair.split(",")) for pair in style["points"].split())
        corners = " -- ".join(_point(x, y + down) for x, y in pairs)
        yield rf"\fill[{colour}] {corners} -- cycle;"


def _point(x: float, y: float) -> str:
    return f"({x:.1f}, {y:.1f})"


def _path(commands: str, down: float) -> str:
    """A TikZ path for an SVG path with the commands M, C, H and V."""
    parts, x, y = [], 0.0, 0.0
    for command, text in re.findall(r"([MCHV])([^MCHV]*)", commands):
        numbers = [float(number) for number in text.split()]
        if command == "C":
            first, second, (x, y) = zip(numbers[::2], numbers[1::2], strict=True)
            controls = f"{_point(first[0], first[1] + down)} and "
            controls += _point(second[0], second[1] + down)
            parts.append(f".. controls {controls} .. {_point(x, y + down)}")
            continue
        if command == "M":
            x, y = numbers
        elif command == "H":
            x = numbers[0]
        else:
            y = numbers[0]
        parts.append(("-- " if parts else "") + _point(x, y + down))
    return " ".join(parts)


def escaped(text: str) -> str:
    """Escapes TeX's special characters."""
    return "".join(_SPECIAL.get(character, character) for character in text)
