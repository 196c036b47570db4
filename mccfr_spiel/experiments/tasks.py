"""Tasks: one setting of a sweep, as a worker runs it into files of its own.

While a task is under way its rows are in `KEY.csv.unfinished`, which is renamed to
`KEY.csv` at the end, and its state is in `KEY.checkpoint`. A task that is run again
goes on from its newest checkpoint and ends with the same rows.
"""

import contextlib
import functools
import glob
import os
import pathlib
import traceback
from typing import Any, NamedTuple

import pyspiel

from mccfr_spiel.experiments.importing import import_module
from mccfr_spiel.experiments.recording import Recording, words_of_error
from mccfr_spiel.experiments.resuming import load_solver, read_rows
from mccfr_spiel.experiments.runs import make_solver, rows
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.policies.game_solver import GameSolver
from mccfr_spiel.solving.running import Metric
from mccfr_spiel.storage.checkpoint import DamagedError
from mccfr_spiel.tree.cache import shared_tree

FINISHED, UNFINISHED, CHECKPOINT = ".csv", ".csv.unfinished", ".checkpoint"
"""What follows a task's key in the names of its files."""


class Task(NamedTuple):
    """One setting of a sweep, as a worker gets it.

    Attributes:
        key: the beginning of its files' names.
        settings: what to run. Exact evaluation takes its tree from the cache.
        folder: where the files go.
        imports: modules that register games.
        trees: the folder of the tree cache; None for the user's.
        checkpoint_every: seconds.
        metrics: what rows hold beside `runs.COLUMNS`, (label, function) pairs.
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
    """How a task ended: `error` is None, or a message that says why it failed."""

    key: str
    error: str | None


def run_task(task: Task) -> Outcome:
    """Runs a setting to its end, from where an earlier worker left it."""
    try:
        for module in task.imports:
            import_module(module)
        _run(task)
    except (ValueError, OSError, MemoryError, ImportError, pyspiel.SpielError) as error:
        return Outcome(task.key, words_of_error(error))
    except Exception:  # whatever a user's game raises, the other tasks must go on
        return Outcome(task.key, traceback.format_exc())
    return Outcome(task.key, None)


def _run(task: Task) -> None:
    settings, unfinished = task.settings, task.path(UNFINISHED)
    solver, kept = _make_or_load(task)
    metrics = dict(task.metrics)
    recording = Recording(
        unfinished,
        task.path(CHECKPOINT),
        settings,
        solver,
        kept,
        metrics=metrics,
        checkpoint_every=task.checkpoint_every,
    )
    with contextlib.closing(recording):
        try:
            watch = recording.save_if_due
            for row in rows(solver, settings, watch, kept=kept, metrics=metrics):
                recording.add(row)
        except Exception as error:
            with contextlib.suppress(Exception):  # an older checkpoint stays
                recording.save()
            error.add_note(
                f"That was after {solver.num_iterations:,} iterations; the rows before "
                f"it are in {unfinished.name}."
            )
            raise
        recording.sync()
    os.replace(unfinished, task.path(FINISHED))
    for leftover in task.folder.glob(f"{glob.escape(task.key)}{CHECKPOINT}*"):
        leftover.unlink(missing_ok=True)


def _make_or_load(task: Task) -> tuple[GameSolver, list[dict[str, Any]]]:
    """The solver and the rows of a task, from its files if they are good."""
    settings = task.settings
    tree = None
    if settings.evaluate == "exact":
        tree = _tree(settings.game, task.trees, settings.max_memory, settings.twin)
    if settings.is_resumable:
        # Without a good checkpoint, or without the rows before it, the task begins
        # anew. It ends with the same rows, since its settings determine them.
        with contextlib.suppress(FileNotFoundError, DamagedError):
            solver = load_solver(settings, task.path(CHECKPOINT), tree)
            labels = dict(task.metrics)
            found = read_rows(task.path(UNFINISHED), settings, solver, labels)
            if not found.missing:
                return solver, found.rows
    return make_solver(settings, tree), []


_tree = functools.lru_cache(maxsize=8)(shared_tree)
"""The game's tree from the cache, and from memory if there were few others since."""
