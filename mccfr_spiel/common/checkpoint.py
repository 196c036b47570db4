"""The file format of solvers, policies and bots, on disk and in pickles.

A file is a magic word and a .npz archive with a JSON header and arrays. The archive has
a checksum per array, which detects damage. Reading never runs code from a file.
Functions of the user are not saved; a hash of their source detects a changed function.
"""

import contextlib
import errno
import hashlib
import inspect
import io
import itertools
import json
import math
import os
import pathlib
import types
import zipfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.common.atomic_files import write_file

CHECKPOINT = "solver.checkpoint"
"""The file in which a run saves its solver."""

PREVIOUS = ".previous"
"""Ends the name of the checkpoint before the newest one."""

DAMAGED = ".damaged"
"""Ends the name of a damaged file that `load_newest` has set aside."""


class CheckpointError(ValueError):
    """A file is damaged, or is not the expected checkpoint."""


class DamagedError(CheckpointError):
    """A file is damaged, cut short, or not a checkpoint."""


# --- identity of a user's functions ---------------------------------------------------


def name_of(function: types.FunctionType) -> str:
    """Returns `module:name` of a function."""
    return f"{function.__module__}:{function.__qualname__}"


def digest_of(function: types.FunctionType) -> str:
    """Returns a hash of a function's source, or of the bytecode if there is no
    source."""
    try:
        source = inspect.getsource(function).encode()
    except (OSError, TypeError):
        code = function.__code__
        source = code.co_code + repr(code.co_consts).encode()
    return hashlib.blake2b(source, digest_size=8).hexdigest()


# --- the file format ------------------------------------------------------------------


MAGIC = b"mccfr_spiel solver\n"

OWN_STRINGS = "information_state_string"
"""Header entry for an abstraction that returns the game's own strings."""


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        magic: the first bytes of the file, of equal length for all kinds.
        words: the description in messages.
        loader: the function that reads the file.
        keeps_previous: whether `save` preserves the replaced file.
        version: the version of the content; other versions are refused.
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

    Integers are stored in the smallest sufficient type. Saving a large solver mostly
    waits for the disk, and actions and keys are small numbers.
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
    """Restores the original types of arrays.

    Args:
        arrays: name -> array as stored.
        types: name -> original type, from the header.

    Raises:
        ValueError: arrays are missing, for example because the archive's list of
            members is damaged, or a type is not a wider one.
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
    """Reads contents.

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
    """Writes a file; a crash leaves either the old or the new file.

    If the kind says so, the replaced file is kept with the suffix PREVIOUS.

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

    Between the two renames only the previous file exists, which `load_newest` then
    reads. Two processes that do this at the same time leave complete files at both
    paths. A folder at `path` is refused, because a rename would move it away.
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
    preserve the damaged file as the previous one and lose the good one.

    Raises:
        FileNotFoundError: both files are missing.
        CheckpointError: both files are damaged, or see `read`.
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
    """Context manager that turns errors caused by malformed contents into
    DamagedError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError(
            f"Expected {kind.words}, but an entry is missing or malformed: {error!r}"
        ) from error


def saved_abstraction(abstraction: Callable[..., str] | None) -> bool | str:
    """Returns the header entry for an abstraction.

    argument                                    entry
    None                                        False
    pyspiel.State.information_state_string      OWN_STRINGS
    a Python function                           the name and a hash of the source
    any other callable                          True
    """
    if abstraction == pyspiel.State.information_state_string:
        return OWN_STRINGS
    if isinstance(abstraction, types.FunctionType):
        return f"{name_of(abstraction)} {digest_of(abstraction)}"
    return abstraction is not None


def loaded_abstraction(
    saved: Any, abstraction: Callable[..., str] | None
) -> Callable[..., str] | None:
    """Returns the abstraction for loaded contents.

    Args:
        saved: the header entry, see `saved_abstraction`.
        abstraction: the user's argument; None if not given.

    Raises:
        CheckpointError: the abstraction is missing, unnecessary, or changed.
    """
    if saved == OWN_STRINGS and abstraction is None:
        return pyspiel.State.information_state_string
    if saved and abstraction is None:
        raise CheckpointError(
            "The solver or policy in the file uses an abstraction, but functions are "
            "not saved. Pass the same function (abstraction=..., on the command line "
            "--abstraction=module:function)."
        )
    if abstraction is not None and not saved:
        raise CheckpointError(
            "The solver or policy in the file is without abstraction; drop abstraction."
        )
    given = saved_abstraction(abstraction)
    if isinstance(saved, str) and saved.split()[-1] != str(given).split()[-1]:
        raise CheckpointError(
            f"The file was written with the abstraction {saved.split()[0]}, but "
            f"{str(given).split()[0]} is another function or its source has changed. "
            "Undo the change, or start a new run."
        )
    return abstraction


def pack_strings(strings: Iterable[str]) -> dict[str, np.ndarray]:
    """Packs strings into the arrays `text` (uint8) and `ends` (int64)."""
    text, lengths = bytearray(), array("q")
    # A list of millions of strings needs several times the memory of the text.
    for string in strings:
        encoded = string.encode("utf-8", "surrogateescape")
        text += encoded
        lengths.append(len(encoded))
    ends = np.cumsum(np.frombuffer(lengths, np.int64), dtype=np.int64)
    return {"text": np.frombuffer(text, np.uint8), "ends": ends}


def unpack_strings(text: np.ndarray, ends: np.ndarray) -> list[str]:
    """Unpacks the arrays of `pack_strings`; raises DamagedError if they are
    inconsistent."""
    check_strings(text, ends)
    data, bounds = text.tobytes(), [0, *ends.tolist()]
    return [
        data[start:stop].decode("utf-8", "surrogateescape")
        for start, stop in itertools.pairwise(bounds)
    ]


def check_strings(text: np.ndarray, ends: np.ndarray) -> None:
    """Raises DamagedError unless the arrays are consistent, see `pack_strings`."""
    fits = text.ndim == ends.ndim == 1
    fits = fits and (ends[1:] >= ends[:-1]).all() and (ends >= 0).all()
    if not fits or text.nbytes != (ends[-1] if len(ends) else 0):
        raise DamagedError("The strings of the file are inconsistent.")


def check_infosets(
    num_names: int, infosets: np.ndarray, actions: np.ndarray, num_players: int
) -> None:
    """Raises DamagedError unless a tree can have these infosets.

    Compiled loops rely on these arrays; a wrong index would read foreign memory.

    Args:
        num_names: the number of information-state strings.
        infosets: `[I]` of dtype INFOSET.
        actions: `[S]` the actions of the sequences.
        num_players: the number of players.
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
        raise DamagedError("The infosets of the file are inconsistent.")


def _arrays(file: IO[bytes]) -> dict[str, np.ndarray]:
    """Reads the arrays of the archive that begins at the current position.

    `write` does not compress, so an array needs as much memory as its bytes in the
    file. A malicious file of a few bytes could fill the memory by compression, by
    members that share bytes, or by a wrong shape. Such files are refused before any
    array is read.
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
