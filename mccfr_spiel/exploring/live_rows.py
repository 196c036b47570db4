"""The rows that a run has written so far, or a solver recorded."""

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from mccfr_spiel.storage.folders import LOCK
from mccfr_spiel.storage.results_folder import RESULTS, read_table

_MOST = 5_000


def rows_of(
    folder: pathlib.Path | None, history: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The columns of numbers in results.csv, or else in a solver's history.

    Args:
        folder: of results, or None.
        history: of a solver.
    """
    rows, damaged, running = history, 0, False
    if folder is not None:
        rows, damaged, _ = read_table(folder / RESULTS)
        # A run that was killed leaves its lock behind. To try the lock would keep a run
        # from starting in that moment.
        running = (folder / LOCK).exists()
    rows = rows[-_MOST:]
    names = list(rows[0]) if rows else []
    columns = {name: [_number(row.get(name)) for row in rows] for name in names}
    numeric = {
        name: values
        for name, values in columns.items()
        if any(value is not None for value in values)
    }
    return {"columns": numeric, "damaged": damaged, "running": running}


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None
