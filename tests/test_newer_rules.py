"""What the first algorithms keep, the rules of 2019 and later keep as well.

That they are what their papers say is in test_solver.py, with all other rules.
"""

import math

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import Solver, algorithms
from tests.reference import EMPTY, full_gradient, read_game, turn_based
from tests.vectors import KUHN_3, follow_textbook

DISCOUNTED = algorithms.discounted_regret_matching(1.5, -0.5)
UNPREDICTED = algorithms.predictive_regret_matching_plus(0.0, alpha=1.5, offset=1.5)
SCHEDULED = algorithms.hs_dcfr(60, gamma=8.0)

SAMPLED = {
    "discounted, external": ms.Algorithm(ms.EXTERNAL, DISCOUNTED, ms.QUADRATIC),
    "discounted, outcome": ms.Algorithm(ms.OUTCOME, DISCOUNTED, ms.LINEAR),
    "discounted, chance, at once": ms.Algorithm(
        ms.CHANCE, DISCOUNTED, ms.QUADRATIC, alternating=False
    ),
    "scheduled, external": SCHEDULED._replace(sampling=ms.EXTERNAL),
    "RM+ with discounts, external": ms.Algorithm(
        ms.EXTERNAL, UNPREDICTED, ms.polynomial(4.0)
    ),
    "RM+ with discounts, opponent, at once": ms.Algorithm(
        ms.OPPONENT, UNPREDICTED, ms.QUADRATIC, alternating=False
    ),
}
FULL = {
    "lcfr": ms.LCFR,
    "dcfr": ms.DCFR,
    "pdcfr_plus": ms.PDCFR_PLUS,
    "hs_dcfr": SCHEDULED,
    "hs_pcfr_plus": algorithms.hs_pcfr_plus(60),
    "optimistic_ftrl": ms.Algorithm(ms.FULL, algorithms.optimistic_ftrl(0.5)),
    "optimistic_omd": ms.Algorithm(ms.FULL, algorithms.optimistic_omd(0.5)),
    "mmd": ms.Algorithm(
        ms.FULL, algorithms.magnetic_mirror_descent(0.3, 0.5, temperature_power=0.5)
    ),
}


# --- published numbers ---------------------------------------------------------


@pytest.mark.compiled
def test_linear_cfr_parts_company_with_what_was_published_by_rounding_only():
    """The first number is published, the last one was computed with 60 digits.

    A program with R += t r gives the published number to the last digit, and the same
    with R = R (t - 1) / t + r one that is 3.6e-7 from it. No regret is near 0: the
    players circle each other, and that makes any difference larger, from 1e-13 in
    iteration 21 to 2e-7 in iteration 701. So all of these numbers are of LCFR, and
    ours is closer to the exact one.
    """
    solver = Solver("kuhn_poker", ms.LCFR)
    solver.iterate(1000)
    found = ms.exploitability("kuhn_poker", solver.average_policy())
    assert found == pytest.approx(9.352992791014647e-05, rel=5e-6)
    assert found == pytest.approx(9.352975941445685e-05, rel=1e-6)


# --- regrets that fade -----------------------------------------------------------

FADING = {
    "alpha 0": algorithms.discounted_regret_matching(0.0, 0.0),
    "alpha -1": algorithms.discounted_regret_matching(-1.0, 0.0),
    "RM+": algorithms.predictive_regret_matching_plus(0.0, alpha=-1.0),
    "RM+ with predictions": algorithms.predictive_regret_matching_plus(alpha=-20.0),
}
# One action is worse than all others, which are the same; the column is settled, too.
ONE_BEST = "matrix_pd"
TIED = pyspiel.create_matrix_game([[0.0, 0.0]] + [[0.3, 0.7]] * 3, [[1.0, 0.9]] * 4)


@pytest.mark.parametrize("game", [ONE_BEST, TIED], ids=["one best", "tied"])
@pytest.mark.parametrize("name", FADING)
def test_what_is_dominated_is_not_played_again_however_far_regrets_fade(game, name):
    """In exact arithmetic a regret is above 0 for good once one was: the regrets of an
    iteration are 0 on average over what is played, so one of these is not below 0."""
    rule = FADING[name]
    for sampling in [ms.FULL] if rule.moves_everywhere else [ms.FULL, ms.EXTERNAL]:
        solver = Solver(game, ms.Algorithm(sampling, rule), seed=2)
        for iteration in range(100):
            solver.iterate(1)
            assert solver.current_vector()[2] == 0.0, (sampling, iteration)


# --- the same numbers, the same bits -------------------------------------------


@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_forms_are_the_textbooks(name):
    follow_textbook(KUHN_3, SAMPLED[name], 1, 1, 8, 15, seed=6)


# --- the last iterate ----------------------------------------------------------


def smoothed_response(game, policy, player, temperature):
    """The plan that is best against the others if the entropy of each decision pays
    `temperature` times its probability; computed from the leaves up."""
    _, infosets = read_game(turn_based(game))
    values = dict(full_gradient(game, policy, player))
    response = {}
    for infoset in reversed(list(infosets.values())):
        if infoset.player != player:
            continue
        gains = np.array([values.get(s, 0.0) for s in infoset.sequences])
        most = gains.max()
        weights = np.exp((gains - most) / temperature)
        response[infoset.info_state] = dict(
            zip(infoset.actions, weights / weights.sum(), strict=True)
        )
        value = most + temperature * math.log(weights.mean())
        values[infoset.parent] = values.get(infoset.parent, 0.0) + value
    assert EMPTY in values
    return response


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "temperature"),
    [("kuhn_poker", 0.5), ("leduc_poker(suit_isomorphism=True)", 0.1)],
)
def test_magnetic_mirror_descent_ends_where_entropy_pays(game, temperature):
    rule = algorithms.magnetic_mirror_descent(temperature / 2, temperature)
    solver = Solver(game, ms.Algorithm(ms.FULL, rule))
    solver.iterate(10_000)
    policy = solver.current_policy().to_dict()
    assert max(max(row.values()) for row in policy.values()) > 0.7
    for player in range(2):
        response = smoothed_response(game, policy, player, temperature)
        for name, row in response.items():
            assert policy[name] == pytest.approx(row, abs=1e-8)
