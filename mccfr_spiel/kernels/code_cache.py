"""A disk cache of compiled functions."""

import contextlib
import functools
import hashlib
import os
import pathlib
import pickle
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize
from numba.core import config as numba_config
from numba.core.caching import FunctionCache

from mccfr_spiel.common.folders import (
    CompileCacheWarning,
    make_private,
    user_cache_folder,
    write_file,
)

_DAY, _MONTH = 24 * 3600, 30 * 24 * 3600
_DIGEST = 16
_OPTIONS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
    "ENABLE_AVX",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
)
"""Settings of numba that change machine code, though numba's own cache ignores them."""


class CodeCache(FunctionCache):
    """The cached versions of one function, each in a file of its own."""

    def __init__(self, function: Callable[..., Any], folder: str, made_of: str) -> None:
        """Reads and writes nothing yet; numba's own cache would make its folder here.

        Args:
            function: the Python function.
            folder: the name of the folder, which stands for the package's sources.
            made_of: stands for everything outside the package that the code is made of.
        """
        base: str = getattr(numba_config, "CACHE_DIR", "")
        self._base = pathlib.Path(base).absolute() if base else user_cache_folder()
        self._py_func, self._made_of = function, made_of
        self._cache_path = str(self._base / folder)
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Loads the function compiled for a signature; None if that is not possible."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if not _is_made(self._base, path.parent):
            return None
        try:
            data = path.read_bytes()
            content = data[_DIGEST:]
            if data[:_DIGEST] != _digest(content):
                return None
            loaded = compiler.CompileResult._rebuild(
                target_context, *pickle.loads(content)
            )
            _touch(path)
        except Exception:  # none, or made by other versions of the libraries
            return None
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a function compiled for a signature, or warns that it cannot."""
        path = self._path(sig, data.codegen)
        if self._base in _given_up or not _is_made(self._base, path.parent):
            return
        if data.library.has_dynamic_globals or not all(
            lifted.can_cache for lifted in data.lifted
        ):
            return  # it holds addresses of this process
        try:
            content = serialize.dumps(data._reduce())
            write_file(path, _digest(content) + content)
        except Exception as error:
            if not path.is_file():  # on Windows another process may have it open
                _give_up(self._base, error)

    def _path(self, sig: Any, codegen: Any) -> pathlib.Path:
        """The file for a signature, named by what determines its machine code."""
        cells = serialize.dumps(_cells(self._py_func))
        parts = (
            *(numba.__version__, llvmlite.__version__, np.__version__, sys.version),
            *(getattr(numba_config, name, None) for name in _OPTIONS),
            *_name(self._py_func),
            *(self._made_of, hashlib.sha256(cells).hexdigest()),
            *(sig, codegen.magic_tuple()),
        )
        digest = _digest(repr(parts).encode()).hex()
        return pathlib.Path(self._cache_path, f"{self._py_func.__name__}-{digest}.code")


def _name(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Tells a function from all others of the same sources."""
    code = function.__code__
    return code.co_filename, code.co_firstlineno, function.__qualname__


def _cells(function: Callable[..., Any]) -> tuple[Any, ...]:
    """The values of a function's variables that belong to the function around it.

    A function among them, compiled or not, is told by its name and its own such values.
    Its pickle would differ from process to process.
    """
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    values = (getattr(cell, "py_func", cell) for cell in cells)
    return tuple(
        (*_name(value), _cells(value))
        if isinstance(value, types.FunctionType)
        else value
        for value in values
    )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


_given_up: set[pathlib.Path] = set()
"""The base folders in which something could not be written."""


@functools.cache
def _is_made(base: pathlib.Path, folder: pathlib.Path) -> bool:
    """Makes a folder that others cannot write to, since what is in it will be run."""
    try:
        if not folder.is_dir():
            _remove_old(make_private(base))
        make_private(folder)
    except OSError as error:
        _give_up(base, error)
        return False
    return True


def _give_up(base: pathlib.Path, error: Exception) -> None:
    """Keeps nothing more below a base folder, and warns of it the first time."""
    if base in _given_up:
        return
    _given_up.add(base)
    first = "NUMBA_CACHE_DIR"  # it comes before the other
    variable = first if os.environ.get(first) else "MCCFR_SPIEL_CACHE"
    warnings.warn(
        f"Compiled code cannot be kept in {base}, so every process compiles it again, "
        f"which takes seconds: {error}. Set the environment variable {variable} to a "
        "folder that only you can write to.",
        CompileCacheWarning,
        stacklevel=3,
    )


def _remove_old(base: pathlib.Path) -> None:
    """Removes code that nobody has used for a month, such as of earlier versions."""
    for path in base.glob("code-*/*.code*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _MONTH:
                path.unlink()
                # Not just any empty folder: another process may have made it just now.
                path.parent.rmdir()


def _touch(path: pathlib.Path) -> None:
    """Notes that a file is in use, at most once a day."""
    with contextlib.suppress(OSError):  # some folders can only be read
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)
