"""Updates whose gradients a user's own estimator gives, or a pass over histories."""

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
    PAUSED,
    PLAYER,
)
from mccfr_spiel.solving.state import SolverState
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.worlds.histories import HistoryPass


def update(
    kernel: Any,
    estimator: OwnEstimator,
    tree: GameTree,
    state: SolverState,
    seed: int,
    frame: np.ndarray,
) -> int:
    """Makes one update by an estimator, if the job's limits allow one; returns the
    kernel's status.

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
    players = _next_players(tree, state)
    if not players:
        return DONE
    iteration = state.counts[ITERATION] + (state.counts[PLAYER] == 0)
    policy = state.tables.policy[: tree.num_sequences].copy()
    policy.flags.writeable = False
    total, nodes = np.zeros_like(policy), 0
    for one in players:
        rng = np.random.default_rng([seed % 2**64, iteration, one])
        gradient, touched = _checked(
            estimator.estimate(tree, policy, one, rng), estimator, tree, one
        )
        total += gradient
        nodes += touched
    return _apply(kernel, state, total, nodes, frame)


def follow(kernel: Any, tree: GameTree, state: SolverState, frame: np.ndarray) -> int:
    """Goes on for a slice with the pass over histories that the next update needs;
    makes the update when the pass is over. Returns the kernel's status, or PAUSED.

    Args:
        kernel, state, frame: as in `update`.
        tree: with a `found_store`.
    """
    players = _next_players(tree, state)
    if not players:
        return DONE
    passing = state.over_histories
    if passing is None:
        assert tree.found_store is not None
        assert state.whole
        plan = state.whole[1].plan
        passing = HistoryPass(tree.found_store, plan, players.start, players.stop)
        state.over_histories = passing
    if not passing.go_on():
        return PAUSED
    state.over_histories = None
    return _apply(kernel, state, passing.walk.gradient, passing.num_nodes, frame)


def _next_players(tree: GameTree, state: SolverState) -> range:
    """Who is updated next; nobody if the job's limits allow no update."""
    counts, job = state.counts, state.job
    player, is_last = counts[PLAYER], counts[ITERATION] == job[LAST_ITERATION]
    if player == 0 and (is_last or counts[NODES_TOUCHED] >= job[NODE_LIMIT]):
        return range(0)
    return range(player, player + 1 if job[ALTERNATING] else tree.num_players)


def _apply(
    kernel: Any, state: SolverState, total: np.ndarray, nodes: int, frame: np.ndarray
) -> int:
    """Makes the update of a gradient `[S]`, for which so many nodes were touched."""
    with signals_deferred():  # between the gradient and its update
        for table in (state.tables.gradient, state.tables.ahead):
            if len(table):
                table[: len(total)] = total
        status = teams.run(
            kernel, state.num_threads, frame, notes=NUM_NOTES, keep=state
        )
        state.counts[NODES_TOUCHED] += nodes
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
