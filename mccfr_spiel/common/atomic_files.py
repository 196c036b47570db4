"""Writes files whole or not at all."""

import contextlib
import errno
import json
import operator
import os
import pathlib
import secrets
from collections.abc import Callable, Iterator
from typing import IO, Any

PARTS = ".part-" + "[0-9a-f]" * 16
"""What the name of an unfinished file ends with, as a pattern of `glob`. Only a killed
writer leaves one; the next run in a folder of results removes it."""

_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def write_file(
    path: str | os.PathLike[str],
    content: bytes | Callable[[IO[bytes]], object],
    *,
    lasting: bool = False,
    put: Callable[[pathlib.Path, pathlib.Path], None] | None = None,
) -> None:
    """Writes a file, replacing an older one of that name.

    Args:
        path: the file.
        content: its bytes, or a function that writes them into a binary file which can
            be read, too.
        lasting: whether the file must survive a power cut once this returns.
        put: moves the finished file (first argument) to its path (second), in place of
            a plain `os.replace`.

    Raises:
        OSError: it cannot be written; an older file is as it was. So it is after any
            other exception, be it of `content` or Ctrl-C, and nothing unfinished stays.
    """
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.part-{secrets.token_hex(8)}")
    with naming(path), contextlib.ExitStack() as at_the_end:
        # Not "w", which would follow a link of this name, and share a file with others.
        with open(part, "x+b") as file:
            at_the_end.callback(part.unlink, missing_ok=True)
            if callable(content):
                content(file)
            else:
                file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        (put or os.replace)(part, path)
    if lasting and os.name == "posix":  # so that the rename lasts, too
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def naming(path: pathlib.Path) -> Iterator[None]:
    """Has an OSError name the file that was to be written, and say what helps."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            error.strerror = f"{error.strerror}; make room or choose another place"
        if error.errno is not None:
            error.filename = str(path)
            del error.filename2  # the other name of a rename
        raise


def write_json(path: pathlib.Path, value: Any) -> None:
    """Writes a value as JSON, with NumPy's integers as Python's; the file appears whole
    or not at all."""
    text = json.dumps(value, indent=1, default=operator.index)
    write_file(path, (text + "\n").encode())
