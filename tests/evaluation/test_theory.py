"""M-values, theoretical bounds, and bounds on the value of a game."""

import collections
import math

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.evaluation import game_value
from mccfr_spiel.evaluation.metrics import known_value
from mccfr_spiel.evaluation.theory import (
    cfr_regret_bound,
    estimate_range,
    external_sampling_regret_bound,
    gap_bound,
    m_values,
    outcome_sampling_regret_bound,
    player_theory,
)
from mccfr_spiel.offline.sequence_forms import best_response_value, policy_to_plan
from tests.small_games import leaf, move, small_game

GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending,players=2)"


def textbook_m_values(game):
    """Own actions -> the set of information states after them, from pyspiel's
    states."""
    groups = [collections.defaultdict(set) for _ in range(game.num_players())]

    def visit(state, own):
        if state.is_terminal():
            return
        player = state.current_player()
        if player >= 0:
            groups[player][own[player]].add(state.information_state_string())
        for action in state.legal_actions():
            after = list(own)
            if player >= 0:
                after[player] += (action,)
            visit(state.child(action), after)

    visit(game.new_initial_state(), [()] * game.num_players())
    return [sum(math.sqrt(len(met)) for met in group.values()) for group in groups]


@pytest.mark.parametrize(
    "name", ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", GOOFSPIEL]
)
def test_m_values_equal_the_definition(name):
    tree = GameTree(name).expand_all()
    assert m_values(tree) == pytest.approx(textbook_m_values(tree.game))


def test_quantities_of_kuhn():
    first, second = player_theory("kuhn_poker", epsilon=0.5)
    assert first.num_infosets == second.num_infosets == 6
    assert first.num_sequences == second.num_sequences == 13
    assert first.max_actions == second.max_actions == 2
    assert first.utility_range == second.utility_range == 4
    assert first.least_probability == 0.25**2
    assert second.least_probability == 0.25
    assert first.balanced_probability == 1 / 12


def test_bounds_are_the_printed_formulas():
    player = player_theory("kuhn_poker", epsilon=0.6)[0]
    plain = 4 * 2 * math.sqrt(3) * math.sqrt(2) / math.sqrt(100)
    assert cfr_regret_bound(player, 100) == pytest.approx(plain)
    external = (1 + math.sqrt(2 / 0.05)) * plain
    assert external_sampling_regret_bound(player, 100, 0.05) == pytest.approx(external)
    outcome = outcome_sampling_regret_bound(player, 100, 0.05)
    assert outcome == pytest.approx(external / 0.3**2)
    assert outcome_sampling_regret_bound(player, 100, 0.05, 0.01) == pytest.approx(
        external / 0.01
    )


def test_gap_bound_is_proposition_2():
    players = player_theory("kuhn_poker")
    shift = (2 * 4 + 4 * 12 + 4 * 12) * math.sqrt(2 / 50 * math.log(1 / 0.1))
    bound = gap_bound(players, 50, 0.1, (3, 4), "balanced")
    assert bound == pytest.approx(7 / 50 + shift)
    curve = gap_bound(players, [50, 200], 0.1, ([3, 6], [4, 8]), "external")
    assert curve[1] == pytest.approx(curve[0] / 2, rel=0.02)
    found = [estimate_range(players[0], one) for one in ("external", "outcome")]
    assert found == pytest.approx([4, 4 / 0.09])
    with pytest.raises(ValueError, match=r"sampling=\['outcome'\] must be one of"):
        estimate_range(players[0], ["outcome"])  # pyright: ignore


# --- the theorems' bounds and measured regrets -------------------------------

P = 0.1  # probability that a sampled run exceeds its bound
REGRET_BOUNDS = {
    "full": (ms.FULL, ms.theory.cfr_regret_bound, ()),
    "external": (ms.EXTERNAL, ms.theory.external_sampling_regret_bound, (P,)),
    "outcome": (ms.OUTCOME, ms.theory.outcome_sampling_regret_bound, (P,)),
}

FALLS = 0.95
"""Limit for the regret after 300 iterations, as a fraction of the initial regret.

The bounds alone prove little, because they are far above the regret of any solver.
"""


def plans_of(form, vector):
    return [policy_to_plan(plex, vector[plex.sequences]) for plex in form.treeplexes]


@pytest.mark.parametrize(
    ("estimator", "alternating"),
    [("full", True), ("external", False), ("outcome", True)],
)
def test_measured_regret_is_below_theorems_3_4_and_5(estimator, alternating):
    form = ms.offline.sequence_form("kuhn_poker")
    sampling, bound, failing = REGRET_BOUNDS[estimator]
    theory = ms.theory.player_theory(form.tree, epsilon=0.6)
    for seed in range(2 if sampling.is_sampled else 1):
        algorithm = ms.Algorithm(
            sampling, ms.regret_matching(), alternating=alternating
        )
        solver = ms.Solver(form.tree, algorithm, seed=seed)
        sums = []
        for t, regrets in enumerate(average_regrets(form, solver, 300), 1):
            for player, regret in enumerate(regrets):
                assert -1e-12 < regret < bound(theory[player], t, *failing)
            sums.append(sum(regrets))
        assert sums[-1] < FALLS * sums[0]


def average_regrets(form, solver, num_iterations):
    """Runs a solver and yields the players' average regrets at each iteration.

    The regrets are computed from the payoff matrix and the opponents' policies.
    """
    alternating = solver.algorithm.alternating
    totals = [np.zeros(plex.num_sequences) for plex in form.treeplexes]
    gained = np.zeros(2)
    now = plans_of(form, solver.current_vector())
    for t in range(1, num_iterations + 1):
        solver.iterate(1)
        after = plans_of(form, solver.current_vector())
        # Alternating: player 1 is updated against player 0's new policy.
        faced = (now[1], after[0] if alternating else now[0])
        gradients = form.payoffs @ faced[0], -form.payoffs.T @ faced[1]
        for player in range(2):
            totals[player] += gradients[player]
            gained[player] += gradients[player] @ now[player]
        best = map(best_response_value, form.treeplexes, totals)
        yield [(most - own) / t for most, own in zip(best, gained, strict=True)]
        now = after


# --- bounds on the value of a game -------------------------------------------

VALUES = {
    "kuhn_poker": -1 / 18,
    "leduc_poker": -0.085606424078,
    "matrix_rps": 0.0,
    "goofspiel(num_cards=4,imp_info=True,points_order=descending)": 0.0,
}
"""Published, or known by symmetry."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.compiled if name == "leduc_poker" else ())
        for name in VALUES
    ],
)
@pytest.mark.parametrize("algorithm", [ms.CFR_PLUS, ms.EXTERNAL_SAMPLING])
def test_bounds_contain_value_and_differ_by_nash_conv(name, algorithm):
    solver = ms.Solver(name, algorithm)
    widths = []
    for _ in range(4):
        solver.iterate(30)
        policy = solver.average_policy()
        value = game_value(name, policy)
        assert value.low - 1e-9 <= VALUES[name] <= value.high + 1e-9
        conv = ms.nash_conv(name, policy)
        assert value.high - value.low == pytest.approx(conv, abs=1e-12)
        widths.append(value.half_width)
    assert widths[-1] < widths[0] or name == "matrix_rps"


def test_constant_sum_shifts_bounds():
    game = small_game(move(0, "a", leaf(3.0, 7.0), leaf(4.0, 6.0)))
    uniform = ms.Solver(game, ms.CFR).average_policy()
    assert game_value(game, uniform) == (3.5, 4.0)


def test_games_without_a_value_are_refused():
    for name in ("kuhn_poker(players=3)", "first_sealed_auction(max_value=3)"):
        policy = ms.Solver(name, ms.CFR).average_policy()
        assert known_value(name, policy) is None
        with pytest.raises(ValueError, match="needs a two-player constant-sum game"):
            game_value(name, policy)
