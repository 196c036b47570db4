"""Threads in runs and sweeps: the same rows, and never more threads than cores."""

import concurrent.futures
import pathlib

import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.experiments import Settings, executors, resuming, runs
from mccfr_spiel.experiments.flags import flags_of, named_settings
from mccfr_spiel.experiments.tasks import Outcome, Task
from mccfr_spiel.tree import blocks


@pytest.fixture
def cut_small_trees(monkeypatch):
    """Lets trees of every size be cut, into blocks of a few infosets."""
    monkeypatch.setattr(blocks, "LEAST_BLOCK", 40)
    monkeypatch.setattr("mccfr_spiel.solving.state.LEAST_WORK", 1)
    monkeypatch.setattr("mccfr_spiel.tree.full_pass.LEAST_WORK_AT_ONCE", 1)


@pytest.mark.parametrize(
    ("cores", "workers", "tasks", "threads"),
    [(8, 8, 100, 1), (8, 3, 100, 2), (8, 8, 2, 4), (8, 1, 5, 8), (2, 16, 50, 1)],
)
def test_workers_and_their_threads_are_not_more_than_cores(
    monkeypatch, cores, workers, tasks, threads
):
    monkeypatch.setattr(executors, "num_cores", lambda: cores)
    assert executors.threads_each(workers, tasks) == threads
    assert threads * min(workers, tasks) <= max(cores, workers)


def test_a_task_keeps_fewer_threads_and_gives_up_those_too_many():
    def left(threads, most):
        settings = Settings("kuhn_poker", ms.CFR, threads=threads)
        task = Task("key", settings, pathlib.Path("nowhere"))
        return executors.with_threads([task], most)[0].settings.threads

    assert [left(None, 4), left(2, 4), left(8, 4), left(8, 1)] == [4, 2, 4, 1]


def test_threads_make_no_other_run():
    one, other = (Settings("kuhn_poker", ms.CFR, threads=k) for k in (1, 5))
    assert one == other
    assert one != one._replace(seed=1)
    with pytest.raises(ValueError, match="threads=0"):
        Settings("kuhn_poker", ms.CFR, threads=0)


def test_threads_have_a_flag():
    settings = named_settings(game="kuhn_poker", algorithm="cfr", threads=3)
    assert settings.threads == 3
    assert flags_of(settings).get("threads") == 3
    assert named_settings(game="kuhn_poker", algorithm="cfr").threads is None


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
        (8, 2, None, 4),
        (8, 2, 16, 4),
        (8, 2, 3, 3),
        (8, 16, 16, 2),  # four settings only
        (2, 3, None, 1),
        (2, 3, 2, 1),
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


def test_a_run_in_this_process_has_no_more_threads_than_cores(monkeypatch):
    given: list[int | None] = []

    def run(task):
        given.append(task.settings.threads)
        return Outcome(task.key, None)

    monkeypatch.setattr(executors, "num_cores", lambda: 2)
    monkeypatch.setattr(executors, "run_task", run)
    tasks = [
        Task("key", Settings("kuhn_poker", ms.CFR, threads=k), pathlib.Path("nowhere"))
        for k in (None, 1, 2, 8)
    ]
    assert len(list(executors.in_this_process(tasks))) == 4
    assert given == [2, 1, 2, 2]
