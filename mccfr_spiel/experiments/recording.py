"""What a run leaves in its folder, whatever becomes of the run, the disk or the folder.

A run may take days, and its results are worth more than the place where they were to be
written. Each file is therefore written independently of the others. What fails is
reported and tried again later. At the end, what cannot be written where it belongs goes
to a new folder in the working directory, or to the folder of temporary files.
"""

import contextlib
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mccfr_spiel.experiments.keeping import PolicyKeeper
from mccfr_spiel.experiments.results import row_writer, save_checkpoint
from mccfr_spiel.limits.budget import MemoryBudgetError
from mccfr_spiel.policies.game_solver import GameSolver, Resumable
from mccfr_spiel.policies.policy_files import write_policy
from mccfr_spiel.storage.locks import FolderLock
from mccfr_spiel.storage.results_folder import (
    CHECKPOINT,
    FAILURE,
    RESULTS,
    SETTINGS,
    write_json,
)

_COST = 20
"""Checkpoints that are saved because of a row take at most 1 / _COST of the time."""

_ATTEMPTS = 3
"""How often the last files are written if somebody deletes the folder meanwhile."""

PASSING = (OSError, MemoryError, MemoryBudgetError)
"""Errors that the same run need not meet again: the disk may have room by then, or the
run may be given more memory."""


class Recording:
    """The files of a run.

    Attributes:
        folder: of the files. It changes if the first one was deleted and another run
            has taken its place.
        rows_path: of results.csv.
        last_iteration: that of the newest row, 0 without one.
        problems: messages about files that could not be written; empty while all is
            well.
    """

    def __init__(
        self,
        hold: FolderLock,
        description: Mapping[str, Any],
        solver: GameSolver,
        kept: Sequence[dict[str, Any]],
        say: Callable[[str], object],
        *,
        checkpoint_every: float = 60.0,
        keeper: PolicyKeeper | None = None,
    ) -> None:
        """Creates results.csv.

        Args:
            hold: the lock on the folder.
            description: the content of settings.json, for folders that are made later.
            solver: what is run.
            kept: the rows that the run has already.
            say: called with each line that the user should read.
            checkpoint_every: the most seconds between two checkpoints; a row brings one
                earlier if saving is cheap.
            keeper: of policies on the way.

        Raises:
            OSError: it cannot be written.
        """
        self.folder = hold.folder
        self.problems: list[str] = []
        self._hold = hold
        self._description, self._solver, self._say = description, solver, say
        self._every, self._keeper = checkpoint_every, keeper
        self.rows_path = self.folder / RESULTS
        self._writer = row_writer(self.rows_path, kept)
        self._makes_checkpoints = isinstance(solver, Resumable)
        self._is_waiting = False
        self._spares: list[pathlib.Path | None] = []
        self._ending: tuple[BaseException | None, ...] = ()  # of `finish`, if it ended
        self._has_new_row = False
        self._saved_at = time.monotonic()
        self._saved_iteration = solver.num_iterations
        self.last_iteration = int(kept[-1]["iteration"]) if kept else 0
        self._seconds_to_save = 0.0

    # --- in the middle -----------------------------------------------------

    def add(self, row: dict[str, Any]) -> None:
        """Writes a row, and keeps its policy if that is due; a row that cannot be
        written yet waits in memory."""
        self._keep_folder()
        self._writer.write(row)
        self.last_iteration = int(row["iteration"])
        self._has_new_row = True
        trouble = self._writer.trouble
        if trouble is not None and not self._is_waiting:
            self._say(
                f"{self._writer.path} cannot be written ({words_of_error(trouble)})."
            )
            self._say("The run goes on; its rows are kept in memory until they can be.")
        elif trouble is None and self._is_waiting:
            self._say(f"{self._writer.path} can be written again; no row is missing.")
        self._is_waiting = trouble is not None
        if self._keeper is not None:
            self._keeper.keep(self.folder, row)

    def save_if_due(self) -> None:
        """Saves a checkpoint if it is time for one; a failure is only reported."""
        if not self._makes_checkpoints:
            return
        passed = time.monotonic() - self._saved_at
        cheap = passed >= max(1.0, _COST * self._seconds_to_save)
        if passed < self._every and not (self._has_new_row and cheap):
            return
        began = time.monotonic()
        try:
            self._keep_folder()
            self._writer.sync()  # first: a checkpoint must not be ahead of the rows
            save_checkpoint(self._solver, self.folder / CHECKPOINT)
            self._saved_iteration = self._solver.num_iterations
            self._has_new_row = False
        except OSError as error:  # the run goes on; the next one may succeed
            self._say(f"No checkpoint: {words_of_error(error)}.")
        self._saved_at = time.monotonic()
        self._seconds_to_save = self._saved_at - began

    def _keep_folder(self) -> None:
        """Makes the folder again if it was deleted, or another folder if another run
        has taken its place."""
        if self._hold.is_held():
            return
        gone = self.folder
        for folder in (gone, *self._elsewhere()):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                if any(folder.iterdir()):
                    continue
                hold = FolderLock(folder)
                write_json(folder / SETTINGS, self._description)
            except (OSError, ValueError):
                continue
            self._hold.release()
            self._hold, self.folder = hold, folder
            self.rows_path = self._writer.path = folder / RESULTS
            self._say(f"{gone} was deleted. What there is goes to {folder}.")
            return

    def _elsewhere(self) -> Iterator[pathlib.Path]:
        """New folders for what cannot be written in the run's own: one in the working
        directory, and one where temporary files go."""
        places = pathlib.Path.cwd, lambda: pathlib.Path(tempfile.gettempdir())
        for number, place in enumerate(places):
            if number == len(self._spares):
                self._spares.append(_new_folder(f"{self.folder.name}_rescued_", place))
            folder = self._spares[number]
            if folder is not None:
                yield folder

    # --- at the end --------------------------------------------------------

    def finish(self, error: BaseException | None = None) -> None:
        """Writes rows, checkpoint and policy, each independently of the others.

        Args:
            error: the error that has ended the run, if there was one.
        """
        for _ in range(_ATTEMPTS):
            self._keep_folder()
            self.problems.clear()
            self._write_all(error)
            if self._hold.is_held():  # otherwise the folder was deleted meanwhile
                break
        self._ending = (error,)

    def _write_all(self, error: BaseException | None) -> None:
        solver = self._solver
        self._write_into_place(RESULTS, self._write_rows)
        if error is not None and not isinstance(error, PASSING):
            self._write_into_place(
                FAILURE, lambda folder: self._write_failure(folder, error)
            )
        if self._makes_checkpoints:
            self._write_into_place(
                CHECKPOINT, lambda folder: save_checkpoint(solver, folder / CHECKPOINT)
            )
        self._write_into_place(
            "the policy",
            lambda folder: write_policy(folder, solver.average_policy()),
        )

    def deliver(self, what: str, write: Callable[[pathlib.Path], object]) -> None:
        """Writes one more file into the folder or, if that fails, somewhere else.

        Args:
            what: what messages call the file.
            write: writes the file into the folder that it gets.
        """
        for _ in range(_ATTEMPTS):
            if self._ending and not self._hold.is_held():
                self.finish(*self._ending)
            known = len(self.problems)
            self._write_into_place(what, write)
            if self._hold.is_held():
                break
            del self.problems[known:]

    def _write_into_place(
        self, what: str, write: Callable[[pathlib.Path], object]
    ) -> None:
        try:
            write(self.folder)
        except OSError as error:
            why = words_of_error(error)
            problem = f"{what} could not be written in {self.folder}: {why}."
            self.problems.append(f"{problem} {self._rescue(write)}")
        except Exception as error:
            problem = f"{what} could not be made: {words_of_error(error)}."
            if what == CHECKPOINT:
                problem += f" The newest is of iteration {self._saved_iteration:,}."
            self.problems.append(problem)

    def _rescue(self, write: Callable[[pathlib.Path], object]) -> str:
        """Writes a file somewhere else; returns a sentence that says where."""
        for folder in self._elsewhere():
            try:
                write_json(folder / SETTINGS, self._description)
                write(folder)
            except Exception:  # perhaps the next folder will do
                continue
            return f"It is in {folder}."
        return "It could not be written anywhere else: it is lost."

    def _write_rows(self, folder: pathlib.Path) -> None:
        if folder == self.folder:
            self._writer.sync()
        else:
            self.rows_path = folder / RESULTS
            self._writer.copy_to(self.rows_path)

    def _write_failure(self, folder: pathlib.Path, error: BaseException) -> None:
        failure = {
            "error": words_of_error(error),
            "iterations": self._solver.num_iterations,
            "nodes_touched": self._solver.nodes_touched,
        }
        write_json(folder / FAILURE, failure)

    def close(self) -> None:
        """Closes results.csv and releases the folder."""
        self._writer.close()
        self._hold.release()
        for folder in filter(None, self._spares):
            with contextlib.suppress(OSError):
                if {path.name for path in folder.iterdir()} <= {SETTINGS}:
                    shutil.rmtree(folder)  # nothing of value fitted in there, either


def _new_folder(prefix: str, place: Callable[[], pathlib.Path]) -> pathlib.Path | None:
    """A new folder in a place, or None if none can be made there."""
    try:
        return pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=place()))
    except OSError:
        return None


def words_of_error(error: BaseException) -> str:
    """The message of an error with its notes, such as the history that led to it."""
    words = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        words = error.strerror
    notes = getattr(error, "__notes__", ())
    if notes and not words.endswith((".", "!", "?")):
        words += "."
    return " ".join([words, *notes])
