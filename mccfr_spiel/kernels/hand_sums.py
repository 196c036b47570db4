"""Sums of the opponent's reach over hands that share no card with an own hand.

The sum over all hands without a common card is the total, minus the sums over the hands
with either card, plus the reach of the hand with both cards, which was subtracted
twice. At a showdown the same sums are needed over the weaker hands and over the hands
that are not stronger. These are running sums in ascending strength (Johanson, Waugh,
Bowling and Zinkevich 2011). Up to LANES vectors are summed side by side, in float64.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.hand_layout import LANES
from mccfr_spiel.kernels.jit import inlined, jit

ALL, WEAKER, UP_TO = range(3)
"""Indices of `HandBuffers.sums`: hands without a common card in total, the weaker ones
of them, and those that are not stronger."""

CANCELLED = 1e-9
"""If a sum is smaller than this share of the total, it may consist of rounding errors
of the subtractions. Such sums are recomputed by additions only."""


@inlined
def _add(seen, reach, cards, i, t0, t1, t2, t3):
    """Adds hand `i` to the sums of its cards; returns the totals of the four lanes."""
    # The lanes are written out, because numba does not vectorize short inner loops.
    a, b = np.uint64(cards[i, 0]), np.uint64(cards[i, 1])
    x0, x1, x2, x3 = reach[i, 0], reach[i, 1], reach[i, 2], reach[i, 3]
    a0, a1, a2, a3 = seen[a, 0], seen[a, 1], seen[a, 2], seen[a, 3]
    b0, b1, b2, b3 = seen[b, 0], seen[b, 1], seen[b, 2], seen[b, 3]
    a0 += x0
    a1 += x1
    a2 += x2
    a3 += x3
    b0 += x0
    b1 += x1
    b2 += x2
    b3 += x3
    seen[a, 0], seen[a, 1], seen[a, 2], seen[a, 3] = a0, a1, a2, a3
    seen[b, 0], seen[b, 1], seen[b, 2], seen[b, 3] = b0, b1, b2, b3
    return t0 + x0, t1 + x1, t2 + x2, t3 + x3


@inlined
def _write(out, seen, cards, k, t0, t1, t2, t3):
    """Writes the sums of hand `k` if the hand itself is not among the summed hands."""
    a, b = np.uint64(cards[k, 0]), np.uint64(cards[k, 1])
    a0, a1, a2, a3 = seen[a, 0], seen[a, 1], seen[a, 2], seen[a, 3]
    b0, b1, b2, b3 = seen[b, 0], seen[b, 1], seen[b, 2], seen[b, 3]
    a0 = t0 - a0 - b0
    a1 = t1 - a1 - b1
    a2 = t2 - a2 - b2
    a3 = t3 - a3 - b3
    out[k, 0], out[k, 1], out[k, 2], out[k, 3] = a0, a1, a2, a3


@inlined
def _write_with_same(out, seen, reach, cards, same, k, t0, t1, t2, t3):
    """Writes the sums of hand `k` if the hand itself is among the summed hands."""
    a, b, s = np.uint64(cards[k, 0]), np.uint64(cards[k, 1]), np.uint64(same[k])
    a0, a1, a2, a3 = seen[a, 0], seen[a, 1], seen[a, 2], seen[a, 3]
    b0, b1, b2, b3 = seen[b, 0], seen[b, 1], seen[b, 2], seen[b, 3]
    s0, s1, s2, s3 = reach[s, 0], reach[s, 1], reach[s, 2], reach[s, 3]
    a0 = t0 - a0 - b0 + s0
    a1 = t1 - a1 - b1 + s1
    a2 = t2 - a2 - b2 + s2
    a3 = t3 - a3 - b3 + s3
    out[k, 0], out[k, 1], out[k, 2], out[k, 3] = a0, a1, a2, a3
    return a0, a1, a2, a3


@jit(nogil=True, views_only=True)
def sum_lanes(
    cards: Any,
    same: Any,
    weaker: Any,
    up_to: Any,
    other_cards: Any,
    reach: Any,
    compares: bool,
    seen: Any,
    sums: Any,
) -> None:
    """Sums LANES vectors of reaches for all own hands at a board.

    Args:
        cards: `[n, 2]` cards of the own hands, in ascending strength.
        same, weaker, up_to: `[n]` see `HandLayout`.
        other_cards: `[m, 2]` cards of the opponent's hands, in ascending strength.
        reach: `[> m, LANES]` reaches of these hands; row m must be 0.
        compares: whether sums by strength are needed.
        seen: `[cards + 2, LANES]` buffer. The last rows then hold the smallest sum
            over all hands, and the sum of all reaches.
        sums: `[3, > n, LANES]` written, see ALL.
    """
    every, of_weaker, of_up_to = sums[ALL], sums[WEAKER], sums[UP_TO]
    seen[:] = 0.0
    # Unsigned indices save numba's test for negative ones.
    one, m, n = np.uint64(1), np.uint64(len(other_cards)), np.uint64(len(cards))
    t0 = t1 = t2 = t3 = 0.0
    i = np.uint64(0)
    if compares:
        k = np.uint64(0)
        # Each pass handles the own hands between two hands of the opponent. Invariant:
        # the totals and `seen` contain the opponent's hands before `i`.
        while k < n:
            below, stop = np.uint64(weaker[k]), np.uint64(up_to[k])
            while i < below:
                t0, t1, t2, t3 = _add(seen, reach, other_cards, i, t0, t1, t2, t3)
                i += one
            end = k
            while end < n and weaker[end] == below and up_to[end] == stop:
                _write(of_weaker, seen, cards, end, t0, t1, t2, t3)
                end += one
            while i < stop:
                t0, t1, t2, t3 = _add(seen, reach, other_cards, i, t0, t1, t2, t3)
                i += one
            while k < end:
                _write_with_same(of_up_to, seen, reach, cards, same, k, t0, t1, t2, t3)
                k += one
    while i < m:
        t0, t1, t2, t3 = _add(seen, reach, other_cards, i, t0, t1, t2, t3)
        i += one
    k = np.uint64(0)
    l0 = l1 = l2 = l3 = np.inf
    while k < n:
        x0, x1, x2, x3 = _write_with_same(
            every, seen, reach, cards, same, k, t0, t1, t2, t3
        )
        l0, l1 = x0 if x0 < l0 else l0, x1 if x1 < l1 else l1
        l2, l3 = x2 if x2 < l2 else l2, x3 if x3 < l3 else l3
        k += one
    seen[len(seen) - 2, 0], seen[len(seen) - 2, 1] = l0, l1
    seen[len(seen) - 2, 2], seen[len(seen) - 2, 3] = l2, l3
    seen[len(seen) - 1, 0], seen[len(seen) - 1, 1] = t0, t1
    seen[len(seen) - 1, 2], seen[len(seen) - 1, 3] = t2, t3


@jit(nogil=True, views_only=True)
def add_again(
    cards: Any,
    weaker: Any,
    up_to: Any,
    other_cards: Any,
    reach: Any,
    lane: int,
    total: float,
    sums: Any,
) -> None:
    """Recomputes small sums of a lane by additions only.

    A hand that shares a card with all hands of the opponent then gets exactly 0.

    Args:
        cards, weaker, up_to, other_cards, reach, sums: see `sum_lanes`.
        lane: the lane.
        total: the sum of all reaches of the lane.
    """
    limit = CANCELLED * total
    for k in range(len(cards)):
        if sums[ALL, k, lane] >= limit:
            continue
        low, high = cards[k, 0], cards[k, 1]
        every = of_weaker = of_up_to = 0.0
        for j in range(len(other_cards)):
            a, b = other_cards[j, 0], other_cards[j, 1]
            if a == low or a == high or b == low or b == high:
                continue
            x = reach[j, lane]
            every += x
            if j < weaker[k]:
                of_weaker += x
            if j < up_to[k]:
                of_up_to += x
        sums[ALL, k, lane] = every
        sums[WEAKER, k, lane] = of_weaker
        sums[UP_TO, k, lane] = of_up_to


assert LANES == 4, "the lanes are written out in this file"
