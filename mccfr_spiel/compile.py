"""numba.njit whose disk cache forgets everything when the package changes.

Numba invalidates a cached function only when its *own* file changes: a caller keeps
running the old version of a callee edited in another file. Here the cache folder is
named by a hash of all the package's sources, so an edit anywhere compiles afresh and
an unchanged package is loaded from disk in milliseconds.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numba
import numpy as np
from numba.core import config as numba_config

config: Any = numba_config  # its settings are made at run time

_MONTH = 30 * 24 * 3600
_PACKAGE = pathlib.Path(__file__).parent


def user_cache_folder() -> pathlib.Path:
    """The user's own cache folder for this package (not created).

    The environment variable MCCFR_SPIEL_CACHE moves it.
    """
    home = pathlib.Path.home()
    if os.environ.get("MCCFR_SPIEL_CACHE"):
        return pathlib.Path(os.environ["MCCFR_SPIEL_CACHE"])
    if os.environ.get("XDG_CACHE_HOME"):
        base = pathlib.Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    elif sys.platform == "win32":
        base = pathlib.Path(os.environ.get("LOCALAPPDATA", home))
    else:
        base = home / ".cache"
    return base / "mccfr_spiel"


def sources_digest(files: Iterable[pathlib.Path]) -> str:
    """A short hexadecimal hash of the names and contents of some source files."""
    digest = hashlib.blake2b(digest_size=12)
    for file in sorted(files):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def _package_digest() -> str:
    return sources_digest(_PACKAGE.rglob("*.py"))


def _private_folder(folder: pathlib.Path) -> bool:
    """Creates the folder; False unless it is ours alone (cached code is unpickled)."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return False
    if not os.access(folder, os.W_OK):
        return False
    if not hasattr(os, "getuid"):
        return True
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.getuid() and not shared


@functools.cache
def _cache_folder(extra_sources: tuple[pathlib.Path, ...]) -> str | None:
    """The folder for code made from the package and `extra_sources`, None if unusable.

    NUMBA_CACHE_DIR moves it; an unusable place turns caching off instead of failing.
    """
    base = pathlib.Path(config.CACHE_DIR) if config.CACHE_DIR else user_cache_folder()
    name = _package_digest()
    if config.BOUNDSCHECK:
        name += "-checked"
    if extra_sources:
        name += "-" + sources_digest(extra_sources)
    folder = base / f"numba-{name}"
    if not folder.exists():
        _remove_old(base)
    return str(folder) if _private_folder(folder) else None


def _remove_old(base: pathlib.Path) -> None:
    """Removes the code of versions that have not been compiled for a month."""
    for folder in base.glob("numba-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < time.time() - _MONTH:
                shutil.rmtree(folder)


@contextlib.contextmanager
def _cache_in(folder: str) -> Iterator[None]:
    previous = config.CACHE_DIR
    config.CACHE_DIR = folder
    try:
        yield
    finally:
        config.CACHE_DIR = previous


def jit(
    function: Callable[..., Any] | None = None,
    *,
    inline: Literal["never", "always"] = "never",
    extra_sources: tuple[pathlib.Path, ...] = (),
) -> Any:
    """`numba.njit` with the cache described above; usable with or without arguments.

    Where NUMBA_DISABLE_JIT turns it off, integers still wrap around without a warning.

    Args:
        function: the function to compile.
        inline: numba's option of that name.
        extra_sources: files outside the package whose functions the compiled code
            calls; an edit in one of them compiles afresh too.
    """
    if function is None:
        return functools.partial(jit, inline=inline, extra_sources=extra_sources)
    if config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)
    folder = _cache_folder(extra_sources)
    if folder is None or inline != "never":
        return numba.njit(inline=inline, error_model="numpy")(function)
    with _cache_in(folder):
        return numba.njit(cache=True, error_model="numpy")(function)
