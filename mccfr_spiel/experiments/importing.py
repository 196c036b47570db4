"""Modules that register games, by their names or by the paths of their files."""

import importlib
import importlib.util
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
    if name.endswith(".py"):
        return _import_file(pathlib.Path(name).absolute())
    _add_to_path(os.getcwd())
    return importlib.import_module(name)


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


def _import_file(path: pathlib.Path) -> ModuleType:
    if not path.is_file():
        raise ImportError(f"there is no file {path}")
    known = sys.modules.get(path.stem)
    if known is not None:
        if pathlib.Path(getattr(known, "__file__", None) or "").absolute() == path:
            return known
        raise ImportError(f"another module is called {path.stem!r}; rename the file")
    _add_to_path(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None  # for the name ends with .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _add_to_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)
