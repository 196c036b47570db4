"""Conversion between blocks of hands and vectors over sequences.

A block holds the entries of a decision by action, a vector holds them by hand.
"""

from typing import Any

from mccfr_spiel.kernels.jit import jit

FIRST, BASE, COUNT, HANDS = range(4)
"""Columns of `places`, one row per public decision.

FIRST: first sequence.
BASE: first entry in the table.
COUNT: number of actions.
HANDS: number of hands.
"""


@jit
def spread(places: Any, table: Any, vector: Any) -> None:
    """Writes the entries of a table into a vector `[S]`."""
    for row in range(len(places)):
        first, base, count = places[row, FIRST], places[row, BASE], places[row, COUNT]
        n = places[row, HANDS]
        for k in range(n):
            for a in range(count):
                vector[first + k * count + a] = table[base + a * n + k]


@jit
def spread_policy(
    places: Any, table: Any, ahead: Any, up: float, predicts: float, vector: Any
) -> None:
    """Writes the policy in proportion to the positive entries into a vector `[S]`.

    Args:
        places: see FIRST.
        table: sums of policies, or regrets.
        ahead: last regrets; read only if `predicts` is not 0.
        up: factor of the entries of `table`.
        predicts: factor of the entries of `ahead`.
        vector: written.
    """
    for row in range(len(places)):
        first, base, count = places[row, FIRST], places[row, BASE], places[row, COUNT]
        n = places[row, HANDS]
        for k in range(n):
            begin, total = first + k * count, 0.0
            for a in range(count):
                x = table[base + a * n + k] * up
                if predicts != 0.0:
                    x += ahead[base + a * n + k] * predicts
                vector[begin + a] = max(x, 0.0)
                total += vector[begin + a]
            for a in range(count):
                vector[begin + a] = (
                    vector[begin + a] / total if total > 0.0 else 1.0 / count
                )


@jit
def gather(places: Any, vector: Any, table: Any) -> None:
    """Writes the entries of a vector `[S]` into a table."""
    for row in range(len(places)):
        first, base, count = places[row, FIRST], places[row, BASE], places[row, COUNT]
        n = places[row, HANDS]
        for k in range(n):
            for a in range(count):
                table[base + a * n + k] = vector[first + k * count + a]
