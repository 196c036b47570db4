"""`draw_tree`: a small game's tree, with a policy if there is one, as SVG.

The root is at the left. Decision nodes are circles with the number of the infoset, in
the colour of the player; chance nodes are diamonds. Nodes of one infoset on one level
are joined by a dashed line, on which each of them has a dot.
"""

import dataclasses
import io
import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

import pyspiel
from open_spiel.python.policy import Policy

from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.common.display import (
    brief,
    counted,
    line,
    never_raises,
    one_line,
    one_lines,
    title,
)
from mccfr_spiel.common.folders import write_file
from mccfr_spiel.policies.names import said_at, said_info_state
from mccfr_spiel.policies.policy import Answers, SequencePolicy
from mccfr_spiel.policies.vectors import policy_vector
from mccfr_spiel.tree.cache import complete_tree
from mccfr_spiel.tree.game_tree import GameTree

MOST_NODES = 400
"""A larger tree could not be read, with one leaf on each row."""

_MOST_COUNTED = 100_000
"""So many nodes are counted to say how large a game is that is refused."""

# --- the sizes of things, in pixels ---------------------------------------------------

FONT = 11
"""Of all that is written."""
_ROW = 24.0
"""The distance between two leaves."""
_RADIUS = 10.0
"""Of a decision node."""
_LANE = 8.0
"""The distance between two lanes, in which lines join the nodes of infosets."""
_CHARACTER = 6.3
"""The width of a letter, on average, at FONT."""
_BEND = 34.0
"""The room in which an edge goes from the row of its parent to its own."""
_MARGIN = 18.0
_LINE = 16.0
_MOST_OF_NAME = 24
_MOST_OF_STRING = 60

_PLAYERS = 6

_LIGHT = (
    *("#2563c9", "#c2410c", "#15803d", "#7c3aed", "#a16207", "#0e7490"),
    *("#15803d", "#be185d", "#7c3aed", "#a16207", "#0e7490", "#57606a"),
)
_DARK = (
    *("#79b0ff", "#ff9e64", "#6fd08c", "#c4a7ff", "#e3c04f", "#5fd0e0"),
    *("#6fd08c", "#ff8fbf", "#c4a7ff", "#e3c04f", "#5fd0e0", "#afb8c1"),
)
"""The colours of the players, and then those of the lanes. The first two players, and
most games have no more, share theirs with no lane."""


def _style() -> str:
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


class TreeDrawing:
    """A drawn tree, which notebooks show by themselves.

    Attributes:
        svg: the picture as the text of an SVG file, readable in light and dark.
    """

    def __init__(self, svg: str, words: str) -> None:
        """Keeps the picture, and words for its repr."""
        self.svg = svg
        self._words = words

    @never_raises
    def __repr__(self) -> str:
        return line(self, self._words)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as its name ends: .svg for browsers, .pdf or .png.

        Raises:
            ValueError: the name ends otherwise.
            ImportError: PDF and PNG need matplotlib, which is missing.
            OSError: the file cannot be written.
        """
        path = pathlib.Path(path)
        kind = path.suffix.lower().removeprefix(".")
        if kind not in ("svg", "pdf", "png"):
            raise ValueError(f"{path}: let the name end with .svg, .pdf or .png.")
        is_svg = kind == "svg"
        write_file(path, self.svg.encode() if is_svg else printed(self.svg, kind))


def draw_tree(
    game: pyspiel.Game | str | GameTree,
    policy: Any = None,
    *,
    around: Sequence[int] | str | None = None,
    depth: int = 3,
    max_nodes: int = MOST_NODES,
) -> TreeDrawing:
    """Draws the whole tree of a small game, such as Kuhn poker, or a part of any.

        ms.draw_tree("kuhn_poker", solver.average_policy()).save("kuhn.svg")

    Moves have the game's own names. With a policy, edges are as wide as their moves are
    probable, and have the probability beside the name. Ends have the players' returns.
    A list below the tree says which information state each number stands for.

    Args:
        game: a game, its load string, or its tree. Simultaneous moves become turns.
        policy: any policy, or a list with one for each player, see `expected_returns`.
            With `around`, an OpenSpiel policy, such as all that solvers give.
        around: the moves from the root to the node where the drawing begins, as
            OpenSpiel's actions or its string of a history, such as "0, 3"; None for the
            whole tree.
        depth: how many moves further the drawing goes, with `around`. Dots stand where
            the tree goes on.
        max_nodes: more nodes are refused.

    Raises:
        ValueError: there are too many nodes, see also `GameTree`; a move is not
            possible; or the policy is of another game.
    """
    max_nodes = refusals.integer(max_nodes, "max_nodes", 1)
    source = game.source if isinstance(game, GameTree) else game
    tree = GameTree(source)
    if isinstance(game, GameTree) and game.abstraction is None:
        tree = game
    state, moves, most, name = tree.new_state(), [], None, title(tree.source)
    if around is not None:
        most, moves = refusals.integer(depth, "depth", 0), _moves_in(around)
        name += f", after {', '.join(map(str, moves))}" if moves else ""
        if not isinstance(policy, Policy | pyspiel.Policy | None):
            raise ValueError(
                "A part of a tree is drawn with an OpenSpiel policy, not with "
                f"{policy!r}."
            )
    for move in moves:
        if move not in state.legal_actions():
            raise ValueError(
                f"around={moves}: {move} is none of the moves {state.legal_actions()} "
                f"after {state.history()}."
            )
        state.apply_action(move)
    _check_size(tree.source, state, most, max_nodes)
    if policy is not None and around is None:
        tree = complete_tree(tree)
        policy = SequencePolicy(tree, policy_vector(tree, policy))
    picture = _Picture(spots_of(state, policy, most), tree.num_players, name)
    words = f"{name}, {counted(len(picture.spots), 'node')}"
    return TreeDrawing(picture.svg(), words)


def _moves_in(history: Sequence[int] | str) -> list[int]:
    """The actions that a user gives; raises ValueError for other words."""
    words = history.replace(",", " ").split() if isinstance(history, str) else history
    try:
        return [int(word) for word in words]
    except (TypeError, ValueError):
        raise ValueError(
            f"around={history!r} is no list of actions, such as [0, 3] or '0, 3'."
        ) from None


def _check_size(
    game: pyspiel.Game, state: pyspiel.State, depth: int | None, max_nodes: int
) -> None:
    """Raises ValueError if more nodes follow a state than are drawn."""
    most = max_nodes if depth is not None else max(_MOST_COUNTED, max_nodes)
    count, stack = 0, [(state, 0)]
    while stack and count <= most:
        state, level = stack.pop()
        count += 1
        if level != depth and not state.is_terminal():
            stack += [(state.child(move), level + 1) for move in state.legal_actions()]
    if count > max_nodes:
        there = "" if depth is None else " there"
        nodes = counted(count, "node")
        if count > most:
            nodes = f"more than {most:,} nodes{there}"
        raise ValueError(
            f"{brief(game)} has {nodes}, and a drawing of more than {max_nodes:,} "
            "cannot be read. Draw a smaller game, or look at policy.table(); max_nodes "
            "allows more."
        )


# --- the nodes ------------------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class Spot:
    """A node of the drawing.

    Attributes:
        parent: None at the root.
        player: who acts, as in OpenSpiel.
        infoset: its number in the drawing; -1 where no player acts.
        known: what the player knows there, as people say it.
        label: what is written at the edge to the node.
        odds: the probability of a player's move to it; None if there is no policy, or
            if chance has made the move.
        end: what is written behind a terminal node.
        level: how many moves lead to it.
        y: its row, which `give_rows` finds.
    """

    parent: "Spot | None"
    player: int
    infoset: int = -1
    known: str = ""
    label: str = ""
    odds: float | None = None
    end: str = ""
    level: int = 0
    y: float = 0.0


def spots_of(state: pyspiel.State, policy: Any, depth: int | None) -> list[Spot]:
    """The nodes from a state on in depth-first order, with the words of people.

    Args:
        state: the first one.
        policy: what answers for states, if there is a policy.
        depth: how many moves the nodes go further; None for to the end.
    """
    spots: list[Spot] = []
    answers = None if policy is None else Answers(policy)
    infosets: dict[tuple[int, str], int] = {}
    stack = [(state, Spot(None, int(state.current_player())))]
    # One pass takes a node off the stack and puts its children on, the last one first.
    while stack:
        state, spot = stack.pop()
        spots.append(spot)
        player = spot.player
        if state.is_terminal():
            spot.end = ", ".join(f"{one:g}" for one in state.returns())
            continue
        odds: dict[int, float] = {}
        if player >= 0:
            known = state.information_state_string(player)
            spot.infoset = infosets.setdefault((player, known), len(infosets))
            spot.known = said_info_state(state.get_game(), player, known)
        if spot.level == depth:
            spot.end = "\u2026"
            continue
        if player < 0:
            odds = dict(state.chance_outcomes())
        elif answers is not None:
            odds = answers.action_probabilities(state)
        actions = state.legal_actions() if player >= 0 else list(odds)
        below = []
        for action, name in zip(actions, said_at(state, player, actions), strict=True):
            label, odd = one_line(name, _MOST_OF_NAME), None
            if odds:
                odd = odds.get(action, 0.0)
                label += f" {odd:.2f}"
            child = state.child(action)
            one = Spot(spot, int(child.current_player()), label=label)
            one.odds, one.level = odd if player >= 0 else None, spot.level + 1
            below.append((child, one))
        stack += reversed(below)
    return spots


def give_rows(spots: Sequence[Spot]) -> None:
    """Leaves stand on rows of their own, other nodes in the middle of their children.

    From the last node up, all children of a node have their rows before it.

    Args:
        spots: the nodes in depth-first order.
    """
    children: dict[Spot, list[float]] = {}
    leaves = len({*spots} - {spot.parent for spot in spots})
    for spot in reversed(spots):
        rows = children.get(spot)
        if rows is None:
            leaves -= 1
            spot.y = _MARGIN + _ROW * (0.5 + leaves)
        else:
            spot.y = (min(rows) + max(rows)) / 2
        if spot.parent is not None:
            children.setdefault(spot.parent, []).append(spot.y)


def links_of(members: Sequence[Spot]) -> list[tuple[int, list[Spot]]]:
    """The lines that join nodes of one infoset on one level, from the top down: of each
    the lane it is in, 0 next to the nodes, and the nodes.

    Lines that overlap get lanes of their own. Each pass takes the line that begins
    highest among those left and puts it into the first lane that is free there.
    """
    groups: dict[int, list[Spot]] = {}
    for spot in members:
        if spot.infoset >= 0:
            groups.setdefault(spot.infoset, []).append(spot)
    links, ends = [], [-1.0]  # of each lane the row where its last line ends
    for group in groups.values():
        if len(group) > 1:
            lane = next(i for i, end in enumerate(ends) if end < group[0].y)
            ends[lane] = group[-1].y
            ends += [-1.0] if lane == len(ends) - 1 else []
            links.append((lane, group))
    return links


# --- the picture ----------------------------------------------------------------------


class _Picture:
    """The drawing of one tree as an SVG element."""

    def __init__(self, spots: list[Spot], num_players: int, name: str) -> None:
        self.spots, self._name = spots, name
        self._known = {one.infoset: one for one in spots if one.player >= 0}
        self._owned = [
            [infoset for infoset, one in sorted(self._known.items()) if one.player == p]
            for p in range(num_players)
        ]
        self._numbers = {  # within their players
            infoset: number
            for mine in self._owned
            for number, infoset in enumerate(mine, 1)
        }
        give_rows(spots)
        levels: list[list[Spot]] = []
        for spot in spots:
            if spot.level == len(levels):
                levels.append([])
            levels[spot.level].append(spot)
        # For each level where its nodes are, and where edges have come to their rows.
        self._x, self._label_start = [_MARGIN + _RADIUS], [0.0]
        self._width, self._links = 0.0, []
        for level, members in enumerate(levels):
            links = links_of(members)
            self._links += links
            if level:
                start = self._x[-1] + _RADIUS + _BEND
                end = start + _CHARACTER * max(len(spot.label) for spot in members)
                lanes = 1 + max((lane for lane, _ in links), default=-1)
                self._label_start.append(start)
                self._x.append(end + 4 + lanes * _LANE + _RADIUS + 6)
            behind = _CHARACTER * max(len(spot.end) for spot in members)
            self._width = max(self._width, self._x[-1] + _RADIUS + behind + _MARGIN)

    def svg(self) -> str:
        """The text of an SVG file."""
        words = ", ".join(map(str, range(len(self._owned))))
        words = f"At the ends: the returns of players {words}."
        if self._links:
            words += " Dots on a dashed line: one information set."
        top = 2 * _LINE + _MARGIN
        group = ElementTree.Element("g", transform=f"translate(0 {top:.0f})")
        self._draw_edges(group)
        self._draw_links(group)
        for spot in self.spots:
            self._draw_node(group, spot)
        legend = ElementTree.Element("g")
        bottom = top + max(spot.y for spot in self.spots) + _ROW / 2 + _MARGIN
        right, rows = self._draw_legend(legend, bottom)
        width = max(self._width, right, _CHARACTER * len(words) + 2 * _MARGIN)
        height = bottom + _LINE * rows + _MARGIN
        root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "class": "ms-tree",
                "viewBox": f"0 0 {width:.0f} {height:.0f}",
                "width": f"{width:.0f}",
                "height": f"{height:.0f}",
                "role": "img",
            },
        )
        _child(root, "title").text = f"The tree of {self._name}"
        _child(root, "style").text = _style()
        _child(root, "rect", "paper", width="100%", height="100%")
        _text(root, _MARGIN, _LINE + 6, one_line(self._name), "title")
        _text(root, _MARGIN, 2 * _LINE + 6, words, "faint")
        root.extend((group, legend))
        return ElementTree.tostring(root, encoding="unicode")

    def _draw_edges(self, group: ElementTree.Element) -> None:
        for spot in self.spots[1:]:
            assert spot.parent is not None
            x0, y0 = self._x[spot.parent.level], spot.parent.y
            x1, y1 = self._label_start[spot.level], spot.y
            middle = (x0 + x1) / 2 + _RADIUS / 2
            path = (
                f"M{x0:.1f} {y0:.1f} C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} "
                f"{x1:.1f} {y1:.1f} H{self._x[spot.level]:.1f}"
            )
            edge = _child(group, "path", "edge", d=path)
            width = 1.0 if spot.odds is None else 0.8 + 3.2 * spot.odds
            edge.set("stroke-width", f"{width:.2f}")
            label = _text(group, x1, y1 - 5, spot.label)
            if spot.odds is not None and spot.odds < 0.005:  # the label says 0
                edge.set("stroke-dasharray", "1 3")
                label.set("opacity", "0.6")

    def _draw_links(self, group: ElementTree.Element) -> None:
        for lane, spots in self._links:
            x = self._x[spots[0].level] - _RADIUS - 6 - _LANE * lane
            colour = _PLAYERS + lane % (len(_LIGHT) - _PLAYERS)
            path = f"M{x:.1f} {spots[0].y:.1f} V{spots[-1].y:.1f}"
            _child(group, "path", f"link line{colour}", d=path)
            for spot in spots:
                _child(group, "circle", f"fill{colour}", cx=x, cy=spot.y, r="3")

    def _draw_node(self, group: ElementTree.Element, spot: Spot) -> None:
        x, y, player = self._x[spot.level], spot.y, spot.player
        if spot.end:  # of a leaf, or dots where the tree goes on
            right = 4 if player == TERMINAL else _RADIUS + 3
            _text(group, x + right, y + 4, spot.end)
        if player == CHANCE_NODE:
            r = _RADIUS - 1
            corners = f"{x - r},{y} {x},{y - r} {x + r},{y} {x},{y + r}"
            shape = _child(group, "polygon", "chance", points=corners)
            _child(shape, "title").text = "chance"
        elif player != TERMINAL:
            kind = f"fill{player % _PLAYERS}"
            shape = _child(group, "circle", kind, cx=x, cy=y, r=f"{_RADIUS:g}")
            _child(shape, "title").text = f"player {player}: {one_line(spot.known)}"
            _text(group, x, y + 4, str(self._numbers[spot.infoset]), "number")

    def _draw_legend(self, group: ElementTree.Element, top: float) -> tuple[float, int]:
        """The list of each player's information states; returns where it ends at the
        right, and its rows."""
        x, rows = _MARGIN, 0
        for player, mine in enumerate(self._owned):
            known = [self._known[infoset].known for infoset in mine]
            names = one_lines(known, _MOST_OF_STRING)
            lines = [f"player {player}"]
            lines += [f"{number}:  {name}" for number, name in enumerate(names, 1)]
            for row, words in enumerate(lines):
                kind = f"title fill{player % _PLAYERS}" if row == 0 else ""
                _text(group, x, top + _LINE * (row + 0.5), words, kind)
            x += _CHARACTER * max(map(len, lines)) + 2 * _MARGIN
            rows = max(rows, len(lines))
        return x, rows


def _child(
    parent: ElementTree.Element, tag: str, kind: str = "", **attributes: str | float
) -> ElementTree.Element:
    """A new element, with a class if there is one."""
    words = {k: v if isinstance(v, str) else f"{v:.1f}" for k, v in attributes.items()}
    if kind:
        words["class"] = kind
    return ElementTree.SubElement(parent, tag, words)


def _text(
    parent: ElementTree.Element, x: float, y: float, words: str, kind: str = ""
) -> ElementTree.Element:
    element = _child(parent, "text", kind, x=x, y=y)
    element.text = words
    return element


# --- as PDF or PNG: the SVG elements, drawn again by matplotlib -----------------------


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
