"""A table of rows in a CSV file, which survives a full disk or a deleted folder.

Rows are what a run is made for, and it may run for days. So a row that cannot be
written now is kept in memory and written together with a later one, and a file that has
been deleted is made again.
"""

import contextlib
import csv
import io
import os
import pathlib
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from mccfr_spiel.storage.atomic import naming, write_file


class RowWriter:
    """Writes rows into a CSV file, each of them at once.

    Attributes:
        path: of the file.
        trouble: why the newest rows are not in the file; None if they are.
    """

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
        self.path = path
        self.trouble: OSError | None = None
        self._columns = tuple(columns)
        text = ",".join(self._columns) + "\r\n" + "".join(map(self._line, kept))
        self._file = _create(path, text.encode())
        self._size = self._file.seek(0, os.SEEK_END)
        self._pending: list[bytes] = []

    def write(self, row: dict[str, Any]) -> None:
        """Appends a row, in which None becomes an empty field.

        If it could not be written and waits, `trouble` says why.
        """
        self._pending.append(self._line(row).encode())
        with contextlib.suppress(OSError):
            self._write_pending()

    def sync(self) -> None:
        """Makes all rows last through a power cut.

        Raises:
            OSError: rows are still waiting to be written.
        """
        self._write_pending()
        os.fsync(self._file.fileno())

    def copy_to(self, path: pathlib.Path) -> None:
        """Writes all rows into another file, those that wait included."""
        _create(path, self._written() + b"".join(self._pending)).close()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _line(self, row: dict[str, Any]) -> str:
        text = io.StringIO()
        csv.DictWriter(text, self._columns, extrasaction="ignore").writerow(row)
        return text.getvalue()

    def _write_pending(self) -> None:
        try:
            if not self._is_in_place():
                self._make_again()
            if self._pending:
                self._file.seek(self._size)
                with naming(self.path):
                    self._size += _write_all(self._file, b"".join(self._pending))
                self._pending.clear()
                self._file.truncate(self._size)  # cuts off what a failed write left
        except OSError as error:
            self.trouble = error
            raise
        self.trouble = None

    def _is_in_place(self) -> bool:
        """Whether the open file still has its name, which it loses when deleted."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._file.fileno()))

    def _make_again(self) -> None:
        """Makes the deleted file again, whose content lives on while it is open."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = _create(self.path, self._written())
        self._file.close()
        self._file = file

    def _written(self) -> bytes:
        self._file.seek(0)
        return self._file.read(self._size)

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _create(path: pathlib.Path, text: bytes) -> io.FileIO:
    """Writes a file, which appears whole or not at all, and opens it."""
    write_file(path, text)
    return path.open("r+b", buffering=0)


def _write_all(file: io.FileIO, text: bytes) -> int:
    """Writes all bytes and returns how many they are."""
    # Each pass writes as many of the remaining bytes as the system takes in one call.
    rest = memoryview(text)
    while rest:
        rest = rest[file.write(rest) :]
    return len(text)


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

    A missing file has no rows. A last line without a line end was cut short by a kill;
    it is left out and not counted.
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
