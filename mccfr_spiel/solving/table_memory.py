"""Memory of a solver's tables in the budget of its arena."""

import weakref
from collections.abc import Callable

from mccfr_spiel.common.budget import Budget


def take_tables(
    budget: Budget,
    owner: object,
    per_infoset: int,
    per_sequence: int,
    room: Callable[[], tuple[int, int]],
    *,
    is_fixed: bool = False,
) -> None:
    """Takes the bytes of tables from a budget until `owner` is garbage-collected.

    It also adds the bytes per row to the budget's rates, for infosets added later,
    unless the number of infosets is fixed.

    Args:
        budget: the budget.
        owner: the object that keeps the tables.
        per_infoset: bytes of all tables per infoset.
        per_sequence: bytes of all tables per sequence.
        room: returns the numbers of infosets and sequences for which tables have rows.
        is_fixed: whether no infosets can be added later.

    Raises:
        MemoryBudgetError: the tables do not fit; nothing has changed.
    """

    def change(sign: int) -> None:
        num_infosets, num_sequences = room()
        size = per_infoset * num_infosets + per_sequence * num_sequences
        budget.take(sign * size, "A solver's tables take")
        if not is_fixed:
            budget.per_infoset += sign * per_infoset
            budget.per_sequence += sign * per_sequence

    change(1)
    weakref.finalize(owner, change, -1).atexit = False
