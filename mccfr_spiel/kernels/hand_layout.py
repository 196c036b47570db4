"""Arrays that describe a public tree to the kernels of hands, in segments.

A *segment* is the part of a public tree between two deals: it begins at the root or
below a deal, and ends at folds, showdowns and the next deals. Segments with the same
betting share one *template*, so that arrays per node are needed for templates only. A
flop with a million public nodes has about a hundred templates.

Tables of a solver consist of *blocks*: per segment and player, and in it per decision,
a matrix `[actions, hands]`. A hand in a block is a representative of all hands that an
exchange of suits maps onto each other.

| term | meaning |
|---|---|
| edge | an action at a decision of a segment; the edges of a player are numbered |
| link | a pair of boards, before and after a deal |
| lane | a column of sums; up to LANES vectors of reaches are summed side by side |
| batch | up to LANES rows of reaches in a template, and the leaves that read them |
"""

from typing import NamedTuple

import numpy as np

LANES = 4
"""Vectors of reaches that are summed side by side at one board."""

KIND, PLAYER, FIRST_CHILD, NUM_CHILDREN, EDGE, ROW, OWN_ROW = 0, 1, 2, 3, 4, 5, 7
"""Columns of `HandLayout.nodes`.

KIND: kind of the node, see `PublicTree.kind`.
PLAYER: acting player.
FIRST_CHILD: local number of the first child.
NUM_CHILDREN: number of children; 0 at deals, whose children are other segments.
EDGE: number of the edge of the first action, among its player's edges in the segment.
ROW: `ROW + p` is the local node whose row of reaches holds the opponent's reach when
    player p is updated.
OWN_ROW: `OWN_ROW + p` is the same for the updated player's own reach.
"""

NUM_COLUMNS = 9


class HandLayout(NamedTuple):
    """Templates, segments, hands and links.

    Shapes: K templates with N nodes, D deals, B batches, R rows and Z leaf entries; S
    segments with Q deals in total; L boards with T representatives and F hands of a
    player; J links with E entries. Arrays `[2, ...]` are indexed by player.

    Attributes:
        starts: `[K + 1]` first node of each template.
        nodes: `[N, 9]` see KIND; children follow their parents and each other.
        pays: `[N, 3, 2]` see `PublicTree.pays`.
        deal_starts: `[K + 1]` first deal of each template.
        deals: `[D]` local node of each deal.
        batch_starts: `[2, K + 1]` first batch of leaves, by updated player.
        batches: `[B, 3]` first row, end of the rows, and whether a leaf of the batch is
            a showdown.
        rows: `[R, 3]` local node whose reach is summed, and the range of its leaves.
        leaves: `[Z]` local nodes.
        template: `[S]` template of each segment.
        board: `[S]` board of each segment.
        base: `[S, 2]` start of each player's block in the tables.
        segment_deals: `[S + 1]` first deal of each segment.
        child: `[Q + 1]` first child segment of each deal. The children of a deal end
            where those of the next deal begin.
        chance: `[S]` probability of the cards that lead to a segment.
        link: `[S]` link between the parent's board and the board; -1 at the root.
        rep_starts: `[2, L + 1]` first representative of each board.
        hand_starts: `[2, L + 1]` first hand of each board.
        rep_cards: `[2, T, 2]` cards of the representatives; if hands are single cards,
            each has a second card of its own.
        same: `[2, T]` position of the same hand among the opponent's hands of the
            board; the number of these hands if the opponent cannot hold it.
        weaker: `[2, T]` number of the opponent's hands that are weaker.
        up_to: `[2, T]` number of the opponent's hands that are not stronger.
        hand_cards: `[2, F, 2]` cards of all hands, in ascending strength.
        hand_rep: `[2, F]` position of each hand's representative.
        link_starts: `[2, J + 1]` first entry of each link.
        above: `[2, E]` position of each representative's hand in the list of the board
            above.
        share: `[2, E]` hands of a representative below, divided by the hands of its
            representative above.
        num_cards: `[1]` number of cards.
    """

    starts: np.ndarray
    nodes: np.ndarray
    pays: np.ndarray
    deal_starts: np.ndarray
    deals: np.ndarray
    batch_starts: np.ndarray
    batches: np.ndarray
    rows: np.ndarray
    leaves: np.ndarray
    template: np.ndarray
    board: np.ndarray
    base: np.ndarray
    segment_deals: np.ndarray
    child: np.ndarray
    chance: np.ndarray
    link: np.ndarray
    rep_starts: np.ndarray
    hand_starts: np.ndarray
    rep_cards: np.ndarray
    same: np.ndarray
    weaker: np.ndarray
    up_to: np.ndarray
    hand_cards: np.ndarray
    hand_rep: np.ndarray
    link_starts: np.ndarray
    above: np.ndarray
    share: np.ndarray
    num_cards: np.ndarray


class HandBuffers(NamedTuple):
    """Memory that threads use during a pass.

    Shapes: W threads, V levels of segments, M nodes of the largest template, H hands of
    the largest list, C tasks (segments below the first one).

    Attributes:
        start: `[2, 2, H]` per updated player, the opponent's reach and the own reach at
            the first node of the first segment.
        reach: `[W, V, M, H]` the opponent's reach at nodes, as needed by `ROW`.
        own: `[W, V, M, H]` the updated player's own reach.
        value: `[W, V, M, H]` counterfactual values of the updated player's hands.
        policy: `[W, V, M, H]` probability of the action that leads to a node.
        below: `[C, H]` values of the segments below the first one.
        reaches: `[W, H + 1, LANES]` reaches of the opponent's hands, for sums.
        seen: `[W, cards + 2, LANES]` sums of reaches by card, see `sum_lanes`.
        sums: `[W, 3, H, LANES]` sums over all hands, weaker hands, and hands that are
            not stronger.
        position: `[W, V, 3]` current segment, deal and child of each level.
    """

    start: np.ndarray
    reach: np.ndarray
    own: np.ndarray
    value: np.ndarray
    policy: np.ndarray
    below: np.ndarray
    reaches: np.ndarray
    seen: np.ndarray
    sums: np.ndarray
    position: np.ndarray
