"""The coordinates of a drawing's nodes and links. All sizes are in pixels.

Each leaf is a row; other nodes are centred at the children.
"""

from collections.abc import Sequence

from mccfr_spiel.exploring.drawing.drawn_nodes import DrawnNode

FONT = 11
"""Font size of all texts."""

ROW = 24.0
"""Vertical distance between two leaves."""

RADIUS = 10.0
"""Radius of a decision node."""

LANE = 8.0
"""Horizontal distance between two lanes, in which links run."""

CHARACTER = 6.3
"""Average width of a character."""

BEND = 34.0
"""Width of the curved part of an edge."""

MARGIN = 18.0
"""Width of the empty border."""

Link = tuple[int, list[DrawnNode]]
"""A line that joins the nodes of an infoset on a level: the lane, counted from the
nodes, and the nodes from top to bottom."""


def links_of(members: Sequence[DrawnNode]) -> list[Link]:
    """The links of a level, from top to bottom.

    Overlapping links get different lanes: from top to bottom, each link takes the first
    free lane.
    """
    groups: dict[tuple[int, int], list[DrawnNode]] = {}
    for node in members:
        if node.infoset_number:
            groups.setdefault((node.player, node.infoset_number), []).append(node)
    links, ends = [], [-1.0]  # ends: for each lane, the lower end of its last link
    for group in groups.values():
        if len(group) > 1:
            lane = next(i for i, end in enumerate(ends) if end < group[0].y)
            ends[lane] = group[-1].y
            ends += [-1.0] if lane == len(ends) - 1 else []
            links.append((lane, group))
    return links


def place_nodes(nodes: Sequence[DrawnNode]) -> tuple[list[Link], float]:
    """Sets the coordinates of nodes in depth-first order; returns the links and the
    width."""
    for row, leaf in enumerate(node for node in nodes if not node.children):
        leaf.y = MARGIN + ROW * (0.5 + row)
    # Children follow their parents in `nodes`, so they have their rows already.
    for node in reversed(nodes):
        if node.children:
            node.y = (node.children[0].y + node.children[-1].y) / 2
    all_links: list[Link] = []
    x, start, width = MARGIN + RADIUS, 0.0, 0.0
    for level in range(1 + max(node.level for node in nodes)):
        members = [node for node in nodes if node.level == level]
        links = links_of(members)
        all_links += links
        if level:
            start = x + RADIUS + BEND
            end = start + CHARACTER * max(len(node.label) for node in members)
            lanes = 1 + max((lane for lane, _ in links), default=-1)
            x = end + 4 + lanes * LANE + RADIUS + 6
        for node in members:
            node.x, node.label_x = x, start
        behind = CHARACTER * max(len(node.annotation) for node in members)
        width = max(width, x + RADIUS + behind + MARGIN)
    return all_links, width
