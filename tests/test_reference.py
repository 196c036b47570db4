"""The textbook compared with OpenSpiel and published values."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr, expected_game_score

from tests.reference import (
    Textbook,
    enumerate_draws,
    full_gradient,
    random_policy,
    turn_based,
)
from tests.vectors import GOOFSPIEL, KUHN_3, LEDUC


def sampling(chance=False, opponents=False, player="all", epsilon=0.0, prune=False):
    return SimpleNamespace(
        chance=chance, opponents=opponents, player=player, epsilon=epsilon, prune=prune
    )


def minimizer(rule, step_size=1.0, weights="constant"):
    return SimpleNamespace(rule=rule, step_size=step_size, weights=weights)


FULL = sampling()
EXTERNAL = sampling(chance=True, opponents=True)
OUTCOME = sampling(chance=True, opponents=True, player="epsilon", epsilon=0.6)
ESTIMATORS = {
    "full": FULL,
    "chance": sampling(chance=True),
    "opponents": sampling(opponents=True),
    "external": EXTERNAL,
    "outcome": OUTCOME,
    "balanced": sampling(chance=True, opponents=True, player="balanced"),
    "player": sampling(player="epsilon", epsilon=0.3),
}
RM = minimizer("regret_matching")
RM_PLUS = minimizer("regret_matching_plus")
UNIFORM = SimpleNamespace(gamma=0, change=0.0, horizon=0)
LINEAR = SimpleNamespace(gamma=1, change=0.0, horizon=0)
KUHN = "kuhn_poker"
GAMES = [KUHN, KUHN_3, LEDUC, GOOFSPIEL]


def largest_difference(policy, other):
    assert policy.keys() == other.keys()
    return max(
        abs(prob - other[info_state].get(action, 0.0))
        for info_state, probs in policy.items()
        for action, prob in probs.items()
    )


def openspiel_average(solver):
    table = solver.average_policy()
    return {
        info_state: dict(enumerate(table.action_probability_array[row]))
        for info_state, row in table.state_lookup.items()
    }


def openspiel_table(policy):
    return pyspiel.TabularPolicy(
        {info_state: list(probs.items()) for info_state, probs in policy.items()}
    )


@pytest.mark.parametrize(("name", "iterations"), [(KUHN, 20), (KUHN_3, 20), (LEDUC, 5)])
@pytest.mark.parametrize(
    ("solver", "rule", "averaging"),
    [(cfr.CFRSolver, RM, UNIFORM), (cfr.CFRPlusSolver, RM_PLUS, LINEAR)],
    ids=["cfr", "cfr_plus"],
)
def test_full_sampling_equals_openspiel(name, iterations, solver, rule, averaging):
    game = pyspiel.load_game(name)
    textbook = Textbook(game, FULL, rule, averaging)
    theirs = solver(game)
    for _ in range(iterations):
        textbook.run(1)
        theirs.evaluate_and_update_policy()
        ours = textbook.average_policy()
        assert largest_difference(ours, openspiel_average(theirs)) < 1e-12


@pytest.mark.parametrize("name", [KUHN, KUHN_3])
@pytest.mark.parametrize("plus", [False, True])
def test_simultaneous_updates_from_random_policy_equal_openspiel(name, plus):
    # From the uniform policy, three-player Kuhn poker ties at "0pp" after iteration 1:
    # one rounding gives regret 0 and plays uniform, another 7e-18 and plays pure.
    game = pyspiel.load_game(name)
    start = random_policy(game, seed=3)
    averaging = LINEAR if plus else UNIFORM
    textbook = Textbook(game, FULL, RM_PLUS if plus else RM, averaging, False)
    textbook.play(start)
    theirs = cfr._CFRSolver(
        game,
        alternating_updates=False,
        linear_averaging=plus,
        regret_matching_plus=plus,
    )
    table = theirs.current_policy()
    for info_state, probs in start.items():
        for action, prob in probs.items():
            table.policy_for_key(info_state)[action] = prob
    for _ in range(20):
        textbook.run(1)
        theirs.evaluate_and_update_policy()
        ours = textbook.average_policy()
        assert largest_difference(ours, openspiel_average(theirs)) < 1e-12


@pytest.mark.parametrize("rule", ["omd", "ftrl"])
@pytest.mark.parametrize("weights", ["constant", "kroer"])
def test_entropy_rules_maximize_regularized_objective(rule, weights):
    # The plan x maximizes <G, x> - d(x) / eta, G the sum of two gradients and d the
    # dilated entropy, so the derivative G - d'(x) / eta has the same product with
    # every plan.
    eta, generator = 0.2, np.random.default_rng(4)
    textbook = Textbook(LEDUC, FULL, minimizer(rule, eta, weights), UNIFORM)
    total = dict.fromkeys(textbook.plan(0), 0.0)
    for _ in range(2):
        gradient = {sequence: generator.normal() for sequence in total}
        textbook.update(0, gradient)
        total = {sequence: total[sequence] + gradient[sequence] for sequence in total}
    slope = dict(total)
    for key, infoset in textbook.infosets.items():
        if infoset.player == 0:
            scale = textbook.beta[key] / eta
            slope[infoset.parent] -= scale * (np.log(len(infoset.actions)) - 1)
            for own, b in zip(infoset.sequences, textbook.policy[key], strict=True):
                slope[own] -= scale * (1 + np.log(b))
    products = []
    for seed in range(5):
        textbook.play(random_policy(LEDUC, seed))
        plan = textbook.plan(0)
        products.append(sum(slope[sequence] * plan[sequence] for sequence in plan))
    assert products == pytest.approx([products[0]] * 5, abs=1e-9)


@pytest.mark.parametrize("name", GAMES)
def test_weights_satisfy_recursion_of_kroer_et_al(name):
    # alpha = 1 + max over actions of the sum of alpha beta / (beta - alpha) below.
    textbook = Textbook(name, FULL, minimizer("omd", weights="kroer"), UNIFORM)
    for infoset in textbook.infosets.values():
        below = dict.fromkeys(infoset.sequences, 0.0)
        for key, other in textbook.infosets.items():
            if other.player == infoset.player and other.parent in below:
                beta = textbook.beta[key]
                alpha = beta / 2
                below[other.parent] += alpha * beta / (beta - alpha)
        assert textbook.beta[infoset.key] == 2 * (1 + max(below.values()))


def test_balanced_strategy_counts_sequences():
    textbook = Textbook(KUHN, ESTIMATORS["balanced"], RM, UNIFORM)
    assert textbook.balanced[0, "1"] == [3 / 4, 1 / 4]  # two sequences after a pass
    assert textbook.balanced[0, "1pb"] == textbook.balanced[1, "1p"] == [1 / 2, 1 / 2]


@pytest.mark.parametrize("name", [*GAMES, "leduc_poker"])
def test_balanced_plan_is_bounded_below(name):
    # Farina, Kroer, Sandholm 2020, 4.2.1
    textbook = Textbook(name, ESTIMATORS["balanced"], RM, UNIFORM)
    textbook.policy = textbook.balanced
    for player in range(textbook.game.num_players()):
        plan = textbook.plan(player)
        assert min(plan.values()) >= 1 / (len(plan) - 1) - 1e-15


@pytest.mark.parametrize("name", GAMES)
def test_gradient_times_plan_equals_expected_return(name):
    game = turn_based(name)
    policy = random_policy(game, seed=1)
    textbook = Textbook(game, FULL, RM, UNIFORM)
    textbook.play(policy)
    expected = expected_game_score.policy_value(
        game.new_initial_state(), [openspiel_table(policy)] * game.num_players()
    )
    for player in range(game.num_players()):
        gradient = full_gradient(game, policy, player)
        plan = textbook.plan(player)
        assert gradient.keys() == plan.keys()
        value = sum(gradient[sequence] * plan[sequence] for sequence in plan)
        assert value == pytest.approx(expected[player], abs=1e-12)


@pytest.mark.parametrize(
    ("name", "estimators"),
    [
        (KUHN, list(ESTIMATORS)),
        (KUHN_3, ["full", "outcome", "balanced"]),
        (LEDUC, ["full", "outcome", "balanced"]),
        (GOOFSPIEL, ["full", "external", "outcome", "balanced"]),
    ],
)
def test_expected_estimate_equals_full_gradient(name, estimators):
    policy = random_policy(name, seed=2)
    for estimator in estimators:
        textbook = Textbook(name, ESTIMATORS[estimator], RM, UNIFORM)
        textbook.play(policy)
        for player in range(textbook.game.num_players()):
            total = 0.0
            expectation = dict.fromkeys(textbook.plan(player), 0.0)
            for probability, gradient in enumerate_draws(
                partial(textbook.estimate, player),
                textbook.distributions(player).__getitem__,
            ):
                total += probability
                for sequence, g in gradient.items():
                    expectation[sequence] += probability * g
            assert total == pytest.approx(1, abs=1e-12)
            exact = full_gradient(name, policy, player)
            assert expectation == pytest.approx(exact, abs=1e-12), estimator


def test_nodes_touched_include_chance_and_terminal_nodes():
    full, external = (Textbook(KUHN, s, RM, UNIFORM) for s in (FULL, EXTERNAL))
    full.run(1)
    external.run(1)
    assert full.nodes_touched == 2 * 58
    # The deal is two chance nodes. Player 0 acts once or twice after it: 4 to 6 nodes.
    # Player 1 acts after the one sampled first action: 4 to 5 nodes.
    assert 2 * 2 + 4 + 4 <= external.nodes_touched <= 2 * 2 + 6 + 5
