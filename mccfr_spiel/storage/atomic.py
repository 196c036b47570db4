"""The one way in which this package writes a file: it appears whole or not at all.

The content goes into a file beside it, whose name ends differently, and that file is
renamed at the end. Whoever looks sees the old file or the new one, and neither a crash
nor a full disk leaves a half-written file under the final name.
"""

import contextlib
import errno
import os
import pathlib
import secrets
from collections.abc import Callable
from typing import IO

PART = ".part"
"""What the name of an unfinished file ends with."""


def unused_beside(path: pathlib.Path) -> pathlib.Path:
    """A name in a file's folder that no other writer has, which ends with PART."""
    name = path.name[:200]  # with what is added it still is a name
    return path.with_name(f"{name}.{secrets.token_hex(8)}{PART}")


def write_file(
    path: str | os.PathLike[str],
    content: bytes | Callable[[IO[bytes]], object],
    *,
    lasting: bool = False,
    put: Callable[[pathlib.Path, pathlib.Path], None] | None = None,
    opener: Callable[[str, int], int] | None = None,
) -> None:
    """Writes a file, replacing an older one of that name.

    Several may write a file at once: the last one wins, whole. Nobody's unfinished file
    is written over, nor is a link of that name followed. What a kill has left behind
    stays, under a name that ends with PART.

    Args:
        path: the file.
        content: its bytes, or a function that writes them into a binary file which can
            be read, too.
        lasting: whether the file must survive a power cut once this returns.
        put: moves the finished file (first argument) to its path (second), in place of
            a plain `os.replace`.
        opener: as of `open`.

    Raises:
        OSError: it cannot be written; an older file is as it was. So it is after any
            other exception, be it of `content` or Ctrl-C, and nothing unfinished stays.
    """
    path = pathlib.Path(path)
    part = unused_beside(path)
    try:
        with open(part, "x+b", opener=opener) as file:
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
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL:
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno)}: make room there, or write elsewhere; "
                "what stood there is as it was",
                str(path),
            ) from error
        raise
    if lasting:
        _sync_folder(path.parent)


_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
"""Of errors that name no file, since they come when one is written to."""


def _sync_folder(folder: pathlib.Path) -> None:
    """Makes a rename last through a power cut, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
