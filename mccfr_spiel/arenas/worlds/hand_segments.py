"""Cuts a public tree into segments, and segments of equal betting into templates.

`kernels/hand_layout.py` explains segments and templates.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION, SHOWDOWN, PublicTree
from mccfr_spiel.kernels.hand_layout import (
    FIRST_CHILD,
    KIND,
    LANES,
    NUM_CHILDREN,
    ROW,
)


class Template(NamedTuple):
    """The betting of a segment.

    Attributes:
        nodes: `[n, 9]` see `hand_layout.KIND`.
        pays: `[n, 3, 2]` see `PublicTree.pays`.
        deals: local numbers of the deals.
        edges: number of edges of each player.
    """

    nodes: np.ndarray
    pays: np.ndarray
    deals: np.ndarray
    edges: tuple[int, int]


class Segments(NamedTuple):
    """All segments of a public tree; a segment follows its parent.

    Attributes:
        templates: the templates.
        root: `[S]` public node at which each segment begins.
        parent: `[S]` parent segment; -1 at the root.
        template: `[S]` template of each segment.
        deal_starts: `[S + 1]` first deal of each segment.
        child: `[Q + 1]` first child segment of each deal.
        node: `[N, 2]` segment and local number of each public node.
    """

    templates: list[Template]
    root: np.ndarray
    parent: np.ndarray
    template: np.ndarray
    deal_starts: np.ndarray
    child: np.ndarray
    node: np.ndarray


def starts_of(lengths: np.ndarray | list[int]) -> np.ndarray:
    """Returns where consecutive parts begin, and the total length."""
    return np.append(0, np.cumsum(np.asarray(lengths, np.int64))).astype(np.int64)


def cut_into_segments(public: PublicTree) -> Segments:
    """Cuts a public tree into segments, level by level."""
    ids = _betting_below(public)
    number: dict[int, int] = {}
    templates: list[Template] = []
    roots, parent = np.zeros(1, np.int64), np.full(1, -1)
    levels, size = [], 0
    num_children: list[np.ndarray] = []
    node = np.full((public.num_nodes, 2), -1, np.int32)
    # One pass numbers the segments of a level, which are below the deals of the last.
    # Children are sorted by parent, then by deal, then by card.
    while len(roots):
        template = np.empty(len(roots), np.int64)
        counts = [np.zeros(0, np.int64)] * len(roots)
        below = [np.zeros(0, np.int64)] * len(roots)
        for betting in np.unique(ids[roots]).tolist():
            mine = np.flatnonzero(ids[roots] == betting)
            if betting not in number:
                number[betting] = len(templates)
                templates.append(_template_at(public, int(roots[mine[0]])))
            template[mine] = number[betting]
            local = _public_nodes(public, templates[number[betting]], roots[mine])
            node[local, 0] = (size + mine)[:, None]
            node[local, 1] = np.arange(local.shape[1])
            deals = local[:, templates[number[betting]].deals]
            for row, places in zip(mine.tolist(), deals, strict=True):
                first, count = public.first_child[places], public.num_children[places]
                counts[row] = count
                below[row] = np.repeat(first - starts_of(count)[:-1], count)
                below[row] = below[row] + np.arange(len(below[row]))
        levels.append((roots, parent, template))
        num_children += counts
        parent = np.repeat(size + np.arange(len(roots)), [*map(len, below)])
        size += len(roots)
        roots = np.concatenate(below)
    root, parent, template = (
        np.concatenate(parts) for parts in zip(*levels, strict=True)
    )
    return Segments(
        templates,
        root,
        parent,
        template,
        starts_of([*map(len, num_children)]),
        1 + starts_of(np.concatenate(num_children)),
        node,
    )


def _betting_below(public: PublicTree) -> np.ndarray:
    """`[N]` equal numbers for nodes below which the betting up to deals is the same."""
    count, kind = public.num_children, public.kind
    _, pays = np.unique(public.pays.reshape(-1, 6), axis=0, return_inverse=True)
    ids = np.full(public.num_nodes, -1)
    is_inner = kind == DECISION
    leaf_ids = np.where(kind == DEAL, 0, 1 + 2 * pays.ravel() + (kind == SHOWDOWN))
    ids[~is_inner] = leaf_ids[~is_inner]
    used, left = int(ids.max(initial=0)) + 1, np.flatnonzero(is_inner)
    # One pass numbers the decisions all of whose children have numbers.
    while len(left):
        widest = int(count[left].max())
        below = np.full((len(left), widest), -1)
        for k in range(widest):
            has = count[left] > k
            below[has, k] = ids[public.first_child[left[has]] + k]
        ready = ((below >= 0) | (np.arange(widest) >= count[left][:, None])).all(axis=1)
        rows = np.column_stack((public.player[left], count[left], below))[ready]
        _, number = np.unique(rows, axis=0, return_inverse=True)
        ids[left[ready]] = used + number.ravel()
        used += int(number.max()) + 1
        left = left[~ready]
    return ids


def _template_at(public: PublicTree, root: int) -> Template:
    """The template of the segment at a public node, breadth first."""
    nodes, rows, edges = [root], [], [0, 0]
    # Per local node, the nodes whose rows hold the reach of the opponent of players 0
    # and 1, then the own reach of players 0 and 1.
    sources = [[0, 0, 0, 0]]
    k = 0
    while k < len(nodes):
        node = nodes[k]
        kind, player = int(public.kind[node]), int(public.player[node])
        first, count, edge = len(nodes), 0, -1
        if kind == DECISION:
            count, edge = int(public.num_children[node]), edges[player]
            edges[player] += count
            begin = int(public.first_child[node])
            nodes += range(begin, begin + count)
            for child in range(first, first + count):
                # An action of player 1 changes the reach of player 0's opponent.
                changed = (player == 1, player == 0, player == 0, player == 1)
                pairs = zip(changed, sources[k], strict=True)
                sources.append([child if is_new else s for is_new, s in pairs])
        rows.append((kind, player, first, count, edge, *sources[k]))
        k += 1
    table = np.array(rows, np.int32)
    deals = np.flatnonzero(table[:, KIND] == DEAL)
    return Template(table, public.pays[nodes], deals, (edges[0], edges[1]))


def _public_nodes(
    public: PublicTree, template: Template, roots: np.ndarray
) -> np.ndarray:
    """`[segments, n]` the public nodes of segments with a template."""
    local = np.empty((len(roots), len(template.nodes)), np.int64)
    local[:, 0] = roots
    for k, row in enumerate(template.nodes.tolist()):
        for c in range(row[NUM_CHILDREN]):
            local[:, row[FIRST_CHILD] + c] = public.first_child[local[:, k]] + c
    return local


class Batches:
    """Batches of leaves, whose sums are computed side by side; see `HandLayout`."""

    def __init__(self, templates: list[Template]) -> None:
        self._batches: list[tuple[int, int, int]] = []
        self._rows: list[tuple[int, int, int]] = []
        self._leaves: list[int] = []
        starts = np.zeros((2, len(templates) + 1), np.int64)
        for player in (0, 1):
            starts[player, 0] = len(self._batches)
            for k, template in enumerate(templates):
                self._add(template.nodes, player)
                starts[player, k + 1] = len(self._batches)
        self.starts = starts
        self.batches = np.array(self._batches, np.int64).reshape(-1, 3)
        self.rows = np.array(self._rows, np.int64).reshape(-1, 3)
        self.leaves = np.array(self._leaves, np.int64)

    def _add(self, nodes: np.ndarray, player: int) -> None:
        """Adds the batches of a template for an updated player."""
        kinds, reach = nodes[:, KIND], nodes[:, ROW + player]
        ends = np.flatnonzero((kinds != DECISION) & (kinds != DEAL))
        groups: dict[int, list[int]] = {}
        for leaf in ends.tolist():
            groups.setdefault(int(reach[leaf]), []).append(leaf)
        compares = {r: (kinds[group] == SHOWDOWN).any() for r, group in groups.items()}
        # Rows with a showdown come first, because sums by strength serve folds, too.
        ordered = sorted(groups, key=lambda row: not compares[row])
        for first in range(0, len(ordered), LANES):
            begin = len(self._rows)
            for row in ordered[first : first + LANES]:
                start = len(self._leaves)
                self._leaves += groups[row]
                self._rows.append((row, start, len(self._leaves)))
            is_compared = int(compares[ordered[first]])
            self._batches.append((begin, len(self._rows), is_compared))
