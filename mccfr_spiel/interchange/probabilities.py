"""Fractions that read back to given doubles and sum to exactly 1, as Gambit demands."""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

_DENOMINATORS = tuple(10**digits for digits in range(1, 16))


class Distribution(NamedTuple):
    """A distribution in fractions.

    Attributes:
        probs: the fractions, which sum to exactly 1.
        correction: how far the largest one is from its double; 0.0 if all fractions
            read back to their doubles.
    """

    probs: tuple[Fraction, ...]
    correction: float


@functools.lru_cache(maxsize=1 << 16)
def exact_distribution(probs: tuple[float, ...]) -> Distribution:
    """Fractions that read back to probabilities and sum to 1.

    Simple fractions such as 1/3 come first. If they do not sum to 1, the largest one
    takes the rest, or all move inside the intervals that round to their doubles. If no
    fractions in these intervals sum to 1, the largest probability is corrected.
    """
    simple = [_simplest(prob) for prob in probs]
    largest = max(range(len(probs)), key=probs.__getitem__)
    rest = Fraction(1) - sum(simple[:largest] + simple[largest + 1 :])
    corrected = (*simple[:largest], rest, *simple[largest + 1 :])
    if float(rest) == probs[largest]:
        return Distribution(corrected, 0.0)
    moved = _moved_inside(probs)
    if moved is not None:
        return Distribution(moved, 0.0)
    return Distribution(corrected, abs(float(rest - Fraction(probs[largest]))))


def _simplest(value: float) -> Fraction:
    """The fraction with the fewest digits that reads back to a double."""
    exact = Fraction(value)
    candidates = map(exact.limit_denominator, _DENOMINATORS)
    return next((one for one in candidates if float(one) == value), exact)


def _moved_inside(probs: Sequence[float]) -> tuple[Fraction, ...] | None:
    """Doubles moved by less than half their distance to the next double, so that they
    sum to 1; None if that is not possible."""
    exact = [*map(Fraction, probs)]
    missing = Fraction(1) - sum(exact)
    toward = math.inf if missing > 0 else 0.0
    room = [
        abs(Fraction(math.nextafter(prob, toward)) - value) / 2
        for prob, value in zip(probs, exact, strict=True)
    ]
    if abs(missing) >= sum(room):
        return None
    share = Fraction(missing, sum(room))
    return tuple(value + share * r for value, r in zip(exact, room, strict=True))
