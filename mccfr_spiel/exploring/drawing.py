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
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import pyspiel
from open_spiel.python.policy import Policy

from mccfr_spiel.arenas.evaluating import complete_table
from mccfr_spiel.arenas.infosets.loading import check_length, said_at, said_info_state
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import display, refusals
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.common.folders import write_file
from mccfr_spiel.exploring.tikz import tikz
from mccfr_spiel.policies.policy import Answers, SequencePolicy

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

    @display.never_raises
    def __repr__(self) -> str:
        return display.line(self, self._words)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as its name ends: .svg for browsers, .pdf, .png, or .tex,
        a TikZ picture that LaTeX documents input.

        Raises:
            ValueError: the name ends otherwise.
            ImportError: PDF and PNG need matplotlib, which is missing.
            OSError: the file cannot be written.
        """
        path = pathlib.Path(path)
        kind = path.suffix.lower().removeprefix(".")
        if kind not in ("svg", "pdf", "png", "tex"):
            raise ValueError(f"{path}: let the name end with .svg, .pdf, .png or .tex.")
        if kind == "svg":
            content = self.svg.encode()
        elif kind == "tex":
            content = tikz(self.svg, styles_of(self.svg)).encode()
        else:
            content = printed(self.svg, kind)
        write_file(path, content)


def draw_tree(
    game: pyspiel.Game | str | GameTree,
    policy: Any = None,
    *,
    around: Sequence[int] | str | None = None,
    depth: int | None = None,
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
            For a part, an OpenSpiel policy, such as all that solvers give.
        around: the moves from the root to the node where the drawing begins, as
            OpenSpiel's actions or its string of a history, such as "0, 3"; None for the
            root.
        depth: how many moves further the drawing goes; by default 3 with `around`, and
            without it to the ends. Dots stand where the tree goes on.
        max_nodes: more nodes are refused.

    Raises:
        ValueError: there are too many nodes, see also `GameTree`; a move is not
            possible; or the policy is of another game.
    """
    max_nodes = refusals.integer(max_nodes, "max_nodes", 1)
    source = game.source if isinstance(game, InfosetTable) else game
    tree = GameTree(source)
    if isinstance(game, GameTree) and game.abstraction is None:
        tree = game
    state, moves, most, name = tree.new_state(), [], None, display.title(tree.source)
    if depth is not None and around is None:
        around = ()
    if around is not None:
        most = refusals.integer(3 if depth is None else depth, "depth", 0)
        moves = _moves_in(around)
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
        tree = complete_table(tree)
        policy = SequencePolicy(tree, policy_vector(tree, policy))
    spots = spots_of(state, policy, most)
    words = f"{name}, {display.counted(len(spots), 'node')}"
    return TreeDrawing(picture(spots, tree.num_players, name), words)


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
        check_length(game, level)
        if level != depth and not state.is_terminal():
            stack += [(state.child(move), level + 1) for move in state.legal_actions()]
    if count > max_nodes:
        there = "" if depth is None else " there"
        nodes = display.counted(count, "node")
        if count > most:
            nodes = f"more than {most:,} nodes{there}"
        raise ValueError(
            f"{display.brief(game)} has {nodes}, and a drawing of more than "
            f"{max_nodes:,} cannot be read. Draw a part (around=[], depth=2), or look "
            "at policy.table(); max_nodes allows more."
        )


# --- the nodes ------------------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class Spot:
    """A node of the drawing.

    Attributes:
        state: the game's.
        parent: None at the root.
        level: how many moves lead to it.
        label: what is written at the edge to the node.
        odds: the probability of a player's move to it; None if there is no policy, or
            if chance has made the move.
        number: of its infoset among those of the player who acts.
        known: what that player knows there, as people say it.
        end: what is written behind a node: returns, or dots where the tree goes on.
        below: its children.
        x, y: where it stands, which `give_places` finds.
        start: where the edge to it has come to its row, and the label begins.
    """

    state: pyspiel.State
    parent: "Spot | None" = None
    level: int = 0
    label: str = ""
    odds: float | None = None
    number: int = 0
    known: str = ""
    end: str = ""
    below: list["Spot"] = dataclasses.field(default_factory=list)
    x: float = _MARGIN + _RADIUS
    y: float = 0.0
    start: float = 0.0

    @property
    def player(self) -> int:
        """Who acts, as in OpenSpiel."""
        return int(self.state.current_player())


def spots_of(state: pyspiel.State, policy: Any, depth: int | None) -> list[Spot]:
    """The nodes from a state on in depth-first order, with the words of people.

    Args:
        state: the first one.
        policy: what answers for states, if there is a policy.
        depth: how many moves the nodes go further; None for to the end.
    """
    spots: list[Spot] = []
    answers = None if policy is None else Answers(policy)
    numbers: dict[int, dict[str, int]] = {}
    stack = [Spot(state)]
    # One pass takes a node off the stack and puts its children on, the last one first.
    while stack:
        spot = stack.pop()
        spots.append(spot)
        state, player = spot.state, spot.player
        if state.is_terminal():
            spot.end = ", ".join(f"{one:g}" for one in state.returns())
            continue
        odds: dict[int, float] = {}
        if player >= 0:
            known = state.information_state_string(player)
            mine = numbers.setdefault(player, {})
            spot.number = mine.setdefault(known, 1 + len(mine))
            spot.known = said_info_state(state.get_game(), player, known)
        if spot.level == depth:
            spot.end = "\u2026"
            continue
        if player < 0:
            odds = dict(state.chance_outcomes())
        elif answers is not None:
            odds = answers.action_probabilities(state)
        actions = state.legal_actions() if player >= 0 else list(odds)
        for action, name in zip(actions, said_at(state, player, actions), strict=True):
            one = Spot(state.child(action), spot, spot.level + 1)
            one.label = display.one_line(name, _MOST_OF_NAME)
            if odds:
                odd = odds.get(action, 0.0)
                one.label += f" {odd:.2f}"
                one.odds = odd if player >= 0 else None
            spot.below.append(one)
        stack += reversed(spot.below)
    return spots


Link = tuple[int, list[Spot]]
"""A line that joins nodes of one infoset on one level: the lane it is in, 0 next to the
nodes, and the nodes from the top down."""


def links_of(members: Sequence[Spot]) -> list[Link]:
    """The links of a level, from the top down.

    Lines that overlap get lanes of their own. Each pass takes the line that begins
    highest among those left and puts it into the first lane that is free there.
    """
    groups: dict[tuple[int, int], list[Spot]] = {}
    for spot in members:
        if spot.number:
            groups.setdefault((spot.player, spot.number), []).append(spot)
    links, ends = [], [-1.0]  # of each lane the row where its last line ends
    for group in groups.values():
        if len(group) > 1:
            lane = next(i for i, end in enumerate(ends) if end < group[0].y)
            ends[lane] = group[-1].y
            ends += [-1.0] if lane == len(ends) - 1 else []
            links.append((lane, group))
    return links


def give_places(spots: Sequence[Spot]) -> tuple[list[Link], float]:
    """Places nodes, given in depth-first order; returns the links and the width.

    Leaves stand on rows of their own, other nodes in the middle of their children. From
    the last node up, all children of a node have their rows before it.
    """
    for row, leaf in enumerate(spot for spot in spots if not spot.below):
        leaf.y = _MARGIN + _ROW * (0.5 + row)
    for spot in reversed(spots):
        if spot.below:
            spot.y = (spot.below[0].y + spot.below[-1].y) / 2
    found: list[Link] = []
    x, start, width = _MARGIN + _RADIUS, 0.0, 0.0
    for level in range(1 + max(spot.level for spot in spots)):
        members = [spot for spot in spots if spot.level == level]
        links = links_of(members)
        found += links
        if level:
            start = x + _RADIUS + _BEND
            end = start + _CHARACTER * max(len(spot.label) for spot in members)
            lanes = 1 + max((lane for lane, _ in links), default=-1)
            x = end + 4 + lanes * _LANE + _RADIUS + 6
        for spot in members:
            spot.x, spot.start = x, start
        behind = _CHARACTER * max(len(spot.end) for spot in members)
        width = max(width, x + _RADIUS + behind + _MARGIN)
    return found, width


# --- the picture ----------------------------------------------------------------------


def picture(spots: Sequence[Spot], num_players: int, name: str) -> str:
    """The drawing of a tree as the text of an SVG file."""
    links, width = give_places(spots)
    game = spots[0].state.get_game()
    names = [display.player_name(game, player, "{}") for player in range(num_players)]
    kind = "" if hasattr(game, "player_names") else "players "
    words = f"At the ends: the returns of {kind}{', '.join(names)}."
    if links:
        words += " Dots on a dashed line: one information set."
    top = 2 * _LINE + _MARGIN
    group = ElementTree.Element("g", transform=f"translate(0 {top:.0f})")
    for spot in spots:
        _draw_edge(group, spot)
    for lane, joined in links:
        _draw_link(group, lane, joined)
    for spot in spots:
        _draw_node(group, spot)
    legend = ElementTree.Element("g")
    bottom = top + max(spot.y for spot in spots) + _ROW / 2 + _MARGIN
    right, rows = _draw_legend(legend, spots, num_players, bottom)
    width = f"{max(width, right, _CHARACTER * len(words) + 2 * _MARGIN):.0f}"
    height = f"{bottom + _LINE * rows + _MARGIN:.0f}"
    view = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    named = {"xmlns": "http://www.w3.org/2000/svg", "class": "ms-tree"}
    root = ElementTree.Element("svg", {**named, **view, "role": "img"})
    _child(root, "title").text = f"The tree of {name}"
    _child(root, "style").text = _style()
    _child(root, "rect", "paper", width="100%", height="100%")
    _text(root, _MARGIN, _LINE + 6, display.one_line(name), "title")
    _text(root, _MARGIN, 2 * _LINE + 6, words, "faint")
    root.extend((group, legend))
    return ElementTree.tostring(root, encoding="unicode")


def _who(spot: Spot, player: int) -> str:
    return display.player_name(spot.state.get_game(), player)


def _draw_edge(group: ElementTree.Element, spot: Spot) -> None:
    """Draws the edge that leads to a node."""
    if spot.parent is None:
        return
    x0, y0, x1, y1 = spot.parent.x, spot.parent.y, spot.start, spot.y
    middle = (x0 + x1) / 2 + _RADIUS / 2
    path = (
        f"M{x0:.1f} {y0:.1f} C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} "
        f"{x1:.1f} {y1:.1f} H{spot.x:.1f}"
    )
    edge = _child(group, "path", "edge", d=path)
    width = 1.0 if spot.odds is None else 0.8 + 3.2 * spot.odds
    edge.set("stroke-width", f"{width:.2f}")
    label = _text(group, x1, y1 - 5, spot.label)
    if spot.odds is not None and spot.odds < 0.005:  # the label says 0
        edge.set("stroke-dasharray", "1 3")
        label.set("opacity", "0.6")


def _draw_link(group: ElementTree.Element, lane: int, spots: list[Spot]) -> None:
    x = spots[0].x - _RADIUS - 6 - _LANE * lane
    colour = _PLAYERS + lane % (len(_LIGHT) - _PLAYERS)
    path = f"M{x:.1f} {spots[0].y:.1f} V{spots[-1].y:.1f}"
    _child(group, "path", f"link line{colour}", d=path)
    for spot in spots:
        _child(group, "circle", f"fill{colour}", cx=x, cy=spot.y, r="3")


def _draw_node(group: ElementTree.Element, spot: Spot) -> None:
    x, y, player = spot.x, spot.y, spot.player
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
        _child(
            shape, "title"
        ).text = f"{_who(spot, player)}: {display.one_line(spot.known)}"
        _text(group, x, y + 4, str(spot.number), "number")


def _draw_legend(
    group: ElementTree.Element, spots: Sequence[Spot], num_players: int, top: float
) -> tuple[float, int]:
    """The list of each player's information states; returns where it ends at the
    right, and its rows."""
    x, rows = _MARGIN, 0
    for player in range(num_players):
        known = {spot.number: spot.known for spot in spots if spot.player == player}
        names = display.one_lines([*known.values()], _MOST_OF_STRING)
        lines = [_who(spots[0], player)]
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


def styles_of(svg: str) -> dict[str, dict[str, str]]:
    """The attributes of each class of a drawing's elements, in the light scheme."""
    rules = re.findall(r"^\.ms-tree \.(\w+) \{ (.*) \}$", svg, re.MULTILINE)
    return {name: dict(re.findall(r"([\w-]+): ([^;]+);", body)) for name, body in rules}


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
    styles = styles_of(svg)
    for group in (root, *root.findall("g")):
        down = float(group.get("transform", "translate(0 0)")[:-1].split()[1])
        for element in group:
            names = element.get("class", "").split()
            style = {k: v for name in names for k, v in styles.get(name, {}).items()}
            _draw(axes, element, down, style | element.attrib)
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=DOTS_PER_INCH)
    return file.getvalue()


def _draw(
    axes: Any, element: ElementTree.Element, down: float, style: dict[str, str]
) -> None:
    """Draws an element, by its own attributes and those of its classes."""
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
            numbers = [float(one) for one in text.split()]
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
