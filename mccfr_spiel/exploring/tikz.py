"""Drawings as TikZ pictures for LaTeX slides and papers.

The picture is translated from the drawing's SVG elements. Colours have names, such as
`gtfill0` for player 0, which a document may define before it inputs the file.
"""

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

_HEAD = r"""% A game tree, drawn by mccfr_spiel. The preamble needs \usepackage{tikz}.
% Options such as scale=0.8 go into \tikzset{gametree/.style={...}}, and a colour
% that the document defines before this file is used instead of the one here.
\begin{tikzpicture}[x=0.75bp, y=-0.75bp, gametree/.append style={}, gametree,
  every node/.style={inner sep=0pt, anchor=base west, font=\footnotesize\sffamily}]"""
_FOOT = r"\end{tikzpicture}"
"""SVG's y axis points down, and 96 of its pixels are 72 big points."""

_SPECIAL = {
    **{character: f"\\{character}" for character in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\u2026": r"\dots{}",
    "\u00b7": r"\textperiodcentered{}",
    "\u2660": r"$\spadesuit$",
    "\u2665": r"$\heartsuit$",
    "\u2666": r"$\diamondsuit$",
    "\u2663": r"$\clubsuit$",
}


def tikz(svg: str, styles: Mapping[str, Mapping[str, str]]) -> str:
    """The picture as the text of a .tex file.

    Args:
        svg: of `TreeDrawing`.
        styles: the attributes of each class of the SVG's elements.
    """
    root = ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", svg, count=1))
    body, colours = [], {}
    for group in (root, *root.findall("g")):
        down = float(group.get("transform", "translate(0 0)")[:-1].split()[1])
        for element in group:
            style, colour = {"fill": "#1f2328"}, "gttext"
            for name in element.get("class", "").split():
                own = styles.get(name, {})
                style |= own
                colour = f"gt{name}" if {"fill", "stroke"} & own.keys() else colour
            colours[colour] = style.get("stroke", style["fill"]).removeprefix("#")
            body += _lines(element, style | element.attrib, down, colour)
    defined = [
        rf"\providecolor{{{name}}}{{HTML}}{{{code.upper()}}}"
        for name, code in colours.items()
    ]
    return (
        "\n".join([_HEAD, *(f"  {line}" for line in [*defined, *body]), _FOOT]) + "\n"
    )


def _lines(
    element: ElementTree.Element,
    style: Mapping[str, str],
    down: float,
    colour: str,
) -> Iterator[str]:
    """The commands that draw an element."""
    options = [colour]
    if element.tag == "text":
        if "text-anchor" in style:
            options.append("anchor=base")
        if "opacity" in style:
            options.append(f"opacity={style['opacity']}")
        words = escaped(element.text or "")
        if style.get("font-weight") == "bold":
            words = rf"\textbf{{{words}}}"
        at = _point(float(style["x"]), float(style["y"]) + down)
        yield rf"\node[{', '.join(options)}] at {at} {{{words}}};"
    elif element.tag == "path":
        width = float(style.get("stroke-width", "1")) * 0.75
        options.append(f"line width={width:.2f}bp")
        dashes = style.get("stroke-dasharray", "").split()
        if dashes:
            on, off = (float(length) * 0.75 for length in dashes)
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
    """An SVG path of the commands M, C, H and V."""
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
    """A text in which TeX's special characters are escaped."""
    return "".join(_SPECIAL.get(character, character) for character in text)
