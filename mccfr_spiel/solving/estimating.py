"""Iterations whose gradients a user's own estimator gives."""

import math
from typing import Any

import numpy as np

from mccfr_spiel.algorithms import OwnEstimator
from mccfr_spiel.arenas.full_pass import FullPass, GradientEngine
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common import refusals
from mccfr_spiel.kernels import tables as layout


class EstimatorEngine(GradientEngine):
    """Makes updates by a user's estimator."""

    def __init__(self, full_pass: FullPass, rule: str, estimator: OwnEstimator) -> None:
        """Updates by a local rule with the estimator's gradients."""
        super().__init__(full_pass, rule)
        self._estimator = estimator

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Makes one update, if the job's limits allow one.

        Raises:
            ValueError: the estimator returned no gradient. Nothing has changed.
        """
        table, players = state.tree, state.next_players()
        if not players:
            return layout.DONE
        counts = state.counts
        iteration = counts[layout.ITERATION] + (counts[layout.PLAYER] == 0)
        policy = state.tables.policy[: table.num_sequences].copy()
        policy.flags.writeable = False
        total, nodes = np.zeros_like(policy), 0
        for player in players:
            rng = np.random.default_rng([state.seed % 2**64, iteration, player])
            returned = self._estimator.estimate(table, policy, player, rng)
            gradient, touched = _checked(returned, self._estimator, table, player)
            total += gradient
            nodes += touched
        return self.apply(state, kernel, frame, total, nodes)


def _checked(
    returned: Any, estimator: OwnEstimator, table: InfosetTable, player: int
) -> tuple[np.ndarray, int]:
    """The gradient and the nodes that an estimator returned; raises ValueError."""
    where = f"{estimator.name} for player {player}"
    try:
        given, nodes = returned
        gradient = np.asarray(np.real(given), np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where} returned {returned!r}, not a gradient and a number of nodes."
        ) from None
    if np.iscomplexobj(given):
        raise ValueError(
            f"{where} returned complex numbers, expected a gradient of real ones."
        )
    if gradient.shape != (table.num_sequences,):
        raise ValueError(
            f"{where} returned a gradient of the shape {gradient.shape}, not "
            f"({table.num_sequences},): one number for each sequence."
        )
    owner = np.repeat(table.infosets["player"], table.infosets["num_actions"])
    owner = np.concatenate([np.arange(table.num_players), owner])
    for wrong, why in (
        (~np.isfinite(gradient), "is not finite"),
        ((owner != player) & (gradient != 0), "is another player's, and must be 0"),
    ):
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"{where}: gradient[{index}] = {gradient[index]} {why}.")
    nodes = refusals.number(nodes, "nodes", 0, 2**62)
    return gradient, math.ceil(nodes)
