"""The user's cache folder, whether a folder is safe from other users, and where the
sources are.

Cached code is run, so nobody else may be able to change it.
"""

import contextlib
import os
import pathlib
import stat
import tempfile

import platformdirs

_ROOT = 0


class UnsafeFolderError(OSError):
    """Another user could change the contents of a folder."""


_PACKAGE = pathlib.Path(__file__).parents[1]


def games_of_checkout() -> pathlib.Path | None:
    """The folder that is `mccfr_spiel.games` in a clone of the repository.

    There it stands beside the package, as it does for an editable installation. A wheel
    has it inside the package, and then this is None.
    """
    root = _PACKAGE.parent
    if (_PACKAGE / "games").is_dir() or not (root / "pyproject.toml").is_file():
        return None
    folder = root / "games"
    return folder if (folder / "__init__.py").is_file() else None


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


def why_unsafe(folder: str | os.PathLike[str]) -> str | None:
    """Says in words who else could change what is in a folder; None if nobody could.

    The folder and each of its parents, with symbolic links resolved, must belong to
    this user or to root, and nobody else may write to it. Others may write to a parent
    that has the sticky bit, such as /tmp, since they cannot rename or remove our files
    there.

    The parents are checked from the top, so that when a folder is looked at, nobody
    else can exchange it any more. Hence the answer stays true for as long as this user
    and root leave the modes alone, and one check in a process is enough.

    On Windows the answer is always None, since Python cannot see there who may write.
    The default cache folder is in the user's profile, which Windows keeps private.

    Args:
        folder: an existing folder. It should be named, and later be opened, by the
            result of `os.path.realpath`, since others might change a link on the way.

    Raises:
        OSError: the folder or one of its parents cannot be looked at.
    """
    if not hasattr(os, "geteuid"):
        return None
    real = pathlib.Path(os.path.realpath(folder))
    for place in [*reversed(real.parents), real]:
        status = os.lstat(place)
        if not stat.S_ISDIR(status.st_mode):
            return f"{place} is not a folder"
        if status.st_uid not in (os.geteuid(), _ROOT):
            return f"{place} belongs to another user (number {status.st_uid})"
        if place != real and status.st_mode & stat.S_ISVTX:
            continue
        if status.st_mode & stat.S_IWOTH:
            return f"every user may write to {place}"
        if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid):
            return f"the users of group {status.st_gid} may write to {place}"
    return None


def _is_private_group(group: int) -> bool:
    """Whether a group consists of this user alone.

    Many Linux systems give each user such a group, of the user's name, and let it write
    to the user's folders.
    """
    import grp
    import pwd

    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return (
        group == user.pw_gid
        and entry.gr_name == user.pw_name
        and set(entry.gr_mem) <= {user.pw_name}
    )


def make_private(folder: str | os.PathLike[str]) -> pathlib.Path:
    """Creates a folder that only this user can write to, and its parents if need be.

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
    reason = why_unsafe(real)
    if reason is not None:
        raise UnsafeFolderError(reason)
    return real
