"""The files of a run: rows, checkpoints and policies, and reading the rows back.

A file that cannot be written, because the disk is full or the folder was deleted, ends
the run with OSError. The previous checkpoint stays intact, and its rows are on disk,
because rows are flushed to disk before a checkpoint is written.
"""

import bisect
import errno
import itertools
import os
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mccfr_spiel.common.atomic_files import naming, write_file
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.csv_files import csv_text, read_table
from mccfr_spiel.experiments.runs import COLUMNS, NO_METRICS, row_dues, rows
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.offline import GameSolver
from mccfr_spiel.solving.due_rows import (
    COUNTERS,
    log_spaced,
)
from mccfr_spiel.solving.history import (
    Metric,
)
from mccfr_spiel.solving.reading import policy_after
from mccfr_spiel.solving.solver import Solver

_COST = 20
"""Early checkpoints, which follow a row, take at most 1 / _COST of the time."""


class Recording:
    """A run and its files. It writes each row at once, and policies and checkpoints
    when they are due.

    All methods raise OSError if a file cannot be written.

    Attributes:
        settings: the run.
        solver: its solver.
        kept: the rows that the run had before it was resumed.
    """

    def __init__(
        self,
        path: pathlib.Path,
        checkpoint: pathlib.Path,
        settings: Settings,
        solver: GameSolver,
        kept: Sequence[dict[str, Any]] = (),
        *,
        metrics: Mapping[str, Metric] = NO_METRICS,
        checkpoint_every: float = 60.0,
    ) -> None:
        """Creates or replaces the file of rows and writes the existing rows.

        Args:
            path: file of rows.
            checkpoint: path of the checkpoints.
            settings: the run.
            solver: its solver.
            kept: existing rows of the run.
            metrics: additional columns: label -> function of the solver.
            checkpoint_every: maximum number of seconds between checkpoints. A new row
                brings the checkpoint forward if saving is cheap.
        """
        self.settings, self.solver, self.kept = settings, solver, kept
        self._path, self._checkpoint = path, checkpoint
        self._metrics, self._every = metrics, checkpoint_every
        self._columns = (*COLUMNS, *metrics)
        text = csv_text(self._columns, kept, header=True)
        write_file(path, text.encode())
        self._file = path.open("ab", buffering=0)
        keep = settings.keep_policies
        dues = log_spaced(1, settings.last, keep) if keep is not None else ()
        self._policy_dues = [*dues]
        self._progress = kept[-1][settings.progress_column] if kept else 0
        self._has_new_row = False
        self._saved = solver.num_iterations if checkpoint.exists() else -1
        self._saved_at, self._seconds_to_save = time.monotonic(), 0.0

    def rows(
        self, on_progress: Callable[[int], object] = lambda done: None
    ) -> Iterator[dict[str, Any]]:
        """Runs the solver; writes each row and then yields it. See `runs.rows`."""

        def watch(done: int) -> object:
            self.save_if_due()
            return on_progress(done)

        options = {"kept": self.kept, "metrics": self._metrics}
        for row in rows(self.solver, self.settings, watch, **options):
            self.add(row)
            yield row

    def add(self, row: dict[str, Any]) -> None:
        """Writes a row, and the average policy if a policy is due."""
        with naming(self._path):
            self._check_in_place()
            rest = memoryview(csv_text(self._columns, [row]).encode())
            while rest:  # a single write can be partial
                rest = rest[self._file.write(rest) :]
        self._has_new_row = True
        before, self._progress = self._progress, row[self.settings.progress_column]
        if any(before < due <= self._progress for due in self._policy_dues):
            path = self._path.with_name(policy_after(row["iteration"]))
            self.solver.average_policy().save(path)

    def save_if_due(self) -> None:
        """Saves a checkpoint if it is due."""
        passed = time.monotonic() - self._saved_at
        is_cheap = passed >= max(1.0, _COST * self._seconds_to_save)
        if passed < self._every and not (self._has_new_row and is_cheap):
            return
        began = time.monotonic()
        self.save()
        self._saved_at = time.monotonic()
        self._seconds_to_save = self._saved_at - began

    def save(self) -> None:
        """Flushes the rows to disk, then saves a checkpoint.

        A checkpoint must not be ahead of the rows. An unchanged solver is not saved
        again, because that would replace the previous checkpoint by a copy. Offline
        methods have no checkpoints.
        """
        self.sync()
        done = self.solver.num_iterations
        if isinstance(self.solver, Solver) and done != self._saved:
            self.solver.save(self._checkpoint)
            self._saved = done
        self._has_new_row = False

    def sync(self) -> None:
        """Flushes the rows to disk, so that they survive a power cut."""
        with naming(self._path):
            self._check_in_place()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file of rows."""
        self._file.close()

    def _check_in_place(self) -> None:
        """Raises FileNotFoundError if the open file was deleted, for example with its
        folder. Further writes would succeed, but would be lost."""
        if not os.fstat(self._file.fileno()).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "The file was deleted or replaced")


# --- reading the rows of a run that is resumed ----------------------------------------


def read_rows(
    path: pathlib.Path,
    settings: Settings,
    solver: GameSolver,
    metrics: Iterable[str] = (),
) -> tuple[list[dict[str, Any]], bool]:
    """Reads the rows of a run up to the state of its resumed solver.

    Args:
        path: file of rows.
        settings: the run. It may be longer than the run that wrote the rows.
        solver: the resumed solver. Rows beyond it are dropped.
        metrics: labels of the additional columns.

    Returns:
        The rows that are due by the settings, and whether due rows are missing.

    Raises:
        DamagedError: a line cannot be read, or lacks a metric.
        ValueError: a row would be lost, because it is beyond the end of the run.
    """
    try:
        stored = [_row(line, metrics) for line in read_table(path).rows]
    except (ValueError, KeyError) as error:
        raise DamagedError(
            f"{path} is damaged ({error}). Delete the file to continue without earlier "
            "rows, or restart the run."
        ) from error
    column, last = settings.progress_column, settings.last
    numbers = [row["iteration"] for row in stored]
    if any(after <= before for before, after in itertools.pairwise(numbers)):
        raise DamagedError(
            f"{path} is damaged: iterations do not ascend. Delete the file to continue "
            "without earlier rows, or restart the run."
        )
    done = [row for row in stored if row["iteration"] <= solver.num_iterations]
    if any(row[column] >= last for row in done[:-1]):  # only the last row ends a run
        raise ValueError(
            f"{path} has rows beyond the end of the run, which is now "
            f"{last} {column.replace('_', ' ')}. Increase the limit."
        )
    progress = getattr(solver, COUNTERS[column])
    dues = [*itertools.takewhile(lambda due: due <= progress, row_dues(settings))]
    kept: list[dict[str, Any]] = []
    passed = 0
    # Matches rows with due numbers; `passed` counts the due numbers covered so far. By
    # nodes touched, a row covers all due numbers since the row before, and the largest
    # becomes the `due` of the row. By iterations, a row counts only at exactly a due
    # number. A row that is no longer due, such as the last row of a shorter run, is
    # dropped.
    for row in done:
        covered = bisect.bisect_right(dues, row[column])
        is_due = covered > passed
        if column == "iteration":
            is_due &= dues[covered - 1 : covered] == [row[column]]
        if is_due:
            kept.append(row | {"due": dues[covered - 1]})
            passed = covered
    lost = {*dues} - {row["due"] for row in kept} if column == "iteration" else set()
    return kept, any(due < progress for due in {*dues[passed:], *lost})


def _row(line: Mapping[str, str], metrics: Iterable[str]) -> dict[str, Any]:
    """Parses a line of results.csv; raises ValueError or KeyError."""
    row: dict[str, Any] = {name: int(line[name]) for name in COLUMNS[:2]}
    row |= {name: float(line[name]) if line[name] else None for name in COLUMNS[2:-1]}
    row |= {name: float(line[name]) for name in metrics}
    return row | {"due": None}
