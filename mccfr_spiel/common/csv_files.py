"""Reads and writes CSV files."""

import csv
import io
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.atomic_files import write_file
from mccfr_spiel.common.checkpoint import DamagedError


def csv_text(
    columns: Iterable[str], rows: Iterable[dict[str, Any]], *, header: bool = False
) -> str:
    """Formats rows as lines of CSV.

    Args:
        columns: the names of the columns to write, in order.
        rows: dictionaries column -> value. None becomes an empty field, and other keys
            are ignored.
        header: whether to begin with a line of the column names.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns], extrasaction="ignore")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_rows(path: pathlib.Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes a CSV file, completely or not at all.

    Args:
        path: the file.
        rows: dictionaries column -> value. The first row determines the columns.
    """
    write_file(path, csv_text(rows[0] if rows else (), rows, header=True).encode())


class CsvTable(NamedTuple):
    """The content of a CSV file.

    Attributes:
        rows: a dictionary column -> field for each line after the first.
        columns: the names of the columns, from the first line.
    """

    rows: list[dict[str, str]]
    columns: list[str]

    def numbers(self) -> dict[str, np.ndarray]:
        """Converts the fields to numbers.

        Returns:
            Column -> `[rows]` numbers, NaN for empty fields.

        Raises:
            ValueError: a field is not a number.
        """
        return {
            name: np.array([float(row[name] or "nan") for row in self.rows])
            for name in self.columns
        }


def read_table(path: pathlib.Path) -> CsvTable:
    """Reads a CSV file in the format of `csv_text`, without line ends inside fields.

    If the file is missing, the table is empty. If the last line has no line end, it is
    incomplete, because the writer was killed or the disk was full. It is ignored.

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
    return CsvTable(rows, names)
