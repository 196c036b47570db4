"""Digests of source files, which identify compiled code and trees on disk."""

import contextlib
import functools
import hashlib
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mccfr_spiel.common.checkout import games_of_checkout

_PACKAGE = pathlib.Path(__file__).parents[1]


def sources_digest(files: Iterable[pathlib.Path]) -> str:
    """Returns a short hexadecimal digest of the names and contents of source files."""
    digest = hashlib.blake2b(digest_size=12)
    for file in sorted(files):
        data = file.read_bytes()
        digest.update(f"{file.name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def package_digest() -> str | None:
    """Returns a digest of all sources of this package; None if they are not files.

    It identifies compiled code and trees on disk. It covers all files, so that nobody
    has to update a list when code moves. A package in an archive, or without sources,
    has no digest and keeps nothing on disk, because changes of its code would go
    unnoticed.
    """
    files = list(_PACKAGE.rglob("*.py"))
    games = games_of_checkout()
    if files and games is not None:
        files += games.rglob("*.py")
    return sources_digest(files) if files else None


def stamp_of(function: Callable[..., Any]) -> str | None:
    """Returns a digest of the source file of a function outside this package.

    It is "" for functions of this package, whose changes `package_digest` covers. It is
    None if the function has no source file.
    """
    source = pathlib.Path(function.__code__.co_filename)
    if _PACKAGE in source.parents:
        return ""
    try:
        return sources_digest([source])
    except OSError:
        return None


_users_stamps: list[str | None] = []
"""Stamps of the users' functions called by the code under construction, innermost last.

None means that the code must not be cached.
"""


def users_stamps() -> list[str | None]:
    """Returns the stamp of the innermost `made_with` as a list, empty outside of it."""
    return _users_stamps[-1:]


@contextlib.contextmanager
def made_with(function: Callable[..., Any]) -> Iterator[None]:
    """Declares that code compiled in the block calls a user's function.

    The cache then identifies the code by the source file and the name of the function.
    Code is not cached if the function has no source file, or has variables of an
    enclosing function, because these may change. Changes of other files that the
    function uses go unnoticed.
    """
    stamp = stamp_of(function) if function.__closure__ is None else None
    place = f"{function.__qualname__} {function.__code__.co_firstlineno}"
    _users_stamps.append(None if stamp is None else f"{stamp} {place}")
    try:
        yield
    finally:
        _users_stamps.pop()
