"""Walks that follow some of the player's actions: average-strategy sampling, and
Pluribus's pruning. That the first is unbiased is in test_estimators.py."""

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.algorithms import Sampling
from mccfr_spiel.evaluation.theory import nash_conv_bound
from mccfr_spiel.kernels.sampling import FLOOR, SKIPPED
from tests.reference import Textbook
from tests.small_games import three_players
from tests.test_solver import (
    KUHN_3,
    LEDUC,
    assert_same,
)
from tests.vectors import start_together

AVERAGE = {
    "gibson": ms.average_strategy(0.1, 1.5, 0.5),
    "no bonus": ms.average_strategy(0.05, 0.5, 0.0),
    "published": ms.AVERAGE_STRATEGY,
}
PRUNED = {"soon": -1.0, "later": -3.0}
SAMPLINGS: dict[str, Sampling] = AVERAGE | {
    name: ms.EXTERNAL._replace(prune_below=below) for name, below in PRUNED.items()
}
START = ms.regret_matching(initial_regret=0.1)  # no ties
GAMES = {
    "kuhn_poker": lambda: "kuhn_poker",
    KUHN_3: lambda: KUHN_3,
    LEDUC: lambda: LEDUC,
    "three_players": three_players,
}


@pytest.mark.parametrize(
    ("name", "game"),
    [*zip(SAMPLINGS, GAMES, strict=False), ("soon", KUHN_3), ("published", LEDUC)],
)
def test_the_solver_is_the_textbook(game, name):
    game = GAMES[game]()
    for alternating in (True, False):
        algorithm = ms.Algorithm(SAMPLINGS[name], START, ms.LINEAR, alternating)
        solver = Solver(GameTree(game).expand_all(), algorithm, seed=5)
        textbook = Textbook(game, *algorithm, seed=5)
        start_together(solver, textbook)
        for more in (1, 1, 28):
            solver.iterate(more)
            textbook.run(more)
            assert_same(solver, textbook)


def test_average_strategy_sampling_goes_with_batches_and_whole_chance():
    for sampling, batch in (
        (AVERAGE["gibson"], 3),
        (AVERAGE["gibson"]._replace(chance=False), 1),
        (AVERAGE["gibson"]._replace(opponents=False), 2),
    ):
        algorithm = ms.Algorithm(sampling, START, ms.LINEAR, True, batch)
        solver = Solver(GameTree(KUHN_3).expand_all(), algorithm, seed=6)
        textbook = Textbook(KUHN_3, *algorithm, seed=6)
        start_together(solver, textbook)
        solver.iterate(15)
        textbook.run(15)
        assert_same(solver, textbook)


@pytest.mark.compiled
def test_regrets_stay_above_the_floor_and_no_mark_is_left():
    algorithm = ms.Algorithm(SAMPLINGS["later"], ms.regret_matching())
    solver = Solver("leduc_poker", algorithm, seed=1)
    solver.iterate(3_000)
    tables = solver.state.tables
    assert tables.memory.min() == pytest.approx(FLOOR * PRUNED["later"], rel=1e-15)
    assert (tables.memory == tables.memory.min()).sum() > 50
    assert not np.any(tables.gradient == SKIPPED)


def test_what_cannot_work_is_refused_in_words():
    nan = float("nan")
    for make, words in (
        (lambda: ms.average_strategy(0.0), "epsilon=0.0"),
        (lambda: ms.average_strategy(0.05, -1.0), "threshold=-1.0"),
        (lambda: ms.average_strategy(0.05, 1.0, nan), "bonus=nan"),
        (lambda: ms.EXTERNAL._replace(bonus=1.0), "only average-strategy sampling"),
        (lambda: ms.EXTERNAL._replace(prune_below=0), "prune_below=0 is not below 0"),
        (lambda: ms.EXTERNAL._replace(prune_below=nan), "prune_below=nan"),
        (lambda: ms.OUTCOME._replace(prune_below=-1), "only external sampling"),
        (lambda: ms.FULL._replace(prune_below=-1), "only external sampling"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    pruned, average = SAMPLINGS["soon"], ms.AVERAGE_STRATEGY
    for algorithm, words in (
        (ms.Algorithm(pruned, ms.regret_matching_plus()), "choose regret_matching"),
        (ms.Algorithm(pruned, ms.ftrl(1.0)), "choose regret_matching"),
        (ms.Algorithm(pruned, START, batch=2), "walks of a batch"),
    ):
        with pytest.raises(ValueError, match=words):
            Solver("kuhn_poker", algorithm)

    def told(state, player):
        return state.information_state_string(player)

    for sampling, words in ((pruned, "prune_below"), (average, "Average-strategy")):
        algorithm = ms.Algorithm(sampling, ms.regret_matching())
        with pytest.raises(ValueError, match=words):
            Solver("kuhn_poker", algorithm, abstraction=told)
        with pytest.raises(ValueError, match="sampling, not about"):
            nash_conv_bound("kuhn_poker", algorithm)
