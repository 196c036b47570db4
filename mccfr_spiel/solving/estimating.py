"""Updates whose gradients a user's own estimator gives."""

import math
from typing import Any

import numpy as np

from mccfr_spiel import refusals
from mccfr_spiel.algorithms import OwnEstimator
from mccfr_spiel.compiled import teams
from mccfr_spiel.compiled.interruptions import signals_deferred
from mccfr_spiel.kernels.passes import NUM_NOTES
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    DONE,
    ITERATION,
    LAST_ITERATION,
    NODE_LIMIT,
    NODES_TOUCHED,
    PLAYER,
)
from mccfr_spiel.solving.state import SolverState
from mccfr_spiel.tree.game_tree import GameTree


def update(
    kernel: Any,
    estimator: OwnEstimator,
    tree: GameTree,
    state: SolverState,
    seed: int,
    frame: np.ndarray,
) -> int:
    """Makes one update, if the job's limits allow one; returns the kernel's status.

    Args:
        kernel: of `loops.make_estimated_iterate`.
        estimator: gives the gradients.
        tree: complete.
        state: with the tables.
        seed: of the solver.
        frame: the state's.

    Raises:
        ValueError: the estimator returned no gradient. Nothing has changed.
    """
    counts, job = state.counts, state.job
    player, iteration = counts[PLAYER], counts[ITERATION]
    is_last = iteration == job[LAST_ITERATION]
    if player == 0 and (is_last or counts[NODES_TOUCHED] >= job[NODE_LIMIT]):
        return DONE
    players = [player] if job[ALTERNATING] else range(tree.num_players)
    policy = state.tables.policy[: tree.num_sequences].copy()
    policy.flags.writeable = False
    total, nodes, now = np.zeros_like(policy), 0, iteration + (player == 0)
    for one in players:
        rng = np.random.default_rng([seed % 2**64, now, one])
        gradient, touched = _checked(
            estimator.estimate(tree, policy, one, rng), estimator, tree, one
        )
        total += gradient
        nodes += touched
    with signals_deferred():  # between the gradient and its update
        for table in (state.tables.gradient, state.tables.ahead):
            if len(table):
                table[: len(total)] = total
        status = teams.run(
            kernel, state.num_threads, frame, notes=NUM_NOTES, keep=state
        )
        counts[NODES_TOUCHED] += nodes
    return status


def _checked(
    returned: Any, estimator: OwnEstimator, tree: GameTree, player: int
) -> tuple[np.ndarray, int]:
    """The gradient and the nodes that an estimator returned; raises ValueError."""
    where = f"{estimator.name} for player {player}"
    try:
        given, nodes = returned
        gradient = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where} returned {returned!r}, not a gradient and a number of nodes."
        ) from None
    if gradient.shape != (tree.num_sequences,):
        raise ValueError(
            f"{where} returned a gradient of the shape {gradient.shape}, not "
            f"({tree.num_sequences},): one number for each sequence."
        )
    owner = np.repeat(tree.infosets["player"], tree.infosets["num_actions"])
    owner = np.concatenate([np.arange(tree.num_players), owner])
    for wrong, why in (
        (~np.isfinite(gradient), "is not finite"),
        ((owner != player) & (gradient != 0), "is another player's, and must be 0"),
    ):
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"{where}: gradient[{index}] = {gradient[index]} {why}.")
    nodes = refusals.number(nodes, "nodes", 0, 2**62)
    return gradient, math.ceil(nodes)
