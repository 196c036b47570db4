"""Lays out the blocks of a public tree: segments, hands per board, and links."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.worlds.hand_boards import Boards, sum_of_pairs
from mccfr_spiel.arenas.worlds.hand_lists import Numbering
from mccfr_spiel.arenas.worlds.hand_segments import (
    Batches,
    Segments,
    cut_into_segments,
    starts_of,
)
from mccfr_spiel.arenas.worlds.public_tree import DECISION, PublicTree
from mccfr_spiel.kernels.hand_layout import EDGE, HandLayout


class HandBlocks(NamedTuple):
    """The blocks of a public tree.

    Attributes:
        public: the tree.
        boards: hands per board, which number the infosets, too.
        segments: segments of the tree.
        layout: arrays for kernels.
        places: `[decisions, 6]` where blocks are in vectors, see `hand_vectors.FIRST`;
            decisions without hands are left out.
        chances: `[decisions]` probability of the public cards at these decisions, given
            hands that contain none of them.
        num_entries: number of entries of a table.
        weights: per player, the weights of the representatives at the root.
        sizes: per player, the number of hands of each of these representatives.
        total: sum of the products of weights over all compatible pairs of hands.
    """

    public: PublicTree
    boards: Boards
    segments: Segments
    layout: HandLayout
    places: np.ndarray
    chances: np.ndarray
    num_entries: int
    weights: tuple[np.ndarray, np.ndarray]
    sizes: tuple[np.ndarray, np.ndarray]
    total: float

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that grow with the tree."""
        arrays = *self.layout, self.segments.node, self.places, self.chances
        return sum(array.nbytes for array in arrays)


class _Hands(NamedTuple):
    """The hands of both players at all boards, in ascending strength.

    Attributes:
        full: per player and board, the hands.
        rep: per player and board, the position of each hand's representative.
        reps: per player and board, the representatives.
    """

    full: list[list[np.ndarray]]
    rep: list[list[np.ndarray]]
    reps: list[list[np.ndarray]]


def lay_out(public: PublicTree, boards: Boards, numbering: Numbering) -> HandBlocks:
    """Lays out the blocks of a public tree.

    Args:
        public: the tree.
        boards, numbering: the results of `number_hands`.
    """
    segments, hands = cut_into_segments(public), _hands_of(boards)
    templates = segments.templates
    num_reps = np.array([[*map(len, reps)] for reps in hands.reps])
    board = boards.node_board[segments.root]
    edges = np.array([template.edges for template in templates])
    sizes = edges[segments.template] * num_reps[:, board].T
    order = _depth_first(segments.parent)
    ends = np.cumsum(sizes[order].ravel())
    base = np.empty((len(order), 2), np.int64)
    base[order] = (ends - sizes[order].ravel()).reshape(-1, 2)
    batches = Batches(templates)
    link, *links = _links(board, segments.parent, hands)
    layout = HandLayout(
        starts=starts_of([len(template.nodes) for template in templates]),
        nodes=np.concatenate([template.nodes for template in templates]),
        pays=np.concatenate([template.pays for template in templates]).astype(float),
        deal_starts=starts_of([len(template.deals) for template in templates]),
        deals=np.concatenate([template.deals for template in templates]),
        batch_starts=batches.starts,
        batches=batches.batches,
        rows=batches.rows,
        leaves=batches.leaves,
        template=segments.template,
        board=board,
        base=base,
        segment_deals=segments.deal_starts,
        child=segments.child,
        chance=public.chance[segments.root].astype(float),
        link=link,
        **_arrays_of(public, boards, hands),
        **dict(zip(("link_starts", "above", "share"), links, strict=True)),
    )
    # Numba compiles a kernel for each type of its arguments, so all layouts have the
    # same types, and own their memory.
    layout = HandLayout(*(np.array(array, order="C") for array in layout))
    root = int(board[0])
    weights = [public.weights[p, hands.reps[p][root]] for p in (0, 1)]
    counts = [
        np.bincount(hands.rep[p][root], minlength=num_reps[p, root]) for p in (0, 1)
    ]
    total = sum_of_pairs(public, boards.held[:, root])
    return HandBlocks(
        public,
        boards,
        segments,
        layout,
        *_places(public, numbering, segments, layout),
        int(ends[-1]),
        (weights[0], weights[1]),
        (counts[0], counts[1]),
        total,
    )


def _places(
    public: PublicTree, numbering: Numbering, segments: Segments, layout: HandLayout
) -> tuple[np.ndarray, np.ndarray]:
    """`HandBlocks.places` and `HandBlocks.chances`."""
    chance, above = layout.chance.copy(), segments.parent
    # Each round multiplies by the probabilities of one more ancestor.
    while (above >= 0).any():
        chance *= np.where(above >= 0, layout.chance[above], 1.0)
        above = np.where(above >= 0, segments.parent[above], -1)
    nodes = np.flatnonzero(public.kind == DECISION)
    segment, local = segments.node[nodes].T
    player, board = public.player[nodes], layout.board[segment]
    start, stop = layout.rep_starts[player, board], layout.rep_starts[player, board + 1]
    edge = layout.nodes[layout.starts[layout.template[segment]] + local, EDGE]
    base = layout.base[segment, player] + edge * (stop - start)
    first, count = numbering.begins[nodes], public.num_children[nodes]
    columns = first, base, count, stop - start, player, start
    places, has_hands = np.column_stack(columns).astype(np.int64), stop > start
    return places[has_hands], chance[segment][has_hands]


def _hands_of(boards: Boards) -> _Hands:
    """The hands of both players at all boards."""
    num_boards = len(boards.lists)
    full, rep, reps = [], [], []
    for p in (0, 1):
        rows = range(p * num_boards, (p + 1) * num_boards)
        own = [
            hands[boards.held[p, board, hands]]
            for board, hands in enumerate(boards.lists)
        ]
        full.append(own)
        pairs = zip(rows, own, strict=True)
        rep.append([boards.offsets[row, hands] for row, hands in pairs])
        reps.append([boards.members[row] for row in rows])
    return _Hands(full, rep, reps)


def _arrays_of(public: PublicTree, boards: Boards, hands: _Hands) -> dict[str, Any]:
    """The arrays of `HandLayout` about hands at boards."""
    cards = _two_cards(public)
    same, weaker, up_to = [[], []], [[], []], [[], []]
    level = np.zeros(public.num_hands, np.int64)
    for board in range(len(boards.lists)):
        level[boards.lists[board]] = boards.levels[board]
        for p in (0, 1):
            reps, others = hands.reps[p][board], hands.full[1 - p][board]
            place = np.full(public.num_hands, len(others))
            place[others] = np.arange(len(others))
            same[p].append(place[reps])
            theirs = level[others]
            weaker[p].append(np.searchsorted(theirs, level[reps], "left"))
            up_to[p].append(np.searchsorted(theirs, level[reps], "right"))
    return {
        "rep_starts": np.array([starts_of([*map(len, x)]) for x in hands.reps]),
        "hand_starts": np.array([starts_of([*map(len, x)]) for x in hands.full]),
        "rep_cards": _padded([[cards[x] for x in side] for side in hands.reps], "u2"),
        "same": _padded(same, "u4"),
        "weaker": _padded(weaker, "u4"),
        "up_to": _padded(up_to, "u4"),
        "hand_cards": _padded([[cards[x] for x in side] for side in hands.full], "u2"),
        "hand_rep": _padded(hands.rep, "u4"),
        "num_cards": np.array([int(cards.max()) + 1]),
    }


def _two_cards(public: PublicTree) -> np.ndarray:
    """`[H, 2]` cards of each hand. A hand of a single card gets a second card that no
    other hand has, so the sums over cards are the same for both kinds of hands."""
    cards = public.hole_cards
    if cards.shape[1] == 2:
        return cards
    return np.column_stack((cards, int(cards.max()) + 1 + np.arange(len(cards))))


def _padded(parts: list[list[np.ndarray]], dtype: str) -> np.ndarray:
    """`[2, longest, ...]` the concatenated parts of each player."""
    both = [np.concatenate(side) for side in parts]
    shape = both[0].shape[1:]
    padded = np.zeros((2, max(1, *map(len, both)), *shape), dtype)
    for p in (0, 1):
        padded[p, : len(both[p])] = both[p]
    return padded


def _depth_first(parent: np.ndarray) -> np.ndarray:
    """The segments in depth-first order, so that the blocks of a subtree adjoin."""
    keys = [np.arange(len(parent))]
    # Each round replaces the last key by the parents' keys; -1 is above the root.
    while (keys[-1] > 0).any():
        keys.append(np.where(keys[-1] >= 0, parent[keys[-1]], -1))
    depth = np.sum([key >= 0 for key in keys], axis=0) - 1
    path = np.full((len(keys), len(parent)), -1)
    for up, key in enumerate(keys):
        has = key >= 0
        path[(depth - up)[has], np.flatnonzero(has)] = key[has]
    return np.lexsort(path[::-1])


def _links(
    board: np.ndarray, parent: np.ndarray, hands: _Hands
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The pairs of boards before and after deals.

    Returns:
        `link`, `link_starts`, `above` and `share` of `HandLayout`.
    """
    link = np.full(len(board), -1)
    below = np.flatnonzero(parent >= 0)
    if not len(below):
        empty = np.zeros((2, 1), np.uint32)
        return link, np.zeros((2, 2), np.int64), empty, np.ones((2, 1))
    num_boards = int(board.max()) + 1
    pairs, link[below] = np.unique(
        board[parent[below]] * num_boards + board[below], return_inverse=True
    )
    above, share = [[], []], [[], []]
    size = 1 + max(int(x.max(initial=0)) for side in hands.full for x in side)
    place = np.zeros(size, np.int64)
    for upper, lower in zip(*np.divmod(pairs, num_boards), strict=True):
        for p in (0, 1):
            place[hands.full[p][upper]] = hands.rep[p][upper]
            num_above = np.bincount(hands.rep[p][upper], minlength=1)
            reps, rep = hands.reps[p][lower], hands.rep[p][lower]
            at = place[reps]
            above[p].append(at)
            share[p].append(np.bincount(rep, minlength=len(reps)) / num_above[at])
    starts = np.array([starts_of([*map(len, side)]) for side in above])
    return link, starts, _padded(above, "u4"), _padded(share, "f8")
