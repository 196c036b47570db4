"""Joins the result folders of earlier runs into the table of `compare`.

This module imports pandas (the extra `plot`), so it is imported apart.
"""

import json
import os
import pathlib
from collections.abc import Iterable, Iterator

import pandas as pd

from mccfr_spiel.common.folders import COMPARISON, RESULTS, SETTINGS, is_game_file
from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.comparison_table import WHICH, Comparison
from mccfr_spiel.experiments.settings import CodeInFileError, read_settings

_RUN = ["game", "algorithm", "seed"]


def read_runs(
    folders: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> Comparison:
    """Joins result folders into one table, as `compare` returns it.

        table = ms.experiments.read_runs(["results/a", "results/b"])
        table.plot(path="comparison.pdf")

    Nothing is run, and no code that a folder names is imported.

    Args:
        folders: folders that `solve` or `compare` has written, or a folder of folders
            that `solve` has written.

    Raises:
        ValueError: a folder has no results, or two folders have the same run.
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
                        f"algorithm {algorithm}, seed {seed}. Leave one of them out."
                    )
                origins[key] = folder
            parts.append(rows)
    if not parts:
        raise ValueError("folders is empty: expected at least one folder of results.")
    table = pd.concat(parts, ignore_index=True).dropna(axis="columns", how="all")
    metrics = [name for name in table.columns if name not in WHICH]
    metrics.sort(key=lambda name: name != "nash_conv")
    return Comparison(table[[*WHICH, *metrics]])


def _result_folders(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """The folder itself if it has results, or the folders in it that have."""
    if (folder / RESULTS).is_file() or (folder / COMPARISON).is_file():
        yield folder
        return
    inside = sorted(path.parent for path in folder.glob(f"*/{RESULTS}"))
    if not inside:
        raise ValueError(
            f"{folder} has no results: expected {RESULTS}, which solve writes, or "
            f"{COMPARISON}, which compare writes."
        )
    yield from inside


def _rows(folder: pathlib.Path) -> pd.DataFrame:
    """The rows of a folder, with the columns of `_RUN`."""
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
    except CodeInFileError:  # the code stays where it is; its name is enough
        values = json.loads(path.read_bytes().decode())
        flags = values["settings"]
        game, algorithm, seed = flags["game"], values["algorithm"], flags["seed"]
    else:
        game, seed = settings.game, settings.seed
        algorithm = name_of(settings.algorithm)
    if is_game_file(game):
        game = pathlib.Path(game).name
    return str(game), str(algorithm), int(seed)
