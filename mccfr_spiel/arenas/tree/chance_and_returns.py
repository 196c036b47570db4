"""Chance distributions and returns of a tree, each stored once.

Chance nodes with equal distributions share the entries of one distribution. Terminal
nodes with equal returns share one row of returns.
"""

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
"""Name under which the budget counts distributions and returns, and bytes per number.
Each number is stored twice: in a tuple that is a dictionary key, and in an array."""


_FEW_ROWS = 16
"""Initial capacity of the arrays."""


class Distributions:
    """The distinct chance distributions of a tree, concatenated.

    Attributes:
        starts: index in the arrays at which each distribution starts, by distribution
            (a tuple of probabilities).
        probs: `[C]` probabilities, followed by unused capacity.
        cdf: `[C]` cumulative sums within each distribution, followed by unused
            capacity. They are exactly 1 from the last outcome of positive probability
            on.
        count: C, the number of probabilities in use.
    """

    def __init__(self, name: str, budget: Budget) -> None:
        """Creates an empty store.

        Args:
            name: name of the game in messages.
            budget: memory budget of the tree.
        """
        self.starts: dict[tuple[float, ...], int] = {}
        self.probs, self.cdf = np.zeros(_FEW_ROWS), np.zeros(_FEW_ROWS)
        self.count = 0
        self._name, self._budget = name, budget

    def add(self, probs: tuple[float, ...]) -> int:
        """Stores a new distribution; returns the index at which it starts.

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
        # Rounding may leave the last sum below 1, and a random number above it would
        # select no outcome.
        last = start + np.flatnonzero(values)[-1]
        self.cdf[last:stop] = 1
        self.starts[probs] = start
        return start

    def take_over(self, probs: np.ndarray, cdf: np.ndarray, starts: np.ndarray) -> None:
        """Adopts the arrays of a complete tree.

        Args:
            probs: `[C]` concatenated distributions.
            cdf: `[C]` cumulative sums within each distribution.
            starts: index at which each distribution starts, ascending.
        """
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
        rows: row in `values` of each distinct tuple of returns.
        values: `[U, P]` the U distinct vectors of returns of P players, followed by
            unused rows.
    """

    def __init__(self, declared: Declared, budget: Budget) -> None:
        """Creates an empty store.

        Args:
            declared: declarations of the game, which new returns must not contradict.
            budget: memory budget of the tree.
        """
        self.rows: dict[tuple[float, ...], int] = {}
        self.values = np.zeros((_FEW_ROWS, declared.num_players))
        self._declared, self._budget = declared, budget

    def add(self, returns: tuple[float, ...], state: pyspiel.State) -> int:
        """Stores new returns of a terminal state; returns their row in `values`.

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
        """Adopts the `[U, P]` distinct returns of a complete tree."""
        self.values = values
        vectors: Sequence[Sequence[float]] = values.tolist()
        self.rows = {tuple(returns): row for row, returns in enumerate(vectors)}
