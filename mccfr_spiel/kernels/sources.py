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
    # Sorted, because file systems list files in any order. The length separates the
    # content from the next name.
    for file in sorted(files):
        data = file.read_bytes()
        digest.update(f"{file.name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def package_digest() -> str | None:
    """Returns a digest of all sources of this package; None if they are not files.

    The digest identifies compiled code and trees on disk. It covers all files, so that
    nobody has to maintain a list. Without it, for example if the package is in an
    archive, nothing is stored on disk, because changes of the code would go unnoticed.
    """
    files = list(_PACKAGE.rglob("*.py"))
    games = games_of_checkout()
    if files and games is not None:
        files += games.rglob("*.py")
    return sources_digest(files) if files else None


def stamp_of(function: Callable[..., Any]) -> str | None:
    """Returns a digest of the source file of a function.

    Returns:
        The digest; "" for functions of this package, because `package_digest` covers
        them; None if the function has no source file.
    """
    source = pathlib.Path(function.__code__.co_filename)
    if _PACKAGE in source.parents:
        return ""
    try:
        return sources_digest([source])
    except OSError:
        return None


_users_stamps: list[str | None] = []
"""Stamps of the `made_with` blocks that are active, innermost last.

A stamp identifies a user's function that the code compiled in the block calls. None
means that this code must not be cached on disk.
"""


def users_stamps() -> list[str | None]:
    """Returns a list with the stamp of the innermost active `made_with` block.

    The list is empty if no block is active.
    """
    return _users_stamps[-1:]


@contextlib.contextmanager
def made_with(function: Callable[..., Any]) -> Iterator[None]:
    """Declares that code compiled in a `with` block calls a user's function.

    The disk cache then identifies the code by a digest of the function's source file,
    and by its name and line. Code is not cached if the function has no source file, or
    uses variables of an enclosing function, because these may change. Changes of other
    files that the function uses go unnoticed.
    """
    stamp = stamp_of(function) if function.__closure__ is None else None
    location = f"{function.__qualname__} {function.__code__.co_firstlineno}"
    _users_stamps.append(None if stamp is None else f"{stamp} {location}")
    try:
        yield
    finally:
        _users_stamps.pop()
