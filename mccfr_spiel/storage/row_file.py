"""A table of rows in a CSV file: rows are appended one at a time and read as text."""

import csv
import errno
import io
import os
import pathlib
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from mccfr_spiel.storage.atomic import naming, write_file


class RowWriter:
    """Appends rows to a CSV file, each of them at once."""

    def __init__(
        self,
        path: pathlib.Path,
        columns: Sequence[str],
        kept: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Creates or replaces the file, with its header and the rows to keep.

        Raises:
            OSError: the file cannot be written.
        """
        self._path, self._columns = path, tuple(columns)
        text = ",".join(self._columns) + "\r\n" + "".join(map(self._line, kept))
        write_file(path, text.encode())
        self._file = path.open("ab", buffering=0)

    def write(self, row: dict[str, Any]) -> None:
        """Appends a row, in which None becomes an empty field; raises OSError."""
        with naming(self._path):
            self._check_in_place()
            rest = memoryview(self._line(row).encode())
            while rest:  # the system may take only a part of it in one call
                rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Makes all rows last through a power cut; raises OSError."""
        with naming(self._path):
            self._check_in_place()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _line(self, row: dict[str, Any]) -> str:
        text = io.StringIO()
        csv.DictWriter(text, self._columns, extrasaction="ignore").writerow(row)
        return text.getvalue()

    def _check_in_place(self) -> None:
        """Raises FileNotFoundError if the open file has lost its name, because its
        folder was deleted: nobody would ever read what is written now."""
        try:
            there = os.path.samestat(os.stat(self._path), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            there = False
        if not there:
            raise FileNotFoundError(errno.ENOENT, "It was deleted or replaced")

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Table(NamedTuple):
    """What a CSV file holds.

    Attributes:
        rows: column -> text of the field, for each line.
        damaged: how many lines have more or fewer fields than there are columns.
        columns: the names in the first line.
    """

    rows: list[dict[str, str]]
    damaged: int
    columns: list[str]


def read_table(path: pathlib.Path) -> Table:
    """Reads a CSV file of rows, such as `RowWriter` writes; no field has a line end.

    A missing file has no rows. A last line without a line end was cut short by a kill
    or a full disk; it is left out and not counted.
    """
    data = path.read_bytes() if path.exists() else b""
    text = data[: data.rfind(b"\n") + 1].decode("utf-8", "replace")
    lines = text.replace("\0", "?").splitlines()
    if not lines:
        return Table([], 0, [])
    names, rows, damaged = _fields(lines[0]), [], 0
    for line in filter(None, lines[1:]):
        values = _fields(line)
        if len(values) == len(names):
            rows.append(dict(zip(names, values, strict=True)))
        else:
            damaged += 1
    return Table(rows, damaged, names)


def read_whole_table(path: pathlib.Path) -> Table:
    """Reads a CSV file as `read_table` does, but only if nothing is wrong with it.

    Raises:
        ValueError: lines are damaged.
        OSError: the file is missing or cannot be read.
    """
    path.stat()
    table = read_table(path)
    if table.damaged:
        raise ValueError(f"{path} has {table.damaged} damaged lines.")
    return table


def _fields(line: str) -> list[str]:
    """The fields of a line; none if it cannot be read.

    Each line is read by itself, so that a quotation mark which damage has put into one
    does not swallow those that follow.
    """
    try:
        return next(csv.reader([line]))
    except csv.Error:  # such as a field that is far too long
        return []
