"""Experiments of the papers: sizes, summaries, figures and Table 1."""

import csv
import functools

import pytest

import mccfr_spiel as ms
from mccfr_spiel.experiments import (
    Curve,
    Experiment,
    Panel,
    Settings,
    lanctot_table,
    panels,
    papers,
    sweeps,
)
from mccfr_spiel.experiments.tasks import run_task
from tests.vectors import LEDUC


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    return tmp_path_factory.mktemp("trees")


def test_summary_has_means_and_figures_show_best_curves(tmp_path, trees):
    pytest.importorskip("matplotlib")
    base = Settings(game="kuhn_poker", iterations=100, print_freq=50)
    curves = [Curve("plain", base)]
    for step in (0.001, 1.0):
        changed = base._replace(algorithm=ms.Algorithm(ms.EXTERNAL, ms.ftrl(step)))
        curves.append(Curve(f"step {step}", changed, "FTRL"))
    experiment = Experiment((Panel("Kuhn", tuple(curves), 58),), seeds=3)
    sweep = panels.sweep(experiment)
    assert len(sweep) == 9
    in_line = functools.partial(map, run_task)
    assert sweeps.run_sweep(sweep, tmp_path, in_line, trees=trees) == []
    summary = panels.summarize(experiment, tmp_path)
    rows = panels.read_summary(summary)["Kuhn"]["plain"]
    assert [row["iteration"] for row in rows] == ["50.0", "100.0"]
    gaps = []
    for seed in range(3):
        solver = ms.Solver("kuhn_poker", ms.EXTERNAL_SAMPLING, seed=seed)
        solver.iterate(100)
        gaps.append(ms.nash_conv("kuhn_poker", solver.average_policy()))
    mean = sum(gaps) / 3
    assert float(rows[-1]["nash_conv"]) == pytest.approx(mean, abs=1e-12)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / 2) ** 0.5
    assert float(rows[-1]["nash_conv_std"]) == pytest.approx(spread, abs=1e-12)
    drawn = panels.best_of_families(panels.read_summary(summary)["Kuhn"])
    assert list(drawn) == ["plain", "step 1.0"]
    panels.save_experiment(experiment, summary)
    for name in ("figure.png", "figure.svg", "appendix.png", "appendix.svg"):
        assert (tmp_path / name).stat().st_size > 1000


def written(folder, curve, seed, nodes, header="nodes_touched"):
    """Writes the finished rows of a seed, with NashConv 1000 / nodes."""
    lines = [f"iteration,{header},seconds,nash_conv,exploitability,bound"]
    lines += [f"{k},{n},0.5,{1000 / n!r},," for k, n in enumerate(nodes, 1)]
    path = folder / f"{sweeps.key(PANEL.title, curve.label, seed)}.csv"
    path.write_text("\n".join(lines) + "\n")


BY_NODES = Curve("plain", Settings(until_nodes_touched=500, print_freq=100))
PANEL = Panel("Game", (BY_NODES,), 50)


def summarized(folder, panel=PANEL):
    path = panels.summarize(Experiment((panel,)), folder)
    return list(csv.DictReader(path.read_text().splitlines()))


def test_means_combine_rows_at_equal_due_numbers(tmp_path):
    """The second iteration of seed 0 passes the due numbers 200 and 300 in one row."""
    written(tmp_path, BY_NODES, 0, [110, 310, 420, 505])
    written(tmp_path, BY_NODES, 1, [120, 210, 330, 410, 530])
    rows = summarized(tmp_path)
    assert [row["due"] for row in rows] == ["100", "200", "300", "400", "500"]
    assert {row["seeds"] for row in rows} == {"2"}
    pairs = [(110, 120), (310, 210), (310, 330), (420, 410), (505, 530)]
    for row, (first, second) in zip(rows, pairs, strict=True):
        assert float(row["nodes_touched"]) == (first + second) / 2
        gaps = 1000 / first, 1000 / second
        assert float(row["nash_conv"]) == pytest.approx(sum(gaps) / 2, abs=1e-12)
        spread = abs(gaps[0] - gaps[1]) / 2**0.5  # sample deviation of two numbers
        assert float(row["nash_conv_std"]) == pytest.approx(spread, abs=1e-12)


def test_curves_with_equal_file_names_are_refused():
    curves = (Curve("step 1", BY_NODES.settings), Curve("step: 1", BY_NODES.settings))
    with pytest.raises(ValueError, match="Two curves would share the files"):
        panels.sweep(Experiment((Panel("Game", curves, 50),)))


def test_experiments_have_published_sizes():
    sizes = {
        name: len(panels.sweep(experiment))
        for name, experiment in papers.EXPERIMENTS.items()
    }
    assert sizes["lanctot2009_figure1"] == 16
    assert sizes["farina2020_figure3"] == sizes["farina2020_figure4"] == 5 * 9 * 50
    with pytest.raises(
        ValueError,
        match=r"only='chess' matches no setting\. Expected a part of goofspiel",
    ):
        panels.sweep(papers.EXPERIMENTS["lanctot2009_figure1"], only="chess")


def test_table_1_measures_sizes_and_times(tmp_path, monkeypatch):
    monkeypatch.setattr(lanctot_table, "_TIMED_SECONDS", 0.01)
    (tmp_path / "own_of_table.py").write_text("")  # --import accepts paths
    row = lanctot_table.measure_game(
        LEDUC, (str(tmp_path / "own_of_table.py"),), tmp_path
    )
    tree = ms.GameTree(LEDUC).expand_all()
    assert row["histories"] == tree.num_nodes
    assert row["infosets_0"] + row["infosets_1"] == tree.num_infosets
    assert row["longest_history"] == max(
        state.move_number() for state in leaves(tree.new_state())
    )
    assert row["outcome_seconds"] < row["external_seconds"] < row["cfr_seconds"]
    with pytest.raises(
        ValueError, match=r"only='chess' matches no game\. Expected a part of Goofspiel"
    ):
        lanctot_table.make_table(tmp_path, only="chess")


def leaves(state):
    if state.is_terminal():
        yield state
    for action in state.legal_actions():
        yield from leaves(state.child(action))
