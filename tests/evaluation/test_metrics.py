"""Metrics, against OpenSpiel's numbers."""

import itertools

import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability

import mccfr_spiel as ms
from mccfr_spiel.evaluation.metrics import named_metrics

pytestmark = pytest.mark.compiled


@pytest.fixture
def solver() -> ms.Solver:
    solver = ms.Solver("kuhn_poker", ms.EXTERNAL_SAMPLING, seed=3)
    solver.iterate(50)
    return solver


def test_nash_conv_and_the_last_iterate_are_openspiels(solver):
    game = pyspiel.load_game("kuhn_poker")
    average, current = solver.average_policy(), solver.current_policy()
    gap = pyspiel.nash_conv(game, average.to_pyspiel())
    last = pyspiel.nash_conv(game, current.to_pyspiel())
    assert ms.metrics.nash_conv(solver) == pytest.approx(gap, abs=1e-12)
    assert ms.metrics.last_iterate(solver) == pytest.approx(last, abs=1e-12)
    assert gap != pytest.approx(last, abs=0.01)


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("is_uniform", [True, False])
def test_head_to_head_is_the_mean_of_openspiels_values_over_seats(players, is_uniform):
    game = pyspiel.load_game(f"kuhn_poker(players={players})")
    solver = ms.Solver(game, seed=1)
    solver.iterate(20)
    other = ms.Solver(game, seed=2)
    other.iterate(20)
    opponent = openspiel_policy.UniformRandomPolicy(game)
    if not is_uniform:
        opponent = other.average_policy()
    metric = ms.metrics.head_to_head("uniform" if is_uniform else opponent)
    values = []
    for seat in range(players):
        seats = [opponent] * players
        seats[seat] = solver.average_policy()
        state = game.new_initial_state()
        values.append(expected_game_score.policy_value(state, seats)[seat])
    assert metric(solver) == pytest.approx(sum(values) / players, abs=1e-12)


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ("nash_konv", "'nash_konv' is no metric"),
        (3, "3 is no metric"),
        (ms.nash_conv, "is no metric: give a function of the solver"),
        ({"a,b": len}, "cannot name a column"),
        (["nash_conv", "nash_conv"], "Two metrics are called 'nash_conv'"),
    ],
)
def test_wrong_metrics_are_refused(metrics, words):
    with pytest.raises(ValueError, match=words):
        named_metrics(metrics)


# --- Solver.run --------------------------------------------------------------------


def test_run_measures_where_rows_are_due_and_changes_no_bit():
    solver, plain = (ms.Solver("kuhn_poker", seed=5) for _ in range(2))
    solver.run(30, metrics=ms.metrics.nash_conv)
    game = pyspiel.load_game("kuhn_poker")
    for row in solver.history:
        plain.iterate(row["iteration"] - plain.num_iterations)
        gap = exploitability.nash_conv(game, plain.average_policy())
        assert row["nash_conv"] == pytest.approx(gap, abs=1e-12)
        assert row["nodes_touched"] == plain.nodes_touched
    found = [row["iteration"] for row in solver.history]
    assert found == [1, 2, 3, 4, 6, 10, 16, 25, 30]
    assert (plain.average_vector() == solver.average_vector()).all()


def test_a_history_goes_on_and_a_callback_ends_the_run():
    solver = ms.Solver("kuhn_poker")
    solver.run(10)
    assert solver.run(30) is solver.history
    assert [row["iteration"] for row in solver.history][-3:] == [16, 25, 40]
    solver.run(100, callback=lambda row: row["iteration"] >= 63)
    assert solver.num_iterations == 63


def test_a_metric_that_gives_no_number_is_named():
    solver = ms.Solver("kuhn_poker")
    with pytest.raises(ValueError, match="'odd' returned 'x', expected a number"):
        solver.run(1, metrics={"odd": lambda solver: "x"})  # pyright: ignore
    with pytest.raises(ValueError, match=r"Give what head_to_head\(...\) returns"):
        solver.run(1, metrics=ms.metrics.head_to_head)  # pyright: ignore
    assert not list(itertools.islice(solver.history, 1))
