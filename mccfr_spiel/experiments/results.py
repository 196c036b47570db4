"""The folder of a run: which one it is, and how it is opened.

The names of the files are in common/results_folder.py.

Resuming: whether a folder's run can go on, and from where.

A run is resumed from its newest good checkpoint, with the rows that belong to the time
before it. The flags may be given again as long as they say what they said before.

What a run leaves while it goes on: its rows, its checkpoints, its policies.

A file that cannot be written, because the disk is full or the folder was deleted, ends
the run with the OSError. The checkpoint before it stays good, and the rows that belong
to that checkpoint were made to last before it was written.
"""

import bisect
import hashlib
import itertools
import pathlib
import re
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mccfr_spiel.algorithms import Algorithm, own_parts_of
from mccfr_spiel.common.checkpoint import PREVIOUS, DamagedError
from mccfr_spiel.common.folders import LOCK, PARTS
from mccfr_spiel.common.results_folder import (
    ALL_FILES,
    CHECKPOINT,
    PROGRAM,
    SETTINGS,
    RowWriter,
    policy_after,
    read_table,
    remove_kept_policies,
    write_json,
)
from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.runs import COLUMNS, policy_dues, row_dues
from mccfr_spiel.experiments.settings import (
    CHANGEABLE,
    DEFAULT,
    Flags,
    Settings,
    abstraction_of,
    budget_of,
    measure,
    read_flags,
)
from mccfr_spiel.offline.linear_program import LinearProgramError, write_program
from mccfr_spiel.policies.policy import GameSolver
from mccfr_spiel.solver import Solver
from mccfr_spiel.solving.cluster import Cluster
from mccfr_spiel.solving.running import COUNTERS
from mccfr_spiel.tree.game_tree import GameTree

_LONGEST_NAME = 70


def default_folder(settings: Settings, *, fresh: bool = True) -> pathlib.Path:
    """`results/game_algorithm_seed0`; if `fresh`, numbered where that one is taken.

    Long names are cut short, and told apart from others by a few digits of their hash.
    """
    both = settings.game, name_of(settings.algorithm)
    game, algorithm = (re.sub(r"[^\w.=-]+", "_", one).strip("_") for one in both)
    if max(len(game), len(algorithm)) > _LONGEST_NAME:
        digits = hashlib.sha256(repr(both).encode()).hexdigest()[:8]
        game = f"{game[:_LONGEST_NAME]}_{digits}"
    name = f"{game}_{algorithm[:_LONGEST_NAME]}_seed{settings.seed}"
    names = itertools.chain([name], (f"{name}_{k}" for k in itertools.count(2)))
    folders = (pathlib.Path("results", one) for one in names)
    return next(one for one in folders if not (fresh and one.exists()))


def open_folder(
    folder: pathlib.Path, *, overwrite: bool = False, resume: bool = False
) -> None:
    """Creates the folder of a new run, or makes sure that it can be used.

    The files of an older run stay until `begin` removes them.

    Raises:
        ValueError: the folder is not empty and `overwrite` is False, it is not a
            folder, or nothing can be written in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = {path.name for path in folder.iterdir()} - {LOCK}
        if taken and not overwrite:
            raise ValueError(
                f"{folder} is not empty and has no run to resume. Choose another "
                "output folder, or allow it to be overwritten (--overwrite)."
                if resume
                else f"{folder} is not empty. Choose another output folder, go on with "
                "the run in it (--resume), or allow it to be overwritten (--overwrite)."
            )
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ValueError(
            f"{folder} cannot be written: {error.strerror}. Choose another output "
            "folder."
        ) from error


def remove_unfinished(folder: pathlib.Path) -> None:
    """Removes what killed runs were writing in a folder that this run holds alone."""
    for part in folder.glob("*" + PARTS):
        part.unlink(missing_ok=True)


def begin(folder: pathlib.Path, description: Mapping[str, Any]) -> None:
    """Replaces the files of an older run by the new run's description.

    It is called when the new run is known to be possible.

    Args:
        folder: of the run.
        description: the content of settings.json, see `settings_files.description`.

    Raises:
        OSError: a file cannot be removed or written.
    """
    for name in ALL_FILES:
        (folder / name).unlink(missing_ok=True)
    remove_kept_policies(folder)
    write_json(folder / SETTINGS, description)


def write_unfinished(folder: pathlib.Path, error: LinearProgramError) -> pathlib.Path:
    """Writes the program that HiGHS did not finish, for other solvers of linear
    programs; returns its path.
    """
    game = error.form.tree.game
    write_program(error.program, folder / PROGRAM, game.get_type().short_name)
    return folder / PROGRAM


# --- resuming: whether a folder's run can go on, and from where -----------------------


def holds_run(folder: pathlib.Path) -> bool:
    """Whether a folder has a run that can be resumed, or begun again from its
    settings."""
    names = SETTINGS, CHECKPOINT, CHECKPOINT + PREVIOUS
    return any((folder / name).exists() for name in names)


def resumed_flags(folder: pathlib.Path, given: Flags, flags: Flags) -> Flags:
    """The flags of the run in a folder, with those of CHANGEABLE that are given.

    Args:
        folder: of the run.
        given: the flags that the user has set now.
        flags: all flags, for a folder that has lost its settings.json. The checkpoint
            is refused later if it is not of this run.

    Raises:
        ValueError: a flag is given that may not change and is not as it was, or
            settings.json is damaged.
    """
    path = folder / SETTINGS
    if not path.exists():
        return flags
    try:
        stored = {**DEFAULT, **read_flags(path)}
    except ValueError as error:
        raise ValueError(
            f"{error} Delete it and give all of the run's settings again, to resume "
            "from the checkpoint."
        ) from error
    for name, value in given.items():
        if name in CHANGEABLE or value == stored[name]:
            continue
        raise ValueError(
            f"The run in {folder} has {name}={stored[name]}, not {value}; only "
            f"{' and '.join(CHANGEABLE)} may change when it is resumed."
        )
    return stored | {name: given[name] for name in CHANGEABLE if name in given}


def load_solver(
    settings: Settings,
    checkpoint: pathlib.Path,
    tree: GameTree | None = None,
    *,
    cluster: Cluster | None = None,
) -> Solver:
    """The solver of the newest good checkpoint, ready to go on.

    Args:
        settings: the run.
        checkpoint: the path of the file, see `Solver.load_newest`.
        tree: the game's whole tree, if there is one already.
        cluster: see `Solver`.

    Raises:
        FileNotFoundError: there is no checkpoint.
        ValueError: it is damaged, or of another run; see `Solver.load_newest`.
    """
    method = settings.algorithm
    assert isinstance(method, Algorithm)  # others make no checkpoints
    own: dict[str, Any] = own_parts_of(method)
    solver = Solver.load_newest(
        checkpoint,
        tree or settings.game,
        abstraction=abstraction_of(settings),
        max_memory=budget_of(settings),
        threads=settings.threads,
        twin=settings.twin,
        cluster=cluster,
        **own,
    )
    if (solver.algorithm, solver.seed) != (settings.algorithm, settings.seed):
        raise ValueError(f"{checkpoint} is not of the run that the settings describe.")
    by_iterations = settings.until_nodes_touched is None
    if by_iterations and solver.num_iterations > settings.iterations:
        raise ValueError(
            f"The run of {checkpoint} has done {solver.num_iterations} iterations "
            f"already, more than {settings.iterations}."
        )
    if settings.evaluate == "exact" and solver.tree.rule_store is None:
        solver.tree.make_whole("auto")
    return solver


# --- rows ------------------------------------------------------------------------


class KeptRows(NamedTuple):
    """The rows that a file has of a run that is resumed.

    Attributes:
        rows: in the order of the run.
        missing: whether rows were due before the checkpoint that the file has not got.
    """

    rows: list[dict[str, Any]]
    missing: bool


def read_rows(
    path: pathlib.Path,
    settings: Settings,
    solver: GameSolver,
    metrics: Iterable[str] = (),
) -> KeptRows:
    """The rows in a CSV file that are due by the settings where the solver is.

    Raises:
        DamagedError: a line cannot be read, or lacks one of the metrics.
    """
    try:
        found = [_row(line, metrics) for line in read_table(path).rows]
    except (ValueError, KeyError) as error:
        raise DamagedError(
            f"{path} is damaged ({error}). Delete it, and the run goes on without its "
            "earlier rows; or begin again."
        ) from error
    column = measure(settings)
    reached = getattr(solver, COUNTERS[column])
    dues = [*itertools.takewhile(lambda due: due <= reached, row_dues(settings))]
    kept: list[dict[str, Any]] = []
    passed = 0
    # One pass takes the numbers that one row has reached since the row before it. By
    # nodes touched, one iteration may pass several, and the largest becomes its `due`.
    # By iterations a row must be at the very number. The last row of a run that is to
    # be longer now need not be due any more.
    for row in found:
        now = bisect.bisect_right(dues, row[column])
        is_due = now > passed
        if column == "iteration":
            is_due &= dues[now - 1 : now] == [row[column]]
        if is_due and row["iteration"] <= solver.num_iterations:
            kept.append(row | {"due": dues[now - 1]})
            passed = now
    return KeptRows(kept, missing=any(due < reached for due in dues[passed:]))


def _row(line: Mapping[str, str], metrics: Iterable[str]) -> dict[str, Any]:
    """A line of results.csv as a row; raises ValueError or KeyError if it is none."""
    row: dict[str, Any] = {name: int(line[name]) for name in COLUMNS[:2]}
    row |= {name: float(line[name]) if line[name] else None for name in COLUMNS[2:-1]}
    row |= {name: float(line[name]) for name in metrics}
    return row | {"due": None}


# --- what a run leaves while it goes on: its rows, its checkpoints, its policies ------


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
        self._saved = solver.num_iterations if checkpoint.exists() else -1
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
        them; solvers that cannot be resumed have none.

        A solver that has not moved since is not saved again: the checkpoint before it
        would become the same one.
        """
        self.sync()
        done = self._solver.num_iterations
        if isinstance(self._solver, Solver) and done != self._saved:
            self._solver.save(self._checkpoint)
            self._saved = done
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
