"""settings.json: the flags of a run, its algorithm, and the versions that ran it."""

import importlib.metadata
import json
import os
import pathlib
import platform
import re
import shlex
from typing import Any

from mccfr_spiel.experiments.setting_names import flags_of, named_settings
from mccfr_spiel.experiments.settings import Flags, Settings, with_horizon

_PACKAGES = ("mccfr_spiel", "open_spiel", "numba", "numpy")


def description(settings: Settings, flags: Flags | None = None) -> dict[str, Any]:
    """The content of settings.json.

    Args:
        settings: the run.
        flags: the flags that the user gave, stored as they are; by default the flags
            that describe the settings.
    """
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "settings": flags_of(settings) if flags is None else with_horizon(flags),
        "algorithm": repr(settings.algorithm),
        "versions": versions,
    }


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """Reads the settings in a settings.json; raises the errors of `read_flags`."""
    return settings_from(read_flags(pathlib.Path(path)), str(path))


class CodeInFileError(ValueError):
    """A file refers to code that the user has not named."""


def read_flags(path: pathlib.Path, given: Flags | None = None) -> Flags:
    """Reads the flags in a settings.json.

    Args:
        path: the file.
        given: the flags of the current command. A flag that refers to code is accepted
            only if it is repeated here.

    Raises:
        CodeInFileError: the file refers to code that `given` does not repeat.
        ValueError: the file is damaged, or has an unknown setting.
        OSError: the file cannot be read.
    """
    try:
        values = json.loads(path.read_bytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it is not JSON ({error}).") from error
    if not isinstance(values, dict) or not isinstance(values.get("settings"), dict):
        raise ValueError(f'{path} is damaged: it lacks the "settings" of a run.')
    flags = values["settings"]
    refuse_code(path.parent, flags, given or {})
    settings_from(flags, str(path))
    return flags


_MAY_NAME_CODE = "sampling", "minimizer", "averaging", "algorithm", "abstraction"


def refuse_code(folder: pathlib.Path, flags: Flags, given: Flags) -> None:
    """Raises CodeInFileError if flags read from a folder refer to code.

    Somebody else may have written the folder, and importing a module runs its code.

    Args:
        folder: the folder of results.
        flags: the flags read from it.
        given: the flags of the current command, which may refer to the same code, but
            not to code inside the folder.
    """
    for name in _MAY_NAME_CODE:
        value = flags.get(name)
        if not isinstance(value, str) or ":" not in value:
            continue
        if given.get(name) != value:
            raise CodeInFileError(
                f"The run in {folder} uses {name}={value!r}, which refers to code. A "
                "results folder cannot cause code to be loaded. If you trust the code, "
                f"add --{name}={shlex.quote(value)} to the command."
            )
        for module in re.findall(r"[^'\"(\s]+\.py(?=:)", value):
            if pathlib.Path(module).resolve().is_relative_to(folder.resolve()):
                raise CodeInFileError(
                    f"{name}={value!r} refers to code inside the results folder "
                    f"{folder}, which is never loaded. Move the file out of it."
                )


def settings_from(flags: Any, where: str) -> Settings:
    """Makes settings from flags that were read from a file.

    Args:
        flags: names -> values.
        where: the file, for messages.

    Raises:
        ValueError: `flags` is not a dictionary of valid settings.
    """
    if not isinstance(flags, dict):
        raise ValueError(f"{where} is damaged: {flags!r} is not a dictionary of flags.")
    try:
        return named_settings(**flags)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
