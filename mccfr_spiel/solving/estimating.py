"""Iterations with gradients from a user's function, see `algorithms.own_estimator`."""

import math
from typing import Any

import numpy as np

from mccfr_spiel.algorithms import OwnEstimator
from mccfr_spiel.arenas.full_pass import FullPass, GradientEngine
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common import refusals
from mccfr_spiel.kernels import tables as layout


class EstimatorEngine(GradientEngine):
    """Runs iterations: calls the user's estimator, then applies the update rule."""

    def __init__(self, full_pass: FullPass, rule: str, estimator: OwnEstimator) -> None:
        """Stores the arguments.

        Args:
            full_pass: runs passes over the whole game. Here it only applies updates.
            rule: the kernels' name of the update rule.
            estimator: wraps the user's function.
        """
        super().__init__(full_pass, rule)
        self._estimator = estimator

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Makes a single update, unless the limits of the job are reached.

        See `Engine.run` for the arguments and the returned status.

        Raises:
            ValueError: the estimator returned something other than a gradient of the
                player; no table has changed.
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
    """Checks the return value of a user's estimator.

    Args:
        returned: the return value.
        estimator: the estimator, for messages.
        table: the infosets.
        player: the player for whom the estimator was called.

    Returns:
        The gradient `[S]` and the number of touched nodes, rounded up.

    Raises:
        ValueError: the value is not a pair (gradient, number of nodes), or the gradient
            is not finite or not 0 at sequences of other players.
    """
    where = f"{estimator.name} for player {player}"
    try:
        given, nodes = returned
        gradient = np.asarray(np.real(given), np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where} returned {returned!r}, expected a gradient and a number of nodes."
        ) from None
    if np.iscomplexobj(given):
        raise ValueError(f"{where} returned complex numbers, expected a real gradient.")
    if gradient.shape != (table.num_sequences,):
        raise ValueError(
            f"{where} returned a gradient of the shape {gradient.shape}, expected "
            f"({table.num_sequences},), one number per sequence."
        )
    owner = np.repeat(table.infosets["player"], table.infosets["num_actions"])
    owner = np.concatenate([np.arange(table.num_players), owner])
    for wrong, why in (
        (~np.isfinite(gradient), "must be finite"),
        (
            (owner != player) & (gradient != 0),
            "of another player must be 0",
        ),
    ):
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"{where}: gradient[{index}] = {gradient[index]} {why}.")
    nodes = refusals.number(nodes, "nodes", 0, 2**62)
    return gradient, math.ceil(nodes)
