"""Gradients by vectors of hands: what hands win at the leaves of a public tree.

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
player's sequences, as in `Hands.steps`; and whether hands are compared."""

_CANCELLED = 1e-6
"""If so small a part of a sum is left after hands were taken away from it, the hands
that are left are added up one by one: differences would be rounding errors."""


CARD, PLACE = np.dtype(np.uint16), np.dtype(np.uint32)
"""Unsigned: of a signed index each use asks whether it counts from the end."""


class Hands(NamedTuple):
    """What a pass over a public tree reads. E is how many entries there are, G how many
    groups, L how many lists of hands (one for each board), T how many hands they have
    together, D how many cards there are.

    A *row* of places says for the hands of a list at which of a player's infosets at a
    decision each is. A hand that the player does not hold has any, and weight 0.
    """

    steps: Annotated[
        np.ndarray,
        Entry(
            INT,
            "[E, 3]",
            "an entry's first own sequence, how far those of two infosets are apart, "
            "and where the row begins in `places`",
        ),
    ]
    pays: Annotated[
        np.ndarray,
        Entry(
            FLOAT,
            "[E, 4]",
            "for all hands, the weaker ones, those not stronger; and the factor of "
            "what these add up to, which comes last, so that equal hands get the same",
        ),
    ]
    entry_ends: Annotated[
        np.ndarray, Entry(LONG, "[G + 1]", "group g has `ends[g] .. ends[g + 1] - 1`")
    ]
    groups: Annotated[np.ndarray, Entry(INT, "[G, 5]", "see GROUP_SIZE")]
    group_ends: Annotated[
        np.ndarray, Entry(LONG, "[3]", "player p's are `ends[p] .. ends[p + 1] - 1`")
    ]
    list_ends: Annotated[np.ndarray, Entry(LONG, "[L + 1]", "where lists of hands end")]
    levels: Annotated[
        np.ndarray, Entry(INT, "[T]", "the strengths of hands, ascending in a list")
    ]
    cards: Annotated[
        np.ndarray, Entry(CARD, "[T, 2]", "of these hands; D for no second card")
    ]
    weights: Annotated[
        np.ndarray,
        Entry(FLOAT, "[2, T]", "of these hands for each player, 0 for none that is"),
    ]
    places: Annotated[np.ndarray, Entry(PLACE, "[R]", "rows of places, one by one")]
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
def _gather(plan, first, stride, places, weights, reach):
    """Writes how a player reaches a group with each hand; returns the sum."""
    total, begin = 0.0, np.uint64(first)
    for k in range(len(weights)):
        reach[k] = weights[k] * plan[begin + np.uint64(stride) * places[k]]
        total += reach[k]
    return total


@inlined
def _add(seen, cards, k, same, reach):
    """Adds a hand to the sums of its cards. `same` is 0 if hands have one card."""
    seen[cards[k, 0]] += reach
    seen[cards[k, 1]] += same * reach


@inlined
def _add_all(cards, same, reach, seen):
    """Adds all hands to the sums of their cards, which are 0."""
    for k in range(len(reach)):
        _add(seen, cards, k, same, reach[k])


@inlined
def _sum_of_all(cards, same, reach, total, seen, every):
    """Writes for each hand the sum over all that fit it; returns the least."""
    least = np.inf
    for k in range(len(reach)):
        found = total - seen[cards[k, 0]] - seen[cards[k, 1]] + same * reach[k]
        every[k] = found
        least = min(least, found)
    return least


@inlined
def _sum_by_strength(cards, levels, same, reach, seen, weaker, up_to):
    """As `_add_all`, and writes for each hand the sums over those that are weaker, and
    over those that are not stronger, as far as they fit it."""
    count, total, first = len(reach), 0.0, 0
    # One pass of this loop is at one hand. Hands that tie are added together, when the
    # last of them has come.
    for k in range(count):
        weaker[k] = total - seen[cards[k, 0]] - seen[cards[k, 1]]
        if k + 1 < count and levels[k + 1] == levels[k]:
            continue
        for tied in range(first, k + 1):
            total += reach[tied]
            _add(seen, cards, tied, same, reach[tied])
        for tied in range(first, k + 1):
            left = total - seen[cards[tied, 0]] - seen[cards[tied, 1]]
            up_to[tied] = left + same * reach[tied]
        first = k + 1


@inlined
def _sum_what_is_left(
    cards, levels, weights, none, least, reach, held, every, weaker, up_to
):
    """Makes the sums again, without differences, where less than `least` is left of
    them. A hand that fits no hand of the other player gets exactly 0."""
    count = 0
    for k in range(len(reach)):
        if reach[k] > 0.0:
            held[count] = k
            count += 1
    for k in range(len(reach)):
        if weights[k] == 0.0 or every[k] >= least:
            continue
        one, two = cards[k, 0], cards[k, 1]
        every[k], weaker[k], up_to[k] = 0.0, 0.0, 0.0
        for m in range(count):
            other = held[m]
            if cards[other, 0] == one or cards[other, 0] == two:
                continue
            if cards[other, 1] == one or (cards[other, 1] == two and two != none):
                continue
            every[k] += reach[other]
            if levels[other] <= levels[k]:
                up_to[k] += reach[other]
                if levels[other] < levels[k]:
                    weaker[k] += reach[other]


@inlined
def _pay(
    gradient, first, stride, places, weights, pays, compares, every, weaker, up_to
):
    """Adds what an entry pays to the gradient at its sequences."""
    begin, of_all, of_weaker, of_rest = np.uint64(first), pays[0], pays[1], pays[2]
    factor = pays[3]
    for k in range(len(weights)):
        got = of_all * every[k]
        if compares:
            got += of_weaker * weaker[k] + of_rest * up_to[k]
        gradient[begin + np.uint64(stride) * places[k]] += weights[k] * got * factor


@jit(nogil=True)
def add_hand_gradient(
    hands: Hands, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """Adds a player's utility gradient at the leaves, given the other's plan `[S]`."""
    longest = np.int64(0)
    for one in range(len(hands.list_ends) - 1):
        longest = max(longest, hands.list_ends[one + 1] - hands.list_ends[one])
    buffers, held = np.zeros((4, longest)), np.zeros(longest, np.int64)
    none = hands.num_cards[0]
    seen = np.zeros(none + 1)
    same = 1.0 if hands.cards[0, 1] < none else 0.0
    # One pass of this loop is at one group.
    for g in range(hands.group_ends[player], hands.group_ends[player + 1]):
        group = hands.groups[g]
        start, stop = hands.list_ends[group[LIST]], hands.list_ends[group[LIST] + 1]
        compares, size = group[IS_SHOWDOWN] != 0, stop - start
        cards, levels = hands.cards[start:stop], hands.levels[start:stop]
        own = hands.weights[player, start:stop]
        reach, every = buffers[0, :size], buffers[1, :size]
        weaker, up_to = buffers[2, :size], buffers[3, :size]
        total = _gather(
            plan,
            group[FIRST],
            group[STRIDE],
            hands.places[group[ROW] : group[ROW] + size],
            hands.weights[1 - player, start:stop],
            reach,
        )
        if total == 0.0:
            continue
        limit = _CANCELLED * total
        seen[:] = 0.0
        if compares:
            _sum_by_strength(cards, levels, same, reach, seen, weaker, up_to)
        else:
            _add_all(cards, same, reach, seen)
        least = _sum_of_all(cards, same, reach, total, seen, every)
        if least < limit:
            _sum_what_is_left(
                cards, levels, own, none, limit, reach, held, every, weaker, up_to
            )
        for entry in range(hands.entry_ends[g], hands.entry_ends[g + 1]):
            first, stride, row = hands.steps[entry]
            places = hands.places[row : row + size]
            pays = hands.pays[entry]
            _pay(
                gradient,
                first,
                stride,
                places,
                own,
                pays,
                compares,
                every,
                weaker,
                up_to,
            )
