"""A lock that lets one process at a time into a folder."""

import contextlib
import pathlib
import sys
from collections.abc import Iterator

from filelock import FileLock, Timeout

LOCK = ".lock"
"""The file that a lock is held on. It may be left behind, which means nothing."""


@contextlib.contextmanager
def locked_folder(
    folder: pathlib.Path, name: str = LOCK, *, seconds: float = 0.0
) -> Iterator[None]:
    """Holds a file of a folder, so that no other run can write into the folder.

    The lock ends with the block, or with the process, however it ends. Where the file
    system has no locks, the user must see to it that nothing runs twice.

    Args:
        folder: where the file is.
        name: of the file, which is created if it is missing.
        seconds: how long to wait for another process; -1 for as long as it takes.

    Raises:
        ValueError: another process (or another block of this one) holds the file.
        OSError: nothing can be written in the folder.
    """
    # The block may end in another thread than the one in which it began.
    lock = FileLock(folder / name, thread_local=False)
    try:
        lock.acquire(timeout=seconds)
    except Timeout as error:
        raise ValueError(
            f"Another process is running in {folder}. Wait until it has ended, or "
            "choose another output folder."
        ) from error
    except NotImplementedError:
        pass
    try:
        yield
    finally:
        if lock.is_locked and sys.platform != "win32":
            # The lock is still held. Another process that has opened the file meanwhile
            # will see that it no longer has a name, and open a new one.
            with contextlib.suppress(OSError):
                (folder / name).unlink()
        lock.release()
