"""The folder of a run: which one it is, and how it is opened.

The names of the files are in storage/results_folder.py.
"""

import hashlib
import pathlib
import re
import tempfile
from collections.abc import Mapping
from typing import Any

from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.offline.linear_program import LinearProgramError, write_program
from mccfr_spiel.offline.sequence_form import joint_vector, plan_to_policy
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.policy_files import write_policy
from mccfr_spiel.storage.atomic import PARTS
from mccfr_spiel.storage.locks import LOCK
from mccfr_spiel.storage.results_folder import (
    ALL_FILES,
    PROGRAM,
    SETTINGS,
    remove_kept_policies,
    write_json,
)

_LONGEST_NAME = 120


def default_folder(
    settings: Settings, parent: str = "results", *, fresh: bool = True
) -> pathlib.Path:
    """`parent/game_algorithm_seed0`; if `fresh`, numbered where that one is taken.

    The name of a long game is cut short, and told apart from others by a few digits of
    its hash.
    """
    game = settings.game
    ending = _file_name(f"_{name_of(settings.algorithm)}_seed{settings.seed}")
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

    If the error has plans, they become the policy in the folder.
    """
    tree = error.form.tree
    write_program(error.program, folder / PROGRAM, tree.game.get_type().short_name)
    if error.plans is not None:
        first, second = map(plan_to_policy, error.form.treeplexes, error.plans)
        vector = joint_vector(error.form, (first, second))
        write_policy(folder, SequencePolicy(tree, vector))
    return folder / PROGRAM
