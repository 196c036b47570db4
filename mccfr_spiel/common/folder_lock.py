"""A lock that lets one process at a time into a folder. It ends with the process."""

import contextlib
import pathlib
import sys
from collections.abc import Iterator

from filelock import FileLock, Timeout

LOCK = ".lock"
"""The name of the lock file. The file may remain after a kill, without any effect."""


@contextlib.contextmanager
def locked_folder(
    folder: pathlib.Path, name: str = LOCK, *, seconds: float = 0.0
) -> Iterator[None]:
    """Context manager that locks a file of a folder against other processes.

    The lock ends with the block or with the process. On file systems that do not
    support locks, there is no protection.

    Args:
        folder: the folder.
        name: the lock file, created if it is missing.
        seconds: the longest time to wait for the lock; -1 waits forever.

    Raises:
        ValueError: a different process, or a different block of this process, holds the
            lock.
        OSError: the folder is not writable.
    """
    # Not thread-local, because a different thread can end the block.
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
