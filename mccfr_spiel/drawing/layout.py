"""Where the parts of a drawn tree stand: from left to right, a leaf on each row."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

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
        y: its row, which `lay_out` finds.
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


class Link(NamedTuple):
    """The line that joins the nodes of an infoset on one level.

    Attributes:
        lane: which of the level's lanes it is in, 0 next to the nodes.
        spots: the nodes, from the top down.
    """

    lane: int
    spots: list[Spot]


class Layout(NamedTuple):
    """Places in a picture, in pixels.

    Attributes:
        x: for each level the place of its nodes, from left to right.
        label_start: for each level the place where edges have arrived at their rows.
        links: the lines between nodes of one infoset.
        width, height: of the tree, margins included.
    """

    x: list[float]
    label_start: list[float]
    links: list[Link]
    width: float
    height: float


def lay_out(spots: Sequence[Spot]) -> Layout:
    """Places a tree, and gives each node its row.

    Args:
        spots: the nodes in depth-first order.
    """
    _give_rows(spots)
    levels: list[list[Spot]] = []
    for spot in spots:
        if spot.level == len(levels):
            levels.append([])
        levels[spot.level].append(spot)
    x, label_start = [MARGIN + RADIUS], [0.0]
    width, links = 0.0, []
    for level, members in enumerate(levels):
        mine = _links(members)
        links += mine
        if level:
            label_start.append(x[-1] + RADIUS + BEND)
            label_end = label_start[-1] + CHARACTER * max(len(s.label) for s in members)
            lanes = 1 + max((link.lane for link in mine), default=-1)
            x.append(label_end + 4 + lanes * LANE + RADIUS + 6)
        behind = CHARACTER * max(len(spot.end) for spot in members)
        width = max(width, x[-1] + RADIUS + behind + MARGIN)
    height = max(spot.y for spot in spots) + ROW / 2 + MARGIN
    return Layout(x, label_start, links, width, height)


def _give_rows(spots: Sequence[Spot]) -> None:
    """Leaves stand on rows of their own, other nodes in the middle of their children.

    From the last node up, all children of a node have their rows before it.
    """
    children: dict[Spot, list[float]] = {}
    leaves = len({id(spot) for spot in spots} - {id(spot.parent) for spot in spots})
    for spot in reversed(spots):
        rows = children.get(spot)
        if rows is None:
            leaves -= 1
            spot.y = MARGIN + ROW * (0.5 + leaves)
        else:
            spot.y = (min(rows) + max(rows)) / 2
        if spot.parent is not None:
            children.setdefault(spot.parent, []).append(spot.y)


def _links(members: list[Spot]) -> list[Link]:
    """The lines between nodes of one infoset on one level, from the top down.

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
            links.append(Link(lane, group))
    return links
