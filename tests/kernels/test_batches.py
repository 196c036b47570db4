"""Batches are the textbook's, and nothing that cuts one into pieces changes a bit."""

from typing import Any

import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.evaluation.theory import nash_conv_bound
from mccfr_spiel.kernels.apply import GROWING, plain_batch_at, plain_walk_number
from tests.reference import Textbook
from tests.test_solver import (
    KUHN_3,
    assert_same,
)
from tests.vectors import largest_difference, start_together

ESTIMATORS = {"chance": ms.CHANCE, "external": ms.EXTERNAL, "outcome": ms.OUTCOME}


def batched(estimator, batch: Any = 3, *, alternating=True):
    return ms.Algorithm(
        ESTIMATORS[estimator],
        ms.regret_matching(),
        ms.LINEAR,
        alternating=alternating,
        batch=batch,
    )


@pytest.mark.parametrize(
    ("estimator", "alternating", "game"),
    [
        ("chance", True, "kuhn_poker"),
        ("external", False, "kuhn_poker"),
        ("outcome", True, KUHN_3),
        ("external", True, KUHN_3),
    ],
)
def test_a_batched_solver_is_the_textbook(game, estimator, alternating):
    for batch in (2, 5):
        algorithm = batched(estimator, batch, alternating=alternating)
        solver = Solver(GameTree(game).expand_all(), algorithm, seed=11)
        textbook = Textbook(game, *algorithm, seed=11)
        start_together(solver, textbook)
        for more in (1, 1, 18):
            solver.iterate(more)
            textbook.run(more)
            assert_same(solver, textbook)
        assert solver.num_iterations == 20


def test_batches_go_with_an_abstraction():
    tree = GameTree(
        "leduc_poker", abstraction=lambda s, p: s.information_state_string(p)
    )
    whole = Solver(tree.expand_all(), batched("external"), seed=6)
    plain = Solver("leduc_poker", batched("external"), seed=6)
    small = Solver(
        "leduc_poker",
        batched("external"),
        seed=6,
        max_nodes=300,
        abstraction=tree.abstraction,
    )
    for solver in (whole, plain, small):
        solver.iterate(15)
    table = plain.current_policy().to_dict()
    for solver in (whole, small):
        rows = solver.current_policy().to_dict()
        assert largest_difference({k: rows[k] for k in table}, table) < 1e-9
    averages = [one.average_policy().to_dict() for one in (small, whole)]
    assert {name: averages[1][name] for name in averages[0]} == averages[0]


@pytest.mark.parametrize(
    ("estimator", "alternating"), [*zip(ESTIMATORS, (True, False, True), strict=True)]
)
def test_a_batch_that_grows_is_the_textbook(estimator, alternating):
    algorithm = batched(estimator, "auto", alternating=alternating)
    solver = Solver(GameTree("kuhn_poker").expand_all(), algorithm, seed=11)
    textbook = Textbook("kuhn_poker", *algorithm, seed=11)
    start_together(solver, textbook)
    for more in (127, 1, 1, 140):  # 2 walks from iteration 128 on, 4 from 256 on
        solver.iterate(more)
        textbook.run(more)
        assert_same(solver, textbook)
        assert solver.nodes_touched == textbook.nodes_touched


def test_growing_batches_have_their_sizes_and_no_two_walks_one_stream():
    sizes = [plain_batch_at(GROWING, t) for t in range(1, 300)]
    assert sizes == [1] * 127 + [2] * 128 + [4] * 44
    for t, size in enumerate(sizes, 1):
        number = plain_walk_number(GROWING, t, 0)
        assert number == sum(sizes[: t - 1]) + 1
        assert plain_walk_number(GROWING, t, size - 1) == sum(sizes[:t])
    assert plain_batch_at(GROWING, 2**18 - 1) == 2048
    assert plain_batch_at(GROWING, 2**40) == 4096
    many = 2**30
    assert (
        plain_walk_number(GROWING, many + 1, 0) - plain_walk_number(GROWING, many, 0)
        == 4096
    )


def test_a_batch_is_refused_in_words():
    for algorithm, words in (
        (ms.EXTERNAL_SAMPLING._replace(batch=0), "batch=0 is not an integer >= 1"),
        (ms.EXTERNAL_SAMPLING._replace(batch=2**40), "batch=1099511627776 is above"),
        (ms.CFR._replace(batch=2), "batch=2 is given, but nothing is sampled"),
        (ms.PRUNED_CFR._replace(batch=2), "nothing is sampled"),
        (ms.CFR._replace(batch="auto"), "batch=auto is given, but nothing is sampled"),
        (ms.EXTERNAL_SAMPLING._replace(batch="big"), "batch='big' is neither"),
    ):
        with pytest.raises(ValueError, match=words):
            Solver("kuhn_poker", algorithm)
    with pytest.raises(ValueError, match="about one walk for a player, not 3"):
        nash_conv_bound("kuhn_poker", batched("outcome")._replace(averaging=ms.UNIFORM))
