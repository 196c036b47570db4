"""Checks of the arrays of a checkpoint, which may hold anything.

Compiled loops check no index and no number. Whatever enters their tables from a file is
therefore checked here.
"""

from collections.abc import Sequence

import numpy as np

from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.kernels import tables as layout

_NOT_NEGATIVE = "policy", "average", "paid", "plan", "balance"
"""Tables of nonnegative entries. Regrets and predictions may be negative."""

_ROUNDING = 1e-6
"""The largest excess of a probability over 1."""

MOST_COUNTED = 2**50
"""The largest plausible number of iterations or nodes, which takes years to reach."""


def copy_table(name: str, source: np.ndarray, table: np.ndarray) -> None:
    """Copies an array of a checkpoint into a solver's table.

    Raises:
        DamagedError: the type, the shape or an entry is impossible.
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
    """Raises DamagedError if an infoset was paid more than its parent received.

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
    """Raises DamagedError unless a cursor is that of a solver between two updates.

    Args:
        cursor: see `layout.CURSOR_SIZE`.
        num_players: the number of updates per iteration.
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
