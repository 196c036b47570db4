"""The offline methods, FTRL, OMD and bounds from the command line."""

import json

import pytest

import mccfr_spiel as ms
from mccfr_spiel.experiments import Settings, named_settings
from mccfr_spiel.experiments import run as run_settings
from mccfr_spiel.experiments.settings import check
from mccfr_spiel.offline.methods import EGT
from tests.experiments.test_run_experiments import read_rows, refused, run

VALUE = -1 / 18


@pytest.mark.plain
def test_first_order_methods_leave_the_same_files_and_stay_below_their_bounds(tmp_path):
    for algorithm in ("egt", "practical_egt", "mirror_prox"):
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


@pytest.mark.plain
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


def test_ftrl_and_omd_take_step_size_and_weights():
    policies = []
    for algorithm, make in (("ftrl", ms.ftrl), ("omd", ms.omd)):
        settings = named_settings(
            game="kuhn_poker",
            algorithm=algorithm,
            step_size=0.5,
            weights="kroer",
            iterations=200,
        )
        solver, _ = run_settings(settings)
        policies.append(solver.average_vector())
        minimizer = make(0.5, weights="kroer")
        assert settings.algorithm == ms.Algorithm(ms.EXTERNAL, minimizer)
    assert policies[0] == pytest.approx(policies[1], abs=1e-10)


@pytest.mark.parametrize(
    "algorithm",
    [ms.CFR, ms.EXTERNAL_SAMPLING, ms.OUTCOME_SAMPLING, EGT],
    ids=["cfr", "external_sampling", "outcome_sampling", "egt"],
)
def test_bounds_are_above_the_measured_nash_conv(algorithm):
    settings = Settings("kuhn_poker", algorithm, iterations=1000, bounds=True)
    _, rows = run_settings(settings)
    assert all(row["nash_conv"] < row["bound"] for row in rows)
    assert rows[-1]["bound"] < rows[0]["bound"] / 10
    _, rows = run_settings(settings._replace(bounds=False, iterations=1))
    assert rows[0]["bound"] is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"algorithm": "ftrl", "step_size": 0.0},
            "step_size=0.0 is not a number in",
        ),
        ({"algorithm": "mirror_prox", "step_size": -1.0}, "step_size=-1.0 is not"),
        ({"algorithm": "egt", "step_size": 1.0}, "egt has none"),
        ({"algorithm": "lp", "sampling": "outcome"}, "lp has none"),
        ({"algorithm": "lp", "factorization": "rank_one"}, "lp has none"),
        ({"algorithm": "lp", "time_limit": 0.0}, "time_limit=0.0 is not"),
        ({"algorithm": "lp", "bounds": True}, "no curve"),
        ({"algorithm": "egt", "evaluate": "none"}, "egt takes"),
        ({"algorithm": "egt", "players": 3}, "3 players; the sequence-form"),
        ({"algorithm": "cfr", "method": "simplex"}, "cfr solves no linear program"),
        ({"algorithm": "cfr", "weights": "kroer"}, "matching has none"),
        ({"algorithm": "cfr_plus", "bounds": True}, "Theorems 3 to 5"),
        ({"algorithm": "chance_sampling", "bounds": True}, "Proposition 2"),
        (
            {"algorithm": "cfr", "players": 3, "bounds": True},
            "Regrets bound no NashConv",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(settings, message):
    with pytest.raises(ValueError, match=message):
        check(named_settings(game="kuhn_poker", **settings))


@pytest.mark.plain
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
