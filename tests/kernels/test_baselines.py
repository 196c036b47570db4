"""Baselines: the textbook's, unbiased whatever they are, and safe when cut."""

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.solving import state
from tests.kernels.test_estimators import SourceOfWalk
from tests.reference import (
    Textbook,
    enumerate_draws,
    full_gradient,
    random_policy,
)
from tests.small_games import three_players
from tests.test_solver import (
    GOOFSPIEL,
    KUHN_3,
    LEDUC,
    assert_same,
)
from tests.vectors import gradient_of, start_together

START = ms.regret_matching(initial_regret=0.1)  # no ties
GAMES = {
    "kuhn_poker": lambda: "kuhn_poker",
    KUHN_3: lambda: KUHN_3,
    LEDUC: lambda: LEDUC,
    "three_players": three_players,
}


BASES = {"outcome": ms.outcome(0.4), "external": ms.EXTERNAL}


@pytest.mark.parametrize(
    ("game", "kind", "base"),
    [
        ("kuhn_poker", "learned", "outcome"),
        (KUHN_3, "learned", "external"),
        (LEDUC, "predictive", "outcome"),
        ("three_players", "predictive", "external"),
    ],
)
def test_the_solver_is_the_textbook(game, kind, base):
    game = GAMES[game]()
    sampling = BASES[base]._replace(baseline=kind, baseline_rate=0.3)
    algorithm = ms.Algorithm(sampling, START, ms.LINEAR)
    cases = [algorithm, algorithm._replace(minimizer=ms.regret_matching_plus())]
    if kind == "learned":
        cases += [algorithm._replace(alternating=False), algorithm._replace(batch=3)]
    if kind == "learned" and base == "outcome":
        balanced = ms.BALANCED_OUTCOME._replace(baseline=kind)
        cases.append(algorithm._replace(sampling=balanced))
    for case in cases:
        solver = Solver(GameTree(game).expand_all(), case, seed=5)
        textbook = Textbook(game, *case, seed=5)
        start_together(solver, textbook)
        for more in (1, 1, 18):
            solver.iterate(more)
            textbook.run(more)
            assert_same(solver, textbook)
        assert textbook.baseline


@pytest.mark.parametrize(
    ("game", "base"),
    [
        ("kuhn_poker", ms.EXTERNAL),
        ("three_players", ms.EXTERNAL),
        (LEDUC, ms.outcome(0.3)),
        (KUHN_3, ms.BALANCED_OUTCOME),
    ],
)
def test_the_expectation_over_all_sample_paths_is_the_full_gradient(
    game, base, monkeypatch
):
    game, sampling = GAMES[game](), base._replace(baseline="learned")
    policy = random_policy(game, seed=2)
    for player in range(GameTree(game).num_players):
        walk = SourceOfWalk(game, sampling, policy, player, monkeypatch)
        baseline = walk.solver.state.tables.baseline
        generator = np.random.default_rng(player)
        given = generator.uniform(-3.0, 3.0, baseline.shape)

        def estimate(draw, walk=walk, baseline=baseline, given=given):
            baseline[:] = given  # which the walk before has moved
            return walk.estimate(draw)

        textbook = Textbook(game, sampling, ms.regret_matching(), ms.UNIFORM)
        textbook.play(policy)
        distribution = textbook.distributions(player).__getitem__
        mean = np.zeros(walk.tree.num_sequences)
        for probability, gradient in enumerate_draws(estimate, distribution):
            mean += probability * gradient
        exact = full_gradient(game, policy, player)
        assert gradient_of(walk.tree, player, mean) == pytest.approx(exact, abs=1e-12)


def test_a_stack_that_is_raised_in_a_walk_keeps_what_was_written_down(monkeypatch):
    tree = GameTree(GOOFSPIEL).expand_all()
    algorithm = ms.Algorithm(algorithms.external(baseline="learned"), START)
    baselines = []
    for height in (state.HEIGHT, 8):
        monkeypatch.setattr(state, "HEIGHT", height)
        solver = Solver(tree, algorithm, seed=2)
        solver.iterate(1)
        baselines.append(solver.state.tables.baseline.copy())
    assert len(solver.state.walk.node) > height
    assert np.abs(baselines[0]).max() > 1
    assert (baselines[0] == baselines[1]).all()


def test_what_cannot_work_is_refused_in_words():
    for make, words in (
        (lambda: ms.outcome(0.6, baseline="other"), "baseline='other' is none of"),
        (lambda: ms.CHANCE._replace(baseline="learned"), "only outcome and external"),
        (
            lambda: ms.average_strategy()._replace(baseline="learned"),
            "only outcome and external",
        ),
        (
            lambda: ms.EXTERNAL._replace(baseline="learned", prune_below=-9.0),
            "leave out actions",
        ),
        (lambda: ms.OUTCOME._replace(baseline_rate=0.2), "but no baseline"),
        (lambda: ms.OUTCOME._replace(baseline_rate=0.0), "baseline_rate=0.0"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    foreseeing = ms.Algorithm(ms.outcome(0.6, baseline="predictive"), START)
    for changes in ({"batch": 2}, {"alternating": False}):
        with pytest.raises(ValueError, match='choose baseline="learned"'):
            Solver("kuhn_poker", foreseeing._replace(**changes))
