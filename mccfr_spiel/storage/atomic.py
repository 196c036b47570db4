"""The one way in which this package writes a file: it appears whole or not at all.

The content goes into a file beside it, whose name ends differently, and that file is
renamed at the end. Whoever looks sees the old file or the new one, and neither a crash
nor a full disk leaves a half-written file under the final name.
"""

import contextlib
import os
import pathlib
from collections.abc import Callable
from typing import IO

PART = ".part"
"""What the name of an unfinished file ends with, if the caller wants nothing else."""


def write_file(
    path: str | os.PathLike[str],
    content: bytes | Callable[[IO[bytes]], object],
    *,
    ending: str = PART,
    lasting: bool = False,
    put: Callable[[pathlib.Path, pathlib.Path], None] | None = None,
    opener: Callable[[str, int], int] | None = None,
) -> None:
    """Writes a file, replacing an older one of that name.

    Args:
        path: the file.
        content: its bytes, or a function that writes them into a binary file which can
            be read, too.
        ending: is added to the name while the file is unfinished. If several processes
            may write the file at once, each needs another ending; otherwise what a kill
            has left is written over.
        lasting: whether the file must survive a power cut once this returns.
        put: moves the finished file (first argument) to its path (second), in place of
            a plain `os.replace`.
        opener: as of `open`.

    Raises:
        OSError: it cannot be written; an older file is as it was. So it is after any
            other exception, be it of `content` or Ctrl-C, and nothing unfinished stays.
    """
    path = pathlib.Path(path)
    part = path.with_name(path.name + ending)
    try:
        with open(part, "w+b", opener=opener) as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        if put is None:
            os.replace(part, path)
        else:
            put(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    if lasting:
        _sync_folder(path.parent)


def _sync_folder(folder: pathlib.Path) -> None:
    """Makes a rename last through a power cut, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
