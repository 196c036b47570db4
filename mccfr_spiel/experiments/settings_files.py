"""settings.json: what a run was told, what that means, and which versions ran it."""

import importlib.metadata
import json
import pathlib
import platform
import typing
from typing import Any

from mccfr_spiel.experiments.flags import (
    KINDS,
    Flags,
    flags_of,
    named_settings,
    settled,
)
from mccfr_spiel.experiments.settings import Settings, algorithm_parts
from mccfr_spiel.storage.results_folder import write_json


def description(settings: Settings, flags: Flags | None = None) -> dict[str, Any]:
    """What settings.json holds.

    Args:
        settings: the run.
        flags: the names by which a user has described the run, if somebody has; they
            are kept as they were given.
    """
    packages = ("mccfr_spiel", "open_spiel", "numba", "numpy")
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "settings": flags_of(settings) if flags is None else settled(flags),
        "algorithm": algorithm_parts(settings),
        "versions": versions,
    }


def write_settings(path: pathlib.Path, settings: Settings) -> None:
    """Writes the description of the settings as JSON."""
    write_json(path, description(settings))


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
    return checked_flags(values["settings"], str(path))


def checked_flags(values: Any, where: str) -> Flags:
    """The values themselves if they are flags by their names and types.

    Raises:
        ValueError: one is not; the message begins with `where` it was found.
    """
    if not isinstance(values, dict):
        raise ValueError(f"{where} is damaged: {values!r} are no settings.")
    for name, value in values.items():
        if name not in KINDS:
            raise ValueError(
                f"{where} has the setting {name!r}, which is none of "
                f"{', '.join(KINDS)}."
            )
        if not _is_of_kind(value, KINDS[name]):
            raise ValueError(
                f"{where} has {name}={value!r}, which is not {KINDS[name]}."
            )
    return typing.cast(Flags, values)


def settings_from(flags: Flags, where: str) -> Settings:
    """The settings that flags from a file describe.

    Raises:
        ValueError: a value is wrong; the message begins with `where` it was found.
    """
    try:
        return named_settings(**flags)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _is_of_kind(value: Any, kind: Any) -> bool:
    """Whether a JSON value fits a flag's type: floats may be whole, bools are none."""
    if isinstance(value, bool):
        return kind in (bool, bool | None)
    return isinstance(value, kind) or (
        isinstance(value, int) and kind in (float, float | None)
    )
