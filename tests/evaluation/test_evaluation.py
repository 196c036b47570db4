"""NashConv, exploitability, returns and best responses against OpenSpiel's routines."""

import json
from typing import Any

import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import best_response, expected_game_score
from open_spiel.python.algorithms import exploitability as openspiel

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.evaluation import (
    best_response_policy,
    learned_response,
    sampled_returns,
)
from mccfr_spiel.policies.policy import to_json
from tests.reference import random_policy, turn_based
from tests.small_games import leaf, move, named, small_game
from tests.vectors import KUHN_3, LEDUC

GOOFSPIEL = (  # general sum
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,"
    "points_order=random,returns_type=total_points))"
)
SLOW = "leduc_poker", "liars_dice(dice_sides=3)"
GAMES = (
    *("kuhn_poker", KUHN_3, LEDUC, GOOFSPIEL, "first_sealed_auction(max_value=4)"),
    *(*SLOW, "uneven_deal", "three_players"),
)
MARKED = [
    pytest.param(game, marks=[pytest.mark.compiled] if game in SLOW else [])
    for game in GAMES
]


def as_python(game, policy):
    """A dictionary policy as OpenSpiel's TabularPolicy."""
    tabular = openspiel_policy.TabularPolicy(game)
    for name, probs in policy.items():
        for action, prob in probs.items():
            tabular.policy_for_key(name)[action] = prob
    return tabular


@pytest.mark.parametrize("game", MARKED)
def test_nash_conv_is_openspiels(game):
    game = turn_based(named(game))
    tree = GameTree(game).expand_all()
    solver = Solver(tree, ms.EXTERNAL_SAMPLING, seed=3)
    solver.iterate(30)
    pure = {}  # ties and unreachable states
    for name, probs in random_policy(game, seed=4).items():
        best = max(probs, key=lambda action: probs[action])
        pure[name] = {action: float(action == best) for action in probs}
    for policy in (random_policy(game, seed=1), pure, solver.average_policy()):
        table = as_python(
            game, policy if isinstance(policy, dict) else policy.to_dict()
        )
        assert ms.nash_conv(game, policy) == pytest.approx(
            openspiel.nash_conv(game, table), abs=1e-12
        )
        assert ms.nash_conv(tree, policy) == ms.nash_conv(game, policy)


@pytest.mark.parametrize("game", ["kuhn_poker", KUHN_3, GOOFSPIEL])
def test_each_players_gain_is_openspiels(game):
    game = turn_based(named(game))
    policy = random_policy(game, seed=1)
    theirs: Any = openspiel.nash_conv(game, as_python(game, policy), False, True)
    ours = ms.nash_conv(game, policy, return_only_nash_conv=False, use_cpp_br=True)
    assert ours._fields == theirs._fields
    assert ours.nash_conv == pytest.approx(theirs.nash_conv, abs=1e-12)
    assert ours.player_improvements == pytest.approx(
        theirs.player_improvements, abs=1e-12
    )
    assert ms.nash_conv(game, policy, True, False) == ours.nash_conv
    with pytest.raises(ValueError, match="use_cpp_br=2 is not True or False"):
        ms.nash_conv(game, policy, use_cpp_br=2)  # pyright: ignore


def test_a_solution_is_taken_for_its_policy():
    solution = ms.solve_lp("kuhn_poker")
    assert ms.nash_conv("kuhn_poker", solution) == pytest.approx(0, abs=1e-9)
    for policy in (solution, [solution, solution.policy]):
        value = ms.expected_returns("kuhn_poker", policy)[0]
        assert value == pytest.approx(-1 / 18, abs=1e-9)
        played = ms.sampled_returns("kuhn_poker", policy, plays=100)
        assert played == ms.sampled_returns("kuhn_poker", solution.policy, plays=100)
    state = pyspiel.load_game("kuhn_poker").new_initial_state()
    state.apply_action(2)
    state.apply_action(1)
    assert ms.bot(solution, 0).get_policy(state)


def test_a_call_with_a_solver_alone_asks_for_game_and_policy():
    solver = Solver("kuhn_poker", ms.CFR)
    for function in (ms.nash_conv, ms.exploitability, ms.expected_returns):
        with pytest.raises(
            ValueError, match=r"give solver\.tree and solver\.average_pol"
        ):
            function(solver)  # pyright: ignore[reportArgumentType]


@pytest.mark.compiled
def test_openspiel_evaluates_what_forgets_as_the_refusal_says():
    game = "goofspiel(num_cards=4)"
    solver = Solver(game, ms.CFR_PLUS, abstraction=ms.completed_rounds)
    solver.iterate(300)
    policy = solver.average_policy()
    words = r"exploitability\.nash_conv\(policy\.turn_based_game, policy\)"
    with pytest.raises(ValueError, match=words):
        ms.nash_conv(game, policy)
    value: Any = openspiel.nash_conv(policy.turn_based_game, policy)
    assert 0 <= value < 2e-3


@pytest.mark.parametrize("game", MARKED)
def test_expected_returns_are_openspiels(game):
    game = turn_based(named(game))
    policy = random_policy(game, seed=2)
    theirs = expected_game_score.policy_value(
        game.new_initial_state(), [as_python(game, policy)] * game.num_players()
    )
    assert ms.expected_returns(game, policy) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("game", MARKED)
def test_a_best_response_earns_what_openspiels_does(game):
    game = turn_based(named(game))
    policy = random_policy(game, seed=5)
    theirs = as_python(game, policy)
    gains = 0.0
    on_policy = ms.expected_returns(game, policy)
    for player in range(game.num_players()):
        best = ms.evaluation.best_response_policy(game, policy, player)
        response = openspiel.best_response(game, theirs, player)
        value = ms.expected_returns(game, best)[player]
        expected = response["best_response_value"]
        assert value == pytest.approx(expected, abs=1e-12)
        for name, probs in best.to_dict().items():
            if best.tree.find(name, player) >= 0:
                assert sorted(probs.values())[-1] == 1
                assert sum(probs.values()) == 1
            else:
                assert probs == policy[name]
        gains += value - on_policy[player]
    assert ms.nash_conv(game, policy) == pytest.approx(gains, abs=1e-12)


def test_in_a_constant_sum_game_exploitability_is_defined():
    # Payoffs sum to 10: OpenSpiel's NashConv subtracts what the policy earns, too.
    game = small_game(
        move(0, "0", *(move(1, "1", leaf(7, 3), leaf(2, 8)) for _ in range(2))),
        utility=pyspiel.GameType.Utility.CONSTANT_SUM,
    )
    policy = {"0": {0: 0.5, 1: 0.5}, "1": {0: 0.25, 1: 0.75}}
    assert ms.nash_conv(game, policy) == pytest.approx(8 - (3 / 4 + 6), abs=1e-12)
    assert ms.exploitability(game, policy) == ms.nash_conv(game, policy) / 2


# --- published numbers -------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "expected"), [("kuhn_poker", 11 / 12), ("leduc_poker", 4.747222222222)]
)
def test_nash_conv_of_the_uniform_policy(game, expected):
    uniform = Solver(game).average_policy()
    assert ms.nash_conv(game, uniform) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(
    ("algorithm", "published"), [(ms.CFR, 0.9063), (ms.CFR_PLUS, 0.3473)]
)
def test_nash_conv_on_leduc_poker_after_20_iterations(algorithm, published):
    solver = Solver("leduc_poker", algorithm)
    solver.iterate(20)
    conv = ms.nash_conv(solver.tree, solver.average_policy())
    assert conv == pytest.approx(published, abs=5e-5)


@pytest.mark.compiled
def test_exploitability_of_cfr_on_leduc_poker():
    # The source counts iterations from 0. Rounding grows: 1e-12 after 50 iterations,
    # 3e-6 after 1000 between two of OpenSpiel's own programs.
    solver = Solver("leduc_poker", ms.CFR)
    for number, published, rounding in (
        (100, 0.0939493, 1e-7),
        (200, 0.0533379, 1e-7),
        (500, 0.0214263, 1e-6),
        (999, 0.0118178, 1e-5),
    ):
        solver.iterate(number + 1 - solver.num_iterations)
        mine = ms.exploitability(solver.tree, solver.average_policy())
        assert mine == pytest.approx(published, abs=rounding)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "published"), [("leduc_poker", 0.004581), (LEDUC, 0.004625)]
)
def test_nash_conv_of_cfr_plus_after_300_iterations(game, published):
    # Rounding makes up to 1 % by then, and one iteration more 1 to 2 %. Weights of
    # t^0 or t^2 would give 0.046 or 0.003.
    solver = Solver(game, ms.CFR_PLUS)
    solver.iterate(300)
    conv = ms.nash_conv(game, solver.average_policy())
    assert conv == pytest.approx(published, rel=0.02)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "value"),
    [
        ("kuhn_poker", -1 / 18),
        ("leduc_poker", -0.085606424078),
        ("liars_dice", -0.027131782945736),
        ("goofspiel(num_cards=4,imp_info=True,points_order=descending)", 0.0),
    ],
)
def test_game_values(game, value):
    solver = Solver(game, ms.CFR_PLUS)
    solver.iterate(100 if game == "liars_dice" else 1000)
    policy = solver.average_policy()
    conv = ms.nash_conv(solver.tree, policy)
    returns = ms.expected_returns(solver.tree, policy)
    assert conv < 0.02
    assert returns[0] == pytest.approx(value, abs=conv + 1e-9)
    assert returns.sum() == pytest.approx(0, abs=1e-12)


# --- a policy for each player ------------------------------------------------

FOR_EACH = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker(suit_isomorphism=True)"]


def solved(game, iterations, algorithm=ms.CFR):
    solver = ms.Solver(game, algorithm, seed=1)
    solver.iterate(iterations)
    return solver.average_policy()


def kinds(game, policy):
    """One policy in every form that evaluations take."""
    tabular = policy.to_tabular()
    return {
        "SequencePolicy": policy,
        "vector": policy.vector,
        "OpenSpiel": tabular,
        "pyspiel": policy.to_pyspiel(),
        "callable": openspiel_policy.tabular_policy_from_callable(
            game, tabular.action_probabilities
        ),
        "dictionary": policy.to_dict(),
        "JSON": json.loads(json.dumps(policy.to_dict())),
        "policy.json": json.loads(json.dumps(to_json(policy))),
    }


@pytest.mark.parametrize("name", FOR_EACH)
def test_returns_and_nash_conv_of_all_kinds_are_openspiels(name):
    game = pyspiel.load_game(name)
    policies: list[Any] = [
        solved(game, 2 + player) for player in range(game.num_players())
    ]
    expected = expected_game_score.policy_value(game.new_initial_state(), policies)
    merged = openspiel_policy.merge_tabular_policies(
        [policy.to_tabular() for policy in policies], game
    )
    conv = openspiel.nash_conv(game, merged)
    tree = ms.GameTree(game).expand_all()
    for kind in kinds(game, policies[0]):
        each = [kinds(game, policy)[kind] for policy in policies]
        for where in (game, tree):
            assert ms.expected_returns(where, each) == pytest.approx(expected, abs=1e-9)
            assert ms.nash_conv(where, tuple(each)) == pytest.approx(conv, abs=1e-9)


def test_players_may_have_policies_of_different_kinds_and_of_their_own_states_only():
    game = pyspiel.load_game("leduc_poker")
    first, second = solved(game, 3), solved(game, 5)
    mine = {
        name: row
        for name, row in second.to_dict().items()
        if name.startswith("[Observer: 1]")
    }
    assert len(mine) == 468
    start = game.new_initial_state()
    expected = expected_game_score.policy_value(start, [first, second])
    uniform = openspiel_policy.UniformRandomPolicy(game)
    assert ms.expected_returns(game, [first, mine]) == pytest.approx(expected)
    against = expected_game_score.policy_value(start, [uniform, second])
    assert ms.expected_returns(game, [uniform, mine]) == pytest.approx(against)
    with pytest.raises(ValueError, match="lacks the state"):
        ms.expected_returns(game, [mine, first])
    with pytest.raises(ValueError, match="is not a function of"):
        ms.nash_conv(game, lambda state: {0: 1.0})
    turns = openspiel_policy.TabularPolicy(
        pyspiel.load_game_as_turn_based("matrix_rps")
    )
    del turns.state_lookup["Current player: 1\nObserving player: 1. Non-terminal"]
    with pytest.raises(ValueError, match=r"lacks the state .*Observing player: 1"):
        sampled_returns("matrix_rps", turns)
    estimate = sampled_returns(game, [first, mine], plays=4_000)[0]
    assert abs(estimate.mean - expected[0]) < 2 * estimate.half_width


def test_a_best_response_to_a_list_is_openspiels():
    game = pyspiel.load_game("leduc_poker(suit_isomorphism=True)")
    first, second = solved(game, 3), solved(game, 4)
    response = best_response_policy(game, [first, second.to_dict()], 0)
    oracle = best_response.BestResponsePolicy(game, 0, second)
    value = oracle.value(game.new_initial_state())
    assert ms.expected_returns(game, response)[0] == pytest.approx(value, abs=1e-12)
    # OpenSpiel's best response answers for its own player only.
    returns = ms.expected_returns(game, [oracle, second])
    assert returns[0] == pytest.approx(value, abs=1e-12)
    learned = learned_response(
        game, [first, second.to_dict()], 0, iterations=300, plays=500
    )
    assert learned.value.low < value
    assert repr(learned).startswith("<LearnedResponse: player 0 gets ")
