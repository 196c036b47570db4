"""Solvers and policies on disk and in pickles: exact, and no code in the file.

A file is a magic word, the digest of what follows, and a .npz archive: a JSON header
(versions, the game, of a solver the algorithm) and tables. A solver's nodes are not
kept, since a tree can be grown again; infosets are, because its tables are numbered.
"""

import contextlib
import hashlib
import io
import itertools
import json
import os
import pathlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

MAGIC = b"mccfr_spiel solver\n"
VERSION = 1
_DIGEST_SIZE = 32
_BLOCK = 1 << 20

PREVIOUS = ".previous"
"""What the name of the checkpoint before the newest one ends with."""
DAMAGED = ".damaged"
"""What the name of a damaged file ends with that `load_newest` has set aside."""


class CheckpointError(ValueError):
    """A file is no checkpoint, is damaged, or is one of something else."""


class DamagedError(CheckpointError):
    """A file is damaged, was cut short, or never was a checkpoint."""


class Kind(NamedTuple):
    """What a file is of.

    Attributes:
        magic: the bytes it begins with, as many for every kind.
        words: for messages.
        keeps_previous: whether a new file leaves the one before it beside it.
    """

    magic: bytes
    words: str
    keeps_previous: bool


SOLVER = Kind(MAGIC, "a checkpoint of a mccfr_spiel solver", keeps_previous=True)
POLICY = Kind(
    b"mccfr_spiel policy\n", "a policy that mccfr_spiel saved", keeps_previous=False
)


class Contents(NamedTuple):
    """What a checkpoint holds.

    Attributes:
        header: see `Solver`; JSON's types only.
        arrays: by name.
    """

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write(file: IO[bytes], contents: Contents, kind: Kind = SOLVER) -> None:
    """Writes into an empty binary file that can be read, too."""
    file.write(kind.magic + bytes(_DIGEST_SIZE))
    header = np.frombuffer(json.dumps(contents.header).encode(), np.uint8)
    np.savez(file, allow_pickle=False, header=header, **contents.arrays)
    digest = _digest(file)
    file.seek(len(kind.magic))
    file.write(digest)
    file.flush()


def read(file: IO[bytes], name: str, kind: Kind = SOLVER) -> Contents:
    """Reads what `write` wrote; `name` is for messages.

    Raises:
        DamagedError: it is something else, or damaged.
        CheckpointError: it is of another version.
    """
    magic = file.read(len(kind.magic))
    if magic != kind.magic:
        found = [other.words for other in (SOLVER, POLICY) if other.magic == magic]
        hint = f", but {found[0]}" if found else ""
        raise DamagedError(f"{name} is not {kind.words}{hint}.")
    if file.read(_DIGEST_SIZE) != _digest(file):
        raise DamagedError(f"{name} is damaged or was cut short.")
    file.seek(len(MAGIC) + _DIGEST_SIZE)
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        version = header["version"]
    except Exception as error:  # zipfile and numpy raise whatever they stumble over
        raise DamagedError(f"{name} is not {kind.words}: {error!r}") from error
    if version != VERSION:
        raise CheckpointError(
            f"{name} is {kind.words}, of version {version}; this package reads version "
            f"{VERSION}. Use the release of mccfr_spiel that wrote it."
        )
    return Contents(header, arrays)


def save(path: str | os.PathLike[str], contents: Contents, kind: Kind = SOLVER) -> None:
    """Writes a file so that no crash can leave a damaged one.

    An older file of that name is kept beside it if the kind says so, its name ending
    with PREVIOUS.

    Raises:
        OSError: it cannot be written; then an older file is as it was.
    """
    path = pathlib.Path(path)
    new = path.with_name(path.name + ".new")  # left by a kill, it is written over
    older = path.with_name(path.name + ".older")
    previous = path.with_name(path.name + PREVIOUS)
    try:
        with new.open("w+b") as file:
            write(file, contents, kind)
            os.fsync(file.fileno())
        if not kind.keeps_previous:
            os.replace(new, path)
        elif _link(path, older):
            os.replace(new, path)
            os.replace(older, previous)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, previous)
            os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def load(path: str | os.PathLike[str], kind: Kind = SOLVER) -> Contents:
    """Reads what `save` wrote.

    Raises:
        CheckpointError: see `read`.
        OSError: it cannot be read.
    """
    with pathlib.Path(path).open("rb") as file:
        return read(file, str(path), kind)


def load_newest(path: str | os.PathLike[str]) -> Contents:
    """Reads a checkpoint file, or the previous one if that is damaged or missing.

    A damaged file is set aside, its name ending with DAMAGED, so that the next `save`
    does not put it in the place of the previous good one.

    Raises:
        FileNotFoundError: there is neither.
        CheckpointError: both are damaged, or see `read`.
        OSError: one cannot be read.
    """
    path = pathlib.Path(path)
    previous = path.with_name(path.name + PREVIOUS)
    try:
        return load(path)
    except (DamagedError, FileNotFoundError) as error:
        if not previous.exists():
            raise
        try:
            contents = load(previous)
        except DamagedError as second:
            raise DamagedError(f"{error} {second}") from error
        if isinstance(error, DamagedError):
            with contextlib.suppress(OSError):
                os.replace(path, path.with_name(path.name + DAMAGED))
        return contents


def to_bytes(contents: Contents) -> bytes:
    """A checkpoint in memory."""
    file = io.BytesIO()
    write(file, contents)
    return file.getvalue()


def from_bytes(data: bytes) -> Contents:
    """Reads what `to_bytes` made; raises CheckpointError."""
    return read(io.BytesIO(data), "the pickled solver")


@contextlib.contextmanager
def odd_contents_in_words(kind: Kind = SOLVER) -> Iterator[None]:
    """Raises DamagedError for what code runs into that trusts a file's contents."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError(
            f"What should be {kind.words} lacks something or holds something odd: "
            f"{error!r}"
        ) from error


def check_abstracted(is_abstracted: bool, abstraction: object) -> None:
    """Raises CheckpointError if an abstraction is missing, or is one too many."""
    if is_abstracted and abstraction is None:
        raise CheckpointError(
            "The file is of a solver or policy with an abstraction, a function that no "
            "file can hold: give it again (abstraction=...)."
        )
    if abstraction is not None and not is_abstracted:
        raise CheckpointError(
            "The file is of a solver or policy without abstraction; drop abstraction."
        )


def pack_strings(strings: list[str]) -> dict[str, np.ndarray]:
    """Strings as the arrays `text` (uint8) and `ends` (int64)."""
    encoded = [string.encode("utf-8", "surrogateescape") for string in strings]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {"text": np.frombuffer(b"".join(encoded), np.uint8), "ends": ends}


def unpack_strings(text: np.ndarray, ends: np.ndarray) -> list[str]:
    """What `pack_strings` packed; raises DamagedError if they do not fit together."""
    data = text.tobytes()
    bounds = [0, *ends.tolist()]
    check_strings(text, ends)
    return [
        data[start:stop].decode("utf-8", "surrogateescape")
        for start, stop in itertools.pairwise(bounds)
    ]


def check_strings(text: np.ndarray, ends: np.ndarray) -> None:
    """Raises DamagedError unless `pack_strings` can have packed these."""
    fits = (ends[1:] >= ends[:-1]).all() and (ends >= 0).all()
    if not fits or text.nbytes != (ends[-1] if len(ends) else 0):
        raise DamagedError("The file's strings do not fit together.")


def check_infosets(
    num_names: int, infosets: np.ndarray, actions: np.ndarray, num_players: int
) -> None:
    """Raises DamagedError unless these can be the infosets that a tree met.

    Compiled loops trust them: an index out of range would read foreign memory.
    """
    counts = infosets["num_actions"]
    first = num_players + np.cumsum(counts, dtype=np.int64) - counts
    fits = (
        num_names == len(infosets)
        and actions.dtype == np.int64
        and actions.shape == (num_players + counts.sum(dtype=np.int64),)
        and (counts > 0).all()
        and (infosets["first_sequence"] == first).all()
        and (infosets["parent"] >= 0).all()
        and (infosets["parent"] < first).all()
        and (infosets["player"] >= 0).all()
        and (infosets["player"] < num_players).all()
    )
    if not fits:
        raise DamagedError("The file's infosets do not fit together.")


def _link(path: pathlib.Path, other: pathlib.Path) -> bool:
    """Makes `other` a second name of the file; False where that cannot be done."""
    try:
        other.unlink(missing_ok=True)
        os.link(path, other)
    except (OSError, NotImplementedError, AttributeError):
        return False
    return True


def _digest(file: IO[bytes]) -> bytes:
    """The digest of all that follows its place in the file."""
    file.seek(len(MAGIC) + _DIGEST_SIZE)
    digest = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.digest()


def _sync_folder(folder: pathlib.Path) -> None:
    """Makes a rename last through a power cut, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
