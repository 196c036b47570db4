"""The format of solvers, policies and bots on disk and in pickles.

What is read is exactly what was written, and no code in a file is ever run. A file is a
magic word and a .npz archive with a JSON header and arrays. The archive has a checksum
of each array, by which a damaged file is known. A user's function is not saved; a hash
of its code tells it from another function of the same name.
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
    """A file is not a checkpoint, or damaged, or a checkpoint of something else."""


class DamagedError(CheckpointError):
    """A file is damaged or was cut short, or never was a checkpoint."""


# --- how files tell a user's function from another one of its name --------------------


def name_of(function: types.FunctionType) -> str:
    """A function's name with that of its module, `module:name`."""
    return f"{function.__module__}:{function.__qualname__}"


def digest_of(function: types.FunctionType) -> str:
    """A hash of a function's source, or of its bytecode if there is no source."""
    try:
        source = inspect.getsource(function).encode()
    except (OSError, TypeError):
        code = function.__code__
        source = code.co_code + repr(code.co_consts).encode()
    return hashlib.blake2b(source, digest_size=8).hexdigest()


# --- the format of solvers, policies and bots on disk and in pickles ------------------


MAGIC = b"mccfr_spiel solver\n"

OWN_STRINGS = "information_state_string"
"""What a header says of an abstraction that is the game's own strings."""


class Kind(NamedTuple):
    """What a file is of.

    Attributes:
        magic: the bytes that it begins with, as many for every kind.
        words: what messages call it.
        loader: the function that reads it.
        keeps_previous: whether the file that a new one replaces is kept beside it.
        version: of what is in it; others are refused.
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
    """The kind of a file by its first bytes; None if it is none of ours.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        magic = file.read(len(MAGIC))
    return next((kind for kind in (SOLVER, POLICY, BOT) if kind.magic == magic), None)


class Contents(NamedTuple):
    """What a checkpoint holds.

    Attributes:
        header: values of JSON's types, by name.
        arrays: by name.
    """

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write(file: IO[bytes], contents: Contents, kind: Kind = SOLVER) -> None:
    """Writes contents into an empty binary file.

    Integers are stored in the smallest type that holds them all. A large solver is
    mostly waiting for the disk, and its actions and keys are small numbers.
    """
    types = {name: array.dtype.str for name, array in contents.arrays.items()}
    text = json.dumps(contents.header | {"types": types})
    header = np.frombuffer(text.encode(), np.uint8)
    narrow = {name: _narrow(array) for name, array in contents.arrays.items()}
    file.write(kind.magic)
    np.savez(file, allow_pickle=False, header=header, **narrow)
    file.flush()


def _narrow(array: np.ndarray) -> np.ndarray:
    """Integers in the smallest type that holds them; any other array as it is."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    bounds = np.min_scalar_type(array.min()), np.min_scalar_type(array.max())
    found = np.promote_types(*bounds)
    return array.astype(found) if found.itemsize < array.itemsize else array


def _widen(
    arrays: dict[str, np.ndarray], types: dict[str, str]
) -> dict[str, np.ndarray]:
    """Arrays of a file in the types that they had; raises ValueError if some are not
    there, as where a damaged list of the members ends early."""
    if arrays.keys() != types.keys():
        raise ValueError(f"the arrays are {[*arrays]}, not {[*types]}")
    for name, code in types.items():
        if code != arrays[name].dtype.str:
            if np.dtype(code).kind not in "iu":
                raise ValueError(f"{name} as {code}")
            arrays[name] = arrays[name].astype(code, casting="safe")
    return arrays


def read(file: IO[bytes], name: str, kind: Kind = SOLVER) -> Contents:
    """Reads what `write` wrote; `name` is what messages call the file.

    Raises:
        DamagedError: the file is something else, or damaged.
        CheckpointError: it is of another version.
    """
    magic = file.read(len(kind.magic))
    if magic != kind.magic:
        found = [other for other in (SOLVER, POLICY, BOT) if other.magic == magic]
        hint = "".join(f", but {one.words}: {one.loader} reads it" for one in found)
        if magic.lstrip().startswith(b"{"):
            hint = f". A policy.json is read by {POLICY.loader}"
        raise DamagedError(f"{name} is not {kind.words}{hint}.")
    try:
        arrays = _arrays(file)
        header = json.loads(arrays.pop("header").tobytes())
        version = header["version"]
        if (types := header.pop("types", None)) is not None:  # older files have none
            arrays = _widen(arrays, types)
    except Exception as error:  # zipfile and numpy raise whatever they stumble over
        raise DamagedError(f"{name} is damaged or was cut short: {error!r}") from error
    if version != kind.version:
        raise CheckpointError(
            f"{name} is {kind.words}, of version {version}; this package reads version "
            f"{kind.version}. Use the release of mccfr_spiel that wrote it."
        )
    return Contents(header, arrays)


def save(path: str | os.PathLike[str], contents: Contents, kind: Kind = SOLVER) -> None:
    """Writes a file in such a way that no crash can leave a damaged one.

    If the kind says so, an older file of that name is kept beside it, under a name that
    ends with PREVIOUS.

    Raises:
        OSError: the file cannot be written; an older one is as it was.
    """
    write_file(
        path,
        lambda file: write(file, contents, kind),
        lasting=True,
        put=_put_keeping_previous if kind.keeps_previous else None,
    )


def _put_keeping_previous(new: pathlib.Path, path: pathlib.Path) -> None:
    """Puts a new file in the place of an older one, which gets PREVIOUS to its name.

    For a moment there is none but the previous one, which `load_newest` would take. Of
    two that do this at once, each puts a whole file in both places. A folder is no
    older file: it stays, and nothing is put.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, path.with_name(path.name + PREVIOUS))
    os.replace(new, path)


def load(path: str | os.PathLike[str], kind: Kind = SOLVER) -> Contents:
    """Reads what `save` wrote.

    Raises:
        CheckpointError: see `read`.
        OSError: it cannot be read.
    """
    if (path := pathlib.Path(path)).is_dir():
        raise CheckpointError(
            f"{path} is a folder, not {kind.words}. A run keeps its solver in "
            f"{path / CHECKPOINT}, and {POLICY.loader} reads its policy."
        )
    with path.open("rb") as file:
        return read(file, str(path), kind)


def load_newest(path: str | os.PathLike[str]) -> Contents:
    """Reads a checkpoint, or the previous one if it is damaged or missing.

    A damaged file is set aside, under a name that ends with DAMAGED. Otherwise the next
    `save` would make it the previous one, and the good one would be lost.

    Raises:
        FileNotFoundError: both are missing.
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


def to_bytes(contents: Contents, kind: Kind = SOLVER) -> bytes:
    """The bytes of a checkpoint file."""
    file = io.BytesIO()
    write(file, contents, kind)
    return file.getvalue()


def from_bytes(data: bytes, kind: Kind = SOLVER) -> Contents:
    """Reads what `to_bytes` made; raises CheckpointError."""
    return read(io.BytesIO(data), "the pickle", kind)


@contextlib.contextmanager
def odd_contents_in_words(kind: Kind = SOLVER) -> Iterator[None]:
    """Turns errors that come from malformed contents into DamagedError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError(
            f"What should be {kind.words} lacks something or holds something odd: "
            f"{error!r}"
        ) from error


def saved_abstraction(abstraction: Callable[..., str] | None) -> bool | str:
    """What a header says of an abstraction: that it is the game's own strings, or a
    function's name and a hash of its source; or whether there is one."""
    if abstraction == pyspiel.State.information_state_string:
        return OWN_STRINGS
    if isinstance(abstraction, types.FunctionType):
        return f"{name_of(abstraction)} {digest_of(abstraction)}"
    return abstraction is not None


def loaded_abstraction(
    saved: Any, abstraction: Callable[..., str] | None
) -> Callable[..., str] | None:
    """The abstraction of what is loaded.

    Args:
        saved: of the header, see `saved_abstraction`.
        abstraction: what the user gives, None for nothing.

    Raises:
        CheckpointError: the abstraction is missing, given needlessly, or is a function
            of another source.
    """
    if saved == OWN_STRINGS and abstraction is None:
        return pyspiel.State.information_state_string
    if saved and abstraction is None:
        raise CheckpointError(
            "The file is of a solver or policy with an abstraction, a function that no "
            "file can hold: give it again (abstraction=..., on the command line "
            "--abstraction=module:function)."
        )
    if abstraction is not None and not saved:
        raise CheckpointError(
            "The file is of a solver or policy without abstraction; drop abstraction."
        )
    given = saved_abstraction(abstraction)
    if isinstance(saved, str) and saved.split()[-1] != str(given).split()[-1]:
        raise CheckpointError(
            f"The file was made with the abstraction {saved.split()[0]}; "
            f"{str(given).split()[0]} is another one, or its source has changed. Undo "
            "the change, or begin anew."
        )
    return abstraction


def pack_strings(strings: Iterable[str]) -> dict[str, np.ndarray]:
    """Strings as the arrays `text` (uint8) and `ends` (int64)."""
    text, lengths = bytearray(), array("q")
    # One by one, since millions of strings take several times the memory of their text.
    for string in strings:
        encoded = string.encode("utf-8", "surrogateescape")
        text += encoded
        lengths.append(len(encoded))
    ends = np.cumsum(np.frombuffer(lengths, np.int64), dtype=np.int64)
    return {"text": np.frombuffer(text, np.uint8), "ends": ends}


def unpack_strings(text: np.ndarray, ends: np.ndarray) -> list[str]:
    """Unpacks what `pack_strings` packed; raises DamagedError if it cannot have."""
    check_strings(text, ends)
    data, bounds = text.tobytes(), [0, *ends.tolist()]
    return [
        data[start:stop].decode("utf-8", "surrogateescape")
        for start, stop in itertools.pairwise(bounds)
    ]


def check_strings(text: np.ndarray, ends: np.ndarray) -> None:
    """Raises DamagedError unless `pack_strings` can have made these arrays."""
    fits = text.ndim == ends.ndim == 1
    fits = fits and (ends[1:] >= ends[:-1]).all() and (ends >= 0).all()
    if not fits or text.nbytes != (ends[-1] if len(ends) else 0):
        raise DamagedError("The file's strings do not fit together.")


def check_infosets(
    num_names: int, infosets: np.ndarray, actions: np.ndarray, num_players: int
) -> None:
    """Raises DamagedError unless a tree can have met these infosets.

    Compiled loops trust them, and would read foreign memory by an index out of range.
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


def _arrays(file: IO[bytes]) -> dict[str, np.ndarray]:
    """Reads the arrays of the archive that begins here.

    `write` compresses nothing, so an array takes as many bytes in memory as in the
    file. A malicious file of a few bytes could fill the memory if it were compressed,
    if its members shared their bytes, or by a shape that does not fit. Such a file is
    refused before anything of it is read.
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
            raise ValueError("its members are larger than the file")
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
