"""The user's cache folder, protected against other users.

Code in the cache is executed, so no other user may be able to write to the folder.
"""

import contextlib
import os
import pathlib
import stat
import tempfile

import platformdirs

_ROOT = 0


class UnsafeFolderError(OSError):
    """Other users could change the contents of a folder."""


class CompileCacheWarning(UserWarning):
    """The cache for compiled code cannot be used, so each process compiles again."""


def user_cache_folder() -> pathlib.Path:
    """The absolute path of this package's cache folder for the user.

    The folder may not exist yet. The environment variable MCCFR_SPIEL_CACHE overrides
    the path. If there is no home folder, the path is in the system's temporary folder
    and contains the user's ID.
    """
    if os.environ.get("MCCFR_SPIEL_CACHE"):
        return pathlib.Path(os.environ["MCCFR_SPIEL_CACHE"]).absolute()
    with contextlib.suppress(RuntimeError):  # if platformdirs finds no home folder
        # opinion=False omits "Cache" from the path on Windows.
        folder = pathlib.Path(
            platformdirs.user_cache_dir("mccfr_spiel", appauthor=False, opinion=False)
        )
        if folder.is_absolute():  # some versions leave "~" without a home folder
            return folder
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    return pathlib.Path(tempfile.gettempdir(), f"mccfr_spiel-{user}").absolute()


def make_private(folder: str | os.PathLike[str]) -> pathlib.Path:
    """Creates a folder, and missing parents, that other users cannot write to.

    Symbolic links in the path are resolved first. The folder and all its parents must
    belong to this user or to root. Only the owner may be able to write to the folder.
    Parents may be writable for a group, because many systems give each user a private
    group. Parents with the sticky bit, such as /tmp, may be writable for everybody,
    because other users cannot rename or remove folders there. Parents are checked from
    the root down, so that other users cannot replace a folder after its check. On
    Windows nothing is checked, because permissions are not reported; the default cache
    folder there is in the user's private profile.

    Returns:
        The path with symbolic links resolved. Open the folder by this path.

    Raises:
        UnsafeFolderError: other users could change the contents.
        OSError: the folder cannot be created.
    """
    real = pathlib.Path(os.path.realpath(folder))
    for part in [*reversed(real.parents), real]:
        if not part.exists():
            part.mkdir(mode=0o700, exist_ok=True)
        if not hasattr(os, "geteuid"):
            continue
        status, is_parent = part.lstat(), part != real
        if status.st_uid not in (os.geteuid(), _ROOT):
            raise UnsafeFolderError(f"{part} belongs to user {status.st_uid}")
        others = stat.S_IWOTH | (0 if is_parent else stat.S_IWGRP)
        if status.st_mode & others and not (
            is_parent and status.st_mode & stat.S_ISVTX
        ):
            raise UnsafeFolderError(
                f"others may write to {part}; remove the permission (chmod go-w {part})"
            )
    return real
