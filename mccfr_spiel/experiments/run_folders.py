"""The folder of a run: its name, whether it can be used, and its resumed flags."""

import hashlib
import itertools
import pathlib
import re
import tempfile

from mccfr_spiel.common.folder_lock import LOCK
from mccfr_spiel.common.game_files import is_game_file
from mccfr_spiel.experiments import run_files
from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.setting_names import CHANGEABLE, DEFAULT
from mccfr_spiel.experiments.settings import Flags, Settings
from mccfr_spiel.experiments.settings_files import CodeInFileError, read_flags

_LONGEST_NAME = 70


def default_folder(settings: Settings, *, fresh: bool = True) -> pathlib.Path:
    """Returns `results/game_algorithm_seed0`.

    Args:
        settings: the run.
        fresh: whether to append a number if the folder exists.
    """
    name = f"{run_name(settings.game, name_of(settings.algorithm))}_seed{settings.seed}"
    return new_folder(name) if fresh else pathlib.Path("results", name)


def run_name(game: str, method: str) -> str:
    """A file name of a game and a method.

    Long names are shortened and get a few digits of their hash.
    """
    if is_game_file(game):
        game = pathlib.Path(game).stem
    both = game, method
    game, method = (re.sub(r"[^\w.=-]+", "_", text).strip("_") for text in both)
    if max(len(game), len(method)) > _LONGEST_NAME:
        digits = hashlib.sha256(repr(both).encode()).hexdigest()[:8]
        game = f"{game[:_LONGEST_NAME]}_{digits}"
    return f"{game}_{method[:_LONGEST_NAME]}"


def new_folder(name: str) -> pathlib.Path:
    """A folder in `results/` that does not exist yet; appends a number if necessary."""
    names = itertools.chain([name], (f"{name}_{k}" for k in itertools.count(2)))
    paths = (pathlib.Path("results", name) for name in names)
    return next(path for path in paths if not path.exists())


def open_folder(
    folder: pathlib.Path, *, overwrite: bool = False, resume: bool = False
) -> None:
    """Creates the folder of a new run, or checks that an existing folder can be used.

    Files of an older run are kept until the new run has a solver.

    Args:
        folder: the folder.
        overwrite: whether the folder may have files.
        resume: whether the user asked to resume a run, for the message.

    Raises:
        ValueError: the folder has files and `overwrite` is False, the path is not a
            folder, or the folder is not writable.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = {path.name for path in folder.iterdir()} - {LOCK}
        if files and not overwrite:
            raise ValueError(
                f"{folder} is not empty, but lacks a run to resume. Use --overwrite, "
                "or a different output folder."
                if resume
                else f"{folder} is not empty. Use --resume, --overwrite, or a "
                "different "
                "output folder."
            )
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ValueError(
            f"{folder} is not writable: {error.strerror}. Use a different folder."
        ) from error


def resumed_flags(folder: pathlib.Path, given: Flags, flags: Flags) -> Flags:
    """The flags of the run in a folder, with the changes that the user gives.

    Args:
        folder: the folder of the run.
        given: the flags in the current command.
        flags: all flags of the command, used if the folder has lost its settings.json.
            A checkpoint of another run is refused later.

    Raises:
        ValueError: a flag outside CHANGEABLE would change, or settings.json is
            damaged.
    """
    path = folder / run_files.SETTINGS
    if not path.exists():
        return flags
    try:
        stored = {**DEFAULT, **read_flags(path, given)}
    except CodeInFileError:
        raise
    except ValueError as error:
        raise ValueError(
            f"{error} To resume from the checkpoint, delete the file and repeat all "
            "flags of the run."
        ) from error
    for name, value in given.items():
        if name in CHANGEABLE or value == stored[name]:
            continue
        raise ValueError(
            f"The run in {folder} has {name}={stored[name]}, not {value}. Only "
            f"{', '.join(CHANGEABLE)} may change when a run is resumed."
        )
    nodes, asked = stored["until_nodes_touched"], given.get("iterations")
    is_idle = nodes and asked not in (None, stored["iterations"])
    if is_idle and "until_nodes_touched" not in given:
        raise ValueError(
            f"The run in {folder} ends at until_nodes_touched={nodes}, so "
            f"iterations={asked} has no effect. Use until_nodes_touched instead."
        )
    return stored | {name: given[name] for name in CHANGEABLE if name in given}
