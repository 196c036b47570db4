"""The one way in which this package writes a file: it appears whole or not at all.

The content goes into a new file beside it, whose name nobody else uses, and that file
is renamed at the end. Whoever looks sees the old file or a new one. Neither a crash nor
a full disk leaves a half-written file under the final name, and of several writers the
last one wins with all of its bytes.
"""

import contextlib
import errno
import glob
import os
import pathlib
import secrets
import time
from collections.abc import Callable, Iterator
from typing import IO

PARTS = ".part-" + "[0-9a-f]" * 16
"""What the name of an unfinished file ends with, as a pattern of `glob`."""

STALE = 3600.0
"""Seconds after which a file that is still unfinished was left by a killed writer. One
that is alive touches its file far more often."""

_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def write_file(
    path: str | os.PathLike[str],
    content: bytes | Callable[[IO[bytes]], object],
    *,
    lasting: bool = False,
    put: Callable[[pathlib.Path, pathlib.Path], None] | None = None,
    opener: Callable[[str, int], int] | None = None,
) -> None:
    """Writes a file, replacing an older one of that name.

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
    part = part_of(path)
    with naming(path), contextlib.ExitStack() as at_the_end:
        # Not "w", which would follow a link of this name, and share a file with others.
        with open(part, "x+b", opener=opener) as file:
            at_the_end.callback(part.unlink, missing_ok=True)
            if callable(content):
                content(file)
            else:
                file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        (put or os.replace)(part, path)
    _remove_stale(path)
    if lasting:
        _sync_folder(path.parent)


def part_of(path: pathlib.Path) -> pathlib.Path:
    """A name beside a file that nobody has used; it matches PARTS."""
    return path.with_name(f"{path.name}.part-{secrets.token_hex(8)}")


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


def _remove_stale(path: pathlib.Path) -> None:
    """Removes what killed writers of a file have left.

    The time of the last change of the inode is asked for: it also changes when a file
    gets a second name.
    """
    with contextlib.suppress(OSError):
        for part in path.parent.glob(glob.escape(path.name) + PARTS):
            if time.time() - part.lstat().st_ctime > STALE:
                part.unlink()


def _sync_folder(folder: pathlib.Path) -> None:
    """Makes a rename last through a power cut, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
