"""Imports modules, and objects in them, by name or by file path."""

import importlib
import operator
import os
import pathlib
import sys
import traceback
from collections.abc import Iterable
from types import ModuleType
from typing import Any

GAMES = "mccfr_spiel.games"
"""The package of the papers' games."""


def import_games(modules: Iterable[str]) -> list[str]:
    """Imports the papers' games and the user's modules.

    Args:
        modules: names of modules that are installed or in the working directory, or
            paths of Python files.

    Returns:
        All imported modules: names, and absolute paths of files.

    Raises:
        ValueError: a module cannot be imported, or its code raises an error.
    """
    importlib.import_module(GAMES)
    imported = [GAMES]
    for name in modules:
        if name.endswith(".py"):
            name = os.path.abspath(os.path.expanduser(name))
        try:
            import_module(name)
        except ImportError as error:
            raise ValueError(
                f"--import={name}: {error}. Expected the name of a module that is "
                "installed or in the working directory, or the path of a Python file."
            ) from error
        except (Exception, SystemExit) as error:  # a module can raise any exception
            traceback.print_exception(error)
            raise ValueError(
                f"--import={name}: the module raised {type(error).__name__}: {error}"
            ) from error
        imported.append(name)
    return imported


def import_module(name: str) -> ModuleType:
    """Imports a module by name, or by the path of a Python file.

    The module of a file is named after the file, without ".py". The file's folder, or
    the working directory, is appended to `sys.path`, where it cannot hide an installed
    package.

    Raises:
        ImportError: there is no such module or file, or a different module has the
        name.
    """
    path, folder = pathlib.Path(name).expanduser().absolute(), os.getcwd()
    is_file = name.endswith(".py")
    if is_file:
        if not path.is_file():
            raise ImportError(f"file not found: {path}")
        name, folder = path.stem, str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # the file may be newer than the cached listing
    module = importlib.import_module(name)
    if is_file and pathlib.Path(module.__file__ or "").absolute() != path:
        raise ImportError(f"a different module is named {name!r}; rename the file")
    return module


def import_object(text: str) -> Any:
    """Imports the object MODULE:NAME; MODULE is an argument of `import_module`.

    Raises:
        ValueError: the module cannot be imported, or has no attribute NAME.
    """
    module, _, name = text.rpartition(":")
    try:
        return operator.attrgetter(name)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{text!r} is not MODULE:NAME of an object in a module that is installed "
            f"or in the working directory, nor FILE.py:NAME: {error}."
        ) from error
