"""Threads in runs and sweeps: the same rows, and never more threads than cores."""

import pathlib

import pytest

import mccfr_spiel as ms
from mccfr_spiel.experiments import Settings, results, runs, sweeps
from mccfr_spiel.experiments.sweeps import Task
from mccfr_spiel.tree import whole


@pytest.fixture
def cut_small_trees(monkeypatch):
    """Lets trees of every size be cut, into blocks of a few infosets."""
    monkeypatch.setattr(whole, "LEAST_BLOCK", 40)
    monkeypatch.setattr("mccfr_spiel.solving.state.LEAST_WORK", 1)
    monkeypatch.setattr("mccfr_spiel.tree.full_pass.LEAST_WORK_AT_ONCE", 1)


@pytest.mark.parametrize(
    ("cores", "workers", "given", "threads"),
    [
        (8, 3, [None, 1, 2, 8], [2, 1, 2, 2]),
        (8, 8, [None, 3], [4, 3]),
        (2, 16, [None] * 50, [1] * 50),
    ],
)
def test_workers_and_their_threads_are_not_more_than_cores(
    monkeypatch, cores, workers, given, threads
):
    monkeypatch.setattr(sweeps, "num_cores", lambda: cores)
    tasks = [
        Task("key", Settings("kuhn_poker", ms.CFR, threads=k), pathlib.Path("nowhere"))
        for k in given
    ]
    found = sweeps.with_threads(tasks, workers)
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
    loaded = results.load_solver(one, tmp_path / "checkpoint")
    rows = kept + list(runs.rows(loaded, one, kept=kept))
    assert [row | {"seconds": 0} for row in rows] == [
        row | {"seconds": 0} for row in whole
    ]
