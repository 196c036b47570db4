"""What a run leaves while it goes on: its rows, its checkpoints, its policies.

A file that cannot be written, because the disk is full or the folder was deleted, ends
the run with the OSError. The checkpoint before it stays good, and the rows that belong
to that checkpoint were made to last before it was written.
"""

import pathlib
import time
from collections.abc import Iterable, Sequence
from typing import Any

from mccfr_spiel.experiments.runs import COLUMNS, policy_dues
from mccfr_spiel.experiments.settings import Settings, measure
from mccfr_spiel.policies.game_solver import GameSolver, Resumable
from mccfr_spiel.storage.results_folder import policy_after
from mccfr_spiel.storage.row_file import RowWriter

_COST = 20
"""Checkpoints that are saved because of a row take at most 1 / _COST of the time."""


class Recording:
    """Writes a run's rows as they come, and its checkpoints when they are due."""

    def __init__(
        self,
        rows_path: pathlib.Path,
        checkpoint: pathlib.Path,
        settings: Settings,
        solver: GameSolver,
        kept: Sequence[dict[str, Any]] = (),
        *,
        metrics: Iterable[str] = (),
        checkpoint_every: float = 60.0,
    ) -> None:
        """Creates the file of rows, with those that the run has already.

        Args:
            rows_path: the file.
            checkpoint: the path of the checkpoints.
            settings: the run.
            solver: that runs it.
            kept: the rows that the run has already.
            metrics: the columns beside COLUMNS.
            checkpoint_every: the most seconds between two checkpoints; a row brings one
                earlier if saving is cheap.

        Raises:
            OSError: the file cannot be written. So do all methods.
        """
        self._writer = RowWriter(rows_path, (*COLUMNS, *metrics), kept)
        self._folder, self._checkpoint = rows_path.parent, checkpoint
        self._solver, self._every = solver, checkpoint_every
        self._column = measure(settings)
        self._policies_due = policy_dues(settings)
        self._policy_due = next(self._policies_due, None)
        if kept:
            self._pass_by(kept[-1][self._column])
        self._has_new_row = False
        self._saved_at, self._seconds_to_save = time.monotonic(), 0.0

    def add(self, row: dict[str, Any]) -> None:
        """Writes a row, and the solver's policy beside it if that is due."""
        self._writer.write(row)
        self._has_new_row = True
        if self._pass_by(row[self._column]):
            path = self._folder / policy_after(row["iteration"])
            self._solver.average_policy().save(path)

    def _pass_by(self, reached: int) -> bool:
        """Goes to the next due policy; returns whether one was due."""
        due = self._policy_due
        while self._policy_due is not None and self._policy_due <= reached:
            self._policy_due = next(self._policies_due, None)
        return self._policy_due != due

    def save_if_due(self, done: int = 0) -> None:
        """Saves a checkpoint if it is time for one, whatever has been done by now."""
        del done
        passed = time.monotonic() - self._saved_at
        cheap = passed >= max(1.0, _COST * self._seconds_to_save)
        if passed < self._every and not (self._has_new_row and cheap):
            return
        began = time.monotonic()
        self.save()
        self._saved_at = time.monotonic()
        self._seconds_to_save = self._saved_at - began

    def save(self) -> None:
        """Makes the rows last and then saves a checkpoint, which must not be ahead of
        them; solvers that cannot be resumed have none."""
        self.sync()
        if isinstance(self._solver, Resumable):
            self._solver.save(self._checkpoint)
        self._has_new_row = False

    def sync(self) -> None:
        """Makes the rows last through a power cut."""
        self._writer.sync()

    def close(self) -> None:
        """Closes the file of rows."""
        self._writer.close()


def words_of_error(error: BaseException) -> str:
    """The message of an error with its notes, such as the history that led to it."""
    words = str(error) or type(error).__name__
    notes = getattr(error, "__notes__", ())
    if notes and not words.endswith((".", "!", "?")):
        words += "."
    return " ".join([words, *notes])
