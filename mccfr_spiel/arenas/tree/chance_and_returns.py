"""Chance distributions and returns of a tree. Equal distributions or returns share a
row."""

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
"""Name in the budget for distributions and returns, and bytes per number: once in the
tuple that serves as a dictionary key, and once in the arrays."""


_FEW_ROWS = 16


class Distributions:
    """The distinct chance distributions of a tree, concatenated.

    Attributes:
        starts: start of each distribution in the arrays.
        probs: `[C + spare]` probabilities.
        cdf: `[C + spare]` cumulative sums per distribution, exactly 1 from the last
            possible outcome on.
        count: C, the number of probabilities in use.
    """

    def __init__(self, name: str, budget: Budget) -> None:
        """Starts without distributions; `name` is the game's name in messages."""
        self.starts: dict[tuple[float, ...], int] = {}
        self.probs, self.cdf = np.zeros(_FEW_ROWS), np.zeros(_FEW_ROWS)
        self.count = 0
        self._name, self._budget = name, budget

    def add(self, probs: tuple[float, ...]) -> int:
        """Stores a new distribution; returns its start.

        Raises:
            GameError: the probabilities are not a distribution.
            MemoryBudgetError: the distribution does not fit the budget.
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
        # A rounded sum below 1 would leave a gap in which a draw finds no outcome.
        last = start + np.flatnonzero(values)[-1]
        self.cdf[last:stop] = 1
        self.starts[probs] = start
        return start

    def take_over(self, probs: np.ndarray, cdf: np.ndarray, starts: np.ndarray) -> None:
        """Adopts the distributions of a whole tree."""
        values, bounds = probs.tolist(), [*starts.tolist(), len(probs)]
        self.starts = {
            tuple(values[start:stop]): start
            for start, stop in itertools.pairwise(bounds)
        }
        self.probs = np.ascontiguousarray(probs)
        self.cdf = np.ascontiguousarray(cdf)
        self.count = len(self.probs)


class Payoffs:
    """The distinct vectors of returns of a tree.

    Attributes:
        rows: row of each vector of returns.
        values: `[U + spare, P]` returns.
    """

    def __init__(self, declared: Declared, budget: Budget) -> None:
        """Starts without returns; new returns are checked against the game's
        declarations."""
        self.rows: dict[tuple[float, ...], int] = {}
        self.values = np.zeros((_FEW_ROWS, declared.num_players))
        self._declared, self._budget = declared, budget

    def add(self, returns: tuple[float, ...], state: pyspiel.State) -> int:
        """Stores the returns of a terminal state; returns their row.

        Raises:
            GameError: the returns contradict the declarations, or the state is not
                terminal.
            MemoryBudgetError: the returns do not fit the budget.
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
        """Adopts the returns of a whole tree."""
        self.values = values
        vectors: Sequence[Sequence[float]] = values.tolist()
        self.rows = {tuple(returns): row for row, returns in enumerate(vectors)}
