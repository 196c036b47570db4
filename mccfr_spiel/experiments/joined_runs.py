"""Joins result folders of earlier runs into the table of `compare`.

This module requires pandas (the extra `plot`), so other modules import it only when
they use it.
"""

import json
import os
import pathlib
from collections.abc import Iterable, Iterator

import pandas as pd

from mccfr_spiel.common.game_files import short_name
from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.comparison_table import WHICH, Comparison
from mccfr_spiel.experiments.run_files import COMPARISON, SETTINGS
from mccfr_spiel.experiments.setting_names import DEFAULT
from mccfr_spiel.experiments.settings_files import CodeInFileError, read_settings
from mccfr_spiel.solving.reading import RESULTS

_RUN = ["game", "algorithm", "seed"]


def read_runs(
    folders: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> Comparison:
    """Joins result folders into a table like the table that `compare` returns.

        table = ms.experiments.read_runs(["results/a", "results/b"])
        table.plot(path="comparison.pdf")

    Nothing is run, and code that a folder refers to is not imported.

    Args:
        folders: a folder or several folders. Each was written by `solve` or `compare`,
            or contains folders that `solve` has written.

    Raises:
        ValueError: a folder lacks results, or two folders have the same run.
        OSError: a file cannot be read.
    """
    if isinstance(folders, str | os.PathLike):
        folders = [folders]
    parts, origins = [], {}
    for given in map(pathlib.Path, folders):
        for folder in _result_folders(given):
            rows = _rows(folder)
            for key in rows[_RUN].drop_duplicates().itertuples(index=False, name=None):
                if key in origins:
                    game, algorithm, seed = key
                    raise ValueError(
                        f"{origins[key]} and {folder} have the same run: game {game}, "
                        f"algorithm {algorithm}, seed {seed}. Drop one of them."
                    )
                origins[key] = folder
            parts.append(rows)
    if not parts:
        raise ValueError("folders is empty. Expected at least one folder of results.")
    table = pd.concat(parts, ignore_index=True).dropna(axis="columns", how="all")
    metrics = [name for name in table.columns if name not in WHICH]
    metrics.sort(key=lambda name: name != "nash_conv")
    return Comparison(table[[*WHICH, *metrics]])


def _result_folders(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """The folder itself if it has results, otherwise its subfolders with results."""
    if (folder / RESULTS).is_file() or (folder / COMPARISON).is_file():
        yield folder
        return
    subfolders = sorted(path.parent for path in folder.glob(f"*/{RESULTS}"))
    if not subfolders:
        raise ValueError(
            f"{folder} has no results. Expected {RESULTS}, which solve --algorithm=... "
            f"writes, or {COMPARISON}, which compare writes."
        )
    yield from subfolders


def _rows(folder: pathlib.Path) -> pd.DataFrame:
    """The rows of a folder's table, including the columns of `_RUN`."""
    name = RESULTS if (folder / RESULTS).is_file() else COMPARISON
    try:
        rows = pd.read_csv(folder / name)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise ValueError(f"{folder / name} is damaged: {error}.") from error
    if name == RESULTS:
        game, algorithm, seed = _run_in(folder)
        rows = rows.assign(game=game, algorithm=algorithm, seed=seed)
    missing = {*WHICH} - {*rows.columns}
    if missing:
        raise ValueError(
            f"{folder / name} is damaged: it lacks the columns {sorted(missing)}."
        )
    return rows


def _run_in(folder: pathlib.Path) -> tuple[str, str, int]:
    """The game, the algorithm's name and the seed of a run."""
    path = folder / SETTINGS
    try:
        settings = read_settings(path)
    except CodeInFileError:  # the stored name suffices, the code is not imported
        values = json.loads(path.read_bytes().decode())
        flags = DEFAULT | values["settings"]
        game, seed = flags["game"], flags["seed"]
        algorithm = values.get("algorithm", flags["algorithm"])
    else:
        game, seed = settings.game, settings.seed
        algorithm = name_of(settings.algorithm)
    return short_name(str(game)), str(algorithm), int(seed)
