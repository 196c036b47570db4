"""Solver against the textbook and OpenSpiel, and what never may change a result."""

from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr, exploitability

import mccfr_spiel as ms
from mccfr_spiel import Solver, algorithms
from mccfr_spiel.experiments.algorithm_names import MINIMIZERS
from mccfr_spiel.kernels import minimizers
from mccfr_spiel.tree.full_pass import full_pass
from tests import reference
from tests.small_games import named
from tests.vectors import (
    GOOFSPIEL,
    KUHN_3,
    LEDUC,
    follow_textbook,
    largest_difference,
    vector_of,
)

ESTIMATORS = {
    "full": ms.FULL,
    "pruned": ms.full(prune=True),
    "chance": ms.CHANCE,
    "opponent": ms.OPPONENT,
    "external": ms.EXTERNAL,
    "outcome": ms.OUTCOME,
    "balanced_outcome": ms.BALANCED_OUTCOME,
}
RULES = {
    "regret_matching": ms.regret_matching(),
    "regret_matching_plus": ms.regret_matching_plus(),
    "discounted_regret_matching": algorithms.discounted_regret_matching(1.5, -0.5),
    "predictive_regret_matching_plus": algorithms.predictive_regret_matching_plus(
        0.5, alpha=1.5, offset=1.5
    ),
    "ftrl": ms.ftrl(0.3),
    "omd": ms.omd(0.3),
    "optimistic_ftrl": algorithms.optimistic_ftrl(0.3),
    "optimistic_omd": algorithms.optimistic_omd(0.3),
    "mmd": algorithms.magnetic_mirror_descent(
        0.3, 0.2, step_power=0.1, temperature_power=0.5
    ),
}
# (alternating, weights of the average)
MODES = [(True, 0.0), (True, 1.0), (True, 2.0), (False, 0.0), (False, 1.0)]
KUHN_4 = "kuhn_poker(players=4)"
# --- the textbook ------------------------------------------------------------


COMBINATIONS = [
    (rule, estimator)
    for rule in RULES
    for estimator in ESTIMATORS
    if estimator == "full" or not RULES[rule].moves_everywhere
]


def test_every_rule_is_in_every_table_that_has_a_row_for_each():
    for table in (RULES, reference.RULES, minimizers.RULES, MINIMIZERS):
        assert table.keys() == algorithms.RULES.keys()


def rows(*more):
    """Each combination with the next of the games, and so on."""
    return [
        (*pair, *(options[k % len(options)] for options in more))
        for k, pair in enumerate(COMBINATIONS)
    ]


@pytest.mark.parametrize(
    ("rule", "estimator", "game", "first"), rows(["kuhn_poker", KUHN_3], range(5))
)
def test_the_solver_is_the_textbook_over_many_iterations(rule, estimator, game, first):
    for alternating, gamma in (MODES[first], MODES[(first + 3) % 5]):
        parts = ESTIMATORS[estimator], RULES[rule], ms.polynomial(gamma)
        follow_textbook(game, ms.Algorithm(*parts, alternating), 1, 1, 3, 10, seed=11)


def modern():
    """Algorithms of 2019 and later, by name."""
    names = ["lcfr", "dcfr", "pcfr_plus", "dcfr_plus", "pdcfr_plus", "sapcfr_plus"]
    return {name: ms.ALGORITHMS[name] for name in names} | {
        "hs_dcfr": algorithms.hs_dcfr(40, gamma=3.0),
        "hs_pcfr_plus": algorithms.hs_pcfr_plus(60),
    }


@pytest.mark.parametrize(
    ("name", "alternating"), [(n, k % 2 == 0) for k, n in enumerate(modern())]
)
def test_modern_algorithms_are_the_textbooks(name, alternating):
    algorithm = modern()[name]._replace(alternating=alternating)
    # Linear CFR makes roundings larger: see test_newer_rules.py.
    last = 5 if name == "lcfr" else 30
    follow_textbook("kuhn_poker", algorithm, 1, 1, 3, 15, last)


def openspiels_exploitability(solver) -> float:
    policy: Any = solver.average_policy().to_tabular()
    conv: Any = exploitability.nash_conv(solver.tree.game, policy)
    return conv / 2


PUBLISHED = {
    # Exploitability (NashConv / 2) by independent programs, the first two published.
    "cfr_plus": (0.032687090668344715, 0.0011944041011116013, 8.736532252065499e-05),
    "dcfr": (0.022778783925763657, 0.0016663419703409899, 0.0001465002281534622),
    "lcfr": (0.021250730612165647, 0.0010890273650519533),
    "pcfr_plus": (0.020206572052790223, 2.3229553989728702e-05),
    "pdcfr_plus": (0.029481232823616726, 1.1048273185210178e-07),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", PUBLISHED)
def test_exploitability_in_kuhn_poker_is_the_published_one(name):
    solver = Solver("kuhn_poker", ms.ALGORITHMS[name])
    for iterations, value in zip((10, 100, 1000), PUBLISHED[name], strict=False):
        solver.iterate(iterations - solver.num_iterations)
        assert openspiels_exploitability(solver) == pytest.approx(value, rel=2e-9)


@pytest.mark.compiled
def test_discounted_cfr_in_leduc_poker_is_the_published_one():
    solver = Solver("leduc_poker", ms.DCFR)
    for iterations, value in ((10, 0.7788020469962015), (50, 0.022921832286570437)):
        solver.iterate(iterations - solver.num_iterations)
        assert openspiels_exploitability(solver) == pytest.approx(value, rel=1e-9)


def test_a_schedule_reaches_what_was_published_for_it():
    solver = Solver("kuhn_poker", algorithms.hs_pcfr_plus(1000, gamma=30.0))
    solver.iterate(100)
    assert openspiels_exploitability(solver) < 1e-12


def start_without_ties(solver):
    """Gives random regrets to a rule that has no parameter for them."""
    generator, tables = np.random.default_rng(12), solver.state.tables
    for _, start, _, count, _ in solver.tree.infosets.tolist():
        regrets = generator.uniform(0.0, 0.1, count)
        tables.memory[start : start + count] = regrets
        tables.policy[start : start + count] = regrets / regrets.sum()
    if solver.state.whole:
        plan = solver.state.whole[1].plan
        plan[:] = full_pass(solver.tree).plan(tables.policy)


@pytest.mark.parametrize(
    ("rule", "estimator", "game", "mode"),
    rows(["three_players", "uneven_deal", LEDUC, "three_players", GOOFSPIEL], MODES),
)
def test_the_solver_is_the_textbook_from_a_random_start(rule, estimator, game, mode):
    sampling, minimizer = ESTIMATORS[estimator], RULES[rule]
    has_start = hasattr(minimizer, "initial_regret")
    if has_start:
        minimizer = minimizer._replace(initial_regret=0.1)
    alternating, gamma = mode
    algorithm = ms.Algorithm(sampling, minimizer, ms.polynomial(gamma), alternating)
    is_tied = "regret" in rule and not has_start
    more = {"start": start_without_ties} if is_tied else {}
    follow_textbook(named(game), algorithm, 1, 2, 3, seed=12, **more)


@pytest.mark.parametrize("rule", ["ftrl", "omd"])
@pytest.mark.parametrize("estimator", ["full", "external"])
def test_kroers_weights_are_the_textbooks(rule, estimator):
    sampling = ESTIMATORS[estimator]
    minimizer = RULES[rule]._replace(weights="kroer", step_size=2.0)
    follow_textbook("kuhn_poker", ms.Algorithm(sampling, minimizer), 50, seed=3)


def memory_at(solver, info_state):
    """The solver's cumulative regrets at an infoset."""
    infoset = solver.tree.infosets[solver.tree.find(info_state)]
    start = infoset["first_sequence"]
    return solver.state.tables.memory[start : start + infoset["num_actions"]]


# --- OpenSpiel ---------------------------------------------------------------


def table_of(program, which="average_policy"):
    """A policy of one of OpenSpiel's CFR programs as a dictionary."""
    if not isinstance(program, cfr._CFRSolver):
        rows = program.tabular_average_policy().policy_table().items()
        return {info_state: dict(row) for info_state, row in rows}
    policy = getattr(program, which)()
    return {
        info_state: {
            action: policy.action_probability_array[row, action]
            for action in np.flatnonzero(policy.legal_actions_mask[row]).tolist()
        }
        for info_state, row in policy.state_lookup.items()
    }


OPENSPIELS = {
    "cfr": (ms.CFR, pyspiel.CFRSolver, cfr.CFRSolver),
    "cfr_plus": (ms.CFR_PLUS, pyspiel.CFRPlusSolver, cfr.CFRPlusSolver),
}
TURN_BASED_GOOFSPIEL = (
    "turn_based_simultaneous_game(game="
    "goofspiel(num_cards=3,imp_info=True,points_order={}))"
)


@pytest.mark.parametrize("name", OPENSPIELS)
@pytest.mark.parametrize(
    "game",
    [
        "kuhn_poker",
        KUHN_3,
        LEDUC,
        TURN_BASED_GOOFSPIEL.format("random"),
    ],
)
def test_nothing_sampled_is_openspiels_cfr_over_50_iterations(game, name):
    algorithm, compiled, python = OPENSPIELS[name]
    game = pyspiel.load_game(game)
    solver = Solver(game, algorithm)
    passes = full_pass(solver.tree)
    programs = [compiled(game)]
    if game.num_distinct_actions() < 3:
        programs.append(python(game))
    for _ in range(50):
        solver.iterate(1)
        average = solver.average_policy()
        for theirs in programs:
            theirs.evaluate_and_update_policy()
            table = table_of(theirs)
            assert largest_difference(average.to_dict(), table) < 1e-12
            plan = passes.plan(vector_of(solver.tree, table))
            assert passes.plan(average.vector) == pytest.approx(plan, abs=1e-12)


@pytest.mark.parametrize("name", OPENSPIELS)
def test_it_is_openspiels_cfr_in_four_player_kuhn_poker_from_random_regrets(name):
    # From the uniform policy there is a tie, see below.
    algorithm, _, python = OPENSPIELS[name]
    start = algorithm.minimizer._replace(initial_regret=0.1)
    game = pyspiel.load_game(KUHN_4)
    solver, theirs = Solver(game, algorithm._replace(minimizer=start)), python(game)
    nodes = theirs._info_state_nodes
    for info_state, node in nodes.items():
        regrets = memory_at(solver, info_state).tolist()
        node.cumulative_regret.update(zip(node.legal_actions, regrets, strict=True))
    cfr._update_current_policy(theirs._current_policy, nodes)
    for _ in range(8):
        solver.iterate(1)
        theirs.evaluate_and_update_policy()
    mine = solver.average_policy().to_dict()
    assert largest_difference(mine, table_of(theirs)) < 1e-12


def test_simultaneous_updates_are_openspiels():
    game = pyspiel.load_game("kuhn_poker")
    solver = Solver(game, ms.CFR._replace(alternating=False))
    theirs = cfr._CFRSolver(
        game,
        alternating_updates=False,
        linear_averaging=False,
        regret_matching_plus=False,
    )
    for _ in range(50):
        solver.iterate(1)
        theirs.evaluate_and_update_policy()
        table = table_of(theirs)
        assert largest_difference(solver.average_policy().to_dict(), table) < 1e-12


# --- what changes nothing ----------------------------------------------------

SAMPLED = ["chance", "opponent", "external", "outcome"]


def vectors(solver):
    """All that a solver knows of each state, by name."""
    average, current = solver.average_policy(), solver.current_policy()
    return average.to_dict(), current.to_dict(), solver.nodes_touched


def assert_equal_bit_for_bit(grown, whole):
    """What both know is equal; what only the whole tree has was never met."""
    for mine, theirs in zip(vectors(grown)[:2], vectors(whole)[:2], strict=True):
        assert mine == {name: theirs[name] for name in mine}
        for name in theirs.keys() - mine.keys():
            assert set(theirs[name].values()) == {1 / len(theirs[name])}
    assert grown.nodes_touched == whole.nodes_touched


def test_a_snapshot_does_not_change_when_the_solver_goes_on():
    for algorithm in (ms.EXTERNAL_SAMPLING, ms.CFR):
        solver = Solver("kuhn_poker", algorithm, seed=4)
        solver.iterate(20)
        average, current = solver.average_policy(), solver.current_policy()
        before = average.to_dict(), current.to_dict()
        solver.iterate(20)
        assert (average.to_dict(), current.to_dict()) == before
        assert solver.average_policy().to_dict() != before[0]


# --- randomness --------------------------------------------------------------


@pytest.mark.parametrize("estimator", [*SAMPLED, "balanced_outcome"])
def test_only_the_seed_decides(estimator):
    algorithm = ms.Algorithm(ESTIMATORS[estimator], ms.regret_matching())
    results = []
    for seed in (0, 0, 1, -1, 2**64 - 1, 10**30):
        np.random.seed(len(results))
        solver = Solver("kuhn_poker", algorithm, seed=seed)
        solver.iterate(50)
        results.append(vectors(solver))
    first, again, one, minus_one, wrapped, huge = results
    assert again == first
    assert wrapped == minus_one  # modulo 2^64
    different = [first[0], one[0], minus_one[0], huge[0]]
    assert all(a != b for i, a in enumerate(different) for b in different[:i])
    assert np.random.RandomState(5).rand() == np.random.rand()  # still as seeded
