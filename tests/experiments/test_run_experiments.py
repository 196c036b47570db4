"""Runs and experiments by the command line, in this process and as programs."""

import contextlib
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from mccfr_spiel import Solver
from mccfr_spiel.command_line.main import main
from mccfr_spiel.experiments import Settings, read_settings
from mccfr_spiel.experiments import run as run_settings

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "run_experiments.py")]
QUICK = ["--game=kuhn_poker", "--iterations=300"]


Ended = subprocess.CompletedProcess[str]
"""Exit code and output of a program."""


def run(*args: str) -> Ended:
    """Runs `mccfr-spiel solve` with these flags in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(["solve", *args])
    return Ended(args, code, out.getvalue(), errors.getvalue())


def run_script(*args: str, **environment: str) -> Ended:
    how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120}
    return subprocess.run([*COMMAND, *args], env=os.environ | environment, **how)


def refused(*args: str, by: Callable[..., Ended] = run) -> str:
    """Checks that a run is refused before any work; returns the message."""
    result = by(*args)
    assert result.returncode == 1, result.stdout
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def read_rows(folder: pathlib.Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "results.csv").read_text().splitlines()))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of Kuhn poker: folder and output."""
    folder = tmp_path_factory.mktemp("run") / "kuhn"
    result = run(*QUICK, "--seed=3", f"--output_dir={folder}")
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def test_rows_are_log_spaced_and_match_the_library(finished):
    folder, _ = finished
    table = read_rows(folder)
    assert [int(row["iteration"]) for row in table] == [
        1, 2, 3, 4, 6, 10, 16, 25, 40, 63, 100, 158, 251, 300,
    ]  # fmt: skip
    settings = read_settings(f"{folder}/settings.json")
    assert settings == Settings("kuhn_poker", iterations=300, seed=3)
    _, expected = run_settings(settings)
    for row, same in zip(table, expected, strict=True):
        assert int(row["nodes_touched"]) == same["nodes_touched"]
        assert float(row["nash_conv"]) == same["nash_conv"]
        assert float(row["exploitability"]) == same["nash_conv"] / 2


def test_interrupted_run_ends_within_two_seconds(tmp_path):
    # CPU time, because other tests use the same cores.
    assert any(interrupt_a_run(tmp_path / f"out{k}") < 2 for k in range(3))


def interrupt_a_run(folder: pathlib.Path) -> float:
    """Interrupts a run and checks the results; returns CPU seconds after Ctrl-C."""
    earlier = psutil.Process().cpu_times()
    process = subprocess.Popen(
        [*COMMAND, "--iterations=1000000000000", f"--output_dir={folder}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 90
    while not (folder / "results.csv").exists() or len(read_rows(folder)) < 20:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    before = psutil.Process(process.pid).cpu_times()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    later = psutil.Process().cpu_times()
    seconds = later.children_user + later.children_system
    seconds -= earlier.children_user + earlier.children_system
    seconds -= before.user + before.system
    assert process.returncode == 130
    first, *_ = errors.split("\n", 1)[1].splitlines()
    assert first == "Stopping after this iteration. Repeat to stop at once."
    assert "Traceback" not in errors
    assert len(read_rows(folder)) >= 20
    assert (folder / "policy.json").exists()
    return seconds


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")
def test_sigterm_ends_a_very_long_walk(tmp_path):
    folder = tmp_path / "out"
    process = subprocess.Popen(
        [
            *(*COMMAND, "--game=goofspiel(num_cards=9,imp_info=True)"),
            *("--algorithm=chance_sampling", "--evaluate=sampled", "--iterations=1"),
            *(f"--output_dir={folder}", "--max_memory=8GiB"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    watched = psutil.Process(process.pid)
    while watched.memory_info().rss < 5e8:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < 10  # 5 on an idle machine
    assert process.returncode == 128 + signal.SIGTERM
    assert "Interrupted after 0 iterations, within a long iteration" in errors
    assert "Results are in" not in output
    assert "No iteration was completed" in output
    assert "Traceback" not in errors
    names = {path.name for path in folder.iterdir()}
    assert names == {"settings.json", "solver.checkpoint", "results.csv"}


# --- checkpoints -----------------------------------------------------------------


def untimed(folder: pathlib.Path) -> list[dict[str, str]]:
    return [row | {"seconds": ""} for row in read_rows(folder)]


def assert_same_results(folder: pathlib.Path, other: pathlib.Path) -> None:
    assert untimed(folder) == untimed(other)
    policies = [path / "policy.json" for path in (folder, other)]
    assert policies[0].read_bytes() == policies[1].read_bytes()


def test_resumed_run_equals_longer_run(tmp_path):
    short, long = tmp_path / "short", tmp_path / "long"
    common = ["--game=leduc_poker", "--sampling=outcome", "--seed=5"]
    assert run(*common, "--iterations=700", f"--output_dir={long}").returncode == 0
    for iterations in (50, 300, 700):
        more = f"--iterations={iterations}", f"--output_dir={short}"
        result = run(*common, *more, "--resume")
        assert result.returncode == 0, result.stderr
    assert "Resumed after 300 iterations" in result.stdout
    assert_same_results(short, long)
    seconds = [float(row["seconds"]) for row in read_rows(short)]
    assert seconds == sorted(seconds)


# --- nodes touched ---------------------------------------------------------------


def test_run_by_nodes_touched_ends_and_resumes_exactly(tmp_path):
    short, long = tmp_path / "short", tmp_path / "long"
    common = ["--game=leduc_poker", "--rows_per_decade=4", "--rows_from=100"]
    for folder, chosen in ((short, ("20000", "50000")), (long, ("50000",))):
        for budget in chosen:
            more = f"--until_nodes_touched={budget}", f"--output_dir={folder}"
            result = run(*common, *more, "--resume")
            assert result.returncode == 0, result.stderr
    assert_same_results(short, long)
    for flag in ("--until_nodes_touched=20000", "--iterations=9"):
        assert run("--resume", f"--output_dir={short}", flag).returncode == 1
    assert_same_results(short, long)
    nodes = [int(row["nodes_touched"]) for row in read_rows(long)]
    dues = [100, 178, 316, 562, 1000, 1778, 3162, 5623, 10_000, 17_783, 31_623, 50_000]
    # A row is due at the first iteration that passes a due number or several.
    expected, solver = [], Solver("leduc_poker")
    for due in dues:
        if expected and expected[-1] >= due:
            continue
        while solver.nodes_touched < due:
            solver.iteration()
        expected.append(solver.nodes_touched)
    assert nodes == expected
    assert "counts iterations" in refused("--algorithm=egt", "--until_nodes_touched=5")


# --- experiments -----------------------------------------------------------------


def test_experiment_writes_summary_and_figures(tmp_path, capsys):
    args = ["experiment", "offline", "--only=search_4_turns_cfr", "--workers=2"]
    args += [f"--output_dir={tmp_path / 'out'}", f"--tree_cache={tmp_path / 'trees'}"]
    for left in (2, 0):
        assert main(args) == 0
        assert f"2 settings, {left} to run" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"summary.csv", "figure.png", "figure.svg"} <= names


def test_flags_of_runs_and_experiments_do_not_mix():
    message = refused("--experiment=bounds", "--game=a", by=run_script)
    assert "--game is fixed by --experiment=bounds" in message
    assert "--workers needs --executor=ray" in refused("--workers=3")
    assert "makes one walk at a time. Give it a batch" in refused("--executor=ray")


# --- offline methods ---------------------------------------------------------

VALUE = -1 / 18


def test_first_order_methods_stay_below_their_bounds(tmp_path):
    for algorithm in ("egt", "mirror_prox"):
        folder = tmp_path / algorithm
        flags = ["--game=kuhn_poker", f"--algorithm={algorithm}", "--iterations=100"]
        result = run(*flags, "--bounds", f"--output_dir={folder}")
        assert result.returncode == 0, result.stderr
        names = {"convergence.png", "policy.json", "results.csv", "settings.json"}
        assert {path.name for path in folder.iterdir()} == names
        table = read_rows(folder)
        assert [int(row["iteration"]) for row in table][-2:] == [63, 100]
        gaps = [float(row["nash_conv"]) for row in table]
        assert all(float(row["bound"]) > float(row["nash_conv"]) for row in table)
        assert gaps[-1] < 0.05


@pytest.mark.parametrize("algorithm", ["lp", "sparsified_lp"])
def test_linear_program_writes_row_value_and_policy(tmp_path, algorithm):
    folder = tmp_path / "out"
    flags = ["--factorization=rank_one"] if algorithm == "sparsified_lp" else []
    flags += ["--game=kuhn_poker", "--method=interior_point", "--time_limit=60"]
    result = run(f"--algorithm={algorithm}", *flags, f"--output_dir={folder}")
    assert result.returncode == 0, result.stderr
    assert "Value for player 0: -0.0555555555556" in result.stdout
    (row,) = read_rows(folder)
    assert float(row["nash_conv"]) < 1e-12
    value = json.loads((folder / "solution.json").read_text())["value"]
    assert value == pytest.approx(VALUE, abs=1e-12)
    players = json.loads((folder / "policy.json").read_text())["players"]
    assert [len(player) for player in players] == [6, 6]


def test_errors_during_a_run_have_messages(tmp_path):
    message = refused("--algorithm=lp", "--resume", f"--output_dir={tmp_path / 'a'}")
    assert "lp writes no checkpoints" in message
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
