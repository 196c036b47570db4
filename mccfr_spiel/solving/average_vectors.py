"""The average policy of a solver whose tables have a row per sequence."""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.lazy_average import normalize, settle_average
from mccfr_spiel.kernels.tables import Tables


def average_of(state: Any, tables: Tables) -> np.ndarray:
    """`[S]` the average policy.

    Args:
        state: the SolverState.
        tables: its settled tables.
    """
    tree, infosets = state.tree, state.tree.infosets
    average = tables.average[: tree.num_sequences].copy()
    if state.walks and tree.abstraction is None:
        # Adds outstanding contributions to a copy of the average. Adding them to the
        # solver's table would change the rounding of later iterations, so that results
        # would depend on when policies were read.
        settle_average(infosets, tables.policy, average, tables.paid)
    average[: tree.num_players] = 1
    normalize(infosets, average)
    is_locked = state.locked_sequences()
    average[is_locked] = tables.policy[is_locked]
    return average
