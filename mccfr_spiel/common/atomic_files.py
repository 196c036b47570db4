"""Files that are written completely or not at all.

The content is written to a new file with a random name in the same folder. When it is
complete, the file is renamed to its final name. Readers see either the old file or the
new file. Neither a crash nor a full disk leaves a partial file under the final name. If
several processes write a file, the last rename wins.
"""

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
"""A `glob` pattern for the end of the name of an unfinished file. Only a killed process
leaves such files. The next run in the same folder of results removes them."""

_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def write_file(
    path: str | os.PathLike[str],
    content: bytes | Callable[[IO[bytes]], object],
    *,
    lasting: bool = False,
    put: Callable[[pathlib.Path, pathlib.Path], None] | None = None,
) -> None:
    """Writes a file, replacing an existing one.

    Args:
        path: the file.
        content: the bytes, or a function that writes them into a binary file open for
            reading and writing.
        lasting: whether the file must survive a power cut after this call.
        put: moves the finished file (first argument) to its path (second argument);
            `os.replace` by default.

    Raises:
        OSError: the file cannot be written. If this or any other exception, such as
            KeyboardInterrupt, occurs before the rename, the old file is unchanged and
            the unfinished file is removed.
    """
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.part-{secrets.token_hex(8)}")
    with naming(path), contextlib.ExitStack() as at_the_end:
        # Mode "x" fails if the path exists, so it neither follows a link nor opens the
        # file of another process.
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
    if lasting and os.name == "posix":  # flushes the rename
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def naming(path: pathlib.Path) -> Iterator[None]:
    """Context manager that adds the final path to an OSError, and advice if the disk
    is full."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            error.strerror = f"{error.strerror}; free some space or use another folder"
        if error.errno is not None:
            error.filename = str(path)
            del error.filename2  # the target of a rename
        raise


def write_json(path: pathlib.Path, value: Any) -> None:
    """Writes a value as JSON; NumPy integers become Python integers."""
    text = json.dumps(value, indent=1, default=operator.index)
    write_file(path, (text + "\n").encode())
