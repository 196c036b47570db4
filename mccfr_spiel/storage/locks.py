"""Lets one process at a time into a folder, by a lock that ends with the process."""

import contextlib
import pathlib
import sys
from collections.abc import Iterator

from filelock import BaseFileLock, FileLock, Timeout

LOCK = ".lock"
"""The file that a lock is held on. It may be left behind, which means nothing."""


def acquire(path: pathlib.Path, *, seconds: float = 0.0) -> BaseFileLock | None:
    """Locks a file, which is created if it is missing.

    The lock lasts until `release`, or until the process ends, however it does.

    Args:
        path: the file.
        seconds: how long to wait for another process, which may be infinitely.

    Returns:
        The lock, or None if the file system has no locks. Then the user must see to it
        that nothing runs twice.

    Raises:
        TimeoutError: another process (or another lock of this one) holds it.
        OSError: the file cannot be created.
    """
    # The lock may be released in another thread than the one that took it.
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=-1 if seconds == float("inf") else seconds)
    except Timeout as error:
        raise TimeoutError(f"Another process holds {path}.") from error
    except NotImplementedError:
        return None
    return lock


def release(lock: BaseFileLock | None, *, remove: bool = True) -> None:
    """Releases a lock, and removes its file if that is safe."""
    if lock is None:
        return
    if remove and sys.platform != "win32" and isinstance(lock, FileLock):
        # The lock is still held. Another process that has opened the file meanwhile
        # will see that it no longer has a name, and open a new one.
        with contextlib.suppress(OSError):
            pathlib.Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


@contextlib.contextmanager
def held(folder: pathlib.Path) -> Iterator[None]:
    """Holds a folder, so that no other run can write into it.

    Raises:
        ValueError: another process holds the folder.
        OSError: nothing can be written in it.
    """
    try:
        lock = acquire(folder / LOCK)
    except TimeoutError as error:
        raise ValueError(
            f"Another process is running in {folder}. Wait until it has ended, or "
            "choose another output folder."
        ) from error
    try:
        yield
    finally:
        release(lock)
