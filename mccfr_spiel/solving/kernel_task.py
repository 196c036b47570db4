"""An algorithm as compiled loops read it: numbers, rule name and table names."""

import numpy as np

from mccfr_spiel.algorithms import Algorithm, Minimizer, OwnAveraging, OwnRule
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.minimizers import name_of_own
from mccfr_spiel.kernels.sobol import NO_POINTS, scrambled_points


def task_of(
    algorithm: Algorithm, seed: int, batch: int, num_players: int
) -> layout.Task:
    """Returns the parameters of an algorithm in the arrays of `layout.Task`.

    Args:
        algorithm: the algorithm.
        seed: any integer; the kernels use it modulo 2^64.
        batch: walks per player and iteration, or `GROWING`.
        num_players: number of players of the game.
    """
    sampling, averaging = algorithm.sampling, algorithm.averaging
    is_own = isinstance(averaging, OwnAveraging)
    settings = np.zeros(layout.NUM_SETTINGS + layout.WEIGHTS_AHEAD * is_own)
    settings[layout.EPSILON] = sampling.epsilon
    settings[layout.THRESHOLD] = sampling.threshold
    settings[layout.BONUS] = sampling.bonus
    settings[layout.PRUNE_BELOW] = sampling.prune_below or 0.0
    settings[layout.BASELINE_RATE] = sampling.baseline_rate
    settings[layout.GAMMA] = averaging.gamma
    settings[layout.GAMMA_CHANGE] = averaging.change
    settings[layout.HORIZON] = averaging.horizon
    points = NO_POINTS
    if sampling.correlates_chance:
        points = scrambled_points(seed % 2**64, num_players)
    job = np.zeros(layout.JOB_SIZE, np.uint64)
    job[layout.SEED] = seed % 2**64
    job[layout.ALTERNATING] = algorithm.alternating
    job[layout.BATCH] = batch
    return layout.Task(
        job=job,
        settings=settings,
        parameters=np.array(algorithm.minimizer.parameters, np.float64),
        points=points,
    )


def kernel_name(minimizer: Minimizer) -> str:
    """Returns the name under which kernels look up a rule."""
    if isinstance(minimizer, OwnRule):
        return name_of_own(minimizer.update, minimizer.compiled)
    return minimizer.rule


def optional_tables(algorithm: Algorithm, *, walks: bool) -> tuple[str, ...]:
    """Returns the names of the optional tables that an algorithm needs.

    Args:
        algorithm: the algorithm.
        walks: whether it runs walks; full passes need the table `plan`.
    """
    names, sampling = algorithm.minimizer.tables, algorithm.sampling
    if not walks:
        names += ("plan",)
    if sampling.player == "balanced":
        names += ("balance",)
    if sampling.baseline:
        names += ("baseline",)
    if sampling.prunes_by_regret:
        names += "seen", "known", "best", "below", "got", "skips"
    return names
