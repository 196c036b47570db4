"""Where the parts of a drawn tree stand: from left to right, a leaf on each row."""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.tree.levels import Levels, depth_first

ROW = 24.0
"""The distance between two leaves."""
RADIUS = 10.0
"""Of a decision node."""
LANE = 8.0
"""The distance between two lanes, in which lines join the nodes of infosets."""
CHARACTER = 6.3
"""The width of a letter, on average, at FONT."""
FONT = 11
BEND = 34.0
"""The room in which an edge goes from the row of its parent to its own."""
MARGIN = 18.0


class Link(NamedTuple):
    """The line that joins the nodes of an infoset.

    Attributes:
        infoset: its number in the tree.
        level: of the nodes that it joins.
        lane: which of the level's lanes it is in, 0 next to the nodes.
        nodes: the nodes, from the top down.
    """

    infoset: int
    level: int
    lane: int
    nodes: tuple[int, ...]


class Layout(NamedTuple):
    """Places in a picture, in pixels.

    Attributes:
        x: for each level the place of its nodes, from left to right.
        label_x: for each level the place where labels of edges end.
        label_start: for each level the place where edges have arrived at their rows.
        y: `[N]` each node's row.
        links: the lines between nodes of one infoset.
        width, height: of the tree, margins included.
    """

    x: list[float]
    label_x: list[float]
    label_start: list[float]
    y: np.ndarray
    links: list[Link]
    width: float
    height: float


def lay_out(
    nodes: np.ndarray, levels: Levels, labels: list[str], ends: list[str]
) -> Layout:
    """Places a tree.

    Args:
        nodes: `[N]` of dtype NODE.
        levels: theirs.
        labels: `[N]` what is written at the edge to each node.
        ends: `[N]` what is written behind each terminal node.
    """
    y = _rows(levels)
    links = _links(nodes, levels, y)
    lanes = [0] * len(levels.levels)
    for link in links:
        lanes[link.level] = max(lanes[link.level], link.lane + 1)
    x, label_x, label_start = [MARGIN + RADIUS], [0.0], [0.0]
    for level, members in enumerate(levels.levels[1:], 1):
        letters = max(len(labels[node]) for node in members.tolist())
        label_start.append(x[-1] + RADIUS + BEND)
        label_x.append(label_start[-1] + letters * CHARACTER + 4)
        x.append(label_x[-1] + lanes[level] * LANE + RADIUS + 6)
    behind = [
        x[level] + RADIUS + CHARACTER * max(len(ends[node]) for node in members)
        for level, members in enumerate(m.tolist() for m in levels.levels)
    ]
    height = float(y.max()) + ROW / 2 + MARGIN
    return Layout(x, label_x, label_start, y, links, max(behind) + MARGIN, height)


def _rows(levels: Levels) -> np.ndarray:
    """`[N]` the place of each node from the top: leaves stand on rows of their own, in
    depth-first order, and other nodes in the middle of their children."""
    count = len(levels.parents)
    has_children = np.zeros(count, bool)
    has_children[levels.parents[levels.parents >= 0]] = True
    y = np.zeros(count)
    order = np.argsort(depth_first(levels))
    leaves = order[~has_children[order]]
    y[leaves] = MARGIN + ROW * (0.5 + np.arange(len(leaves)))
    for members in reversed(levels.levels[1:]):
        above = levels.parents[members]
        lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(lowest, above, y[members])
        np.maximum.at(highest, above, y[members])
        above = np.unique(above)
        y[above] = (lowest[above] + highest[above]) / 2
    return y


def _links(nodes: np.ndarray, levels: Levels, y: np.ndarray) -> list[Link]:
    """The lines between nodes of one infoset on one level.

    Lines that overlap get lanes of their own. Each pass takes the line that begins
    highest among those left and puts it into the first lane that is free there.
    """
    links = []
    for level, members in enumerate(levels.levels):
        groups: dict[int, list[int]] = {}
        for node in sorted(members.tolist(), key=lambda node: y[node]):
            if nodes["player"][node] >= 0:
                groups.setdefault(int(nodes["infoset"][node]), []).append(node)
        free_from: list[float] = []
        for infoset, group in groups.items():  # by the row of their first node
            if len(group) == 1:
                continue
            top, bottom = y[group[0]], y[group[-1]]
            lane = next((i for i, end in enumerate(free_from) if end < top), None)
            if lane is None:
                lane = len(free_from)
                free_from.append(0.0)
            free_from[lane] = bottom
            links.append(Link(infoset, level, lane, tuple(group)))
    return links
