"""Threads in runs and sweeps: the same rows, and never more threads than cores."""

import pathlib

import pytest

import mccfr_spiel as ms
from mccfr_spiel.experiments import Settings, sweeps
from mccfr_spiel.experiments.sweeps import Task


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
