"""`draw_tree`: a small game's tree, with a policy if there is one, as SVG.

The root is at the left. Decision nodes are circles with the number of the infoset, in
the colour of the player; chance nodes are diamonds. Nodes of one infoset on one level
are joined by a dashed line, on which each of them has a dot.
"""

import os
import pathlib
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pyspiel

from mccfr_spiel import refusals
from mccfr_spiel.arrays import CHANCE_NODE
from mccfr_spiel.display.lines import (
    counted,
    line,
    never_raises,
    one_line,
    one_lines,
    title,
)
from mccfr_spiel.drawing.layout import (
    CHARACTER,
    FONT,
    LANE,
    MARGIN,
    RADIUS,
    Layout,
    lay_out,
)
from mccfr_spiel.limits.budget import MemoryBudgetError, TreeFullError
from mccfr_spiel.policies.action_names import Replay, names_at
from mccfr_spiel.policies.vectors import policy_vector
from mccfr_spiel.storage.atomic import write_file
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.levels import Levels, levels_of, probabilities
from mccfr_spiel.tree.loading import load_game

MOST_NODES = 400
"""A larger tree could not be read, with one leaf on each row."""

_MOST_COUNTED = 100_000
"""So many nodes are counted to say how large a game is that is refused."""

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
        """Writes the picture as an SVG file, which browsers show.

        Raises:
            ValueError: the name does not end with .svg.
            OSError: the file cannot be written.
        """
        path = pathlib.Path(path)
        if path.suffix.lower() != ".svg":
            raise ValueError(
                f"{path}: the drawing is written as SVG; let the name end with .svg. "
                "Browsers and Inkscape turn it into other formats."
            )
        write_file(path, self.svg.encode())


def draw_tree(
    game: pyspiel.Game | str | GameTree,
    policy: Any = None,
    *,
    max_nodes: int = MOST_NODES,
) -> TreeDrawing:
    """Draws the whole tree of a small game, such as Kuhn poker.

        ms.draw_tree("kuhn_poker", solver.average_policy()).save("kuhn.svg")

    Moves have the game's own names. With a policy, edges are as wide as their moves are
    probable, and have the probability beside the name. Ends have the players' returns.
    A list below the tree says which information state each number stands for.

    Args:
        game: a game, its load string, or its tree. Simultaneous moves become turns.
        policy: any policy, or a list with one for each player, see `expected_returns`.
        max_nodes: a game with more nodes is refused.

    Raises:
        ValueError: the game has too many nodes, see also `GameTree`; or the policy is
            of another game.
    """
    max_nodes = refusals.integer(max_nodes, "max_nodes", 1)
    tree = _small_tree(game, max_nodes)
    vector = None if policy is None else policy_vector(tree, policy)
    picture = _Picture(tree, vector)
    words = f"{title(tree.source)}, {counted(tree.num_nodes, 'node')}"
    return TreeDrawing(picture.svg(), words)


def _small_tree(game: pyspiel.Game | str | GameTree, max_nodes: int) -> GameTree:
    """The whole tree of a game; raises ValueError if it is too large to draw."""
    if isinstance(game, GameTree) and game.is_complete and game.abstraction is None:
        tree = game
    else:
        source = game.source if isinstance(game, GameTree) else load_game(game)
        most = max(_MOST_COUNTED, max_nodes)
        try:
            tree = GameTree(source, max_nodes=most).expand_all()
        except (TreeFullError, MemoryBudgetError):
            raise _too_large(source, f"more than {most:,} nodes", max_nodes) from None
    if tree.num_nodes > max_nodes:
        raise _too_large(tree.source, counted(tree.num_nodes, "node"), max_nodes)
    return tree


def _too_large(game: pyspiel.Game, nodes: str, max_nodes: int) -> ValueError:
    return ValueError(
        f"{game} has {nodes}, and a drawing of more than {max_nodes:,} cannot be read. "
        "Draw a smaller game, or look at policy.table(); max_nodes allows more."
    )


class _Words(NamedTuple):
    """What is written at the nodes of a tree.

    Attributes:
        labels: `[N]` at the edge to each node.
        ends: `[N]` behind terminal nodes; "" at others.
    """

    labels: list[str]
    ends: list[str]


def _words_of(tree: GameTree, levels: Levels, moves: np.ndarray | None) -> _Words:
    """Reads the names of all moves from the game's states.

    Args:
        tree: the tree.
        levels: its levels.
        moves: `[N]` the probability of the move to each node; without it, only those
            of chance are written.
    """
    nodes, actions = tree.nodes, tree.actions
    replay = Replay(tree.game, nodes, actions, levels)
    labels, ends = [""] * len(nodes), [""] * len(nodes)
    for node, (first, start, _, count, player) in enumerate(nodes.tolist()):
        if player >= 0:
            legal = actions[start : start + count].tolist()
            names = names_at(replay.state(node), player, legal)
            values = None if moves is None else moves[first : first + count].tolist()
        elif player == CHANCE_NODE:
            state = replay.state(node)
            outcomes = state.chance_outcomes()
            names = names_at(state, player, [outcome for outcome, _ in outcomes])
            values = [probability for _, probability in outcomes]
        else:
            returns = tree.utilities[start].tolist()
            ends[node] = ", ".join(f"{value:g}" for value in returns)
            continue
        for child, name in enumerate(names):
            label = one_line(name, _MOST_OF_NAME)
            if values is not None:
                label += f" {values[child]:.2f}"
            labels[first + child] = label
    return _Words(labels, ends)


class _Picture:
    """The drawing of one tree as an SVG element."""

    def __init__(self, tree: GameTree, vector: np.ndarray | None) -> None:
        self._tree = tree
        self._nodes = tree.nodes
        self._levels = levels_of(self._nodes)
        self._moves: np.ndarray | None = None
        if vector is not None:
            self._moves = probabilities(
                self._nodes, self._levels, tree.chance_probs, vector
            )
        self._words = _words_of(tree, self._levels, self._moves)
        self._layout: Layout = lay_out(self._nodes, self._levels, *self._words)
        owners = tree.infosets["player"]
        self._numbers = np.zeros(tree.num_infosets, np.int64)  # within their players
        for player in range(tree.num_players):
            mine = np.flatnonzero(owners == player)
            self._numbers[mine] = 1 + np.arange(len(mine))

    def svg(self) -> str:
        """The text of an SVG file."""
        top = 2 * _LINE + MARGIN
        legend, legend_width = self._legend_columns()
        lines = max((len(column) for column, _ in legend), default=0)
        letters = CHARACTER * len(self._explanation()) + 2 * MARGIN
        width = max(self._layout.width, legend_width, letters)
        height = top + self._layout.height + _LINE * lines + MARGIN
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
        _child(root, "title").text = f"The tree of {title(self._tree.source)}"
        _child(root, "style").text = _style()
        _child(root, "rect", kind="paper", width="100%", height="100%")
        heading = one_line(title(self._tree.source))
        _text(root, MARGIN, _LINE + 6, heading, "title")
        _text(root, MARGIN, 2 * _LINE + 6, self._explanation(), "faint")
        group = _child(root, "g", transform=f"translate(0 {top:.0f})")
        self._draw_edges(group)
        self._draw_links(group)
        self._draw_nodes(group)
        self._draw_legend(root, legend, top + self._layout.height)
        return ElementTree.tostring(root, encoding="unicode")

    def _explanation(self) -> str:
        players = ", ".join(map(str, range(self._tree.num_players)))
        words = f"At the ends: the returns of players {players}."
        if self._layout.links:
            words += " Dots on a dashed line: one information set."
        return words

    def _draw_edges(self, group: ElementTree.Element) -> None:
        layout, levels = self._layout, self._levels
        for level, members in enumerate(levels.levels[1:], 1):
            for node in members.tolist():
                parent = int(levels.parents[node])
                x0, y0 = layout.x[level - 1], layout.y[parent]
                x1, y1 = layout.label_start[level], float(layout.y[node])
                middle = (x0 + x1) / 2 + RADIUS / 2
                path = (
                    f"M{x0:.1f} {y0:.1f} C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} "
                    f"{x1:.1f} {y1:.1f} H{layout.x[level]:.1f}"
                )
                edge = _child(group, "path", kind="edge", d=path)
                edge.set("stroke-width", f"{self._width(node, parent):.2f}")
                words = _text(group, x1, y1 - 5, self._words.labels[node])
                if self._is_unlikely(node, parent):
                    edge.set("stroke-dasharray", "1 3")
                    words.set("opacity", "0.6")

    def _width(self, node: int, parent: int) -> float:
        if self._moves is None or self._nodes["player"][parent] < 0:
            return 1.0
        return 0.8 + 3.2 * float(self._moves[node])

    def _is_unlikely(self, node: int, parent: int) -> bool:
        """Whether the policy plays a move so rarely that its label says 0."""
        if self._moves is None or self._nodes["player"][parent] < 0:
            return False
        return bool(self._moves[node] < 0.005)

    def _draw_links(self, group: ElementTree.Element) -> None:
        layout = self._layout
        for link in layout.links:
            x = layout.x[link.level] - RADIUS - 6 - LANE * link.lane
            rows = [float(layout.y[node]) for node in link.nodes]
            colour = _PLAYERS + link.lane % (len(_LIGHT) - _PLAYERS)
            path = f"M{x:.1f} {rows[0]:.1f} V{rows[-1]:.1f}"
            _child(group, "path", kind=f"link line{colour}", d=path)
            for y in rows:
                place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3"}
                _child(group, "circle", kind=f"fill{colour}", **place)

    def _draw_nodes(self, group: ElementTree.Element) -> None:
        layout = self._layout
        for level, members in enumerate(self._levels.levels):
            x = layout.x[level]
            for node in members.tolist():
                y, player = float(layout.y[node]), int(self._nodes["player"][node])
                if player >= 0:
                    self._draw_decision(group, node, x, y)
                elif player == CHANCE_NODE:
                    r = RADIUS - 1
                    corners = f"{x - r},{y} {x},{y - r} {x + r},{y} {x},{y + r}"
                    shape = _child(group, "polygon", kind="chance", points=corners)
                    _child(shape, "title").text = "chance"
                else:
                    _text(group, x + 4, y + 4, self._words.ends[node])

    def _draw_decision(
        self, group: ElementTree.Element, node: int, x: float, y: float
    ) -> None:
        infoset = int(self._nodes["infoset"][node])
        player = int(self._nodes["player"][node])
        place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{RADIUS:g}"}
        kind = f"fill{player % _PLAYERS}"
        shape = _child(group, "circle", kind=kind, **place)
        name = one_line(self._tree.info_state(infoset))
        _child(shape, "title").text = f"player {player}: {name}"
        _text(group, x, y + 4, str(self._numbers[infoset]), "number")

    def _legend_columns(self) -> tuple[list[tuple[list[str], int]], float]:
        """The lines of the list for each player, with the player, and its width."""
        tree = self._tree
        columns, width = [], MARGIN
        owners = tree.infosets["player"].tolist()
        for player in range(tree.num_players):
            mine = [infoset for infoset, owner in enumerate(owners) if owner == player]
            names = one_lines([tree.info_state(i) for i in mine], _MOST_OF_STRING)
            lines = [f"player {player}"]
            lines += [f"{number}:  {name}" for number, name in enumerate(names, 1)]
            columns.append((lines, player))
            width += CHARACTER * max(map(len, lines)) + 2 * MARGIN
        return columns, width

    def _draw_legend(
        self,
        root: ElementTree.Element,
        columns: list[tuple[list[str], int]],
        top: float,
    ) -> None:
        x = MARGIN
        for lines, player in columns:
            for number, words in enumerate(lines):
                kind = f"title fill{player % _PLAYERS}" if number == 0 else ""
                _text(root, x, top + _LINE * (number + 0.5), words, kind)
            x += CHARACTER * max(map(len, lines)) + 2 * MARGIN


def _child(
    parent: ElementTree.Element, tag: str, kind: str = "", **attributes: str
) -> ElementTree.Element:
    """A new element, with a class if there is one."""
    if kind:
        attributes["class"] = kind
    return ElementTree.SubElement(parent, tag, attributes)


def _text(
    parent: ElementTree.Element, x: float, y: float, words: str, kind: str = ""
) -> ElementTree.Element:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    element = _child(parent, "text", kind, **place)
    element.text = words
    return element
