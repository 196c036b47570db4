"""Objects print as one line that says what matters, at no cost and without errors."""

import copy
import pickle

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import algorithms
from mccfr_spiel.evaluation import Estimate, sampled_returns

ODD = {
    "explored": ms.Algorithm(ms.outcome(1 / 3), ms.ftrl(0.5, weights="kroer")),
    "weighted": ms.Algorithm(ms.FULL, ms.omd(1e-3), ms.polynomial(1 / 3)),
    "at once": ms.CFR_PLUS._replace(alternating=False),
    "random": ms.Algorithm(ms.FULL, ms.regret_matching(initial_regret=1.0)),
    "mixed": ms.Algorithm(
        algorithms.Sampling(False, True, "balanced", prune=True), ms.omd(2), ms.LINEAR
    ),
}
ALL = {**ms.ALGORITHMS, **ODD}


@pytest.mark.parametrize("name", ALL)
def test_the_repr_of_an_algorithm_is_the_code_that_makes_it(name):
    algorithm = ALL[name]
    names = {each: getattr(algorithms, each) for each in dir(algorithms)}
    assert eval(repr(algorithm), names) == algorithm
    for part in algorithm[:3]:
        assert eval(repr(part), names) == part
    assert "\n" not in repr(algorithm)


def test_algorithms_have_the_names_of_the_papers_and_all_differ():
    words = {name: str(algorithm) for name, algorithm in ALL.items()}
    assert len(set(words.values())) == len(words)
    assert words["cfr"] == "CFR"
    assert words["cfr_plus"] == "CFR+"
    assert words["external_sampling"] == "external sampling"
    assert words["ftrl"] == "external sampling with FTRL (step size 1)"
    assert words["at once"] == "CFR+, simultaneous updates"


def test_a_solver_shows_a_nash_conv_only_once_it_was_computed():
    solver = ms.Solver("kuhn_poker", ms.EXTERNAL_SAMPLING)
    assert repr(solver) == "<Solver: Kuhn Poker, external sampling, 0 iterations>"
    ms.nash_conv("kuhn_poker", solver.average_policy())
    assert "NashConv" not in repr(solver)
    solver.run(3_000, metrics=ms.metrics.nash_conv)
    conv = ms.nash_conv("kuhn_poker", solver.average_policy())
    shown = "Kuhn Poker, external sampling, 3,000 iterations"
    assert str(solver) == f"{shown}, NashConv {conv:.3g}"
    assert f">{conv:.3g}</td>" in solver._repr_html_()
    assert "NashConv" not in repr(copy.copy(solver))
    solver.iterate(1)
    assert str(solver) == (
        f"Kuhn Poker, external sampling, 3,001 iterations, NashConv {conv:.3g} "
        "after 3,000"
    )


def test_reprs_expand_nothing_and_change_no_later_bit():
    shown, plain = (ms.Solver("leduc_poker", ms.OUTCOME_SAMPLING) for _ in range(2))
    for _ in range(5):
        shown.iterate(10)
        plain.iterate(10)
        nodes = shown.tree.num_nodes
        for thing in (shown, shown.tree, shown.average_policy()):
            assert repr(thing).startswith("<")
            assert thing._repr_html_().startswith("<")
        assert shown.tree.num_nodes == nodes
    assert np.array_equal(shown.average_vector(), plain.average_vector())
    assert "NashConv" not in repr(shown)


def test_a_notebook_shows_the_first_rows_of_a_policy_with_names():
    solver = ms.Solver("leduc_poker", ms.OUTCOME_SAMPLING)
    solver.iterate(200)
    html = solver.average_policy()._repr_html_()
    assert html.count("<tr>") == 11
    assert "Call 0." in html
    assert "see policy.table()" in html


def test_an_object_that_is_half_made_has_a_repr():
    for kind in (ms.Solver, ms.SequencePolicy, ms.GameTree, ms.CFRSolver):
        assert repr(kind.__new__(kind)).startswith(f"<{kind.__name__}")


def test_other_objects_in_one_line():
    game = pyspiel.load_game("kuhn_poker")
    mirror = ms.offline.MirrorProx(game)
    mirror.iterate(10)
    assert f"10 iterations, gap at most {mirror.gap_bound:.3g}" in repr(mirror)
    far = ms.offline.MirrorProx(game, step_size=100.0)  # beyond the theorem
    far.iterate(1)
    assert repr(far) == "<MirrorProx: Kuhn Poker, 1 iteration>"
    found, run = ms.solve_lp(game), ms.offline.LP.start(ms.GameTree(game))
    assert "not solved yet" in repr(run)
    run.iterate(1)
    assert all("Kuhn Poker, value -0.0555555" in repr(one) for one in (found, run))
    policy = ms.CFRPlusSolver(game)._solver.average_policy()
    first, second = sampled_returns(game, policy, plays=50)
    for thing, words in (
        (found.program, "20 variables"),
        (ms.offline.sequence_form(game), "13 x 13 sequences"),
        (ms.OnlineOutcomeSamplingBot(game, 1), "player 1 of 2, 0 hands"),
        (ms.CFRPlusSolver(game), "CFR+, 0 iterations"),
        (pickle.loads(pickle.dumps(policy)), "12 information states"),
        (Estimate(0.5, 0.1, 100), "0.50 +- 0.10, 100 plays"),
        (first, f"{first.mean:.2f}"[:4]),
    ):
        assert words in repr(thing)
    assert second.mean == -first.mean
