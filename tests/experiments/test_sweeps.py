"""Sweeps: equal rows for all executors and after interruptions."""

import csv
import functools
import pathlib
import shutil

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.experiments import Settings, executors, sweeps
from mccfr_spiel.experiments.tasks import SweepTask, run_task
from mccfr_spiel.offline import EGT
from tests.vectors import LEDUC

SWEEP = {
    f"{algorithm}_s{seed}": Settings(
        LEDUC,
        ms.ALGORITHMS[algorithm],
        seed=seed,
        until_nodes_touched=50_000,
        print_freq=10_000,
    )
    for algorithm in ("cfr", "external_sampling", "balanced_outcome_sampling")
    for seed in (0, 1)
} | {
    "iterations": Settings(game="kuhn_poker", iterations=50, evaluate="none"),
    "egt": Settings("kuhn_poker", EGT, iterations=20),
}
IN_LINE = functools.partial(map, run_task)


def table(folder, names=SWEEP):
    """All rows, without seconds."""
    rows = {}
    for name in names:
        lines = (folder / f"{name}.csv").read_text().splitlines()
        rows[name] = [row | {"seconds": ""} for row in csv.DictReader(lines)]
    return rows


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    return tmp_path_factory.mktemp("trees")


@pytest.fixture(scope="module")
def expected(trees, tmp_path_factory):
    """The rows of the sweep, run in this process."""
    folder = tmp_path_factory.mktemp("expected")
    assert sweeps.run_sweep(SWEEP, folder, IN_LINE, trees=trees) == []
    return table(folder)


def test_rows_match_the_solver(expected):
    rows = expected["external_sampling_s1"]
    solver = ms.Solver(LEDUC, ms.EXTERNAL_SAMPLING, seed=1)
    for row, due in zip(rows, range(10_000, 60_000, 10_000), strict=True):
        while solver.nodes_touched < due:
            solver.iteration()
        assert int(row["iteration"]) == solver.num_iterations
        assert int(row["nodes_touched"]) == solver.nodes_touched
        assert float(row["nash_conv"]) == pytest.approx(
            ms.nash_conv(LEDUC, solver.average_policy()), abs=1e-12
        )
    assert [row["iteration"] for row in expected["iterations"]][-1] == "50"


def test_processes_give_the_same_rows(expected, trees, tmp_path):
    executor = functools.partial(executors.local, workers=2)
    shares = []
    sweeps.run_sweep(SWEEP, tmp_path, executor, shares.append, trees=trees)
    assert table(tmp_path) == expected
    assert (shares, shares[-1]) == (sorted(shares), 1)
    # No task is left; `iter` would return tasks as outcomes.
    assert sweeps.run_sweep(SWEEP, tmp_path, iter, trees=trees) == []  # pyright: ignore


@pytest.mark.filterwarnings("ignore")  # warnings of Ray
def test_ray_gives_the_same_rows(expected, tmp_path):
    ray = pytest.importorskip("ray")
    executor = functools.partial(executors.on_ray, workers=2, address=None)
    sweep = {key: SWEEP[key] for key in ("external_sampling_s1", "iterations", "egt")}
    assert sweeps.run_sweep({"egt": sweep["egt"]}, tmp_path, executor) == []
    assert not ray.is_initialized()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    assert sweeps.run_sweep(sweep, tmp_path, executor) == []
    assert ray.is_initialized()  # an existing connection stays open
    ray.shutdown()
    assert table(tmp_path, sweep) == {key: expected[key] for key in sweep}


def test_failed_setting_is_reported_and_others_run(tmp_path, trees):
    sweep = {
        "imperfect": Settings(game="liars_dice_ir", iterations=99, evaluate="none"),
        "good": Settings(game="kuhn_poker", iterations=np.arange(6)[5]),
    }
    (failure,) = sweeps.run_sweep(sweep, str(tmp_path), IN_LINE, trees=trees)
    assert failure.key == "imperfect"
    assert "imperfect recall" in str(failure.error)
    assert len(table(tmp_path, ["good"])["good"]) > 1
    for wrong in ({3: sweep["good"]}, {"a": "kuhn_poker"}, [sweep["good"]]):
        with pytest.raises(
            ValueError, match=r"^The key 3 cannot|^a: expected Settings|not a dict"
        ):
            sweeps.run_sweep(wrong, tmp_path, IN_LINE)  # pyright: ignore


# --- kills -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "run", [{"until_nodes_touched": 2_000}, {"iterations": 60, "print_freq": 7}]
)
def test_task_killed_after_any_checkpoint_resumes(run, trees, tmp_path, monkeypatch):
    settings = Settings(game="kuhn_poker", **{"print_freq": 500} | run)
    whole = tmp_path / "whole"
    whole.mkdir()
    task = SweepTask("one", settings, whole, trees=trees, checkpoint_every=0)
    copies = []

    def save_and_copy(solver, path, save=ms.Solver.save):
        save(solver, path)
        copies.append(shutil.copytree(whole, tmp_path / str(len(copies))))

    with monkeypatch.context() as patch:
        patch.setattr(ms.Solver, "save", save_and_copy)
        assert run_task(task).error is None
    assert len(copies) > 5
    for copy in copies:
        assert run_task(task._replace(folder=copy)).error is None
        assert table(copy, ["one"]) == table(whole, ["one"])


DEADLY = """
import os, pathlib
marks = pathlib.Path(__file__).parent / "marks"
marks.mkdir(exist_ok=True)
if len([*marks.iterdir()]) < DEATHS:
    (marks / str(os.getpid())).touch()
    os._exit(9)
"""


@pytest.mark.parametrize(("deaths", "attempts"), [(1, 1), (9, 0)])
def test_dead_worker_is_replaced_a_few_times(deaths, attempts, tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text(DEADLY.replace("DEATHS", str(deaths)))
    monkeypatch.setattr(executors, "_ATTEMPTS", attempts)
    sweep = {"one": Settings("kuhn_poker", iterations=5, evaluate="none")}
    executor = functools.partial(executors.local, workers=1, run_main=False)
    imports = str(tmp_path / "deadly.py")
    failures = sweeps.run_sweep(sweep, tmp_path, executor, imports=imports)
    messages = [str(error).partition(".")[0] for _, error in failures]
    assert messages == ["The worker processes were killed repeatedly"] * (deaths > 1)
    assert (tmp_path / "one.csv").exists() == (deaths == 1)


# --- threads -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("cores", "workers", "given", "threads"),
    [
        (8, 3, [None, 1, 2, 8], [2, 1, 2, 2]),
        (8, 8, [None, 3], [4, 3]),
        (2, 16, [None] * 50, [1] * 50),
    ],
)
def test_workers_share_the_cores(monkeypatch, cores, workers, given, threads):
    monkeypatch.setattr(executors, "num_cores", lambda: cores)
    tasks = [
        SweepTask(
            "key", Settings("kuhn_poker", ms.CFR, threads=k), pathlib.Path("nowhere")
        )
        for k in given
    ]
    found = executors.with_threads(tasks, workers)
    assert [task.settings.threads for task in found] == threads
