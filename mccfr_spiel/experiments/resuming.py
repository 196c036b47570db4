"""Resuming: whether a folder's run can go on, and from where.

A run is resumed from its newest good checkpoint, with the rows that belong to the time
before it. The flags may be given again as long as they say what they said before.
"""

import contextlib
import json
import pathlib
import shutil
import typing
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mccfr_spiel.cluster.crews import Cluster
from mccfr_spiel.experiments.dues import row_dues
from mccfr_spiel.experiments.flags import CHANGEABLE, DEFAULT, Flags
from mccfr_spiel.experiments.runs import COLUMNS
from mccfr_spiel.experiments.settings import (
    Settings,
    abstraction_of,
    budget_of,
    measure,
)
from mccfr_spiel.experiments.settings_files import read_flags, settings_from
from mccfr_spiel.policies.game_solver import GameSolver
from mccfr_spiel.solver import Solver
from mccfr_spiel.storage.checkpoint import (
    DAMAGED,
    PREVIOUS,
    CheckpointError,
    DamagedError,
)
from mccfr_spiel.storage.results_folder import (
    CHECKPOINT,
    FAILURE,
    SETTINGS,
    load_string,
)
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
        stored: dict[str, Any] = {**DEFAULT, **read_flags(path)}
        settings_from(typing.cast(Flags, stored), str(path))
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
        changeable = " and ".join(f"--{flag}" for flag in CHANGEABLE)
        raise ValueError(
            f"The run in {folder} has {name}={stored[name]}, not {value}; only "
            f"{changeable} may change when it is resumed."
        )
    changes = {name: value for name, value in given.items() if name in CHANGEABLE}
    return typing.cast(Flags, stored | changes)


def _is_same_game(stored: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether the flags that are given name the game of a run, be it in other words."""
    both = stored["game"], stored.get("players")
    if "game" in given:
        others = given["game"], given.get("players")
    else:
        others = stored["game"], given["players"]
    try:
        one, other = (load_game(load_string(*words)) for words in (both, others))
    except ValueError:
        return False
    return same_name(one, other)


def check_can_end(folder: pathlib.Path, settings: Settings) -> None:
    """Raises ValueError if the run in a folder has ended in an error that it would meet
    again, because its settings determine its draws."""
    path = folder / FAILURE
    try:
        failure = json.loads(path.read_text(encoding="utf-8"))
        error = str(failure["error"])
        done = int(failure["iterations"])
        nodes = int(failure["nodes_touched"])
    except FileNotFoundError:
        return
    except (ValueError, TypeError, KeyError):  # damaged: the run itself will tell
        return
    flag, last, reached = "iterations", settings.iterations, done
    if settings.until_nodes_touched is not None:
        flag, last, reached = "until_nodes_touched", settings.until_nodes_touched, nodes
    if last > reached:
        ended = f"The run in {folder} ended in an error after {done:,} iterations"
        try:
            load_solver(settings, folder / CHECKPOINT)
        except DamagedError:
            pass  # resuming will tell
        except CheckpointError as refusal:
            raise ValueError(
                f"{ended}: {error} What it had found until then is there, but it "
                f"cannot go on. {refusal}"
            ) from refusal
        except Exception:  # games raise what they like
            pass
        raise ValueError(
            f"{ended}, and would again, since the seed determines all that it does: "
            f"{error} What it had found until then is there. Ways on: resume it with "
            f"--{flag}={reached} or less; begin another run with another --seed or "
            "--algorithm in another --output_dir; or, if you have already mended "
            f"the game where it failed, delete {path} and resume."
        )


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
    solver = Solver.load_newest(
        checkpoint,
        tree or settings.game,
        abstraction=abstraction_of(settings),
        max_memory=budget_of(settings),
        threads=settings.threads,
        twin=settings.twin,
        cluster=cluster,
    )
    if (solver.algorithm, solver.seed) != (settings.algorithm, settings.seed):
        raise ValueError(f"{checkpoint} is not of the run that the settings describe.")
    by_iterations = settings.until_nodes_touched is None
    if by_iterations and solver.num_iterations > settings.iterations:
        raise ValueError(
            f"The run of {checkpoint} has done {solver.num_iterations} iterations "
            f"already, more than {settings.iterations}."
        )
    if settings.evaluate == "exact":
        solver.tree.expand_all()
    return solver


# --- rows ------------------------------------------------------------------------


class KeptRows(NamedTuple):
    """The rows that a file has of a run that is resumed.

    Attributes:
        rows: in the order of the run.
        missing: how many rows were due before the checkpoint and are not in the file.
        damaged: how many lines of the file cannot be read.
    """

    rows: list[dict[str, Any]]
    missing: int
    damaged: int


def read_rows(
    path: pathlib.Path,
    settings: Settings,
    solver: GameSolver,
    metrics: Iterable[str] = (),
) -> KeptRows:
    """The rows in a CSV file that are due by the settings where the solver is.

    A row without one of the metrics is damaged.

    A file with damaged lines is first copied to a name that ends with DAMAGED, because
    it is about to be replaced by the rows that are left.
    """
    lines, damaged, _ = read_table(path)
    done = solver.num_iterations
    known: dict[int, dict[str, Any]] = {}  # by iteration, each once
    for line in lines:
        row = _row(line, metrics)
        if row is None:
            damaged += 1
        elif row["iteration"] <= done:
            known.setdefault(row["iteration"], row)
    column = measure(settings)
    reached = done if column == "iteration" else solver.nodes_touched
    kept, missing = _match(list(known.values()), settings, reached)
    if damaged:
        with contextlib.suppress(OSError):
            shutil.copyfile(path, path.with_name(path.name + DAMAGED))
    return KeptRows(kept, missing, damaged)


def _match(
    known: list[dict[str, Any]], settings: Settings, reached: int
) -> tuple[list[dict[str, Any]], int]:
    """The rows that are due, each with its `due`, and how many are missing.

    Args:
        known: the rows that could be read.
        settings: the run.
        reached: where the solver is, in what `row_dues` counts.
    """
    column = measure(settings)
    waiting = sorted(known, key=lambda row: row[column], reverse=True)  # next one last
    kept: list[dict[str, Any]] = []
    covered = missing = 0
    # One pass finds the row of one due number: the first row that reaches it. By
    # iterations a row must be at the very number. By nodes touched, one row may cover
    # several numbers; `covered` is what the last row found has reached.
    for due in row_dues(settings):
        if due <= covered:
            kept[-1]["due"] = due
            continue
        while waiting and waiting[-1][column] < due:
            waiting.pop()
        if waiting and (column != "iteration" or waiting[-1][column] == due):
            kept.append(waiting.pop() | {"due": due})
            covered = kept[-1][column]
        elif due < reached:
            missing += 1
        else:
            break
    return kept, missing


def _row(line: Mapping[str, str], metrics: Iterable[str]) -> dict[str, Any] | None:
    """A line of results.csv as a row, or None if the line is damaged.

    Files of earlier versions have no `due`, so it is not read but computed again, and
    no `last_nash_conv`.
    """
    try:
        row: dict[str, Any] = {name: int(line[name]) for name in COLUMNS[:2]}
        for name in COLUMNS[2:-1]:
            text = line.get(name, "") if name == "last_nash_conv" else line[name]
            row[name] = float(text) if text else None
        row |= {name: float(line[name]) for name in metrics}
    except (ValueError, KeyError):
        return None
    return row | {"due": None}
