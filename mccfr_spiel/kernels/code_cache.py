"""A disk cache of compiled functions.

Numba's own cache invalidates a compiled function only when the *file of that function*
changes. After an edit of a function that it calls, in another file, numba would still
run the old code. Therefore the folder of this cache is named by a digest of all sources
of the package, and each file by a digest of all other inputs of the compiler.

Processes may compile the same function at the same time, because each writes its file
atomically. A file that cannot be read is ignored, and the function is compiled again.
If nothing can be written, a `CompileCacheWarning` appears once.
"""

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

from mccfr_spiel.common.atomic_files import (
    write_file,
)
from mccfr_spiel.common.cache_folder import (
    CompileCacheWarning,
    make_private,
    user_cache_folder,
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
"""Numba settings that change machine code, although numba's own cache ignores them."""


class CodeCache(FunctionCache):
    """The cache of one function: a file per signature (see numba's `FunctionCache`)."""

    def __init__(self, function: Callable[..., Any], folder: str, made_of: str) -> None:
        """Stores the paths, but creates no folder, unlike numba's constructor.

        Args:
            function: the Python function.
            folder: name of the folder, which contains the digest of the sources.
            made_of: digest of all other inputs outside the package.
        """
        base: str = getattr(numba_config, "CACHE_DIR", "")
        self._base = pathlib.Path(base).absolute() if base else user_cache_folder()
        self._py_func, self._made_of = function, made_of
        self._cache_path = str(self._base / folder)
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Loads the code for a signature; returns None if there is no usable file."""
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
        # Damaged files and files of other versions may raise any exception.
        except Exception:
            return None
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Writes the code for a signature to a file; warns if it cannot be written.

        Code that contains addresses of this process is not written.
        """
        path = self._path(sig, data.codegen)
        if self._base in _given_up or not _is_made(self._base, path.parent):
            return
        if data.library.has_dynamic_globals or not all(
            lifted.can_cache for lifted in data.lifted
        ):
            return  # the code contains addresses of this process
        try:
            content = serialize.dumps(data._reduce())
            write_file(path, _digest(content) + content)
        except Exception as error:
            # On Windows, replacing fails while the file is open elsewhere.
            if not path.is_file():
                _give_up(self._base, error)

    def _path(self, sig: Any, codegen: Any) -> pathlib.Path:
        """Returns the path of the file for a signature.

        The file name contains a digest of all inputs of the compiler.
        """
        cells = serialize.dumps(_cells(self._py_func))
        # Versions of libraries, settings, closure, signature and processor.
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
    """Returns file, line and qualified name, which identify a function."""
    code = function.__code__
    return code.co_filename, code.co_firstlineno, function.__qualname__


def _cells(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Returns the values of a function's closure.

    A value that is itself a function is represented by its name and its closure,
    because its pickle would differ from process to process.
    """
    # Versions of a kernel, for example for different rules, have the same source code
    # and differ only in their closures.
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
"""Base folders that could not be written to. No further attempts are made there."""


@functools.cache
def _is_made(base: pathlib.Path, folder: pathlib.Path) -> bool:
    """Creates a folder that only this user can write to; returns False on failure.

    Other users must not be able to write to it because its files will be executed.
    """
    try:
        if not folder.is_dir():
            _remove_old(make_private(base))
        make_private(folder)
    except OSError as error:
        _give_up(base, error)
        return False
    return True


def _give_up(base: pathlib.Path, error: Exception) -> None:
    """Stops writing to a base folder, and warns the first time."""
    if base in _given_up:
        return
    _given_up.add(base)
    # NUMBA_CACHE_DIR takes precedence if both variables are set.
    numbas = "NUMBA_CACHE_DIR"
    variable = numbas if os.environ.get(numbas) else "MCCFR_SPIEL_CACHE"
    warnings.warn(
        f"Cannot write compiled code to {base}: {error}. Every process will compile it "
        f"again, which takes seconds. Set the environment variable {variable} to a "
        "folder that only you can write to.",
        CompileCacheWarning,
        stacklevel=3,
    )


def _remove_old(base: pathlib.Path) -> None:
    """Removes files that were not used for a month, such as those of old versions."""
    for path in base.glob("code-*/*.code*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _MONTH:
                path.unlink()
                # Empty folders are removed only here, after a deletion, because other
                # processes create empty folders. Fails unless the folder is empty.
                path.parent.rmdir()


def _touch(path: pathlib.Path) -> None:
    """Updates the time of last use of a file, at most once a day."""
    with contextlib.suppress(OSError):  # the folder may be read-only
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)
