"""`ms.solve` reaches targets, and its certificates contain independent values."""

import csv
import itertools
import time

import numpy as np
import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from mccfr_spiel.arenas.evaluating import complete_table
from mccfr_spiel.common.budget import TimeIsOverError, never
from mccfr_spiel.solutions import race
from mccfr_spiel.solutions.contenders import LINEAR_CFR
from mccfr_spiel.solutions.race import searched
from mccfr_spiel.solutions.racers import Racer
from mccfr_spiel.solutions.sampled_search import SampledSearch
from mccfr_spiel.solutions.solution import rounded_outwards
from mccfr_spiel.solutions.targets import Deadline
from mccfr_spiel.solving.status_line import Status

VALUES = {
    "kuhn_poker": -1 / 18,
    "leduc_poker": -0.0856064240780,
    "liars_dice(dice_sides=4)": None,
    "python_one_card_poker(cards=20)": None,
    "python_search(turns=4)": 0.9701492537313,
}
"""Published values for player 0; None: computed by the linear program."""

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("game", VALUES)
@pytest.mark.parametrize("relative", [1e-2, 1e-4])
def test_bounds_contain_the_value_and_the_target_is_reached(game, relative):
    solution = ms.solve(game, relative=relative)
    value = VALUES[game]
    if value is None:
        value = ms.solve_lp(game).value
    assert solution.reached
    assert solution.nash_conv is not None
    assert solution.value_bounds is not None
    assert solution.nash_conv <= solution.target
    low, high = solution.value_bounds
    assert low - 1e-9 <= value <= high + 1e-9
    assert high - low == pytest.approx(solution.nash_conv, abs=1e-12)


def test_nash_conv_equals_that_of_openspiel():
    solution = ms.solve("kuhn_poker", exploitability=1e-3)
    policy = solution.policy.to_tabular()
    conv = exploitability.nash_conv(solution.policy.game, policy)
    assert solution.nash_conv == pytest.approx(conv, abs=1e-12)
    assert solution.reached


def test_algorithm_and_iterations_reproduce_the_policy():
    solution = ms.solve("leduc_poker", relative=1e-3)
    assert solution.algorithm is not None
    solver = ms.Solver("leduc_poker", solution.algorithm)
    solver.iterate(solution.iterations)
    assert np.array_equal(solver.average_vector(), solution.policy.vector)
    again = ms.solve("leduc_poker", relative=1e-3)
    assert again.iterations == solution.iterations
    assert np.array_equal(again.policy.vector, solution.policy.vector)


def test_very_small_targets_use_the_linear_program():
    solution = ms.solve("leduc_poker", nash_conv=1e-10)
    assert solution.algorithm is None
    assert solution.nash_conv is not None
    assert solution.nash_conv <= 1e-10
    assert "linear program" in str(solution)


def test_tiny_targets_do_not_overflow():
    solution = ms.solve("kuhn_poker", nash_conv=1e-300)
    assert ms.nash_conv("kuhn_poker", solution.policy) < 1e-12


def test_other_contenders_join_and_may_win(monkeypatch):
    monkeypatch.setattr(race, "JOIN_NODES", 1e4)
    monkeypatch.setattr(race, "MOST_LEAVES_OF_A_PROGRAM", 0)
    solution = ms.solve("leduc_poker", relative=1e-4)
    tried = {step.algorithm for step in solution.trace}
    assert tried == {"SAPCFR+", "DCFR+", "PDCFR+"}
    best = min(step.nash_conv for step in solution.trace)
    assert solution.nash_conv == best


def test_three_players_report_gains_and_no_value():
    solution = ms.solve("kuhn_poker(players=3)", relative=1e-2)
    assert solution.algorithm == LINEAR_CFR
    assert solution.value_bounds is None
    assert solution.gains is not None
    assert sum(solution.gains) == pytest.approx(solution.nash_conv)
    assert "gains of the players" in str(solution)
    assert solution.solver is not None
    assert solution.cce_gap == solution.solver.cce_gaps().max()
    assert "coarse correlated equilibrium" in str(solution)


def test_a_stalled_search_ends(monkeypatch):
    """In this general-sum game the average policy of CFR is no equilibrium."""
    game = "python_goofspiel(num_cards=3,returns_type=point_difference)"
    racer = Racer(ms.GameTree(game).expand_all(), LINEAR_CFR, True, threads=1, seed=0)
    racer.points = [(500, 0.1), (1_000, 0.1), (2_000, 0.0999)]
    assert racer.has_stalled
    racer.points[-1] = (2_000, 0.05)
    assert not racer.has_stalled


def test_a_time_limit_returns_the_best_policy_so_far(monkeypatch):
    monkeypatch.setattr(race, "MOST_LEAVES_OF_A_PROGRAM", 0)
    solution = ms.solve("leduc_poker", nash_conv=1e-14, seconds=0.3)
    assert not solution.reached
    assert "not reached" in str(solution)
    assert solution.solver is not None
    assert solution.policy.vector.size == solution.solver.tree.num_sequences


def stopped_after(count):
    """A function that returns False for `count` calls, then True."""
    calls = itertools.count(1)
    return lambda: next(calls) > count


def test_reading_a_game_can_be_stopped():
    """The trees of these games have over 10^7 nodes and take minutes to read."""
    games = "oshi_zumo(coins=4,size=1)", "quoridor(board_size=3)"
    for game in games:
        deadline = Deadline.after(None, stopped_after(2))
        with Status(False) as status:
            solution = searched(game, 1e-3, deadline, status)
        assert "the search was interrupted" in str(solution)
        assert solution.nash_conv is None
        assert not solution.reached


def test_a_stopped_walk_leaves_a_solver_that_can_continue():
    def new_solver():
        tree = ms.GameTree("tic_tac_toe", twin=False)
        return ms.Solver(tree, ms.EXTERNAL_SAMPLING, seed=1)

    solver, whole = new_solver(), new_solver()
    solver.tree.budget.is_over = stopped_after(40)
    with pytest.raises(TimeIsOverError):
        solver.iterate(10)
    assert solver.tree.num_nodes > 100
    solver.tree.budget.is_over = never
    solver.iterate(10 - solver.num_iterations)
    whole.iterate(10)
    assert solver.average_policy().to_dict() == whole.average_policy().to_dict()


def test_time_includes_reading_the_game(monkeypatch):
    def slow(*args, **kwargs):
        time.sleep(0.2)
        return complete_table(*args, **kwargs)

    monkeypatch.setattr(race, "complete_table", slow)
    assert ms.solve("kuhn_poker").seconds >= 0.2


def test_sampled_search_reports_a_lower_bound_only():
    game = ms.GameTree("leduc_poker").source
    found = SampledSearch(game, 2.0, Deadline.after(None), seed=1)
    with Status(False) as status:
        solution = found.run(status)
    assert not solution.reached
    assert solution.nash_conv is None
    assert "only a lower bound" in str(solution)
    exact = ms.nash_conv("leduc_poker", solution.policy)
    gain = sum(response.gain.mean for response in solution.responses)
    slack = sum(response.gain.half_width for response in solution.responses)
    assert gain <= exact + slack


def test_spots_of_poker_are_solved_in_blocks():
    game = ms.poker.subgame(
        board="Ks7d4c2s9h",
        pot=100,
        stacks=300,
        ranges=("random", "random"),
        bets="75%",
        raises="a",
    )
    solution = ms.solve(game, relative=1e-2)
    assert solution.solver is not None
    assert solution.solver.store == "blocks"
    assert solution.reached
    assert solution.nash_conv == pytest.approx(
        ms.nash_conv(game, solution.policy), abs=1e-3
    )


def test_imperfect_recall_is_refused():
    with pytest.raises(ValueError, match="imperfect recall"):
        ms.solve("liars_dice_ir")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nash_conv": 1, "relative": 1}, "Expected one target"),
        ({"nash_conv": 0}, "nash_conv=0"),
        ({"nash_conv": float("inf")}, "nash_conv=inf"),
        ({"relative": float("nan")}, "relative=nan"),
        ({"seconds": -1}, "seconds=-1"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ms.solve("kuhn_poker", **arguments)


def test_exploitability_needs_two_players():
    with pytest.raises(ValueError, match="Use nash_conv instead"):
        ms.solve("kuhn_poker(players=3)", exploitability=0.1)


def test_saved_solutions_can_be_loaded(tmp_path):
    solution = ms.solve("kuhn_poker", relative=1e-2)
    solution.save(tmp_path)
    assert np.array_equal(ms.load_policy(tmp_path).vector, solution.policy.vector)
    solver = ms.Solver.load(tmp_path / "solver.checkpoint")
    assert solver.num_iterations == solution.iterations
    with (tmp_path / "trace.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(solution.trace)
    assert (tmp_path / "solution.txt").read_text() == f"{solution}\n"


def test_printed_intervals_contain_the_interval():
    rng = np.random.default_rng(0)
    for _ in range(1_000):
        low = rng.normal() * 10.0 ** rng.integers(-6, 6)
        high = low + rng.exponential() * 10.0 ** rng.integers(-12, 3)
        texts = rounded_outwards(low, high)
        assert float(texts[0]) <= low
        assert high <= float(texts[1])
    assert rounded_outwards(0.0, 0.0) == ("0.00", "0.00")
