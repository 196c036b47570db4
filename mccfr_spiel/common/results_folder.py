"""The names of the files in a folder of results, and what several rooms do with them.

A run leaves `settings.json`, `results.csv`, the policy (`policy.json`, or `policy.bin`
if it is large), a picture drawn from the rows alone, and the checkpoints by which it
can be resumed. It may have kept policies on the way, too (`policy_after_1000.bin`).
Policies are read from such a folder, so the names are kept here, below both the
experiments and the policies.

A table of rows in a CSV file: rows are appended one at a time and read as text.
"""

import csv
import io
import json
import pathlib
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.checkpoint import DAMAGED, PREVIOUS, DamagedError
from mccfr_spiel.common.folders import write_file

SETTINGS = "settings.json"
RESULTS = "results.csv"
POLICY, BINARY_POLICY = "policy.json", "policy.bin"
PICTURE = "convergence.png"
PICTURES = PICTURE, "convergence.svg", "convergence.pdf"
CHECKPOINT = "solver.checkpoint"
EVALUATION = "evaluation.json"
SOLUTION, PROGRAM = "solution.json", "program.mps"

ALL_FILES: tuple[str, ...] = (
    SETTINGS,
    RESULTS,
    POLICY,
    BINARY_POLICY,
    *PICTURES,
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
    """Writes a value as JSON; the file appears whole or not at all."""
    write_file(path, (json.dumps(value, indent=1) + "\n").encode())


def load_string(game: str, players: int | None = None) -> str:
    """A game's load string with the parameter `players` added, if it is given.

    Raises:
        ValueError: the load string has that parameter already.
    """
    game = game.strip()
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
        rows = [dict(zip(names, line, strict=True)) for line in lines]
    except (ValueError, csv.Error) as error:
        raise DamagedError(f"{path} has a damaged line: {error}.") from error
    return Table(rows, names)
