"""Gradients of games of cards, computed with vectors of hands at the leaves of a public
tree.

At a leaf, a player's gradient needs for each own hand a sum of the opponent's reach
over all *compatible* hands, that is, hands without a common card. By inclusion and
exclusion, this sum is the total over all hands, minus the sum over hands with the first
card, minus the sum over hands with the second card, plus the reach of the hand with
both cards, which was subtracted twice. At a showdown, the same sums are also needed
over the weaker hands only, and over the hands that are not stronger. These are running
sums while the hands are read in ascending strength (Johanson, Waugh, Bowling and
Zinkevich 2011).

| term | meaning |
|---|---|
| entry | a leaf, listed for one player: the player's last sequences and payoffs |
| group | entries with the same board and the same sequences of the opponent |
| piece | the groups of one player in one block of infosets; work of one thread |
| lane | a column of the arrays of sums; LANES groups are summed side by side |

All entries of a group need the same sums, so the sums are computed once per group.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.tables import FLOAT, INT, LONG

LIST, FIRST, STRIDE, ROW, IS_SHOWDOWN, GROUP_SIZE = range(6)
"""The columns of `Hands.groups`.

A hand of the opponent has the last sequence `FIRST + STRIDE * offset`.

LIST: the list of hands of the group's board.
FIRST: the opponent's sequence for offset 0.
STRIDE: distance between the opponent's sequences for consecutive offsets.
ROW: start of the opponent's row in `offsets`.
IS_SHOWDOWN: whether some entry is a showdown, so that strengths are compared.
GROUP_SIZE: number of columns.
"""

_CANCELLED = 1e-6
"""If a sum is smaller than this share of the total, it may consist mainly of rounding
errors of the subtractions. Such sums are recomputed by additions only.
"""


CARD, OFFSET = np.dtype(np.uint16), np.dtype(np.uint32)
"""Types of cards and offsets. They are unsigned because numba adds a test for negative
values to each index of a signed type.
"""


class Hands(NamedTuple):
    """The leaves and hands that a pass over a public tree reads.

    Entries, groups and pieces are explained in the module's docstring. Shapes: E
    entries, G groups, B blocks of infosets (kernels/blocks.py), L boards, T hands in
    the lists of all boards, R offsets, U distinct returns. Piece `p * B + b` contains
    the groups of player p in block b.

    Each board has a list of hands in ascending strength. A hand has a number, its
    *offset*, among the hands at a decision. An action there leads to the sequence
    `first + stride * offset`, where `first` and `stride` are the same for all hands. A
    row of offsets contains, for all hands listed at a leaf's board, the offsets at the
    player's last decision before that leaf. Hands that the player cannot hold have
    weight 0 and an arbitrary offset.

    Attributes:
        steps: per entry, the player's last sequence for offset 0, the stride, and the
            start of the row in `offsets`.
        pays: per entry, the multiples of the sums over all hands, over weaker hands and
            over hands not stronger, which add up to the payoff; and a common factor.
            The factor is applied last, so that equal hands get equal values.
        entry_ends: group g has the entries `entry_ends[g]` to `entry_ends[g + 1] - 1`.
        groups: see LIST.
        group_ends: piece q has the groups `group_ends[q]` to `group_ends[q + 1] - 1`.
        cuts: first infoset of each block, and the number of infosets.
        list_ends: start of each board's list of hands, and T.
        levels: strength per listed hand.
        cards: the two cards per listed hand; if hands are single cards, the second is
            `num_cards`.
        weights: weight per player and listed hand.
        offsets: concatenated rows of offsets.
        num_cards: largest card plus 1.
        payoffs: distinct returns of both players.
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
        """Number of blocks.

        Different pieces add to disjoint sequences of the gradient, so threads may
        process them in parallel.
        """
        return len(self.cuts) - 1

    @property
    def num_worlds(self) -> int:
        """Number of leaves, each listed for both players."""
        return len(self.steps) // 2


LANES = 4
"""Number of groups summed side by side. Each addition to a running sum must wait for
the one before; with several independent sums, the processor overlaps the additions.
"""


@inlined
def _gather(plan, first, stride, offsets, weights, reach, lane):
    """Writes the opponent's reach with each hand to a lane; returns the total.

    Args:
        plan: `[S]` plans of both players.
        first, stride, offsets: the hands' last sequences, see `Hands`.
        weights: weights of the opponent's hands.
        reach: `[hands, LANES]` column `lane` is written.
        lane: the lane of the group.
    """
    total, begin = 0.0, np.uint64(first)
    for k in range(len(weights)):
        reach[k, lane] = weights[k] * plan[begin + np.uint64(stride) * offsets[k]]
        total += reach[k, lane]
    return total


@inlined
def _add(seen, cards, k, same, reach):
    """Adds the reach of hand k to the sums `seen` of its cards.

    `same` is 1 if hands have two cards. With single cards it is 0, so that nothing is
    added for the second card.
    """
    low, high = cards[k, 0], cards[k, 1]
    for lane in range(LANES):
        seen[low, lane] += reach[k, lane]
        seen[high, lane] += same * reach[k, lane]


@inlined
def _sum_of_all(cards, same, reach, total, seen, every, least):
    """Writes to `every` each hand's sum of reach over all compatible hands, and to
    `least` the minimum of these sums per lane.

    `total` must be the sum over all hands, and `seen` the sum per card.
    """
    least[:] = np.inf
    for k in range(len(cards)):
        low, high = cards[k, 0], cards[k, 1]
        for lane in range(LANES):
            disjoint = total[lane] - seen[low, lane] - seen[high, lane]
            every[k, lane] = disjoint + same * reach[k, lane]
            least[lane] = min(least[lane], every[k, lane])


@inlined
def _sum_by_strength(cards, levels, same, reach, now, seen, weaker, up_to):
    """Writes each hand's sum of reach over the compatible hands that are weaker (to
    `weaker`) and over those that are not stronger (to `up_to`).

    `seen` must contain zeros. Afterwards it contains the sums of reach per card over
    all hands, and `now` the totals.
    """
    count, first = len(cards), 0
    now[:] = 0.0
    # Invariant: `now` (totals) and `seen` (sums per card) include exactly the hands
    # weaker than hand k, and `first` is the first hand as strong as k. Each pass of the
    # loop writes `weaker` of hand k. The hand itself is not included yet, so nothing
    # was subtracted twice. At the last of several hands with equal strength, all these
    # hands are included, and then their `up_to` is written.
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
    """Recomputes the three sums of a lane for hands whose sum over all compatible hands
    is below `least`.

    The sums are computed by additions only, so a hand that is compatible with no hand
    of the opponent gets exactly 0.

    Args:
        cards, levels: cards and strengths of the hands.
        weights: weights of the player's hands; hands of weight 0 are skipped.
        none: number that stands for a missing second card.
        least: threshold.
        lane: the lane.
        reach: `[hands, LANES]` the opponent's reach.
        held: `[hands]` buffer for the hands with positive reach.
        sums: the arrays `every`, `weaker` and `up_to`.
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
    """Adds the payoffs of an entry to the gradient at the player's last sequences.

    Args:
        hands: the list.
        entry: the entry.
        weights: weights of the player's hands.
        compares: whether the entry's group contains a showdown.
        lane: lane of the group in the sums.
        sums: the arrays `every`, `weaker` and `up_to`.
        gradient: `[S]` the payoffs are added here.
    """
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
    """Returns the end of the next batch of groups, which begins at `first`.

    A batch has at most LANES groups with the same list of hands, either all with
    IS_SHOWDOWN or all without.
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
    """Adds the part of a player's utility gradient that comes from the leaves of a
    piece.

    Args:
        hands: the list.
        piece: number of the piece, which determines the player; see `Hands`.
        plan: `[S]` plans of both players.
        gradient: `[S]` the values are added here.
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
    # Each pass of the loop computes the sums of a batch of up to LANES groups, then
    # adds the payoffs of all entries of these groups. Unused lanes keep values of
    # earlier batches, which nothing reads.
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
