"""Compiled functions on disk, which are run only if they are what was written.

Numba's own cache unpickles and runs whatever its files hold, and its errors stop the
program. Here each function has a file of its own with a checksum. What is damaged,
foreign or unreadable is compiled again, and if nothing can be written, a warning says
so once. The files are in folders that carry a mark, and only such folders are ever
removed.

This relies on the parts of numba that `is_supported` looks for, which are the same from
version 0.61 to 0.68.
"""

import contextlib
import functools
import hashlib
import inspect
import io
import os
import pathlib
import pickle
import re
import stat
import sys
import time
import uuid
import warnings
from collections.abc import Callable
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize
from numba.core import config as numba_config
from numba.core.errors import NumbaWarning
from numba.core.registry import CPUDispatcher

from mccfr_spiel.storage.atomic import write_file
from mccfr_spiel.storage.folders import (
    UnsafeFolderError,
    make_private,
    remove_own,
    why_unsafe,
)

MARK = "CACHEDIR.TAG"
"""The file that marks a folder as ours; backup programs leave out folders with it."""

MARK_TEXT = b"""Signature: 8a477f597d28d172789f06886806bc55
# Compiled code of mccfr_spiel. This folder may be removed at any time.
# About such files: https://bford.info/cachedir/
"""

_BEGIN = b"mccfr_spiel code 1\n"
_DIGEST = 16
_HEAD = len(_BEGIN) + _DIGEST
_FOLDER = re.compile(r"code-[0-9a-f]{24}(-[0-9a-f]{24})?(\.new-[0-9a-f]{32})?")
_FILE = re.compile(r".+-[0-9a-f]{32}\.code(\.part-[0-9a-f]{16}|\.new-[0-9a-f]{32})?")
_DAY, _MONTH = 24 * 3600, 30 * 24 * 3600
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


class CompileCacheWarning(UserWarning):
    """Compiled code cannot be kept, so every process will compile it again."""


@functools.cache
def is_supported() -> bool:
    """Whether this numba has the parts that `CodeCache` uses."""
    result = compiler.CompileResult
    parameters = list(inspect.signature(result._rebuild).parameters)
    return (
        callable(getattr(result, "_reduce", None))
        and parameters[:1] == ["target_context"]
        and callable(getattr(serialize, "dumps", None))
        and {"lifted", "library", "signature"} <= set(result._fields)
    )


class CodeStore:
    """The folders of compiled code below one base folder.

    Attributes:
        base: the absolute path of the base folder, which need not exist.
        is_writable: whether everything could be written so far in this process.
    """

    def __init__(self, base: pathlib.Path) -> None:
        """Reads and writes nothing yet."""
        self.base = base
        self.is_writable = True
        self._is_warned = False
        self._checked: dict[str, pathlib.Path] = {}

    def read(self, folder: str, file: str) -> memoryview | None:
        """What was written under these names; None if nothing undamaged is there.

        Args:
            folder: a name in the base folder.
            file: a name in that folder.
        """
        try:
            place = self._find(folder)
        except OSError as error:
            self.give_up(error)
            return None
        if place is None:
            return None
        try:
            data = _read_own(place / file)
        except OSError:  # there is none, or none that could be used
            return None
        content = memoryview(data)[_HEAD:]
        if data[:_HEAD] == _head(file, content):
            return content
        self.remove(folder, file)
        return None

    def write(self, folder: str, file: str, content: bytes) -> None:
        """Writes a file, which appears whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        path = self.make(folder) / file
        try:
            write_file(path, _head(file, content) + content, opener=_open_private)
        except PermissionError:
            # Windows: another process has it open, so it has just been written.
            if os.name != "nt" or not path.exists():
                raise

    def remove(self, folder: str, file: str) -> None:
        """Removes a file that cannot be used."""
        place = self._checked.get(folder)
        if place is not None:
            with contextlib.suppress(OSError):
                (place / file).unlink()

    def give_up(self, error: Exception) -> None:
        """Stops writing for the rest of the process, and warns of it the first time."""
        self.is_writable = False
        if not self._is_warned:
            self._is_warned = True
            first = "NUMBA_CACHE_DIR"  # it comes before the other
            variable = first if os.environ.get(first) else "MCCFR_SPIEL_CACHE"
            warnings.warn(
                f"Compiled code cannot be kept in {self.base}, so every process "
                f"compiles it again, which takes seconds: {error}. Set the environment "
                f"variable {variable} to a folder that only you can write to.",
                CompileCacheWarning,
                stacklevel=2,
            )

    def make(self, folder: str) -> pathlib.Path:
        """The checked path of a folder, which is created if need be.

        Raises:
            UnsafeFolderError: others could change what is in it.
            OSError: it cannot be created.
        """
        place = self._find(folder)
        if place is None or not place.is_dir():
            self._create(folder)
            place = self._find(folder)
        if place is None:
            raise FileNotFoundError(f"{self.base / folder} was removed just now")
        return place

    def _find(self, folder: str) -> pathlib.Path | None:
        """The checked path of a folder; None if there is none.

        Raises:
            UnsafeFolderError: others could change what is in it.
            OSError: it cannot be looked at.
        """
        if folder in self._checked:
            return self._checked[folder]
        place = pathlib.Path(os.path.realpath(self.base / folder))
        if not place.is_dir():
            return None
        reason = why_unsafe(place)
        if reason is not None:
            raise UnsafeFolderError(reason)
        _touch(place / MARK)
        # One check is enough: `why_unsafe` explains why the answer stays true.
        self._checked[folder] = place
        return place

    def _create(self, folder: str) -> None:
        """Makes a folder, which has its mark from the moment that it has its name.

        Raises:
            OSError: it cannot be created.
        """
        base = make_private(self.base)
        _remove_old(base)
        unfinished = base / f"{folder}.new-{uuid.uuid4().hex}"
        unfinished.mkdir(mode=0o700)
        (unfinished / MARK).write_bytes(MARK_TEXT)
        try:
            os.rename(unfinished, base / folder)
        except OSError:
            _remove(unfinished)
            if not (base / folder).is_dir():  # else another process was faster
                raise


def _open_private(path: str, flags: int) -> int:
    """Opens a file that must not exist yet, and that only this user can read."""
    return os.open(path, flags, 0o600)


def _head(file: str, content: bytes | memoryview) -> bytes:
    """The beginning of a file: a word, and a checksum of its name and content."""
    digest = hashlib.blake2b(file.encode() + b"\0", digest_size=_DIGEST)
    digest.update(content)
    return _BEGIN + digest.digest()


def _read_own(path: pathlib.Path) -> bytes:
    """The bytes of a regular file that only this user can write to.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        is_own = stat.S_ISREG(status.st_mode)
        if hasattr(os, "geteuid"):
            # Others may have written into the folder before it was closed to them.
            is_own &= status.st_uid in (os.geteuid(), 0)
            is_own &= not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not is_own:
            raise FileNotFoundError(f"{path} is not a file of this user alone")
        return file.read()


# --- folders that are no longer used -------------------------------------------


def _is_ours(folder: os.DirEntry[str]) -> bool:
    """Whether a folder has the name and the mark of the folders made here."""
    if not _FOLDER.fullmatch(folder.name) or not folder.is_dir(follow_symlinks=False):
        return False
    mark = pathlib.Path(folder.path, MARK)
    return not mark.is_symlink() and mark.read_bytes() == MARK_TEXT


def _remove_old(base: pathlib.Path) -> None:
    """Removes folders that nobody has used for a month."""
    with os.scandir(base) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                place = pathlib.Path(entry.path)
                if _is_ours(entry) and _age(place / MARK) > _MONTH:
                    _remove(place)


def _remove(folder: pathlib.Path) -> None:
    """Removes a folder with our mark, unless there is anything else in it."""
    with contextlib.suppress(OSError):
        remove_own(folder, _is_own_file, MARK)


def _is_own_file(name: str) -> bool:
    return name == MARK or _FILE.fullmatch(name) is not None


def _age(path: pathlib.Path) -> float:
    return time.time() - path.stat().st_mtime


def _touch(mark: pathlib.Path) -> None:
    """Notes that a folder is in use, at most once a day."""
    # An earlier version's folder has no mark, and some folders can only be read.
    with contextlib.suppress(OSError):
        if _age(mark) > _DAY:
            os.utime(mark)


# --- what numba calls ------------------------------------------------------------


def _cells(function: Callable[..., Any]) -> tuple[Any, ...]:
    """The values of a function's variables that belong to the function around it.

    One that is compiled itself is told by its name and its own such values. Its pickle
    would differ from process to process.
    """
    return tuple(
        (value.py_func.__module__, value.py_func.__qualname__, _cells(value.py_func))
        if isinstance(value, CPUDispatcher)
        else value
        for value in (cell.cell_contents for cell in function.__closure__ or ())
    )


class CodeCache:
    """The cached versions of one function; replaces numba's FunctionCache.

    Attributes:
        cache_path: the folder's path, for numba's statistics.
    """

    def __init__(
        self, function: Callable[..., Any], store: CodeStore, folder: str
    ) -> None:
        """Reads and writes nothing yet.

        Args:
            function: the Python function.
            store: where its code is kept.
            folder: the name of the folder, which stands for all the sources.
        """
        self.cache_path = str(store.base / folder)
        self._function, self._store, self._folder = function, store, folder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Loads the function compiled for a signature; None if there is none."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        file = self._file(key)
        content = self._store.read(self._folder, file)
        if content is None:
            return None
        try:
            stream = io.BytesIO(content)
            if pickle.load(stream) != key:
                return None
            return compiler.CompileResult._rebuild(target_context, *pickle.load(stream))
        except Exception:  # undamaged, but made by other versions of the libraries
            self._store.remove(self._folder, file)
            return None

    def has(self, sig: Any, codegen: Any) -> bool:
        """Whether there is a file for a signature, damaged or not."""
        folder = pathlib.Path(self.cache_path)
        return (folder / self._file(self._key(sig, codegen))).is_file()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a function compiled for a signature, or warns that it cannot."""
        if not self._store.is_writable or not self._is_cachable(data):
            return
        try:
            key = self._key(sig, data.codegen)
            content = serialize.dumps(key) + serialize.dumps(data._reduce())
            self._store.write(self._folder, self._file(key), content)
        except Exception as error:
            self._store.give_up(error)

    def _is_cachable(self, data: Any) -> bool:
        if not data.library.has_dynamic_globals and all(
            lifted.can_cache for lifted in data.lifted
        ):
            return True
        code = self._function.__code__
        warnings.warn_explicit(
            f"The compiled function {self._function.__qualname__} cannot be kept on "
            "disk, since it uses addresses or large global arrays.",
            NumbaWarning,
            code.co_filename,
            code.co_firstlineno,
        )
        return False

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """What determines the machine code, besides the sources."""
        code = self._function.__code__
        cells = _cells(self._function)
        return (
            sig,
            codegen.magic_tuple(),
            hashlib.sha256(code.co_code).hexdigest(),
            hashlib.sha256(serialize.dumps(cells)).hexdigest() if cells else "",
        )

    def _file(self, key: tuple[Any, ...]) -> str:
        """The name of the file for a key.

        Keys may share a name by chance, so the file holds the key, too.
        """
        code = self._function.__code__
        parts = (
            *(numba.__version__, llvmlite.__version__, np.__version__, sys.version),
            *(getattr(numba_config, name, None) for name in _OPTIONS),
            *(code.co_filename, code.co_firstlineno, self._function.__qualname__),
            key,
        )
        digest = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
        return f"{self._function.__name__}-{digest}.code"

    # Numba's interface has these, too.

    def enable(self) -> None:
        """Does nothing: this cache is always on."""

    def disable(self) -> None:
        """Does nothing: this cache is always on."""

    def flush(self) -> None:
        """Does nothing: when the sources change, another folder is used."""
