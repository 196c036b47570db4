"""Modules that register games, by their names or by the paths of their files."""

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
"""The papers' games."""


def import_games(modules: Iterable[str]) -> list[str]:
    """Imports the papers' games and then modules of a user's.

    Args:
        modules: names of modules, installed or in the working directory, or paths of
            Python files.

    Returns:
        All of them as `import_module` finds them from any working directory.

    Raises:
        ValueError: a module cannot be imported, or its code raises an error.
    """
    importlib.import_module(GAMES)
    found = [GAMES]
    for name in modules:
        name = os.path.abspath(name) if name.endswith(".py") else name
        try:
            import_module(name)
        except ImportError as error:
            raise ValueError(
                f"--import={name}: {error}. Give the name of a module that is "
                "installed or in this folder, or the path of a Python file."
            ) from error
        except (Exception, SystemExit) as error:  # modules raise what they like
            traceback.print_exception(error)
            raise ValueError(
                f"--import={name}: the module ends in {type(error).__name__}: {error}"
            ) from error
        found.append(name)
    return found


def import_module(name: str) -> ModuleType:
    """Imports a module by its name, also from the working directory, or by its file.

    A module of a file is called as the file is, without ".py". The file's folder, and
    the working directory, come last in `sys.path`, so that nothing in them hides an
    installed package.

    Raises:
        ImportError: there is no such module or file, or another module has its name.
    """
    path, folder = pathlib.Path(name).absolute(), os.getcwd()
    is_file = name.endswith(".py")
    if is_file:
        if not path.is_file():
            raise ImportError(f"there is no file {path}")
        name, folder = path.stem, str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # the file may be a moment old
    module = importlib.import_module(name)
    if is_file and pathlib.Path(module.__file__ or "").absolute() != path:
        raise ImportError(f"another module is called {name!r}; rename the file")
    return module


def value_of(text: str) -> Any:
    """What MODULE:NAME names; MODULE is as in `import_module`.

    Raises:
        ValueError: the module cannot be imported, or has nothing of that name.
    """
    module, _, name = text.rpartition(":")
    try:
        return operator.attrgetter(name)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{text!r} is not MODULE:NAME of something in a module that is installed "
            f"or in this folder, nor FILE.py:NAME: {error}."
        ) from error
