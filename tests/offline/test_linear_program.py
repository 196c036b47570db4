"""Linear programs against known values, OpenSpiel's NashConv and other solvers; the
sequence form and its factors."""

import importlib
import importlib.util

import hypothesis
import numpy as np
import pyspiel
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import strategies
from hypothesis.extra import numpy as arrays
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import expected_game_score

from mccfr_spiel.offline.linear_program import LinearProgramError, solve_lp, write_mps
from mccfr_spiel.offline.sequence_forms import (
    NotZeroSumError,
    TooLargeError,
    constraints,
    difference_factors,
    joint_vector,
    plan_to_policy,
    policy_to_plan,
    rank_one_factors,
    saddle_point_gap,
    sequence_form,
)

GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending,players=2)"
VALUES = {
    "kuhn_poker": -1 / 18,
    "leduc_poker": -0.085606424078,
    GOOFSPIEL: 0.0,
    "matrix_rps": 0.0,
}
FORMS = {
    "plain": {},
    "differences": {"sparsify": True},
    "rank_one": {"sparsify": True, "factorization": "rank_one"},
}


def openspiel_nash_conv(solution, game):
    table = {
        info_state: list(probabilities.items())
        for info_state, probabilities in solution.policy.to_dict().items()
    }
    return pyspiel.nash_conv(game, pyspiel.TabularPolicy(table))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("method", ["simplex", "interior_point"])
@pytest.mark.parametrize("game", VALUES)
def test_values_are_known_and_policies_are_certified_by_openspiel(game, method, form):
    sequences = sequence_form(game)
    solution = solve_lp(sequences, method=method, **form)
    assert solution.value == pytest.approx(VALUES[game], abs=1e-12)
    assert solution.nash_conv < 1e-12
    assert openspiel_nash_conv(solution, sequences.tree.game) < 1e-9


@pytest.mark.compiled
def test_liars_dice_is_minus_7_over_258():
    solution = solve_lp("liars_dice")
    assert solution.value == pytest.approx(-7 / 258, abs=1e-12)
    assert solution.nash_conv < 1e-9


@pytest.mark.parametrize("unit", [1.0, 1e-14, 1e20])
def test_constant_sum_shifts_player_1s_value(unit):
    # Matching pennies with stakes 3 and 1; both payoffs add up to 3.
    stakes = unit * np.diag([3.0, 1.0])
    solution = solve_lp(pyspiel.create_matrix_game(stakes, 3 * unit - stakes))
    duals = [one[0] for one in solution.duals]
    found = np.array([solution.value, *duals]) / unit
    assert found == pytest.approx([0.75, 0.75, 2.25], abs=1e-12)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_duals_are_feasible_and_prove_the_value(form):
    sequences = sequence_form("leduc_poker")
    solution = solve_lp(sequences, **form)
    plans = [
        policy_to_plan(plex, solution.policy.vector[plex.sequences])
        for plex in sequences.treeplexes
    ]
    first, second = (constraints(plex)[0] for plex in sequences.treeplexes)
    own, other = solution.duals
    # F' u >= A y and F' v >= -A' x: no plan of either player does better than its dual.
    assert (first.T @ own - sequences.payoffs @ plans[1]).min() > -1e-9
    assert (second.T @ other + sequences.payoffs.T @ plans[0]).min() > -1e-9
    assert own[0] == pytest.approx(-other[0], abs=1e-10)


# --- bad input ---------------------------------------------------------------


@pytest.mark.compiled
def test_time_limit_is_told_in_words_and_the_work_is_kept():
    form = sequence_form("liars_dice")
    with pytest.raises(LinearProgramError, match="limit of time") as caught:
        solve_lp(form, time_limit=1e-3)
    assert caught.value.status == 1
    assert caught.value.form is form
    assert caught.value.program.num_variables == 36860
    assert "36860 constraints, 36860 variables" in str(caught.value)


def test_other_games_are_refused():
    with pytest.raises(NotZeroSumError, match="3 players"):
        solve_lp("kuhn_poker(players=3)")
    with pytest.raises(
        NotZeroSumError, match=r"^matrix_pd\(\) is neither .*constant-sum"
    ):
        solve_lp("matrix_pd")
    with pytest.raises(NotZeroSumError, match="add up to 2e-12 at one end, to 3e-12"):
        solve_lp(pyspiel.create_matrix_game([[1e-12, 2e-12]], [[1e-12, 1e-12]]))
    with pytest.raises(TooLargeError, match="5520 terminal histories"):
        sequence_form("leduc_poker", max_leaves=5519)


# --- MPS ---------------------------------------------------------------------


def solved_by_another_reader(path):
    """The optimum of an MPS file by HiGHS's own reader: highspy's or scipy's copy."""
    if importlib.util.find_spec("highspy"):
        package = importlib.import_module("highspy")
        solver = package.Highs()
    else:
        package = pytest.importorskip("scipy.optimize._highspy._core")
        solver = package._Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == package.HighsStatus.kOk
    solver.run()
    return solver.getInfo().objective_function_value, solver.getLp()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("game", ["kuhn_poker"])
def test_mps_file_solves_to_minus_the_value(game, form, tmp_path):
    path = tmp_path / "game.mps"
    program = write_mps(game, path, **form)
    optimum, read = solved_by_another_reader(path)
    assert optimum == pytest.approx(-VALUES[game], abs=1e-9)
    assert read.num_col_ == program.num_variables
    assert read.num_row_ == program.num_constraints
    assert read.a_matrix_.start_[-1] == program.num_nonzeros


# --- sparsification ----------------------------------------------------------

METHODS = [difference_factors, rank_one_factors]


def dense(factors):
    """The product, by dense linear algebra."""
    residual, left, middle, right = (factor.toarray() for factor in factors)
    if not factors.rank:
        return residual
    return residual + left @ np.linalg.solve(middle, right)


def triangle(size):
    return scipy.sparse.csr_array(np.triu(np.ones((size, size))))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", GOOFSPIEL, "matrix_rps"])
def test_factors_multiply_back_to_the_payoffs(game, method):
    matrix = sequence_form(game).payoffs
    factors = method(matrix)
    np.testing.assert_allclose(dense(factors), matrix.toarray(), atol=1e-14)
    assert factors.num_nonzeros <= matrix.nnz


@pytest.mark.parametrize("method", METHODS)
@hypothesis.settings(deadline=None, max_examples=60)
@hypothesis.given(
    matrix=arrays.arrays(
        np.float64,
        strategies.tuples(strategies.integers(1, 12), strategies.integers(1, 12)),
        elements=strategies.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 3.0]),
    )
)
def test_factors_multiply_back_to_any_matrix(matrix, method):
    sparse = scipy.sparse.csr_array(matrix)
    factors = method(sparse)
    np.testing.assert_allclose(dense(factors), matrix, atol=1e-9)
    assert factors.num_nonzeros <= sparse.nnz


def test_rank_one_factors_of_a_triangle_are_n_log_n():
    factors = rank_one_factors(triangle(200))
    assert factors.num_nonzeros <= 2 * 200 * np.log2(200)


def test_leduc_and_liars_dice_shrink():
    # Measured; a factorization that found less would be a step back.
    assert difference_factors(sequence_form("leduc_poker").payoffs).num_nonzeros <= 4168
    assert rank_one_factors(sequence_form("leduc_poker").payoffs).num_nonzeros <= 4100


# --- the sequence form -------------------------------------------------------

GAMES = [
    "kuhn_poker",
    "leduc_poker(suit_isomorphism=True)",
    "matrix_rps",
    "matrix_mp",
    GOOFSPIEL,
]


def random_policies(form, seed):
    """A random policy `[m]` for each player, some entries 0."""
    rng = np.random.default_rng(seed)
    policies = []
    for plex in form.treeplexes:
        weights = rng.random(plex.num_sequences) * (
            rng.random(plex.num_sequences) < 0.8
        )
        policies.append(plan_to_policy(plex, weights))
    return policies


def tabular(form, policies):
    """The same as OpenSpiel's tabular policy on the turn-based game."""
    tree = form.tree
    vector = joint_vector(form, tuple(policies))
    table = policy_lib.TabularPolicy(tree.game)
    for info_state, row in table.state_lookup.items():
        infoset = tree.find(info_state)
        start = tree.infosets["first_sequence"][infoset]
        stop = start + tree.infosets["num_actions"][infoset]
        table.action_probability_array[row] = 0
        table.action_probability_array[row, tree.actions[start:stop]] = vector[
            start:stop
        ]
    return table


@pytest.mark.parametrize("name", GAMES)
def test_bilinear_form_is_openspiels_expected_value(name):
    form = sequence_form(name)
    policies = random_policies(form, seed=1)
    x, y = map(policy_to_plan, form.treeplexes, policies)
    table = tabular(form, policies)
    values = expected_game_score.policy_value(
        form.tree.game.new_initial_state(), [table, table]
    )
    assert x @ (form.payoffs @ y) == pytest.approx(values[0], abs=1e-12)
    assert form.constant - x @ (form.payoffs @ y) == pytest.approx(values[1], abs=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_saddle_point_gap_is_openspiels_nash_conv(name):
    form = sequence_form(name)
    policies = random_policies(form, seed=2)
    plans = map(policy_to_plan, form.treeplexes, policies)
    table = policy_lib.python_policy_to_pyspiel_policy(tabular(form, policies))
    expected = pyspiel.nash_conv(form.tree.game, table)
    assert saddle_point_gap(form, *plans) == pytest.approx(expected, abs=1e-12)
