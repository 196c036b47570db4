"""Checks of the arrays of a checkpoint, which is an untrusted file.

Compiled loops check neither indices nor numbers. All values from a file are therefore
checked here before they enter the tables.
"""

from collections.abc import Sequence

import numpy as np

from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.kernels import tables as layout

_NOT_NEGATIVE = "policy", "average", "paid", "plan", "balance"
"""Names of the tables whose entries must be nonnegative. Regrets and predictions may be
negative."""

_ROUNDING = 1e-6
"""By how much a probability may exceed 1 because of rounding; also the tolerance of
other comparisons, relative to their values."""

MOST_COUNTED = 2**50
"""The largest plausible number of iterations or touched nodes. A solver would need
years to reach it."""


def copy_table(name: str, source: np.ndarray, table: np.ndarray) -> None:
    """Copies an array of a checkpoint into a solver's table.

    Raises:
        DamagedError: the type or the shape differs from the table's, or an entry is
            impossible.
    """
    if source.dtype != table.dtype or source.shape != table.shape:
        raise DamagedError(
            f"Table {name!r} of the checkpoint is {source.dtype} {source.shape}, "
            f"expected {table.dtype} {table.shape}."
        )
    table[:] = source
    if table.dtype == np.float64 and not np.isfinite(table).all():
        raise DamagedError(
            f"Table {name!r} of the checkpoint contains non-finite entries."
        )
    if name in _NOT_NEGATIVE and (table < 0).any():
        raise DamagedError(
            f"Table {name!r} of the checkpoint contains negative entries."
        )


def check_policy(policy: np.ndarray) -> None:
    """Raises DamagedError if a probability exceeds 1."""
    if (policy > 1 + _ROUNDING).any():
        raise DamagedError("The checkpoint's policy contains probabilities above 1.")


def check_payments(infosets: np.ndarray, tables: layout.Tables) -> None:
    """Raises DamagedError if the tables `average` and `paid` contradict each other.

    `average[s]` is the sum of weighted plans at sequence s. `paid[i]` is the sum at the
    parent sequence of infoset i when the infoset last received its contribution, see
    kernels/lazy_average.py. Sums only grow, so `paid` cannot exceed the present sum.

    Args:
        infosets: `[I]` of dtype INFOSET.
        tables: the solver's tables.
    """
    received = tables.average[infosets["parent"]]
    if (tables.paid[: len(infosets)] > received * (1 + _ROUNDING)).any():
        raise DamagedError(
            "The checkpoint's tables 'average' and 'paid' contradict each other."
        )


def check_cursor(cursor: np.ndarray, num_players: int) -> None:
    """Raises DamagedError if the counters of a solver are out of range.

    Args:
        cursor: iteration, player to update next, and touched nodes; see
            `layout.CURSOR_SIZE`.
        num_players: the number of updates per iteration: the number of players with
            alternating updates, otherwise 1.
    """
    counters: Sequence[int] = cursor.tolist()
    if (cursor > MOST_COUNTED).any():
        raise DamagedError(
            f"The checkpoint's counters {counters} must be at most {MOST_COUNTED}."
        )
    if (cursor < 0).any() or cursor[layout.PLAYER] >= num_players:
        raise DamagedError(
            f"The checkpoint's cursor {counters} must be that of a solver between two "
            "updates."
        )
