"""Threads in runs and sweeps: the same rows, and never more threads than cores."""

import concurrent.futures
import pathlib

import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.experiments import Settings, executors, resuming, runs
from mccfr_spiel.experiments.tasks import Outcome, Task
from mccfr_spiel.tree import blocks


@pytest.fixture
def cut_small_trees(monkeypatch):
    """Lets trees of every size be cut, into blocks of a few infosets."""
    monkeypatch.setattr(blocks, "BLOCK_WORK", (40, 40))
    monkeypatch.setattr("mccfr_spiel.solving.state.LEAST_WORK", 1)
    monkeypatch.setattr("mccfr_spiel.tree.full_pass.LEAST_WORK_AT_ONCE", 1)


@pytest.mark.parametrize(
    ("cores", "workers", "given", "threads"),
    [
        (8, 8, [None] * 100, [1] * 100),
        (8, 3, [None, 1, 2, 8], [2, 1, 2, 2]),
        (8, 8, [None, 3], [4, 3]),
        (2, 16, [None] * 50, [1] * 50),
    ],
)
def test_workers_and_their_threads_are_not_more_than_cores(
    monkeypatch, cores, workers, given, threads
):
    monkeypatch.setattr(executors, "num_cores", lambda: cores)
    tasks = [
        Task("key", Settings("kuhn_poker", ms.CFR, threads=k), pathlib.Path("nowhere"))
        for k in given
    ]
    found = executors.with_threads(tasks, workers)
    assert [task.settings.threads for task in found] == threads


def test_a_run_that_is_resumed_may_have_other_threads(tmp_path, cut_small_trees):
    game = "kuhn_poker(players=3)"
    one, three = (
        Settings(game, ms.CFR_PLUS, iterations=30, evaluate_last=True, threads=k)
        for k in (1, 3)
    )
    whole = list(runs.rows(runs.make_solver(one), one))
    short = three._replace(iterations=10)
    solver = runs.make_solver(three)
    assert isinstance(solver, ms.Solver)
    kept = list(runs.rows(solver, short))
    assert solver.state.num_threads == 3
    solver.save(tmp_path / "checkpoint")
    loaded = resuming.load_solver(one, tmp_path / "checkpoint")
    rows = kept + list(runs.rows(loaded, one, kept=kept))
    assert [row | {"seconds": 0} for row in rows] == [
        row | {"seconds": 0} for row in whole
    ]


class Pool:
    """In place of a pool of processes: notes the threads of its tasks, runs none."""

    made: list[tuple[int, list[int | None]]]

    def __init__(self, workers, *_, **__):
        self.tasks: list[int | None] = []
        self.made.append((workers, self.tasks))
        self._processes = None

    def submit(self, _, task):
        self.tasks.append(task.settings.threads)
        future = concurrent.futures.Future()
        future.set_result(Outcome(task.key, "was not run"))
        return future

    def shutdown(self, **_):
        pass


@pytest.mark.parametrize(
    ("cores", "workers", "flag", "threads"),
    [
        (8, 2, 3, 3),
        (8, 16, 16, 2),  # four settings only
        (2, 3, None, 1),
    ],
)
@pytest.mark.parametrize("command", ["compare", "experiment"])
def test_processes_and_threads_of_a_command_are_not_more_than_cores(
    monkeypatch, tmp_path, capsys, command, cores, workers, flag, threads
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Pool, "made", [], raising=False)
    monkeypatch.setattr(concurrent.futures, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(executors, "num_cores", lambda: cores)
    words = ["compare", "kuhn_poker", "--algorithms=external_sampling", "--seeds=4"]
    if command == "experiment":
        words = ["experiment", "farina2020_figure3", "--only=goofspiel", "--seeds=1"]
    words += [f"--workers={workers}", *([f"--threads={flag}"] if flag else [])]
    assert main(words) == 1
    assert "was not run" in capsys.readouterr().err
    ((processes, found),) = Pool.made
    tasks = len(found)
    assert tasks > 2
    assert {*found} == {threads if command == "compare" else found[0]}
    at_once = min(processes, tasks)
    assert found[0] is not None
    assert found[0] * at_once <= max(cores, at_once)
    assert found[0] == min(flag or cores, max(cores // at_once, 1))
