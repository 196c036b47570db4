"""Joining result folders of earlier runs into one table."""

import json
import shutil

import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.experiments import read_runs

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with four runs of `solve` and one comparison."""
    folder = tmp_path_factory.mktemp("results")
    for algorithm, seed in (("cfr", 0), ("external_sampling", 0)):
        solve(folder, algorithm, seed)
    solve(folder, "external_sampling", 1)
    solve(folder, "outcome_sampling", 0, "--epsilon=0.3")
    options = "--seeds=1", "--iterations=20", "--workers=1", "--figure_format=svg"
    where = f"--output_dir={folder / 'compared'}"
    assert main(["compare", "matrix_rps", "--algorithms=lcfr", *options, where]) == 0
    return folder


def solve(folder, algorithm, seed, *more):
    name = folder / f"{algorithm}{seed}"
    options = f"--seed={seed}", "--iterations=40", f"--output_dir={name}", "--quiet"
    command = "solve", "kuhn_poker", f"--algorithm={algorithm}", *options, *more
    assert main([*command, "--figure_format=svg"]) == 0


def test_joined_table_has_all_rows_of_all_runs(results):
    table = read_runs([results, results / "compared"])
    runs = table[["game", "algorithm", "seed"]].drop_duplicates()
    assert [tuple(run) for run in runs.itertuples(index=False)] == [
        ("kuhn_poker", "cfr", 0),
        ("kuhn_poker", "external_sampling", 0),
        ("kuhn_poker", "external_sampling", 1),
        ("kuhn_poker", "outcome sampling (epsilon 0.3)", 0),
        ("matrix_rps", "lcfr", 0),
    ]
    assert table.metrics == ["nash_conv", "exploitability"]
    solver = ms.Solver("kuhn_poker", ms.CFR)
    solver.iterate(40)
    expected = ms.nash_conv("kuhn_poker", solver.average_policy())
    ends = table.final().loc[("kuhn_poker", "cfr"), "nash_conv"]
    assert ends == pytest.approx(expected, abs=1e-12)
    lines = sum(
        len((folder / "results.csv").read_text().splitlines()) - 1
        for folder in results.iterdir()
        if (folder / "results.csv").exists()
    )
    assert (table.game == "kuhn_poker").sum() == lines


def test_command_writes_table_and_figure(results, tmp_path, capsys):
    folders = str(results / "cfr0"), str(results / "external_sampling1")
    where = f"--output_dir={tmp_path}"
    assert main(["compare", "--from", *folders, where, "--figure_format=png"]) == 0
    assert "external_sampling" in capsys.readouterr().out
    assert {"comparison.csv", "figure.png"} == {p.name for p in tmp_path.iterdir()}
    assert main(["compare", "--from", *folders, where, "--seeds=3"]) == 1
    assert "--seeds has no effect with --from" in capsys.readouterr().err


def test_missing_results_and_repeated_runs_are_refused(results, tmp_path):
    with pytest.raises(ValueError, match=r"has no results\. Expected results\.csv"):
        read_runs(tmp_path)
    with pytest.raises(ValueError, match="folders is empty"):
        read_runs([])
    twice = shutil.copytree(results / "cfr0", tmp_path / "copy")
    with pytest.raises(ValueError, match=r"copy have the same run: .*seed 0"):
        read_runs([results, twice])
    (twice / "results.csv").write_text("iteration,nonsense\n1,2\n")
    with pytest.raises(ValueError, match="lacks the columns"):
        read_runs(twice)


def test_code_named_in_a_folder_is_not_imported(results, tmp_path):
    folder = shutil.copytree(results / "cfr0", tmp_path / "strange")
    path = folder / "settings.json"
    values = json.loads(path.read_text())
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    values["settings"]["minimizer"] = f"{tmp_path}/evil.py:rule"
    path.write_text(json.dumps(values))
    assert {*read_runs(folder).algorithm} == {values["algorithm"]}
