"""Metrics, against OpenSpiel's numbers."""

import itertools

import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability

import mccfr_spiel as ms
from mccfr_spiel.evaluation import exact
from mccfr_spiel.evaluation.metrics import METRICS, named_metrics
from mccfr_spiel.offline.methods import OFFLINE_METHODS

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


def test_head_to_head_reads_a_policy_from_a_file(solver, tmp_path):
    policy = solver.average_policy()
    policy.save(tmp_path / "policy.bin")
    against_itself = ms.metrics.head_to_head(tmp_path / "policy.bin")
    assert against_itself(solver) == pytest.approx(0, abs=1e-12)


def test_the_last_iterate_of_a_method_without_one_is_refused():
    offline = OFFLINE_METHODS["lp"].start(ms.GameTree("kuhn_poker").expand_all())
    with pytest.raises(ValueError, match="no last iterate"):
        ms.metrics.last_iterate(offline)


def test_metrics_are_given_by_name_by_function_or_with_labels():
    def mine(solver):
        return 1.0

    assert named_metrics(None, ["nash_conv"]) == {"nash_conv": METRICS["nash_conv"]}
    assert named_metrics(mine) == {"mine": mine}
    assert list(named_metrics(["last_iterate", mine])) == ["last_iterate", "mine"]
    assert named_metrics({"a": mine, "b": "nash_conv"}) == {  # pyright: ignore
        "a": mine,
        "b": METRICS["nash_conv"],
    }


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ("nash_konv", "'nash_konv' is no metric"),
        (3, "3 is no metric"),
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


def test_run_until_nodes_ends_with_the_iteration_that_reaches_them():
    solver = ms.Solver("kuhn_poker", ms.CFR)
    solver.run(until_nodes=1e3)
    before, last = solver.history[-2:]
    assert before["nodes_touched"] < 1000 <= last["nodes_touched"]
    assert last["nodes_touched"] == solver.num_iterations * 116  # 58 nodes, 2 players


def test_an_iteration_that_passes_several_numbers_leaves_one_row():
    solver = ms.Solver("kuhn_poker", ms.CFR)
    solver.run(until_nodes=400, rows_per_decade=10_000)  # each number is due
    assert [row["nodes_touched"] for row in solver.history] == [116, 232, 348, 464]


def test_a_history_shows_itself_as_a_table():
    solver = ms.Solver("kuhn_poker", ms.CFR)
    solver.run(1000, metrics={"<b>": lambda solver: 0.25})
    lines = repr(solver.history).splitlines()
    assert lines[0].split() == ["iteration", "nodes_touched", "seconds", "<b>"]
    assert lines[-1].split()[0] == "1,000"
    assert ">&lt;b&gt;</th>" in solver.history._repr_html_()
    assert repr(ms.Solver("kuhn_poker").history) == "History of no rows"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"num_iterations": 1, "until_nodes": 1}, {"num_iterations": -1}],
)
def test_wrong_lengths_of_a_run_are_refused(arguments):
    with pytest.raises(ValueError, match="num_iterations"):
        ms.Solver("kuhn_poker").run(**arguments)


def test_a_metric_that_gives_no_number_is_named():
    solver = ms.Solver("kuhn_poker")
    with pytest.raises(ValueError, match="'odd' returned 'x', which is no number"):
        solver.run(1, metrics={"odd": lambda solver: "x"})  # pyright: ignore
    assert not list(itertools.islice(solver.history, 1))


def test_metrics_have_the_threads_of_the_solver(monkeypatch):
    asked = []
    real = exact.full_pass

    def noted(tree, threads=1):
        asked.append(threads)
        return real(tree, threads)

    monkeypatch.setattr(exact, "full_pass", noted)
    solver = ms.Solver("kuhn_poker", ms.CFR, threads=2)
    for metric in METRICS.values():
        asked.clear()
        metric(solver)
        assert asked
        assert {*asked} == {2}
