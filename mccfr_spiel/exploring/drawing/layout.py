"""Layout."""

from collections.abc import Sequence

from mccfr_spiel.exploring.drawing.drawn_nodes import DrawnNode

FONT = 11
"""Of all that is written."""


ROW = 24.0
"""The distance between two leaves."""


RADIUS = 10.0
"""Of a decision node."""


LANE = 8.0
"""The distance between two lanes, in which lines join the nodes of infosets."""


CHARACTER = 6.3
"""The width of a letter, on average, at FONT."""


BEND = 34.0
"""The room in which an edge goes from the row of its parent to its own."""


MARGIN = 18.0


Link = tuple[int, list[DrawnNode]]
"""A line that joins nodes of one infoset on one level: the lane it is in, 0 next to the
nodes, and the nodes from the top down."""


def links_of(members: Sequence[DrawnNode]) -> list[Link]:
    """The links of a level, from the top down.

    Lines that overlap get lanes of their own. Each pass takes the line that begins
    highest among those left and puts it into the first lane that is free there.
    """
    groups: dict[tuple[int, int], list[DrawnNode]] = {}
    for node in members:
        if node.number:
            groups.setdefault((node.player, node.number), []).append(node)
    links, ends = [], [-1.0]  # of each lane the row where its last line ends
    for group in groups.values():
        if len(group) > 1:
            lane = next(i for i, end in enumerate(ends) if end < group[0].y)
            ends[lane] = group[-1].y
            ends += [-1.0] if lane == len(ends) - 1 else []
            links.append((lane, group))
    return links


def place_nodes(nodes: Sequence[DrawnNode]) -> tuple[list[Link], float]:
    """Places nodes, given in depth-first order; returns the links and the width.

    Leaves stand on rows of their own, other nodes in the middle of their children. From
    the last node up, all children of a node have their rows before it.
    """
    for row, leaf in enumerate(node for node in nodes if not node.below):
        leaf.y = MARGIN + ROW * (0.5 + row)
    for node in reversed(nodes):
        if node.below:
            node.y = (node.below[0].y + node.below[-1].y) / 2
    found: list[Link] = []
    x, start, width = MARGIN + RADIUS, 0.0, 0.0
    for level in range(1 + max(node.level for node in nodes)):
        members = [node for node in nodes if node.level == level]
        links = links_of(members)
        found += links
        if level:
            start = x + RADIUS + BEND
            end = start + CHARACTER * max(len(node.label) for node in members)
            lanes = 1 + max((lane for lane, _ in links), default=-1)
            x = end + 4 + lanes * LANE + RADIUS + 6
        for node in members:
            node.x, node.start = x, start
        behind = CHARACTER * max(len(node.end) for node in members)
        width = max(width, x + RADIUS + behind + MARGIN)
    return found, width
