"""Conversion between blocks of hands and vectors over sequences.

A block holds the entries of a decision by action, a vector holds them by hand.
"""

from typing import Any

from mccfr_spiel.kernels.jit import jit

FIRST, BASE, COUNT, HANDS, PLAYER, REPS = range(6)
"""Columns of `places`, one row per public decision.

FIRST: first sequence.
BASE: first entry in the table.
COUNT: number of actions.
HANDS: number of representative hands.
PLAYER: acting player.
REPS: first representative of the board, see `HandLayout.rep_starts`.
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
    places: Any,
    table: Any,
    ahead: Any,
    up: float,
    predicts: float,
    tremble: float,
    vector: Any,
) -> None:
    """Writes the policy in proportion to the positive entries into a vector `[S]`.

    Args:
        places: see FIRST.
        table: sums of policies, or regrets.
        ahead: last regrets; read only if `predicts` is not 0.
        up: factor of the entries of `table`.
        predicts: factor of the entries of `ahead`.
        tremble: least probability of an action.
        vector: written.
    """
    for row in range(len(places)):
        first, base, count = places[row, FIRST], places[row, BASE], places[row, COUNT]
        n, least = places[row, HANDS], min(tremble, 0.5 / count)
        for k in range(n):
            begin, total = first + k * count, 0.0
            for a in range(count):
                x = table[base + a * n + k] * up
                if predicts != 0.0:
                    x += ahead[base + a * n + k] * predicts
                vector[begin + a] = max(x, 0.0)
                total += vector[begin + a]
            for a in range(count):
                share = vector[begin + a] / total if total > 0.0 else 1.0 / count
                vector[begin + a] = least + (1.0 - count * least) * share


@jit
def gather(places: Any, vector: Any, table: Any) -> None:
    """Writes the entries of a vector `[S]` into a table."""
    for row in range(len(places)):
        first, base, count = places[row, FIRST], places[row, BASE], places[row, COUNT]
        n = places[row, HANDS]
        for k in range(n):
            for a in range(count):
                table[base + a * n + k] = vector[first + k * count + a]


@jit
def gather_reaches(places: Any, weights: Any, plan: Any, table: Any) -> None:
    """Writes the reaches of a player's hands after each action into a table.

    Args:
        places: the player's rows, see FIRST.
        weights: `[T]` weight of each representative.
        plan: `[S]` realization plans.
        table: entries of the player's decisions are written.
    """
    for row in range(len(places)):
        first, base, count = places[row, FIRST], places[row, BASE], places[row, COUNT]
        n, start = places[row, HANDS], places[row, REPS]
        for k in range(n):
            weight = weights[start + k]
            for a in range(count):
                table[base + a * n + k] = weight * plan[first + k * count + a]


@jit
def spread_gradient(
    places: Any, masses: Any, chances: Any, table: Any, gradient: Any
) -> None:
    """Writes a player's gradient, after a pass of mode `hand_decisions.GRADIENT`.

    Args:
        places: the player's rows, see FIRST.
        masses: `[T]` weight of all hands of each representative, relative to the weight
            of all pairs of hands.
        chances: per row of `places`, the probability of the public cards.
        table: the table of the pass.
        gradient: `[S]` sequences of the player are written.
    """
    for row in range(len(places)):
        first, base, count = places[row, FIRST], places[row, BASE], places[row, COUNT]
        n, start = places[row, HANDS], places[row, REPS]
        for k in range(n):
            mass = masses[start + k] * chances[row]
            for a in range(count):
                gradient[first + k * count + a] = mass * table[base + a * n + k]
