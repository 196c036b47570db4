"""The drawing of a tree as SVG."""

from collections.abc import Sequence
from xml.etree import ElementTree

from mccfr_spiel.common import display
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.exploring.drawing.drawn_nodes import DrawnNode
from mccfr_spiel.exploring.drawing.layout import (
    CHARACTER,
    FONT,
    LANE,
    MARGIN,
    RADIUS,
    ROW,
    place_nodes,
)

_LINE = 16.0
"""Height of a line of text."""

_MAX_STRING = 60
"""The largest number of characters of an information state in the list."""

_PLAYERS = 6
"""Number of different colours of players."""

_LIGHT = (
    *("#2563c9", "#c2410c", "#15803d", "#7c3aed", "#a16207", "#0e7490"),
    *("#15803d", "#be185d", "#7c3aed", "#a16207", "#0e7490", "#57606a"),
)

_DARK = (
    *("#79b0ff", "#ff9e64", "#6fd08c", "#c4a7ff", "#e3c04f", "#5fd0e0"),
    *("#6fd08c", "#ff8fbf", "#c4a7ff", "#e3c04f", "#5fd0e0", "#afb8c1"),
)
"""Colours of the players, followed by the colours of the lanes. No lane has the colour
of one of the first two players, because most games have two players."""


def style_rules() -> str:
    """The CSS rules of the light and the dark colour scheme."""
    light = [
        f".ms-tree text {{ font: {FONT}px sans-serif; fill: #1f2328; }}",
        ".ms-tree .paper { fill: #ffffff; }",
        ".ms-tree .title { font-weight: bold; }",
        ".ms-tree .faint { fill: #6e7781; }",
        ".ms-tree .edge { fill: none; stroke: #6e7781; }",
        ".ms-tree .number { fill: #ffffff; text-anchor: middle; }",
        ".ms-tree .chance { fill: #8c959f; }",
        ".ms-tree .link { fill: none; stroke-width: 1.4; stroke-dasharray: 4 3; }",
    ]
    dark = [
        ".ms-tree text { fill: #e6edf3; }",
        ".ms-tree .paper { fill: #0d1117; }",
        ".ms-tree .faint { fill: #9aa4ae; }",
        ".ms-tree .edge { stroke: #8b949e; }",
        ".ms-tree .number { fill: #0d1117; }",
        ".ms-tree .chance { fill: #9aa4ae; }",
    ]
    for lines, colours in ((light, _LIGHT), (dark, _DARK)):
        for index, colour in enumerate(colours):
            lines.append(f".ms-tree .fill{index} {{ fill: {colour}; }}")
            lines.append(f".ms-tree .line{index} {{ stroke: {colour}; }}")
    nested = "\n".join(f"  {rule}" for rule in dark)
    media = f"@media (prefers-color-scheme: dark) {{\n{nested}\n}}"
    return "\n" + "\n".join([*light, media]) + "\n"


def picture(nodes: Sequence[DrawnNode], num_players: int, name: str) -> str:
    """The SVG text of a tree's drawing."""
    links, width = place_nodes(nodes)
    game = nodes[0].state.get_game()
    names = [display.player_name(game, player, "{}") for player in range(num_players)]
    noun = "players " if all(map(str.isdecimal, names)) else ""
    caption = f"At the ends: the returns of {noun}{', '.join(names)}."
    if links:
        caption += " Dots on a dashed line: one information set."
    top = 2 * _LINE + MARGIN
    group = ElementTree.Element("g", transform=f"translate(0 {top:.0f})")
    for node in nodes:
        _draw_edge(group, node)
    for lane, joined in links:
        _draw_link(group, lane, joined)
    for node in nodes:
        _draw_node(group, node)
    legend = ElementTree.Element("g")
    bottom = top + max(node.y for node in nodes) + ROW / 2 + MARGIN
    right, rows = _draw_legend(legend, nodes, num_players, bottom)
    letters = max(len(caption), 1.1 * len(name))  # the title is bold
    width = f"{max(width, right, CHARACTER * letters + 2 * MARGIN):.0f}"
    height = f"{bottom + _LINE * rows + MARGIN:.0f}"
    view = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    named = {"xmlns": "http://www.w3.org/2000/svg", "class": "ms-tree"}
    root = ElementTree.Element("svg", {**named, **view, "role": "img"})
    _child(root, "title").text = f"The tree of {name}"
    _child(root, "style").text = style_rules()
    _child(root, "rect", "paper", width="100%", height="100%")
    _text(root, MARGIN, _LINE + 6, display.one_line(name), "title")
    _text(root, MARGIN, 2 * _LINE + 6, caption, "faint")
    root.extend((group, legend))
    return ElementTree.tostring(root, encoding="unicode")


def _draw_edge(group: ElementTree.Element, node: DrawnNode) -> None:
    """Draws the edge to a node."""
    if node.parent is None:
        return
    x0, y0, x1, y1 = node.parent.x, node.parent.y, node.label_x, node.y
    middle = (x0 + x1) / 2 + RADIUS / 2
    path = (
        f"M{x0:.1f} {y0:.1f} C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} "
        f"{x1:.1f} {y1:.1f} H{node.x:.1f}"
    )
    edge = _child(group, "path", "edge", d=path)
    width = 1.0 if node.odds is None else 0.8 + 3.2 * node.odds
    edge.set("stroke-width", f"{width:.2f}")
    label = _text(group, x1, y1 - 5, node.label)
    if node.odds is not None and node.odds < 0.005:  # the label says 0
        edge.set("stroke-dasharray", "1 3")
        label.set("opacity", "0.6")


def _draw_link(group: ElementTree.Element, lane: int, nodes: list[DrawnNode]) -> None:
    x = nodes[0].x - RADIUS - 6 - LANE * lane
    colour = _PLAYERS + lane % (len(_LIGHT) - _PLAYERS)
    path = f"M{x:.1f} {nodes[0].y:.1f} V{nodes[-1].y:.1f}"
    _child(group, "path", f"link line{colour}", d=path)
    for node in nodes:
        _child(group, "circle", f"fill{colour}", cx=x, cy=node.y, r="3")


def _draw_node(group: ElementTree.Element, node: DrawnNode) -> None:
    x, y, player = node.x, node.y, node.player
    if node.annotation:
        right = 4 if player == TERMINAL else RADIUS + 3
        _text(group, x + right, y + 4, node.annotation)
    if player == CHANCE_NODE:
        r = RADIUS - 1
        corners = f"{x - r},{y} {x},{y - r} {x + r},{y} {x},{y + r}"
        shape = _child(group, "polygon", "chance", points=corners)
        _child(shape, "title").text = "chance"
    elif player != TERMINAL:
        css_class = f"fill{player % _PLAYERS}"
        shape = _child(group, "circle", css_class, cx=x, cy=y, r=f"{RADIUS:g}")
        text = display.one_line(node.info_text)
        name = display.player_name(node.state.get_game(), player)
        _child(shape, "title").text = f"{name}: {text}"
        _text(group, x, y + 4, str(node.infoset_number), "number")


def _draw_legend(
    group: ElementTree.Element, nodes: Sequence[DrawnNode], num_players: int, top: float
) -> tuple[float, int]:
    """Draws the list of information states; returns the right end and the number of
    rows."""
    x, rows = MARGIN, 0
    game = nodes[0].state.get_game()
    for player in range(num_players):
        own = [node for node in nodes if node.player == player]
        texts = {node.infoset_number: node.info_text for node in own}
        names = display.one_lines([*texts.values()], _MAX_STRING)
        lines = [display.player_name(game, player)]
        lines += [f"{number}:  {name}" for number, name in enumerate(names, 1)]
        for row, text in enumerate(lines):
            css_class = f"title fill{player % _PLAYERS}" if row == 0 else ""
            _text(group, x, top + _LINE * (row + 0.5), text, css_class)
        x += CHARACTER * max(map(len, lines)) + 2 * MARGIN
        rows = max(rows, len(lines))
    return x, rows


def _child(
    parent: ElementTree.Element,
    tag: str,
    css_class: str = "",
    **attributes: str | float,
) -> ElementTree.Element:
    """Appends an element, with a class unless `css_class` is empty."""
    texts = {k: v if isinstance(v, str) else f"{v:.1f}" for k, v in attributes.items()}
    if css_class:
        texts["class"] = css_class
    return ElementTree.SubElement(parent, tag, texts)


def _text(
    parent: ElementTree.Element, x: float, y: float, text: str, css_class: str = ""
) -> ElementTree.Element:
    element = _child(parent, "text", css_class, x=x, y=y)
    element.text = text
    return element
