"""Folders and files: the user's cache, a lock for a folder, writing as a whole, and
what a run leaves in its folder.

Cached code is run, so nobody else may be able to change the folder it is in. A lock
lets one process at a time into a folder, and ends with the process.

There is one way in which this package writes a file: it appears whole or not at all.
The content goes into a new file beside it, whose name nobody else uses, and that file
is renamed at the end. Whoever looks sees the old file or a new one. Neither a crash nor
a full disk leaves a half-written file under the final name, and of several writers the
last one wins with all of its bytes.

A run leaves `settings.json`, `results.csv`, the policy (`policy.json`, or `policy.bin`
if it is large), a picture drawn from the rows alone, and the checkpoints by which it
can be resumed. It may have kept policies on the way, too (`policy_after_1000.bin`).
Policies are read from such a folder, so the names are kept here, below both the
experiments and the policies.
"""

import contextlib
import csv
import errno
import io
import json
import operator
import os
import pathlib
import re
import secrets
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import platformdirs
from filelock import FileLock, Timeout

_ROOT = 0


class CheckpointError(ValueError):
    """A file is not a checkpoint, or damaged, or a checkpoint of something else."""


class DamagedError(CheckpointError):
    """A file is damaged or was cut short, or never was a checkpoint."""


class UnsafeFolderError(OSError):
    """Another user could change the contents of a folder."""


class CompileCacheWarning(UserWarning):
    """Compiled code cannot be kept, so every process will compile it again."""


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


# --- lets one process at a time into a folder, by a lock that ends with the process ---


LOCK = ".lock"
"""The file that a lock is held on. It may be left behind, which means nothing."""


@contextlib.contextmanager
def held(
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


# --- the one way in which this package writes a file ----------------------------------


PARTS = ".part-" + "[0-9a-f]" * 16
"""What the name of an unfinished file ends with, as a pattern of `glob`. Only a killed
writer leaves one; the next run in a folder of results removes it."""

_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def write_file(
    path: str | os.PathLike[str],
    content: bytes | Callable[[IO[bytes]], object],
    *,
    lasting: bool = False,
    put: Callable[[pathlib.Path, pathlib.Path], None] | None = None,
) -> None:
    """Writes a file, replacing an older one of that name.

    Args:
        path: the file.
        content: its bytes, or a function that writes them into a binary file which can
            be read, too.
        lasting: whether the file must survive a power cut once this returns.
        put: moves the finished file (first argument) to its path (second), in place of
            a plain `os.replace`.

    Raises:
        OSError: it cannot be written; an older file is as it was. So it is after any
            other exception, be it of `content` or Ctrl-C, and nothing unfinished stays.
    """
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.part-{secrets.token_hex(8)}")
    with naming(path), contextlib.ExitStack() as at_the_end:
        # Not "w", which would follow a link of this name, and share a file with others.
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
    if lasting and os.name == "posix":  # so that the rename lasts, too
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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


# --- what a run leaves in its folder --------------------------------------------------


PREVIOUS = ".previous"
"""Ends the name of the checkpoint before the newest one."""
DAMAGED = ".damaged"
"""Ends the name of a damaged file that `load_newest` has set aside."""

SETTINGS = "settings.json"
RESULTS = "results.csv"
COMPARISON = "comparison.csv"
POLICY, BINARY_POLICY = "policy.json", "policy.bin"
FORMATS = ("png", "svg", "pdf")
"""The kinds of files that figures are written into."""

PICTURES = {kind: f"convergence.{kind}" for kind in FORMATS}
CHECKPOINT = "solver.checkpoint"
EVALUATION = "evaluation.json"
SOLUTION, PROGRAM = "solution.json", "program.mps"

ALL_FILES: tuple[str, ...] = (
    SETTINGS,
    RESULTS,
    POLICY,
    BINARY_POLICY,
    *PICTURES.values(),
    EVALUATION,
    SOLUTION,
    PROGRAM,
    CHECKPOINT,
    *(CHECKPOINT + ending for ending in (PREVIOUS, DAMAGED)),
)
"""Every file that a run may leave behind; a new run in the folder replaces them all."""


def policy_after(iteration: int) -> str:
    """The name of the file with the policy that a run kept after an iteration."""
    return f"policy_after_{iteration}.bin"


def kept_policies(folder: pathlib.Path) -> dict[int, pathlib.Path]:
    """The policies that a run has kept on the way: iteration -> file, in that order."""
    found: dict[int, pathlib.Path] = {}
    for path in folder.glob("policy_after_*.bin"):
        digits = path.name.removeprefix("policy_after_").removesuffix(".bin")
        if digits.isdecimal():
            found[int(digits)] = path
    return dict(sorted(found.items()))


def write_json(path: pathlib.Path, value: Any) -> None:
    """Writes a value as JSON, with NumPy's integers as Python's; the file appears whole
    or not at all."""
    text = json.dumps(value, indent=1, default=operator.index)
    write_file(path, (text + "\n").encode())


def is_game_file(game: str) -> bool:
    """Whether a game's name is the path of a Gambit file, by its ending."""
    return game.lower().endswith((".efg", ".nfg"))


def load_string(game: str, players: int | None = None) -> str:
    """A game's load string with the parameter `players` added, if it is given.

    The path of a game's file becomes absolute, so that a run can be resumed from
    another folder.

    Raises:
        ValueError: the load string has that parameter already.
    """
    game = game.strip()
    if is_game_file(game):
        game = os.path.abspath(os.path.expanduser(game))
    if players is None:
        return game
    if re.search(r"[(,]\s*players\s*=", game):
        raise ValueError(f"players={players} is given beside {game}; drop one.")
    if game.endswith(")"):
        separator = "" if game.endswith("()") else ","
        return f"{game[:-1]}{separator}players={players})"
    return f"{game}(players={players})"


# --- A table of rows in a CSV file ----------------------------------------------------


def csv_text(
    columns: Iterable[str], rows: Iterable[dict[str, Any]], *, header: bool = False
) -> str:
    """Rows as lines of a CSV file, in which None becomes an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns], extrasaction="ignore")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_rows(path: pathlib.Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes rows with the same keys as a CSV file; it appears whole or not at all."""
    write_file(path, csv_text(rows[0] if rows else (), rows, header=True).encode())


class Table(NamedTuple):
    """What a CSV file holds.

    Attributes:
        rows: column -> text of the field, for each line.
        columns: the names in the first line.
    """

    rows: list[dict[str, str]]
    columns: list[str]

    def numbers(self) -> dict[str, np.ndarray]:
        """Column -> `[rows]` its numbers, nan for an empty field; raises ValueError."""
        return {
            name: np.array([float(row[name] or "nan") for row in self.rows])
            for name in self.columns
        }


def read_table(path: pathlib.Path) -> Table:
    """Reads a CSV file of rows, such as `csv_text` makes; no field has a line end.

    A missing file has no rows. A last line without a line end was cut short by a kill
    or a full disk; it is left out.

    Raises:
        DamagedError: a line has more or fewer fields than there are columns.
    """
    data = path.read_bytes() if path.exists() else b""
    text = data[: data.rfind(b"\n") + 1].decode("utf-8", "replace")
    try:
        names, *lines = [*filter(None, csv.reader(text.splitlines()))] or [[]]
        for number, line in enumerate(lines, 2):
            if len(line) != len(names):
                raise ValueError(
                    f"line {number} has {len(line)} fields, expected {len(names)}"
                )
        rows = [dict(zip(names, line, strict=True)) for line in lines]
    except (ValueError, csv.Error) as error:
        raise DamagedError(f"{path} has a damaged line: {error}.") from error
    return Table(rows, names)
