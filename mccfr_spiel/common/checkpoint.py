"""The file format of solvers, policies and bots, on disk and in pickles.

A file begins with a magic word that identifies its kind. A .npz archive follows, with a
JSON header and arrays. The archive contains a checksum of each array, which detects
damage. Reading never runs code from a file. Functions of the user are not saved; a hash
of their source detects a changed function.
"""

import contextlib
import errno
import io
import json
import math
import os
import pathlib
import zipfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from mccfr_spiel.common.atomic_files import write_file

CHECKPOINT = "solver.checkpoint"
"""The file in which a run saves its solver."""

PREVIOUS = ".previous"
"""Suffix of the name of the checkpoint that the newest checkpoint has replaced."""

DAMAGED = ".damaged"
"""Suffix of the name of a damaged file that `load_newest` has renamed."""


class CheckpointError(ValueError):
    """A file is damaged, or is not the expected checkpoint."""


class DamagedError(CheckpointError):
    """A file is damaged, incomplete, or not of the expected kind."""


MAGIC = b"mccfr_spiel solver\n"


class Kind(NamedTuple):
    """A kind of file: solver, bot or policy.

    Attributes:
        magic: the first bytes of the file, of equal length for all kinds.
        words: the description in messages.
        loader: the name of the public function that reads the file, for messages.
        keeps_previous: whether `save` keeps the replaced file under another name.
        version: the version of the content; files of other versions are refused.
    """

    magic: bytes
    words: str
    loader: str
    keeps_previous: bool = True
    version: int = 1


SOLVER = Kind(
    MAGIC, "a checkpoint of a mccfr_spiel solver", "ms.Solver.load", version=2
)
BOT = Kind(
    b"mccfr_spiel bot   \n",
    "a bot that mccfr_spiel saved",
    "ms.OnlineOutcomeSamplingBot.load",
)
POLICY = Kind(
    b"mccfr_spiel policy\n",
    "a policy that mccfr_spiel saved",
    "ms.load_policy",
    keeps_previous=False,
)


def kind_of(path: str | os.PathLike[str]) -> Kind | None:
    """Returns the kind of a file by its first bytes; None for other files.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        magic = file.read(len(MAGIC))
    return next((kind for kind in (SOLVER, POLICY, BOT) if kind.magic == magic), None)


class Contents(NamedTuple):
    """The content of a checkpoint.

    Attributes:
        header: name -> JSON value.
        arrays: name -> array.
    """

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write(file: IO[bytes], contents: Contents, kind: Kind = SOLVER) -> None:
    """Writes contents into an empty binary file.

    Integers are stored in the smallest sufficient type, because most of them are small
    (such as actions) and the time for large files depends on their size.
    """
    types = {name: array.dtype.str for name, array in contents.arrays.items()}
    text = json.dumps(contents.header | {"types": types})
    header = np.frombuffer(text.encode(), np.uint8)
    narrow = {name: _narrow(array) for name, array in contents.arrays.items()}
    file.write(kind.magic)
    np.savez(file, allow_pickle=False, header=header, **narrow)
    file.flush()


def _narrow(array: np.ndarray) -> np.ndarray:
    """Converts integers to the smallest sufficient type; returns other arrays
    unchanged."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    bounds = np.min_scalar_type(array.min()), np.min_scalar_type(array.max())
    smallest = np.promote_types(*bounds)
    is_smaller = smallest.itemsize < array.itemsize
    return array.astype(smallest) if is_smaller else array


def _widen(
    arrays: dict[str, np.ndarray], types: dict[str, str]
) -> dict[str, np.ndarray]:
    """Restores the original integer types of arrays, see `_narrow`.

    Args:
        arrays: name -> array as stored; modified in place.
        types: name -> original type, from the header.

    Returns:
        The argument `arrays`.

    Raises:
        ValueError: an array is missing or unexpected, for example because the archive's
            list of members is damaged, or an original type is not an integer type.
        TypeError: an original type cannot hold all values of the stored type.
    """
    if arrays.keys() != types.keys():
        raise ValueError(f"the arrays are {[*arrays]}, not {[*types]}")
    for name, code in types.items():
        if code != arrays[name].dtype.str:
            if np.dtype(code).kind not in "iu":
                raise ValueError(f"{name} as {code}")
            arrays[name] = arrays[name].astype(code, casting="safe")
    return arrays


def read(file: IO[bytes], name: str, kind: Kind = SOLVER) -> Contents:
    """Reads the contents of a file.

    Args:
        file: a binary file that `write` wrote.
        name: the name of the file in messages.
        kind: the expected kind.

    Raises:
        DamagedError: the file is damaged or of a different kind.
        CheckpointError: the version is not the expected one.
    """
    magic = file.read(len(kind.magic))
    if magic != kind.magic:
        others = [other for other in (SOLVER, POLICY, BOT) if other.magic == magic]
        hint = "".join(f", but {other.words}. Use {other.loader}" for other in others)
        if magic.lstrip().startswith(b"{"):
            hint = f". Use {POLICY.loader} to read a policy.json"
        raise DamagedError(f"{name} is not {kind.words}{hint}.")
    try:
        arrays = _arrays(file)
        header = json.loads(arrays.pop("header").tobytes())
        version = header["version"]
        if (types := header.pop("types", None)) is not None:
            arrays = _widen(arrays, types)
    except Exception as error:  # zipfile and numpy raise various types
        raise DamagedError(f"{name} is damaged or was cut short: {error!r}") from error
    if version != kind.version:
        raise CheckpointError(
            f"{name} is {kind.words} of version {version}, expected version "
            f"{kind.version}. Use the release of mccfr_spiel that wrote the file."
        )
    return Contents(header, arrays)


def save(path: str | os.PathLike[str], contents: Contents, kind: Kind = SOLVER) -> None:
    """Writes a checkpoint file. A crash leaves a complete old or new file.

    If `kind.keeps_previous`, the replaced file is kept with the suffix PREVIOUS.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    write_file(
        path,
        lambda file: write(file, contents, kind),
        lasting=True,
        put=_put_keeping_previous if kind.keeps_previous else None,
    )


def _put_keeping_previous(new: pathlib.Path, path: pathlib.Path) -> None:
    """Renames a new file to `path`, and the replaced file to `path` + PREVIOUS.

    Between the two renames there is no file at `path`; `load_newest` then reads the
    previous file. If two processes do this at the same time, the files at both paths
    are complete. If `path` is a folder, an error is raised, because the folder would
    otherwise be renamed.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, path.with_name(path.name + PREVIOUS))
    os.replace(new, path)


def load(path: str | os.PathLike[str], kind: Kind = SOLVER) -> Contents:
    """Reads a file that `save` wrote.

    Raises:
        CheckpointError: see `read`.
        OSError: the file cannot be read.
    """
    if (path := pathlib.Path(path)).is_dir():
        raise CheckpointError(
            f"{path} is a folder, expected {kind.words}. A run saves its solver in "
            f"{path / CHECKPOINT}; use {POLICY.loader} to read the run's policy."
        )
    with path.open("rb") as file:
        return read(file, str(path), kind)


def load_newest(path: str | os.PathLike[str]) -> Contents:
    """Reads a checkpoint, or the previous one if the checkpoint is damaged or missing.

    A damaged file is renamed with the suffix DAMAGED. Otherwise the next `save` would
    replace the intact previous file by the damaged file.

    Raises:
        FileNotFoundError: both files are missing.
        CheckpointError: both files are damaged, one is damaged and the other missing,
            or the version is not the expected one.
        OSError: a file cannot be read.
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


def to_bytes(contents: Contents, kind: Kind = SOLVER) -> bytes:
    """Returns the bytes of a checkpoint file."""
    file = io.BytesIO()
    write(file, contents, kind)
    return file.getvalue()


def from_bytes(data: bytes, kind: Kind = SOLVER) -> Contents:
    """Reads the bytes of a checkpoint file; raises CheckpointError."""
    return read(io.BytesIO(data), "the pickle", kind)


@contextlib.contextmanager
def odd_contents_in_words(kind: Kind = SOLVER) -> Iterator[None]:
    """Context manager that raises DamagedError in place of errors such as KeyError.

    Code that reads the contents of an untrusted file runs in it.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError(
            f"Expected {kind.words}, but an entry is missing or malformed: {error!r}"
        ) from error


def _arrays(file: IO[bytes]) -> dict[str, np.ndarray]:
    """Reads the arrays of the archive that begins at the file's current position.

    Files that `write` has written are not compressed, so an array needs as much memory
    as bytes in the file. A malicious file of a few bytes could fill the memory by
    compression, by members that share bytes, or by a wrong shape. Each of these raises
    an error before memory is allocated for the array.

    Returns:
        Name -> array.
    """
    begin = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(begin)
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        for member in members:
            plain = member.compress_type == zipfile.ZIP_STORED
            if not plain or member.file_size != member.compress_size:
                raise ValueError(f"{member.filename} is compressed")
        if sum(member.file_size for member in members) > size:
            raise ValueError("the members are larger than the file")
        for member in members:
            with archive.open(member) as data:
                _check_array(data, member.file_size)
            with archive.open(member) as data:
                array = np.lib.format.read_array(data, allow_pickle=False)
            arrays[member.filename.removesuffix(".npy")] = array
    return arrays


def _check_array(data: IO[bytes], size: int) -> None:
    """Raises ValueError unless a member is an array of exactly `size` bytes."""
    version = np.lib.format.read_magic(data)
    if version != (1, 0):
        raise ValueError(f"an array of version {version}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(data)
    expected = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or size - data.tell() != expected:
        raise ValueError(f"{size - data.tell()} bytes for {shape} of {dtype}")
