"""Checksums of large files, block by block, and when they are compared.

A file that was read and found good is not read again as a whole while its size, its
times and its number on the disk stay the same. A note beside it says so. Damage that
changes none of these, as by a failing disk, is found sooner or later: each time some
blocks are compared that are drawn at random.
"""

import contextlib
import json
import pathlib
import random
import stat
import zlib
from typing import Any

from mccfr_spiel.storage.atomic import write_file

BLOCK = 1 << 22
"""The bytes that one checksum is of."""

READ_EACH_TIME = 1 << 27
"""Files that have no more bytes than this together are read whole whenever they are
checked, in about 0.1 s. Of larger ones as many bytes are read, at random places."""

NOTE = "verified.json"
"""The file beside the others that says what they were like when all were read."""


class WrongFileError(Exception):
    """A file does not agree with its checksums; the message says which."""


def checksums(path: pathlib.Path) -> dict[str, Any]:
    """What `check` compares a file with: its `bytes`, and `crc32` of its blocks."""
    crcs = []
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            crcs.append(zlib.crc32(block))
    return {"bytes": path.stat().st_size, "crc32": crcs}


def check(
    folder: pathlib.Path, files: dict[str, dict[str, Any]], *, everything: bool
) -> None:
    """Compares files with their checksums.

    The first block of each file, which has the header, is always read. All others are
    read with `everything`, or if no note says that the files were found good.

    Args:
        folder: where the files are.
        files: name -> its `checksums`.
        everything: whether to ignore the note.

    Raises:
        WrongFileError: a file is missing, or was changed.
        OSError: a file cannot be read.
    """
    seen = {name: _look(folder / name, about) for name, about in files.items()}
    blocks = [
        (name, number)
        for name, about in files.items()
        for number in range(len(about["crc32"]))
    ]
    is_large = sum(about["bytes"] for about in files.values()) > READ_EACH_TIME
    is_noted = is_large and not everything and _read_note(folder) == seen
    if is_noted:
        first = [(name, number) for name, number in blocks if number == 0]
        others = [(name, number) for name, number in blocks if number > 0]
        room = max(READ_EACH_TIME // BLOCK - len(first), 1)
        blocks = sorted(first + random.sample(others, min(room, len(others))))
    for name, number in blocks:
        _compare(folder / name, number, files[name]["crc32"][number])
    if is_large and not is_noted:
        _write_note(folder, seen)


def _look(path: pathlib.Path, about: dict[str, Any]) -> list[int]:
    """What tells at a glance whether a file is still what it was."""
    try:
        status = path.lstat()
    except FileNotFoundError as error:
        raise WrongFileError(f"{path} is missing.") from error
    if not stat.S_ISREG(status.st_mode):
        raise WrongFileError(f"{path} is no file.")
    if status.st_size != about["bytes"]:
        raise WrongFileError(
            f"{path} has {status.st_size} bytes, not {about['bytes']}."
        )
    if len(about["crc32"]) != -(-status.st_size // BLOCK):
        raise WrongFileError(f"{path} has another number of blocks than checksums.")
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _compare(path: pathlib.Path, number: int, crc: int) -> None:
    with path.open("rb", buffering=0) as file:
        file.seek(number * BLOCK)
        block = file.read(BLOCK)
    if zlib.crc32(block) != crc:
        raise WrongFileError(f"{path} was changed: its checksum is another.")


def _read_note(folder: pathlib.Path) -> Any:
    try:
        return json.loads((folder / NOTE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _write_note(folder: pathlib.Path, seen: dict[str, list[int]]) -> None:
    data = json.dumps(seen).encode()
    with contextlib.suppress(OSError):  # then they are read again next time
        write_file(folder / NOTE, data)
