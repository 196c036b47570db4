"""The chance distributions and the payoffs of a tree, each different one kept once.

Before them stands what the parts of a tree cost in bytes, and under which names its
budget holds them. The sizes were measured on 64-bit CPython and rounded up. They are
counted *before* the memory is taken, so that a tree which does not fit is refused while
there is still room to say so.
"""

import itertools
import sys
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_spiel.common.arrays import MAX_CHILDREN, TERMINAL, reserve
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.rules.description import (
    Declared,
    GameError,
    check_probs,
    check_returns,
)

# --- what a tree's budget is held for -------------------------------------------------


NODES, LEAVES, UNCOUNTED = "nodes", "the leaves of a pass", "what cannot be counted"
BLOCKS = "the blocks of a pass in threads"
CEILINGS = "the ceilings of regret-based pruning"
LISTS = "distributions and returns"
"""What a tree's budget is held for, besides infosets."""

BYTES_PER_INFOSET = 220
"""What the tree takes for an infoset, besides its string: its record, twice while the
array grows; its entry in the dictionary of names, likewise; its number; its past."""

BYTES_PER_SEQUENCE = 17

BYTES_OF_INT = 32
_BYTES_OF_LIST = 250
"""A list or tuple that is kept once, as a key of a table, without its numbers."""
_LARGEST_SHARED_INT = 256  # CPython keeps one object for each integer up to this one


def bytes_of_string(info_state: str) -> int:
    """The bytes of an infoset's string, and of the copy of it that saving makes."""
    return sys.getsizeof(info_state) + len(info_state)


def bytes_of_tuple(count: int) -> int:
    """The bytes of a tuple of floats, in a table and in the arrays it is copied to."""
    return _BYTES_OF_LIST + 64 * count


def bytes_of_actions(actions: list[int]) -> int:
    """The bytes of a list of legal actions (ascending) that is kept once."""
    size = _BYTES_OF_LIST + 16 * len(actions)
    if actions[-1] > _LARGEST_SHARED_INT:
        size += BYTES_OF_INT * len(actions)
    return size


# --- chance and payoffs ---------------------------------------------------------------


_FEW = 16


def refuse_children(game: object, count: int) -> ValueError:
    """The error for a node with more children than a record can count."""
    return ValueError(
        f"{brief(game)} has a node with {count} children; at most {MAX_CHILDREN} fit. "
        "Split the move into two."
    )


class Distributions:
    """The chance distributions met, one after the other.

    Attributes:
        starts: where each distribution begins in the arrays.
        probs: `[C + room]` the probabilities.
        cdf: `[C + room]` their running sums in each distribution, exactly 1 from the
            last possible outcome on.
        count: C.
    """

    def __init__(self, name: str, budget: Budget) -> None:
        """No distributions; `name` is what messages call the game."""
        self.starts: dict[tuple[float, ...], int] = {}
        self.probs, self.cdf = np.zeros(_FEW), np.zeros(_FEW)
        self.count = 0
        self._name, self._budget = name, budget

    def add(self, probs: tuple[float, ...]) -> int:
        """Keeps a new distribution; returns where it begins.

        Raises:
            GameError: it is no distribution.
            MemoryBudgetError: it does not fit the budget.
        """
        check_probs(self._name, probs)
        values = np.array(probs, np.float64)
        held = self._budget.held(LISTS)
        self._budget.hold(LISTS, held + bytes_of_tuple(len(probs)))
        start = self.count
        stop = self.count = start + len(probs)
        self.probs = reserve(self.probs, stop)
        self.cdf = reserve(self.cdf, stop)
        self.probs[start:stop] = values
        self.cdf[start:stop] = np.cumsum(values)
        # Rounding must leave no gap below 1, where a draw would find no outcome.
        last = start + np.flatnonzero(values)[-1]
        self.cdf[last:stop] = 1
        self.starts[probs] = start
        return start

    def take_over(self, probs: np.ndarray, cdf: np.ndarray, starts: np.ndarray) -> None:
        """Takes the distributions of a whole tree in place of its own."""
        values, bounds = probs.tolist(), [*starts.tolist(), len(probs)]
        self.starts = {
            tuple(values[start:stop]): start
            for start, stop in itertools.pairwise(bounds)
        }
        self.probs = np.ascontiguousarray(probs)
        self.cdf = np.ascontiguousarray(cdf)
        self.count = len(self.probs)


class Payoffs:
    """The different vectors of returns met.

    Attributes:
        rows: returns -> the row that holds them.
        values: `[U + room, P]` the returns.
    """

    def __init__(self, declared: Declared, budget: Budget) -> None:
        """No returns; those that come must keep to what the game declares."""
        self.rows: dict[tuple[float, ...], int] = {}
        self.values = np.zeros((_FEW, declared.num_players))
        self._declared, self._budget = declared, budget

    def add(self, returns: tuple[float, ...], state: pyspiel.State) -> int:
        """Keeps the returns of a terminal state for the first time; gives their row.

        Raises:
            GameError: they are not as declared, or the state is not terminal.
            MemoryBudgetError: they do not fit the budget.
        """
        if not state.is_terminal():
            raise GameError(
                f"{self._declared.name} has a state where nobody acts "
                f"(current_player() is {TERMINAL}), but which is not terminal "
                "(is_terminal())."
            )
        self._declared = check_returns(self._declared, returns)
        size = bytes_of_tuple(self._declared.num_players)
        self._budget.hold(LISTS, self._budget.held(LISTS) + size)
        row = len(self.rows)
        self.values = reserve(self.values, row + 1)
        self.values[row] = returns
        self.rows[returns] = row
        return row

    def take_over(self, values: np.ndarray) -> None:
        """Takes the returns of a whole tree in place of its own."""
        self.values = values
        vectors: Sequence[Sequence[float]] = values.tolist()
        self.rows = {tuple(returns): row for row, returns in enumerate(vectors)}
