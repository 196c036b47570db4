"""Mirror prox and the excessive gap technique.

Oracles: the gaps of an independent program, convex programs solved by scipy,
OpenSpiel's NashConv, and the theorems' own conditions, checked at every iteration.
"""

import functools

import numpy as np
import pyspiel
import pytest

from mccfr_spiel.offline import ExcessiveGap, MirrorProx
from mccfr_spiel.offline.first_order import make_sides, prox
from mccfr_spiel.offline.sequence_forms import (
    NotZeroSumError,
    constraints,
    sequence_form,
)

GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending,players=2)"
SOLVERS = {
    "egt": ExcessiveGap,
    "practical_egt": lambda game: ExcessiveGap(game, aggressive=True),
    "mirror_prox": MirrorProx,
}

compiled = functools.partial(pytest.param, marks=pytest.mark.compiled)
LEDUC = compiled("leduc_poker")


@pytest.mark.parametrize(
    ("solver", "game", "gaps"),
    [
        (ExcessiveGap, "kuhn_poker", {10: 0.32729, 100: 0.03207, 1000: 0.00184}),
        (MirrorProx, "kuhn_poker", {10: 0.34048, 100: 0.04349, 1000: 0.00429}),
        compiled(ExcessiveGap, "leduc_poker", {100: 1.52748, 300: 0.61179}),
        compiled(MirrorProx, "leduc_poker", {100: 1.62890, 300: 0.71321}),
    ],
)
def test_gaps_are_those_of_an_independent_program(solver, game, gaps):
    method = solver(game)
    for iterations, gap in gaps.items():
        method.iterate(iterations - method.num_iterations)
        assert f"{method.gap():.5f}" == f"{gap:.5f}"


@pytest.mark.parametrize("game", ["kuhn_poker", LEDUC, GOOFSPIEL, "matrix_rps"])
@pytest.mark.parametrize("aggressive", [False, True])
def test_excessive_gap_condition_and_bound_hold_at_every_iteration(game, aggressive):
    method = ExcessiveGap(game, aggressive=aggressive)
    for _ in range(150):
        assert method.excess() >= -1e-14
        assert method.gap() <= method.gap_bound + 1e-14
        method.iteration()


@pytest.mark.parametrize("game", ["kuhn_poker", LEDUC, GOOFSPIEL])
def test_mirror_prox_stays_below_its_bound(game):
    method = MirrorProx(game)
    for _ in range(150):
        method.iteration()
        assert method.gap() <= method.gap_bound


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_pieces_equal_the_whole_bit_for_bit(solver):
    whole, pieces = solver("kuhn_poker"), solver("kuhn_poker")
    whole.iterate(30)
    for iterations in (0, 1, 9, 20):
        pieces.iterate(iterations)
    assert (whole.average_vector() == pieces.average_vector()).all()
    assert (whole.current_vector() == pieces.current_vector()).all()
    start = solver("kuhn_poker").current_vector()
    assert np.abs(whole.current_vector() - start).max() > 0.1
    assert whole.gradient_evaluations == pieces.gradient_evaluations


def test_a_gradient_evaluation_counts_as_a_pass_over_the_tree():
    egt, mirror = ExcessiveGap("kuhn_poker"), MirrorProx("kuhn_poker")
    assert egt.nodes_touched == 4 * 58  # two plans, and their gradients
    assert mirror.nodes_touched == 0
    egt.iterate(10)
    mirror.iterate(10)
    assert egt.nodes_touched == (4 + 3 * 10) * 58
    assert mirror.nodes_touched == 4 * 10 * 58


# --- the prox map ------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-300, 1e200])
def test_prox_neither_overflows_nor_underflows(size):
    form = sequence_form("leduc_poker")
    side = make_sides(form)[1]
    gradient = np.random.default_rng(0).integers(-1, 2, len(side.uniform)) * size
    log_policy, plan = np.empty_like(gradient), np.empty_like(gradient)
    value = prox(side, gradient, side.uniform, 1e-3, log_policy, plan)
    assert np.isfinite(value)
    assert np.isfinite(plan).all()
    matrix, right = constraints(form.treeplexes[1])
    assert np.abs(matrix @ plan - right).max() < 1e-12


# --- policies and bad input --------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_policy_has_openspiels_nash_conv(solver):
    for game in ("kuhn_poker", "matrix_rps"):
        method = solver(game)
        method.iterate(20)
        table = {
            info_state: list(probabilities.items())
            for info_state, probabilities in method.average_policy().to_dict().items()
        }
        expected = pyspiel.nash_conv(method.tree.game, pyspiel.TabularPolicy(table))
        assert method.gap() == pytest.approx(expected, abs=1e-12)


def test_games_and_counts_that_cannot_be_are_refused():
    for solver in SOLVERS.values():
        with pytest.raises(NotZeroSumError, match="3 players"):
            solver("kuhn_poker(players=3)")
        with pytest.raises(ValueError, match="iterations=-1"):
            solver("kuhn_poker").iterate(-1)
