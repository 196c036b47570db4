"""Gradients by vectors of hands: what hands of cards win at the leaves of a public tree.

A player's gradient at a leaf needs, for each own hand, the sum of the other player's
reach over all hands that share no card with it. That is the sum over all hands, less
the sums over those that hold the one card and the other, and plus the hand with both
cards, which was taken away twice. At a showdown the same sums are made of the weaker
hands, and of those that are not stronger, as they stand while the hands are read in the
order of their strength (Johanson, Waugh, Bowling, Zinkevich 2011).

All leaves at one board that the other player reaches by the same sequence share these
sums; they are a *group*. Each leaf of a group is an *entry*, which says at which of the
own sequences it pays, and how much for each of the three sums.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.compiled.frame import Entry
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.tables import FLOAT, INT, LONG

LIST, FIRST, STRIDE, ROW, IS_SHOWDOWN, GROUP_SIZE = range(6)
"""The columns of `Hands.groups`: the list of hands at the group's board; the other
player's first sequence, how far its hands' sequences are apart, and the row of
`Hands.places` that counts these hands; and whether hands are compared."""

_CANCELLED = 1e-6
"""If so small a part of a sum is left after hands were taken away from it, the hands
that are left are added up one by one: differences would be rounding errors."""


class Hands(NamedTuple):
    """What a pass over a public tree reads. E is how many entries there are, G how many
    groups, L how many lists of hands (one for each board), T how many hands they have
    together, H how many hands there are, D how many cards."""

    steps: Annotated[
        np.ndarray,
        Entry(
            INT,
            "[E, 3]",
            "an entry's first own sequence, how far those of hands are apart, and the "
            "row of `places` that counts these hands",
        ),
    ]
    pays: Annotated[
        np.ndarray,
        Entry(FLOAT, "[E, 3]", "for all hands, the weaker ones, those not stronger"),
    ]
    entry_ends: Annotated[
        np.ndarray, Entry(LONG, "[G + 1]", "group g has `ends[g] .. ends[g + 1] - 1`")
    ]
    groups: Annotated[np.ndarray, Entry(INT, "[G, 5]", "see GROUP_SIZE")]
    group_ends: Annotated[
        np.ndarray, Entry(LONG, "[P + 1]", "player p's are `ends[p] .. ends[p + 1] - 1`")
    ]
    list_ends: Annotated[np.ndarray, Entry(LONG, "[L + 1]", "where lists of hands end")]
    hands: Annotated[np.ndarray, Entry(INT, "[T]", "ascending by strength in a list")]
    levels: Annotated[np.ndarray, Entry(INT, "[T]", "equal for hands that tie")]
    cards: Annotated[
        np.ndarray, Entry(INT, "[T, 2]", "of these hands; D for no second card")
    ]
    weights: Annotated[
        np.ndarray,
        Entry(FLOAT, "[T, 2]", "of these hands for each player, 0 if it has them not"),
    ]
    places: Annotated[
        np.ndarray,
        Entry(INT, "[R, H]", "which of a player's infosets at a node a hand has, or -1"),
    ]
    num_cards: Annotated[np.ndarray, Entry(LONG, "[1]", "D")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[U, 2]", "all returns, each once")]

    @property
    def num_worlds(self) -> int:
        """How many leaves there are, of which each is an entry of both players."""
        return len(self.steps) // 2

    @property
    def payoffs(self) -> np.ndarray:
        """`[U, 2]` the returns that there are, each once."""
        return self.returns


@inlined
def _gather(hands, player, group, plan, reach):
    """Writes how a player reaches a group with each hand of its list; returns the
    sum."""
    start, stop = hands.list_ends[group[LIST]], hands.list_ends[group[LIST] + 1]
    total = 0.0
    for k in range(start, stop):
        one, weight = 0.0, hands.weights[k, player]
        if weight > 0.0:
            place = hands.places[group[ROW], hands.hands[k]]
            one = weight * plan[group[FIRST] + group[STRIDE] * place]
        reach[k - start] = one
        total += one
    return total


@inlined
def _take_away(total, seen, cards, k, reach):
    """What is left of a sum without the hands that hold a card of hand `k`, which has
    been added to it with this reach."""
    return total - seen[cards[k, 0]] - seen[cards[k, 1]] + reach


@inlined
def _add(seen, cards, k, same, reach):
    """Adds a hand to the sums of its cards. `same` is 0 if hands have one card."""
    seen[cards[k, 0]] += reach
    seen[cards[k, 1]] += same * reach


@inlined
def _sum_up(hands, start, stop, compares, same, reach, seen, sums):
    """Writes the sums of all hands and, if it compares, of those that are weaker and of
    those that are not stronger; columns of `sums` as of `Hands.pays`."""
    cards, levels, total = hands.cards, hands.levels, 0.0
    seen[:] = 0.0
    first = start
    # One pass of this loop is at one hand. Hands that tie are added together, when the
    # last of them has come.
    for k in range(start, stop):
        if compares:
            sums[k - start, 1] = _take_away(total, seen, cards, k, 0.0)
            if k + 1 < stop and levels[k + 1] == levels[k]:
                continue
        for tied in range(first, k + 1):
            total += reach[tied - start]
            _add(seen, cards, tied, same, reach[tied - start])
        if compares:
            for tied in range(first, k + 1):
                back = same * reach[tied - start]
                sums[tied - start, 2] = _take_away(total, seen, cards, tied, back)
        first = k + 1
    for k in range(start, stop):
        back = same * reach[k - start]
        sums[k - start, 0] = _take_away(total, seen, cards, k, back)


@inlined
def _sum_what_is_left(hands, start, stop, total, player, reach, left, sums):
    """Makes the sums again, without differences, where hardly anything is left of
    them. A hand that fits no hand of the other player gets exactly 0."""
    cards, levels, count = hands.cards, hands.levels, -1
    none = hands.num_cards[0]
    for k in range(start, stop):
        if hands.weights[k, player] == 0.0 or sums[k - start, 0] >= _CANCELLED * total:
            continue
        if count < 0:  # the first one: lists the hands that are held at all
            count = 0
            for j in range(start, stop):
                if reach[j - start] > 0.0:
                    left[count] = j
                    count += 1
        one, two = cards[k, 0], cards[k, 1]
        every, weaker, tying = 0.0, 0.0, 0.0
        for m in range(count):
            j = left[m]
            if cards[j, 0] in (one, two):
                continue
            if cards[j, 1] != none and cards[j, 1] in (one, two):
                continue
            every += reach[j - start]
            if levels[j] < levels[k]:
                weaker += reach[j - start]
            elif levels[j] == levels[k]:
                tying += reach[j - start]
        sums[k - start, 0] = every
        sums[k - start, 1] = weaker
        sums[k - start, 2] = weaker + tying


@jit(nogil=True)
def add_hand_gradient(
    hands: Hands, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """Adds a player's utility gradient at the leaves, given the other's plan `[S]`."""
    num_lists, longest = len(hands.list_ends) - 1, np.int64(0)
    for one in range(num_lists):
        longest = max(longest, hands.list_ends[one + 1] - hands.list_ends[one])
    reach, sums = np.zeros(longest), np.zeros((longest, 3))
    left, seen = np.zeros(longest, np.int64), np.zeros(hands.num_cards[0] + 1)
    same = 1.0 if hands.cards[0, 1] < hands.num_cards[0] else 0.0
    for g in range(hands.group_ends[player], hands.group_ends[player + 1]):
        group = hands.groups[g]
        total = _gather(hands, 1 - player, group, plan, reach)
        if total == 0.0:
            continue
        start, stop = hands.list_ends[group[LIST]], hands.list_ends[group[LIST] + 1]
        compares = group[IS_SHOWDOWN] != 0
        _sum_up(hands, start, stop, compares, same, reach, seen, sums)
        _sum_what_is_left(hands, start, stop, total, player, reach, left, sums)
        for entry in range(hands.entry_ends[g], hands.entry_ends[g + 1]):
            first, stride = hands.steps[entry, 0], hands.steps[entry, 1]
            row, pays = hands.steps[entry, 2], hands.pays[entry]
            for k in range(start, stop):
                weight = hands.weights[k, player]
                if weight > 0.0:
                    got = pays[0] * sums[k - start, 0]
                    if compares:
                        got += pays[1] * sums[k - start, 1]
                        got += pays[2] * sums[k - start, 2]
                    place = hands.places[row, hands.hands[k]]
                    gradient[first + stride * place] += weight * got
