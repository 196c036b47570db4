"""Digests of source files, which identify compiled code on disk."""

import contextlib
import functools
import hashlib
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mccfr_spiel.common.checkout import games_of_checkout

_PACKAGE = pathlib.Path(__file__).parents[1]


def sources_digest(files: Iterable[pathlib.Path]) -> str:
    """A short hexadecimal hash of the names and contents of some source files."""
    digest = hashlib.blake2b(digest_size=12)
    for file in sorted(files):
        data = file.read_bytes()
        digest.update(f"{file.name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def package_digest() -> str | None:
    """A hash of all sources of this package; None if they are not files.

    Compiled code and trees on disk are kept by it. Hashing everything is the rule that
    nobody can forget to extend when code moves or is added. A package in an archive, or
    without its sources, keeps neither, since a change of its code could not be seen.
    """
    files = list(_PACKAGE.rglob("*.py"))
    games = games_of_checkout()
    if files and games is not None:
        files += games.rglob("*.py")
    return sources_digest(files) if files else None


def stamp_of(function: Callable[..., Any]) -> str | None:
    """Stands for a function's source file, as it is now, if that is not the package's.

    None if there is no file whose changes could be seen.
    """
    source = pathlib.Path(function.__code__.co_filename)
    if _PACKAGE in source.parents:
        return ""
    try:
        return sources_digest([source])
    except OSError:
        return None


_users_stamps: list[str | None] = []
"""What stands for the user's function inside of `made_with`; None for no cache."""


def users_stamps() -> list[str | None]:
    """The stamp of the innermost function of `made_with`; empty outside of it."""
    return _users_stamps[-1:]


@contextlib.contextmanager
def made_with(function: Callable[..., Any]) -> Iterator[None]:
    """Says that code which is made in the block calls a user's function.

    Such code is kept by the function's source file and name. A function without a file,
    or one with variables of another function, may be another one next time, so code
    that calls it is not kept. Changes of other files that it uses go unnoticed.
    """
    stamp = stamp_of(function) if function.__closure__ is None else None
    place = f"{function.__qualname__} {function.__code__.co_firstlineno}"
    _users_stamps.append(None if stamp is None else f"{stamp} {place}")
    try:
        yield
    finally:
        _users_stamps.pop()
