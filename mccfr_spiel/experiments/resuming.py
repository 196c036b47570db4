"""Resuming: whether a folder's run can go on, and from where.

A run is resumed from its newest good checkpoint, with the rows that belong to the time
before it. The flags may be given again as long as they say what they said before.
"""

import contextlib
import pathlib
import shutil
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mccfr_spiel.algorithms import Algorithm, own_parts_of
from mccfr_spiel.cluster.crews import Cluster
from mccfr_spiel.experiments.flags import CHANGEABLE, DEFAULT, Flags
from mccfr_spiel.experiments.runs import COLUMNS, row_dues
from mccfr_spiel.experiments.settings import (
    Settings,
    abstraction_of,
    budget_of,
    measure,
)
from mccfr_spiel.experiments.settings_files import read_flags
from mccfr_spiel.policies.game_solver import GameSolver
from mccfr_spiel.solver import Solver
from mccfr_spiel.storage.checkpoint import DAMAGED, PREVIOUS
from mccfr_spiel.storage.results_folder import CHECKPOINT, SETTINGS, load_string
from mccfr_spiel.storage.row_file import read_table
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.identity import same_name
from mccfr_spiel.tree.loading import load_game


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
        if name in ("game", "players") and _is_same_game(stored, given):
            continue
        raise ValueError(
            f"The run in {folder} has {name}={stored[name]}, not {value}; only "
            f"{' and '.join(CHANGEABLE)} may change when it is resumed."
        )
    return stored | {name: given[name] for name in CHANGEABLE if name in given}


def _is_same_game(stored: Flags, given: Flags) -> bool:
    """Whether the flags that are given name the game of a run, be it in other words."""
    game = given.get("game", stored["game"])
    both = (stored["game"], stored["players"]), (game, given.get("players"))
    try:
        one, other = (load_game(load_string(*words)) for words in both)
    except ValueError:
        return False
    return same_name(one, other)


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
        damaged: how many lines of the file cannot be read.
    """

    rows: list[dict[str, Any]]
    missing: bool
    damaged: int


def read_rows(
    path: pathlib.Path,
    settings: Settings,
    solver: GameSolver,
    metrics: Iterable[str] = (),
) -> KeptRows:
    """The rows in a CSV file that are due by the settings where the solver is.

    A row without one of the metrics is damaged. A file with damaged lines is first
    copied to a name that ends with DAMAGED, because it is about to be replaced by the
    rows that are left.
    """
    lines, damaged, _ = read_table(path)
    found = [_row(line, metrics) for line in lines]
    damaged += found.count(None)
    done = solver.num_iterations
    rows = [row for row in found if row is not None and row["iteration"] <= done]
    column = measure(settings)
    reached = done if column == "iteration" else solver.nodes_touched
    kept, is_missing = _match(rows, settings, reached)
    if damaged:
        with contextlib.suppress(OSError):
            shutil.copyfile(path, path.with_name(path.name + DAMAGED))
    return KeptRows(kept, is_missing, damaged)


def _match(
    rows: list[dict[str, Any]], settings: Settings, reached: int
) -> tuple[list[dict[str, Any]], bool]:
    """The rows that are due, each with its `due`, and whether any is missing.

    The last row of a run that is to be longer now need not be due any more.
    """
    column = measure(settings)
    dues = row_dues(settings)
    due = next(dues, None)
    kept: list[dict[str, Any]] = []
    is_missing = False
    # One pass takes the numbers that one row has reached since the row before it. By
    # nodes touched, one iteration may pass several, and the largest becomes its `due`.
    # By iterations a row must be at the very number.
    for row in rows:
        passed: list[int] = []
        while due is not None and due <= row[column]:
            passed.append(due)
            due = next(dues, None)
        if column == "iteration":
            exact = [one for one in passed if one == row[column]]
            is_missing |= len(exact) < len(passed)
            passed = exact
        if passed:
            kept.append(row | {"due": passed[-1]})
    is_missing |= due is not None and due < reached
    return kept, is_missing


def _row(line: Mapping[str, str], metrics: Iterable[str]) -> dict[str, Any] | None:
    """A line of results.csv as a row, or None if the line is damaged."""
    try:
        row: dict[str, Any] = {name: int(line[name]) for name in COLUMNS[:2]}
        row |= {
            name: float(line[name]) if line[name] else None for name in COLUMNS[2:-1]
        }
        row |= {name: float(line[name]) for name in metrics}
    except (ValueError, KeyError):
        return None
    return row | {"due": None}
