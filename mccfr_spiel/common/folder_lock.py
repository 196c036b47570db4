"""A lock, so that only one process at a time uses a folder."""

import contextlib
import pathlib
import sys
from collections.abc import Iterator

from filelock import FileLock, Timeout

LOCK = ".lock"
"""The name of the lock file. If a process is killed, the file remains, but the lock is
released."""


@contextlib.contextmanager
def locked_folder(
    folder: pathlib.Path, name: str = LOCK, *, seconds: float = 0.0
) -> Iterator[None]:
    """Context manager that locks a folder, by a lock on a file in it.

    The lock is released at the end of the block or of the process. It only excludes
    processes that call this function, too. On file systems that do not support locks,
    nobody is excluded.

    Args:
        folder: the folder.
        name: the name of the lock file, which is created if it is missing.
        seconds: the longest time to wait for the lock; -1 to wait forever.

    Raises:
        ValueError: another process, or another block in this process, holds the lock.
        OSError: the folder is not writable.
    """
    # A thread-local lock could only be released by the thread that acquired it, but
    # another thread can end the block.
    lock = FileLock(folder / name, thread_local=False)
    try:
        lock.acquire(timeout=seconds)
    except Timeout as error:
        raise ValueError(
            f"Another process is running in {folder}. Wait for its end, or choose "
            "another output folder."
        ) from error
    except NotImplementedError:
        pass
    try:
        yield
    finally:
        if lock.is_locked and sys.platform != "win32":
            # Deleted while locked. A process that is waiting for this file notices the
            # deletion and opens a new file.
            with contextlib.suppress(OSError):
                (folder / name).unlink()
        lock.release()
