"""Runs: a solver made from settings, its rows, and the files that they go into.

`rows` yields the table of a run, and `Recording` writes it, with the checkpoints and
policies of the run. From these files a run goes on where it was, whatever ended it.
What the command line runs and what a sweep's workers run is recorded alike.

A file that cannot be written, because the disk is full or the folder was deleted, ends
the run with the OSError. The checkpoint before it stays good, and the rows that belong
to that checkpoint were made to last before it was written.
"""

import bisect
import errno
import hashlib
import itertools
import operator
import os
import pathlib
import re
import tempfile
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyspiel

from mccfr_spiel.algorithms import Algorithm, own_parts_of
from mccfr_spiel.arenas.choosing import takes_worlds
from mccfr_spiel.arenas.infosets.loading import pot_of
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import folders
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.evaluation.metrics import last_iterate, nash_conv
from mccfr_spiel.evaluation.theory import nash_conv_bound
from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.settings import (
    CHANGEABLE,
    DEFAULT,
    CodeInFileError,
    Flags,
    Settings,
    abstraction_of,
    budget_of,
    measure,
    new_tree,
    read_flags,
)
from mccfr_spiel.offline import GameSolver
from mccfr_spiel.solving.running import COUNTERS, Metric, log_spaced, reached, row_of
from mccfr_spiel.solving.solver import Solver

if TYPE_CHECKING:
    from mccfr_spiel.solving.cluster import Cluster

COLUMNS: tuple[str, ...] = (
    "iteration",
    "nodes_touched",
    "seconds",
    "nash_conv",
    "exploitability",
    "bound",
    "last_nash_conv",
    "due",
)
"""The keys of a row and the header of results.csv. `last_nash_conv` is that of the
current policy, which `Settings.evaluate_last` asks for. `due` is the largest number of
`row_dues` that the row has reached. Rows of two seeds are compared by it, because one
iteration may pass several of these numbers and then leaves only one row."""

NO_METRICS: Mapping[str, Metric] = types.MappingProxyType({})


# --- making solvers ------------------------------------------------------------


def make_solver(
    settings: Settings,
    tree: GameTree | None = None,
    *,
    cluster: "Cluster | None" = None,
) -> GameSolver:
    """The solver that the settings describe; its tree is whole for exact evaluation,
    unless that takes worlds, or the solver goes over histories.

    Args:
        settings: the run.
        tree: the game's whole tree, if there is one already.
        cluster: where batches of walks are split, see `Solver`.

    Raises:
        ValueError: the game cannot be solved; see `GameTree`, `Solver` and
            `OfflineMethod.start`.
    """
    tree = tree or new_tree(settings, budget_of(settings))
    method = settings.algorithm
    makes_whole = isinstance(method, Algorithm) and not method.sampling.is_sampled
    if settings.evaluate == "exact" and not (makes_whole or takes_worlds(tree)):
        tree.expand_all()
    if not isinstance(method, Algorithm):
        return method.start(tree)
    return Solver(
        tree,
        method,
        seed=settings.seed,
        store=settings.store,
        threads=settings.threads,
        cluster=cluster,
    )


# --- when rows are due ---------------------------------------------------------
#
# At numbers that depend on the settings alone, so that runs which differ only in their
# seeds can be compared at the same numbers.


def row_dues(settings: Settings) -> Iterator[int]:
    """The numbers of iterations, or of nodes touched if the settings go by those, after
    which a row is due: increasing, and ending with the last of the run."""
    last = settings.last if settings.is_iterative else 1
    if settings.print_freq is not None:
        yield from range(settings.print_freq, last, settings.print_freq)
        yield last
    else:
        yield from log_spaced(settings.rows_from, last, settings.rows_per_decade)


def aligned(
    reached: Sequence[Sequence[float] | np.ndarray], dues: Iterable[float]
) -> Iterator[tuple[float, list[int]]]:
    """The rows of several seeds that are compared: for each due number, which row of
    each seed is the first to reach it; behind the last one for a seed that ended
    earlier. Of due numbers that have the same rows, the first one.

    Args:
        reached: for each seed, what its rows have reached, ascending.
        dues: ascending.
    """
    before = None
    for due in dues:
        at = [int(np.searchsorted(one, due)) for one in reached]
        if at != before:
            before = at
            yield due, at


# --- running -------------------------------------------------------------------


def run(settings: Settings) -> tuple[GameSolver, list[dict[str, Any]]]:
    """Runs the settings to their end; returns the solver and the rows."""
    solver = make_solver(settings)
    return solver, list(rows(solver, settings))


def rows(
    solver: GameSolver,
    settings: Settings,
    on_progress: Callable[[int], object] = lambda done: None,
    *,
    kept: Sequence[dict[str, Any]] = (),
    metrics: Mapping[str, Metric] = NO_METRICS,
) -> Iterator[dict[str, Any]]:
    """Runs the solver and yields a row, with the keys COLUMNS, whenever one is due.

    NashConv is that of the average policy, and None if the settings do not evaluate it.
    Exploitability is NashConv / 2 in two-player constant-sum games and None in others.
    The bound and the current policy's NashConv are None unless the settings ask for
    them. Seconds are those that the solver has spent on iterations.

    Args:
        solver: from `make_solver(settings)` or `load_solver`.
        settings: the run.
        on_progress: called a few times a second with the number of iterations done, or
            of nodes touched if the settings go by those. Every row due so far has then
            been yielded. The run ends if it returns something true.
        kept: the rows of the run that exist already, see `read_rows`.
        metrics: what a row holds beside COLUMNS: label -> function of the solver.
    """
    measures = {**_measures(solver, settings), **metrics}
    halves = measures.get("nash_conv") is nash_conv
    halves &= is_two_player_constant_sum(solver.tree.game)
    halves &= "exploitability" not in metrics
    column, target = measure(settings), settings.target(pot_of(solver.tree.game))
    covered = kept[-1][column] if kept else 0
    if kept and _is_reached(kept[-1]["nash_conv"], target):
        return
    # A row that was lost cannot be made again, because the solver is beyond it.
    start = max(covered + 1, getattr(solver, COUNTERS[column]))
    dues = (due for due in row_dues(settings) if due >= start)
    for due in reached(solver, column, dues, on_progress):
        row = {**dict.fromkeys(COLUMNS), **row_of(solver, measures), "due": due}
        if halves:
            row["exploitability"] = row["nash_conv"] / 2
        yield row
        if _is_reached(row["nash_conv"], target):
            return


def _measures(solver: GameSolver, settings: Settings) -> dict[str, Metric]:
    """The columns of a row that are measured, as the settings say: name -> metric.

    The bound is the least NashConv that theory promises of the average policy: for
    `Solver` that of `theory.nash_conv_bound` (with probability 0.95 if the algorithm
    samples); a first-order method has its own.

    Raises:
        ValueError: no theorem covers the method.
    """
    found: dict[str, Metric] = {}
    if settings.evaluate == "exact":
        found["nash_conv"] = nash_conv
    if settings.bounds and isinstance(solver, Solver):
        promised = nash_conv_bound(solver.tree, solver.algorithm)
        found["bound"] = lambda solver: float(promised(solver.num_iterations))
    elif settings.bounds:  # of a first-order method: `Settings` refuses others
        found["bound"] = operator.attrgetter("gap_bound")
    if settings.evaluate_last:
        found["last_nash_conv"] = last_iterate
    return found


def _is_reached(gap: float | None, target: float | None) -> bool:
    return gap is not None and target is not None and gap <= target


# --- the folder of a run --------------------------------------------------------


_LONGEST_NAME = 70


def default_folder(settings: Settings, *, fresh: bool = True) -> pathlib.Path:
    """`results/game_algorithm_seed0`; if `fresh`, numbered where that one is taken.

    Long names are cut short, and told apart from others by a few digits of their hash.
    """
    game = settings.game
    if folders.is_game_file(game):
        game = pathlib.Path(game).stem
    both = game, name_of(settings.algorithm)
    game, algorithm = (re.sub(r"[^\w.=-]+", "_", one).strip("_") for one in both)
    if max(len(game), len(algorithm)) > _LONGEST_NAME:
        digits = hashlib.sha256(repr(both).encode()).hexdigest()[:8]
        game = f"{game[:_LONGEST_NAME]}_{digits}"
    name = f"{game}_{algorithm[:_LONGEST_NAME]}_seed{settings.seed}"
    names = itertools.chain([name], (f"{name}_{k}" for k in itertools.count(2)))
    paths = (pathlib.Path("results", one) for one in names)
    return next(path for path in paths if not (fresh and path.exists()))


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
        taken = {path.name for path in folder.iterdir()} - {folders.LOCK}
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


# --- resuming: whether a folder's run can go on, and from where -----------------------


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
    path = folder / folders.SETTINGS
    if not path.exists():
        return flags
    try:
        stored = {**DEFAULT, **read_flags(path, given)}
    except CodeInFileError:
        raise
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
    nodes, asked = stored["until_nodes_touched"], given.get("iterations")
    is_idle = nodes and asked not in (None, stored["iterations"])
    if is_idle and "until_nodes_touched" not in given:
        raise ValueError(
            f"The run in {folder} ends by until_nodes_touched={nodes}, whatever the "
            f"iterations; give that one instead of iterations={asked}."
        )
    return stored | {name: given[name] for name in CHANGEABLE if name in given}


def load_solver(
    settings: Settings,
    checkpoint: pathlib.Path,
    tree: GameTree | None = None,
    *,
    cluster: "Cluster | None" = None,
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
    tree, is_exact = solver.tree, settings.evaluate == "exact"
    if is_exact and isinstance(tree, GameTree) and not takes_worlds(new_tree(settings)):
        tree.expand_all()
    return solver


def read_rows(
    path: pathlib.Path,
    settings: Settings,
    solver: GameSolver,
    metrics: Iterable[str] = (),
) -> tuple[list[dict[str, Any]], bool]:
    """The rows in a CSV file that are due by the settings where the solver is, and
    whether some are missing that were due before.

    Raises:
        DamagedError: a line cannot be read, or lacks one of the metrics.
        ValueError: rows would be lost, since they are from beyond the run's end.
    """
    try:
        found = [_row(line, metrics) for line in folders.read_table(path).rows]
    except (ValueError, KeyError) as error:
        raise folders.DamagedError(
            f"{path} is damaged ({error}). Delete it, and the run goes on without its "
            "earlier rows; or begin again."
        ) from error
    column, last = measure(settings), settings.last
    numbers = [row["iteration"] for row in found]
    if any(after <= before for before, after in itertools.pairwise(numbers)):
        raise folders.DamagedError(
            f"{path} is damaged: its iterations do not ascend. Delete it, and the run "
            "goes on without its earlier rows; or begin again."
        )
    done = [row for row in found if row["iteration"] <= solver.num_iterations]
    if any(row[column] >= last for row in done[:-1]):  # which ends a run
        raise ValueError(
            f"{path} has rows of more than {last} {column.replace('_', ' ')} already."
        )
    reached = getattr(solver, COUNTERS[column])
    dues = [*itertools.takewhile(lambda due: due <= reached, row_dues(settings))]
    kept: list[dict[str, Any]] = []
    passed = 0
    # One pass takes the numbers that one row has reached since the row before it. By
    # nodes touched, one iteration may pass several, and the largest becomes its `due`.
    # By iterations a row must be at the very number. The last row of a run that is to
    # be longer now need not be due any more.
    for row in done:
        now = bisect.bisect_right(dues, row[column])
        is_due = now > passed
        if column == "iteration":
            is_due &= dues[now - 1 : now] == [row[column]]
        if is_due:
            kept.append(row | {"due": dues[now - 1]})
            passed = now
    lost = {*dues} - {row["due"] for row in kept} if column == "iteration" else set()
    return kept, any(due < reached for due in {*dues[passed:], *lost})


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
    """A run on its way: writes its rows as they come, its policies and its checkpoints
    when they are due.

    Attributes:
        settings: the run.
        solver: runs it.
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
        """Creates or replaces the file of rows, with those that the run has already.

        Args:
            path: of the rows.
            checkpoint: the path of the checkpoints.
            settings: the run.
            solver: that runs it.
            kept: the rows that the run has already.
            metrics: what a row holds beside COLUMNS: label -> function of the solver.
            checkpoint_every: the most seconds between two checkpoints; a row brings one
                earlier if saving is cheap.

        Raises:
            OSError: the file cannot be written. So do all methods.
        """
        self.settings, self.solver, self.kept = settings, solver, kept
        self._path, self._checkpoint = path, checkpoint
        self._metrics, self._every = metrics, checkpoint_every
        self._columns = (*COLUMNS, *metrics)
        text = folders.csv_text(self._columns, kept, header=True)
        folders.write_file(path, text.encode())
        self._file = path.open("ab", buffering=0)
        keep = settings.keep_policies
        dues = log_spaced(1, settings.last, keep) if keep is not None else ()
        self._policy_dues = [*dues]
        self._reached = kept[-1][measure(settings)] if kept else 0
        self._has_new_row = False
        self._saved = solver.num_iterations if checkpoint.exists() else -1
        self._saved_at, self._seconds_to_save = time.monotonic(), 0.0

    def rows(
        self, on_progress: Callable[[int], object] = lambda done: None
    ) -> Iterator[dict[str, Any]]:
        """Runs the solver, and yields each row once it is written; see `rows`."""

        def watch(done: int) -> object:
            self.save_if_due()
            return on_progress(done)

        solver, how = self.solver, {"kept": self.kept, "metrics": self._metrics}
        for row in rows(solver, self.settings, watch, **how):
            self.add(row)
            yield row

    def add(self, row: dict[str, Any]) -> None:
        """Writes a row, and the solver's policy beside it if that is due."""
        with folders.naming(self._path):
            self._check_in_place()
            rest = memoryview(folders.csv_text(self._columns, [row]).encode())
            while rest:  # the system may take only a part of it in one call
                rest = rest[self._file.write(rest) :]
        self._has_new_row = True
        before, self._reached = self._reached, row[measure(self.settings)]
        if any(before < due <= self._reached for due in self._policy_dues):
            path = self._path.with_name(folders.policy_after(row["iteration"]))
            self.solver.average_policy().save(path)

    def save_if_due(self) -> None:
        """Saves a checkpoint if it is time for one."""
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
        done = self.solver.num_iterations
        if isinstance(self.solver, Solver) and done != self._saved:
            self.solver.save(self._checkpoint)
            self._saved = done
        self._has_new_row = False

    def sync(self) -> None:
        """Makes the rows last through a power cut."""
        with folders.naming(self._path):
            self._check_in_place()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file of rows."""
        self._file.close()

    def _check_in_place(self) -> None:
        """Raises FileNotFoundError if the open file has lost its name, because its
        folder was deleted: nobody would ever read what is written now."""
        if not os.fstat(self._file.fileno()).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "It was deleted or replaced")


IN_WORDS = ValueError, OSError, MemoryError, ImportError, pyspiel.SpielError
"""Errors whose messages are for users; any other is a bug and shows where it is."""


def words_of_error(error: BaseException) -> str:
    """The message of an error with its notes, such as the history that led to it."""
    words = str(error) or type(error).__name__
    if isinstance(error, MemoryError) and not error.args:
        words = "There is not enough memory."
    notes = getattr(error, "__notes__", ())
    if notes and not words.endswith((".", "!", "?")):
        words += "."
    return " ".join([words, *notes])
