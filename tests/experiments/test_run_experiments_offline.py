"""The offline methods, FTRL, OMD and bounds from the command line."""

import json

import pytest

from tests.experiments.test_run_experiments import read_rows, refused, run

VALUE = -1 / 18


def test_first_order_methods_leave_the_same_files_and_stay_below_their_bounds(tmp_path):
    for algorithm in ("egt", "mirror_prox"):
        folder = tmp_path / algorithm
        result = run(
            "--game=kuhn_poker",
            f"--algorithm={algorithm}",
            "--iterations=100",
            "--bounds",
            f"--output_dir={folder}",
        )
        assert result.returncode == 0, result.stderr
        assert sorted(path.name for path in folder.iterdir()) == [
            "convergence.png",
            "policy.json",
            "results.csv",
            "settings.json",
        ]
        table = read_rows(folder)
        assert [int(row["iteration"]) for row in table][-2:] == [63, 100]
        gaps = [float(row["nash_conv"]) for row in table]
        assert all(float(row["bound"]) > float(row["nash_conv"]) for row in table)
        assert gaps[-1] < 0.05


@pytest.mark.parametrize("algorithm", ["lp", "sparsified_lp"])
def test_a_linear_program_leaves_one_row_the_value_and_the_policy(tmp_path, algorithm):
    folder = tmp_path / "out"
    result = run(
        "--game=kuhn_poker",
        f"--algorithm={algorithm}",
        "--method=interior_point",
        "--time_limit=60",
        *(["--factorization=rank_one"] if algorithm == "sparsified_lp" else []),
        f"--output_dir={folder}",
    )
    assert result.returncode == 0, result.stderr
    assert "Value for player 0: -0.0555555555556" in result.stdout
    (row,) = read_rows(folder)
    assert float(row["nash_conv"]) < 1e-12
    assert json.loads((folder / "solution.json").read_text())["value"] == pytest.approx(
        VALUE, abs=1e-12
    )
    players = json.loads((folder / "policy.json").read_text())["players"]
    assert [len(player) for player in players] == [6, 6]


def test_games_and_limits_that_the_run_meets_are_told_in_words(tmp_path):
    message = refused("--algorithm=lp", "--resume", f"--output_dir={tmp_path / 'a'}")
    assert "lp makes no checkpoints" in message
    for words, flags in {
        "neither zero-sum nor constant-sum": ["--game=matrix_pd", "--algorithm=egt"],
        "max_nodes=1000": ["--algorithm=lp", "--max_nodes=1000"],
        "the limit of time": ["--algorithm=lp", "--time_limit=1e-4"],
    }.items():
        result = run(*flags, f"--output_dir={tmp_path / flags[-1]}")
        assert result.returncode == 1
        assert words in result.stderr
        assert "Traceback" not in result.stderr
        if flags[0] == "--algorithm=lp" and "time" in words:
            program = (tmp_path / flags[-1] / "program.mps").read_text()
            assert program.startswith("NAME leduc_poker")
            assert program.rstrip().endswith("ENDATA")
