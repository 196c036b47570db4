"""Vectors of hands over a public tree, and the gradients that passes over them add.

At a leaf, a player's gradient needs per own hand the opponent's reach summed over all
hands that share no card with it. By inclusion and exclusion this sum is the total,
minus the hands with the first card, minus those with the second, plus the hand that
holds both and was subtracted twice. At a showdown the same sums are needed over the
weaker hands and over those not stronger. They are running sums while the hands are read
in ascending strength (Johanson, Waugh, Bowling and Zinkevich 2011).

| term | meaning |
|---|---|
| entry | a leaf and a player: the sequences to pay, and the payoffs |
| group | entries that share a board and the opponent's sequences |
| piece | the groups of a player in a block; threads share pieces |
| lane | a column for a group; groups of a board are summed side by side |

All entries of a group need the same sums.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.tables import FLOAT, INT, LONG

LIST, FIRST, STRIDE, ROW, IS_SHOWDOWN, GROUP_SIZE = range(6)
"""The columns of `Hands.groups`.

LIST: the list of hands of the group's board.
FIRST: first sequence of the opponent.
STRIDE: distance between the sequences of consecutive infosets.
ROW: start of the opponent's row in `offsets`.
IS_SHOWDOWN: whether strengths are compared.
GROUP_SIZE: number of columns.
"""

_CANCELLED = 1e-6
"""If a sum is smaller than this share of the total, rounding errors of the differences
may dominate it. Such sums are recomputed without differences.
"""


CARD, OFFSET = np.dtype(np.uint16), np.dtype(np.uint32)
"""Unsigned types, because indexing tests signed integers for negative values."""


class Hands(NamedTuple):
    """The lists that a pass over a public tree reads.

    Shapes: E entries, G groups, B blocks, L boards, T hands in all lists, R offsets, U
    distinct returns. Piece `p B + b` holds the groups of player p in block b. Blocks
    are those of kernels/passes.py.

    Hands of a list ascend in strength. The infoset of a hand at a decision has the
    number `first infoset + offset`, so an action leads to the sequence `FIRST + STRIDE
    * offset`. A row of offsets covers the hands listed at a leaf's board, as the
    player's last decision before that leaf numbers them. Hands that the player cannot
    hold have weight 0 and an arbitrary offset.

    Attributes:
        steps: first own sequence per entry, stride, and start of the row of offsets.
        pays: payoff per entry per unit of all hands, of weaker hands and of hands not
            stronger; and a common factor, applied last so that equal hands get equal
            values.
        entry_ends: group g has the entries `entry_ends[g]` to `entry_ends[g + 1] - 1`.
        groups: see LIST.
        group_ends: piece q has the groups `group_ends[q]` to `group_ends[q + 1] - 1`.
        cuts: first infoset per block.
        list_ends: starts of the lists of hands, and the end of the list array.
        levels: strengths of the hands.
        cards: cards of the hands; the second is `num_cards` for single cards.
        weights: weights of the hands per player.
        offsets: concatenated rows of offsets.
        num_cards: largest card plus 1.
        payoffs: distinct returns.
    """

    steps: Annotated[np.ndarray, Entry(INT, "[E, 3]")]
    pays: Annotated[np.ndarray, Entry(FLOAT, "[E, 4]")]
    entry_ends: Annotated[np.ndarray, Entry(LONG, "[G + 1]")]
    groups: Annotated[np.ndarray, Entry(INT, "[G, 5]")]
    group_ends: Annotated[np.ndarray, Entry(LONG, "[2 B + 1]")]
    cuts: Annotated[np.ndarray, Entry(LONG, "[B + 1]")]
    list_ends: Annotated[np.ndarray, Entry(LONG, "[L + 1]")]
    levels: Annotated[np.ndarray, Entry(INT, "[T]")]
    cards: Annotated[np.ndarray, Entry(CARD, "[T, 2]")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[2, T]")]
    offsets: Annotated[np.ndarray, Entry(OFFSET, "[R]")]
    num_cards: Annotated[np.ndarray, Entry(LONG, "[1]")]
    payoffs: Annotated[np.ndarray, Entry(FLOAT, "[U, 2]")]

    @property
    def num_blocks(self) -> int:
        """Number of blocks. Pieces pay disjoint sequences, so threads may run them at
        once.
        """
        return len(self.cuts) - 1

    @property
    def num_worlds(self) -> int:
        """Number of leaves, each listed for both players."""
        return len(self.steps) // 2


LANES = 4
"""Number of groups summed side by side. A single running sum would wait for each
addition.
"""


@inlined
def _gather(plan, first, stride, offsets, weights, reach, lane):
    """Writes the opponent's reach with each hand; returns the total."""
    total, begin = 0.0, np.uint64(first)
    for k in range(len(weights)):
        reach[k, lane] = weights[k] * plan[begin + np.uint64(stride) * offsets[k]]
        total += reach[k, lane]
    return total


@inlined
def _add(seen, cards, k, same, reach):
    """Adds a hand to the sums of both cards; `same` is 1 for two cards, else 0."""
    low, high = cards[k, 0], cards[k, 1]
    for lane in range(LANES):
        seen[low, lane] += reach[k, lane]
        seen[high, lane] += same * reach[k, lane]


@inlined
def _sum_of_all(cards, same, reach, total, seen, every, least):
    """Writes per hand the sum over all compatible hands, and the minimum per lane."""
    least[:] = np.inf
    for k in range(len(cards)):
        low, high = cards[k, 0], cards[k, 1]
        for lane in range(LANES):
            disjoint = total[lane] - seen[low, lane] - seen[high, lane]
            every[k, lane] = disjoint + same * reach[k, lane]
            least[lane] = min(least[lane], every[k, lane])


@inlined
def _sum_by_strength(cards, levels, same, reach, now, seen, weaker, up_to):
    """Writes per hand the sums over compatible hands: weaker, and not stronger.

    The sums of the cards in `seen` must be zero at first. They include all hands
    afterwards.
    """
    count, first = len(cards), 0
    now[:] = 0.0
    # Invariant: `now` and `seen` include all hands weaker than hand k. An iteration
    # writes the weaker sum of a hand; no correction for the hand itself is needed,
    # because it is not included yet. At the end of a tie, all tied hands are added and
    # the second sums written. The loop ends with all hands included.
    for k in range(count):
        low, high = cards[k, 0], cards[k, 1]
        for lane in range(LANES):
            weaker[k, lane] = now[lane] - seen[low, lane] - seen[high, lane]
        if k + 1 < count and levels[k + 1] == levels[k]:
            continue
        for tied in range(first, k + 1):
            for lane in range(LANES):
                now[lane] += reach[tied, lane]
            _add(seen, cards, tied, same, reach)
        for tied in range(first, k + 1):
            low, high = cards[tied, 0], cards[tied, 1]
            for lane in range(LANES):
                left = now[lane] - seen[low, lane] - seen[high, lane]
                up_to[tied, lane] = left + same * reach[tied, lane]
        first = k + 1


@inlined
def _resum(cards, levels, weights, none, least, lane, reach, held, sums):
    """Recomputes sums below `least` by direct addition; a hand compatible with no hand
    of the opponent gets exactly 0.
    """
    count, (every, weaker, up_to) = 0, sums
    for k in range(len(cards)):
        if reach[k, lane] > 0.0:
            held[count] = k
            count += 1
    for k in range(len(cards)):
        if weights[k] == 0.0 or every[k, lane] >= least:
            continue
        low, high = cards[k, 0], cards[k, 1]
        every[k, lane], weaker[k, lane], up_to[k, lane] = 0.0, 0.0, 0.0
        for j in range(count):
            other = held[j]
            if cards[other, 0] == low or cards[other, 0] == high:
                continue
            if cards[other, 1] == low or (cards[other, 1] == high and high != none):
                continue
            every[k, lane] += reach[other, lane]
            if levels[other] <= levels[k]:
                up_to[k, lane] += reach[other, lane]
                if levels[other] < levels[k]:
                    weaker[k, lane] += reach[other, lane]


@inlined
def _pay(hands, entry, weights, compares, lane, sums, gradient):
    """Adds an entry's payoffs to the gradient at its sequences."""
    begin, stride = np.uint64(hands.steps[entry, 0]), np.uint64(hands.steps[entry, 1])
    row, (every, weaker, up_to) = hands.steps[entry, 2], sums
    offsets = hands.offsets[row : row + len(weights)]
    of_all, of_weaker = hands.pays[entry, 0], hands.pays[entry, 1]
    of_rest, factor = hands.pays[entry, 2], hands.pays[entry, 3]
    for k in range(len(weights)):
        value = of_all * every[k, lane]
        if compares:
            value += of_weaker * weaker[k, lane] + of_rest * up_to[k, lane]
        gradient[begin + stride * offsets[k]] += weights[k] * value * factor


@inlined
def _end_of_batch(groups, first, end):
    """The end of the next batch: at most LANES groups with the same list, all showdowns
    or all folds.
    """
    stop = first + 1
    while (
        stop < min(end, first + LANES)
        and groups[stop, LIST] == groups[first, LIST]
        and groups[stop, IS_SHOWDOWN] == groups[first, IS_SHOWDOWN]
    ):
        stop += 1
    return stop


@jit(nogil=True, views_only=False)
def add_hand_gradient(
    hands: Hands, piece: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """Adds a piece of a player's utility gradient `[S]` at the leaves, given the plans
    `[S]`.
    """
    player = piece // (len(hands.cuts) - 1)
    longest = np.int64(0)
    for board in range(len(hands.list_ends) - 1):
        longest = max(longest, hands.list_ends[board + 1] - hands.list_ends[board])
    reach = np.zeros((longest, LANES))
    sums = np.zeros_like(reach), np.zeros_like(reach), np.zeros_like(reach)
    every, weaker, up_to = sums
    num_cards, held = hands.num_cards[0], np.zeros(longest, np.int64)
    seen = np.zeros((num_cards + 1, LANES))
    total, now, least = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    same = 1.0 if hands.cards[0, 1] < num_cards else 0.0
    first, end = hands.group_ends[piece], hands.group_ends[piece + 1]
    # An iteration computes the sums of up to LANES groups that share a list of hands,
    # then pays all entries of these groups. Unused lanes keep values of earlier
    # batches, which nothing reads. The loop ends with the last group of the piece.
    while first < end:
        begin, first = first, _end_of_batch(hands.groups, first, end)
        hand_list = hands.groups[begin, LIST]
        compares = hands.groups[begin, IS_SHOWDOWN] != 0
        start, stop = hands.list_ends[hand_list], hands.list_ends[hand_list + 1]
        cards, levels = hands.cards[start:stop], hands.levels[start:stop]
        size = stop - start
        own = hands.weights[player, start:stop]
        others = hands.weights[1 - player, start:stop]
        for lane in range(first - begin):
            group = hands.groups[begin + lane]
            offsets = hands.offsets[group[ROW] : group[ROW] + size]
            total[lane] = _gather(
                plan, group[FIRST], group[STRIDE], offsets, others, reach, lane
            )
        seen[:] = 0.0
        if compares:
            _sum_by_strength(cards, levels, same, reach, now, seen, weaker, up_to)
        else:
            for k in range(size):
                _add(seen, cards, k, same, reach)
        _sum_of_all(cards, same, reach, total, seen, every, least)
        for lane in range(first - begin):
            if total[lane] == 0.0:
                continue
            limit = _CANCELLED * total[lane]
            if least[lane] < limit:
                _resum(cards, levels, own, num_cards, limit, lane, reach, held, sums)
            g = begin + lane
            for entry in range(hands.entry_ends[g], hands.entry_ends[g + 1]):
                _pay(hands, entry, own, compares, lane, sums, gradient)
