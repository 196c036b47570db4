"""The folder of a run: which one it is, how it is opened, and what goes into it.

The names of the files are in storage/results_folder.py. How they survive a full disk or
a deleted folder is in experiments/recording.py.
"""

import hashlib
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

from mccfr_spiel.experiments.runs import COLUMNS
from mccfr_spiel.experiments.settings import Settings, algorithm_name
from mccfr_spiel.offline.linear_program import LinearProgramError, write_program
from mccfr_spiel.offline.sequence_form import joint_vector, plan_to_policy
from mccfr_spiel.policies.game_solver import GameSolver, Resumable
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.policy_files import write_policy
from mccfr_spiel.storage.atomic import PARTS
from mccfr_spiel.storage.locks import LOCK
from mccfr_spiel.storage.results_folder import (
    ALL_FILES,
    CHECKPOINT,
    FIRST_CHECKPOINT,
    PROGRAM,
    SETTINGS,
    remove_kept_policies,
    write_json,
)
from mccfr_spiel.storage.row_file import RowWriter

_LONGEST_NAME = 120


def default_folder(
    settings: Settings, parent: str = "results", *, fresh: bool = True
) -> pathlib.Path:
    """`parent/game_algorithm_seed0`; if `fresh`, numbered where that one is taken.

    The algorithm is that of `algorithm_name`. The name of a long game is cut short, and
    told apart from others by a few digits of its hash.
    """
    game = settings.game
    ending = _file_name(f"_{algorithm_name(settings)}_seed{settings.seed}")
    name = _file_name(game)
    most = _LONGEST_NAME - len(ending)
    if len(name) > most:
        digits = hashlib.sha256(game.encode()).hexdigest()[:8]
        name = f"{name[: most - 9]}_{digits}"
    name += ending
    folder = pathlib.Path(parent, name)
    number = 2
    while fresh and folder.exists():
        folder = pathlib.Path(parent, f"{name}_{number}")
        number += 1
    return folder


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.=-]+", "_", text)


def open_folder(
    folder: pathlib.Path, *, overwrite: bool = False, resume: bool = False
) -> None:
    """Creates the folder of a new run, or makes sure that it can be used.

    The files of an older run stay until `begin` replaces them.

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


def begin(
    folder: pathlib.Path, description: Mapping[str, Any], solver: GameSolver
) -> None:
    """Replaces the files of an older run by the new run's description and checkpoint.

    The older files are not touched before it is known that the new run is possible.

    Args:
        folder: of the run.
        description: the content of settings.json, see `settings_files.description`.
        solver: at the start of the run. One that cannot be resumed gets no checkpoint.

    Raises:
        OSError: the checkpoint cannot be written.
        ValueError: there is no room for three checkpoints, which saving takes for a
            moment.
    """
    first = folder / FIRST_CHECKPOINT
    has_checkpoint = save_checkpoint(solver, first)
    if has_checkpoint:
        size, free = first.stat().st_size, shutil.disk_usage(folder).free
        if free < 2 * size:
            first.unlink()
            raise ValueError(
                f"{folder} has {free / 2**20:,.0f} MiB left, but checkpoints take "
                f"{3 * size / 2**20:,.0f} MiB. Choose another output folder."
            )
    for name in ALL_FILES:
        if folder / name != first:
            (folder / name).unlink(missing_ok=True)
    remove_kept_policies(folder)
    write_json(folder / SETTINGS, description)
    if has_checkpoint:
        os.replace(first, folder / CHECKPOINT)


def save_checkpoint(solver: GameSolver, path: pathlib.Path) -> bool:
    """Saves a solver that can be resumed; returns whether it can.

    Raises:
        OSError: the file cannot be written.
    """
    if isinstance(solver, Resumable):
        solver.save(path)
        return True
    return False


def row_writer(
    path: pathlib.Path,
    kept: Iterable[dict[str, Any]] = (),
    metrics: Iterable[str] = (),
) -> RowWriter:
    """A writer of rows with the keys COLUMNS and of metrics; raises OSError."""
    return RowWriter(path, (*COLUMNS, *metrics), kept)


def write_unfinished(folder: pathlib.Path, error: LinearProgramError) -> pathlib.Path:
    """Writes the program that HiGHS did not finish, for other solvers of linear
    programs; returns its path.

    If the error has plans, they become the policy in the folder.
    """
    tree = error.form.tree
    write_program(error.program, folder / PROGRAM, tree.game.get_type().short_name)
    if error.plans is not None:
        first, second = map(plan_to_policy, error.form.treeplexes, error.plans)
        vector = joint_vector(error.form, (first, second))
        write_policy(folder, SequencePolicy(tree, vector))
    return folder / PROGRAM
