"""Chance distributions and returns."""

import itertools
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.declarations import Declared, GameError
from mccfr_spiel.arenas.rules.state_checks import check_probs, check_returns
from mccfr_spiel.arenas.tree.met_infosets import hold_list
from mccfr_spiel.common.arrays import (
    TERMINAL,
    reserve,
)
from mccfr_spiel.common.budget import (
    Budget,
)

_LISTS, _FLOAT_BYTES = "distributions and returns", 64
"""The budget's name for chance distributions and vectors of returns, and the bytes that
each of their numbers takes: in the tuple by which it is looked up, and in arrays."""


_FEW_ROWS = 16


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
        self.probs, self.cdf = np.zeros(_FEW_ROWS), np.zeros(_FEW_ROWS)
        self.count = 0
        self._name, self._budget = name, budget

    def add(self, probs: tuple[float, ...]) -> int:
        """Keeps a new distribution; returns where it begins.

        Raises:
            GameError: it is no distribution.
            MemoryBudgetError: it does not fit the budget.
        """
        check_probs(self._name, probs)
        hold_list(self._budget, _LISTS, len(probs), _FLOAT_BYTES)
        values = np.array(probs, np.float64)
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
        self.values = np.zeros((_FEW_ROWS, declared.num_players))
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
        hold_list(self._budget, _LISTS, len(returns), _FLOAT_BYTES)
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
