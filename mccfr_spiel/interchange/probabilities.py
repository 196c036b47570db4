"""Chance probabilities as fractions that sum to exactly 1, as Gambit requires."""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

_DENOMINATORS = tuple(10**digits for digits in range(1, 16))


class Distribution(NamedTuple):
    """A distribution in fractions.

    Attributes:
        probs: `[A]` fractions with the sum 1.
        correction: distance of the largest fraction from its double; 0.0 if all
            fractions read back to their doubles.
    """

    probs: tuple[Fraction, ...]
    correction: float


@functools.lru_cache(maxsize=1 << 16)
def exact_distribution(probs: tuple[float, ...]) -> Distribution:
    """Fractions that sum to 1 and read back to `probs` if possible.

    Three attempts, the first successful one counts:

    1. Simple fractions such as 1/3. The largest one is replaced by the remainder to 1,
       which must read back to its double.
    2. Every fraction moves by the same share of the distance at which it would read
       back to another double.
    3. The largest probability is corrected.
    """
    simple = [_simplest(prob) for prob in probs]
    largest = max(range(len(probs)), key=probs.__getitem__)
    rest = Fraction(1) - sum(simple[:largest] + simple[largest + 1 :])
    corrected = (*simple[:largest], rest, *simple[largest + 1 :])
    if float(rest) == probs[largest]:
        return Distribution(corrected, 0.0)
    moved = _moved(probs)
    if moved is not None:
        return Distribution(moved, 0.0)
    return Distribution(corrected, abs(float(rest - Fraction(probs[largest]))))


def _simplest(value: float) -> Fraction:
    """The fraction with the fewest digits that reads back to a double."""
    exact = Fraction(value)
    candidates = map(exact.limit_denominator, _DENOMINATORS)
    return next((f for f in candidates if float(f) == value), exact)


def _moved(probs: Sequence[float]) -> tuple[Fraction, ...] | None:
    """Fractions that sum to 1, each closer to its double than half the distance to the
    next double; None if there are none."""
    exact = [*map(Fraction, probs)]
    missing = Fraction(1) - sum(exact)
    toward = math.inf if missing > 0 else 0.0
    limits = [
        abs(Fraction(math.nextafter(prob, toward)) - value) / 2
        for prob, value in zip(probs, exact, strict=True)
    ]
    if abs(missing) >= sum(limits):
        return None
    share = Fraction(missing, sum(limits))
    return tuple(
        value + share * limit for value, limit in zip(exact, limits, strict=True)
    )
