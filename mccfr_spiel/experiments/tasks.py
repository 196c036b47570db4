"""Tasks of a sweep: one run each, resumable, with separate files.

While a task runs, its rows are in `KEY.csv.unfinished` and its solver in
`KEY.checkpoint`. At the end the rows are renamed to `KEY.csv`. A task that is started
again resumes from its newest checkpoint and ends with the same rows.
"""

import contextlib
import glob
import os
import pathlib
import traceback
from typing import Any, NamedTuple

from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.experiments.errors import USER_ERRORS, message_of
from mccfr_spiel.experiments.importing import import_module
from mccfr_spiel.experiments.run_recording import Recording, read_rows
from mccfr_spiel.experiments.run_solvers import load_solver, make_solver
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.experiments.trees import shared_tree
from mccfr_spiel.offline import GameSolver
from mccfr_spiel.solving.history import (
    Metric,
)

FINISHED, UNFINISHED, CHECKPOINT = ".csv", ".csv.unfinished", ".checkpoint"
"""The endings of a task's files, which follow its key."""


class SweepTask(NamedTuple):
    """One run of a sweep, as a worker receives it.

    Attributes:
        key: beginning of the names of its files.
        settings: the run.
        folder: folder of its files.
        imports: modules that register games.
        trees: folder of complete trees that processes share for exact evaluation; None
            to keep the tree in memory.
        checkpoint_every: seconds between checkpoints.
        metrics: additional columns, (label, function of the solver) pairs.
    """

    key: str
    settings: Settings
    folder: pathlib.Path
    imports: tuple[str, ...] = ()
    trees: pathlib.Path | None = None
    checkpoint_every: float = 60.0
    metrics: tuple[tuple[str, Metric], ...] = ()

    def path(self, ending: str) -> pathlib.Path:
        """The task's file with that ending."""
        return self.folder / (self.key + ending)


class Outcome(NamedTuple):
    """How a task ended.

    Attributes:
        key: key of the task.
        error: None, or the message of the error that ended it.
    """

    key: str
    error: str | None


def run_task(task: SweepTask) -> Outcome:
    """Runs a task to its end, from the newest checkpoint of an earlier worker."""
    try:
        for module in task.imports:
            import_module(module)
        _run(task)
    except USER_ERRORS as error:
        return Outcome(task.key, message_of(error))
    except Exception:  # a game can raise any exception; other tasks must continue
        return Outcome(task.key, traceback.format_exc())
    return Outcome(task.key, None)


def _run(task: SweepTask) -> None:
    unfinished = task.path(UNFINISHED)
    solver, kept = _make_or_load(task)
    recording = Recording(
        unfinished,
        task.path(CHECKPOINT),
        task.settings,
        solver,
        kept,
        metrics=dict(task.metrics),
        checkpoint_every=task.checkpoint_every,
    )
    with contextlib.closing(recording):
        try:
            for _ in recording.rows():
                pass
        except Exception as error:
            with contextlib.suppress(Exception):  # then the older checkpoint stays
                recording.save()
            error.add_note(
                f"The run had completed {solver.num_iterations:,} iterations. Their "
                f"rows are in {unfinished.name}."
            )
            raise
        recording.sync()
    os.replace(unfinished, task.path(FINISHED))
    for leftover in task.folder.glob(f"{glob.escape(task.key)}{CHECKPOINT}*"):
        leftover.unlink(missing_ok=True)


def _make_or_load(task: SweepTask) -> tuple[GameSolver, list[dict[str, Any]]]:
    """The solver and rows of a task: from its files if they are intact, else new."""
    settings = task.settings
    tree = None
    if settings.evaluate == "exact":
        limits = settings.max_memory, settings.twin
        tree = shared_tree(settings.game, task.trees, *limits)
    if settings.is_resumable:
        # If the checkpoint is damaged, or rows before the checkpoint are missing, the
        # task restarts. Equal settings give equal rows.
        with contextlib.suppress(FileNotFoundError, DamagedError):
            solver = load_solver(settings, task.path(CHECKPOINT), tree)
            path, labels = task.path(UNFINISHED), dict(task.metrics)
            kept, is_missing = read_rows(path, settings, solver, labels)
            if not is_missing:
                return solver, kept
    return make_solver(settings, tree), []
