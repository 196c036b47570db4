"""The user's cache folder, and folders that only the user can write to."""

import contextlib
import os
import pathlib
import stat
import tempfile

import platformdirs

_ROOT = 0


class UnsafeFolderError(OSError):
    """Another user could change the contents of a folder."""


class CompileCacheWarning(UserWarning):
    """Compiled code cannot be kept, so every process will compile it again."""


def user_cache_folder() -> pathlib.Path:
    """The user's own cache folder for this package (absolute, not created).

    The environment variable MCCFR_SPIEL_CACHE moves it. For a process without a home
    folder it is in the folder of temporary files, and named by the user's number.
    """
    if os.environ.get("MCCFR_SPIEL_CACHE"):
        return pathlib.Path(os.environ["MCCFR_SPIEL_CACHE"]).absolute()
    with contextlib.suppress(RuntimeError):  # if platformdirs finds no home folder
        # On Windows no "Cache" is added, as earlier versions of this package did not.
        folder = pathlib.Path(
            platformdirs.user_cache_dir("mccfr_spiel", appauthor=False, opinion=False)
        )
        if folder.is_absolute():  # some versions leave "~" if there is no home folder
            return folder
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    return pathlib.Path(tempfile.gettempdir(), f"mccfr_spiel-{user}").absolute()


def make_private(folder: str | os.PathLike[str]) -> pathlib.Path:
    """Creates a folder that only this user can write to, and its parents if need be.

    The folder and each of its parents, with symbolic links resolved, must belong to
    this user or to root, and nobody else may write to it. The group may write to
    parents, since many systems give each user a group; all may write to one that has
    the sticky bit, such as /tmp, since they cannot rename or remove our folders there.
    The parents are checked from the top, so that nobody else can exchange a folder once
    it is looked at. Windows does not show who may write; there the default cache folder
    is in the user's profile, which Windows keeps private.

    Returns:
        Its path without symbolic links, by which it should be opened.

    Raises:
        UnsafeFolderError: another user could change what is in it.
        OSError: it cannot be created.
    """
    real = pathlib.Path(os.path.realpath(folder))
    for place in [*reversed(real.parents), real]:
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)
        if not hasattr(os, "geteuid"):
            continue
        status, is_parent = place.lstat(), place != real
        if status.st_uid not in (os.geteuid(), _ROOT):
            raise UnsafeFolderError(f"{place} belongs to user {status.st_uid}")
        others = stat.S_IWOTH | (0 if is_parent else stat.S_IWGRP)
        if status.st_mode & others and not (
            is_parent and status.st_mode & stat.S_ISVTX
        ):
            raise UnsafeFolderError(
                f"others may write to {place}; take that from them (chmod go-w {place})"
            )
    return real
