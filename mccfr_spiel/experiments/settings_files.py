"""settings.json: what a run was told, what that means, and which versions ran it."""

import importlib.metadata
import json
import pathlib
import platform
from typing import Any

from mccfr_spiel.experiments.algorithm_names import parts_of
from mccfr_spiel.experiments.flags import (
    SETTINGS,
    Flags,
    flags_of,
    named_settings,
    with_horizon,
)
from mccfr_spiel.experiments.settings import Settings

_PACKAGES = ("mccfr_spiel", "open_spiel", "numba", "numpy")


def description(settings: Settings, flags: Flags | None = None) -> dict[str, Any]:
    """What settings.json holds.

    Args:
        settings: the run.
        flags: the names by which a user has described the run, if somebody has; they
            are kept as they were given.
    """
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "settings": flags_of(settings) if flags is None else with_horizon(flags),
        "algorithm": parts_of(settings.algorithm),
        "versions": versions,
    }


def read_settings(path: pathlib.Path) -> Settings:
    """The settings that a settings.json describes; raises as `read_flags` does."""
    return settings_from(read_flags(path), str(path))


def read_flags(path: pathlib.Path) -> Flags:
    """The flags in a settings.json.

    Raises:
        ValueError: the file is damaged, or has a setting that does not exist.
        OSError: it cannot be read.
    """
    try:
        values = json.loads(path.read_bytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged, it is no JSON: {error}") from error
    if not isinstance(values, dict) or not isinstance(values.get("settings"), dict):
        raise ValueError(f"{path} is damaged: it lacks the settings of a run.")
    flags = values["settings"]
    settings_from(flags, str(path))
    return flags


def settings_from(flags: Any, where: str) -> Settings:
    """The settings that flags from a file describe.

    Raises:
        ValueError: they are no flags, or a value is wrong; the message begins with
            `where` it was found.
    """
    if not isinstance(flags, dict):
        raise ValueError(f"{where} is damaged: {flags!r} are no settings.")
    for name, value in flags.items():
        if name not in SETTINGS:
            raise ValueError(
                f"{where} has the setting {name!r}, which is none of "
                f"{', '.join(SETTINGS)}."
            )
        if not SETTINGS[name].admits(value):
            raise ValueError(
                f"{where} has {name}={value!r}, which is not {SETTINGS[name].words}."
            )
    try:
        given = {name: value for name, value in flags.items() if value is not None}
        return named_settings(**given)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
