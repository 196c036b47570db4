"""Sweeps: tables of settings, each run by some worker into a file of its own.

A sweep's folder holds `settings.json` (key -> settings) and `KEY.csv` with the rows of
every setting that is finished; experiments/tasks.py names the files of those under way.
A sweep that is run again goes on where it was, whatever ended it. Except for their
seconds, its rows are the same for any executor and any number of workers.
"""

import contextlib
import json
import os
import pathlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

from mccfr_spiel.experiments.executors import (
    Executor,
    local,
    on_ray,
    wait_for_workers,
)
from mccfr_spiel.experiments.flags import flags_of
from mccfr_spiel.experiments.runs import NO_METRICS
from mccfr_spiel.experiments.settings import Settings, check, measure
from mccfr_spiel.experiments.settings_files import checked_flags, settings_from
from mccfr_spiel.experiments.tasks import (
    FINISHED,
    UNFINISHED,
    Outcome,
    Task,
    run_task,
)
from mccfr_spiel.solving.running import Metric
from mccfr_spiel.storage import locks
from mccfr_spiel.storage.results_folder import SETTINGS, write_json
from mccfr_spiel.storage.row_file import read_table

__all__ = [
    "Executor",
    "Outcome",
    "Task",
    "is_finished",
    "local",
    "on_ray",
    "run_sweep",
    "run_task",
]

_ORPHAN_SECONDS = 30
"""How long a sweep waits for the workers of a killed one, which end by themselves."""


def run_sweep(
    settings: Mapping[str, Settings],
    folder: pathlib.Path,
    executor: Executor,
    on_progress: Callable[[float], object] = lambda share: None,
    *,
    imports: Iterable[str] = (),
    trees: pathlib.Path | None = None,
    checkpoint_every: float = 60.0,
    metrics: Mapping[str, Metric] = NO_METRICS,
) -> list[Outcome]:
    """Runs what is not finished of a sweep; returns the outcomes that are failures.

    Args:
        settings: key -> settings; keys name files.
        folder: for the files, see above.
        executor: such as `functools.partial(local, workers=2)`.
        on_progress: called about once a second with the share of the work that is done,
            from 0 to 1.
        imports, trees, checkpoint_every: as in `Task`.
        metrics: what rows hold beside `runs.COLUMNS`: label -> function of the solver.

    Raises:
        ValueError: the folder holds another sweep or is in use, a setting is wrong, or
            a key cannot name files.
    """
    for key, one in settings.items():
        if pathlib.PurePath(key).name != key or key.startswith("."):
            raise ValueError(f"{key!r} names no file; choose another key.")
        try:
            check(one)
            if one.keep_policies is not None:
                raise ValueError(
                    "The runs of a sweep leave rows and no policies; drop "
                    f"keep_policies={one.keep_policies}."
                )
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        _check_rows_have_a_table(folder)
        _write_table(folder / SETTINGS, settings)
        _check_rows_have(metrics, settings, folder)
        measures = tuple(metrics.items())
        tasks = [
            Task(key, one, folder, tuple(imports), trees, checkpoint_every, measures)
            for key, one in settings.items()
            if not is_finished(folder, key)
        ]
        try:
            with _reporting(settings, folder, on_progress):
                outcomes = list(executor(tasks))
        finally:
            # Somebody may have deleted the folder while the workers ran. They made it
            # again, and rows without their settings could be taken for those of
            # another sweep.
            folder.mkdir(parents=True, exist_ok=True)
            _write_table(folder / SETTINGS, settings)
        was_finished = settings.keys() - {task.key for task in tasks}
        reported = was_finished | {one.key for one in outcomes if not one.error}
        failures = [outcome for outcome in outcomes if outcome.error]
        failures += [
            Outcome(key, f"Its rows have been deleted from {folder} meanwhile.")
            for key in settings
            if key in reported and not is_finished(folder, key)
        ]
        on_progress(_share_done(settings, folder))
    return failures


def is_finished(folder: pathlib.Path, key: str) -> bool:
    """Whether a setting of the sweep in a folder has all its rows."""
    return (folder / (key + FINISHED)).exists()


def _check_rows_have_a_table(folder: pathlib.Path) -> None:
    """Refuses a folder with rows of which nobody can tell the settings."""
    if (folder / SETTINGS).exists():
        return
    rows = sorted(
        path.name
        for ending in (FINISHED, UNFINISHED)
        for path in folder.glob(f"*{ending}")
    )
    if rows:
        raise ValueError(
            f"{folder} has rows ({rows[0]}) but no {SETTINGS} that says which "
            "settings they are of. Choose another output folder, or delete the rows."
        )


def _check_rows_have(
    metrics: Iterable[str], keys: Iterable[str], folder: pathlib.Path
) -> None:
    """Refuses finished rows that lack a metric, which nobody can measure any more."""
    for key in keys:
        if is_finished(folder, key):
            path = folder / (key + FINISHED)
            with path.open(encoding="utf-8") as file:
                header = file.readline().rstrip().split(",")
            for label in metrics:
                if label not in header:
                    raise ValueError(
                        f"{path} was made without the metric {label!r}. Choose another "
                        "output folder, or delete the rows."
                    )


def _write_table(path: pathlib.Path, settings: Mapping[str, Settings]) -> None:
    """Adds settings to a sweep's table; raises ValueError if one has changed.

    Entries that are there already are kept as they are: what counts is whether they
    describe the same run, not how.
    """
    table = {}
    if path.exists():
        try:
            table = dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is no table of settings: {error}") from error
    for key, one in settings.items():
        if key not in table:
            table[key] = flags_of(one)
        elif settings_from(checked_flags(table[key], str(path)), str(path)) != one:
            raise ValueError(
                f"{path.parent} holds a sweep with other settings of {key}. Choose "
                "another output folder, or delete it."
            )
    write_json(path, table)


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    """Holds the folder after the workers of a killed sweep have ended."""
    with locks.FolderLock(folder):
        wait_for_workers(folder, _ORPHAN_SECONDS)
        try:
            yield
        finally:
            with contextlib.suppress(ValueError):
                wait_for_workers(folder, 0)  # this removes the files of their locks


# --- progress ------------------------------------------------------------------


@contextlib.contextmanager
def _reporting(
    settings: Mapping[str, Settings],
    folder: pathlib.Path,
    on_progress: Callable[[float], object],
) -> Iterator[None]:
    """Calls `on_progress` each second, from a thread."""
    over = threading.Event()

    def report() -> None:
        while not over.wait(1.0):
            on_progress(_share_done(settings, folder))

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _share_done(settings: Mapping[str, Settings], folder: pathlib.Path) -> float:
    """The share of the work that is done, judged by the rows in the files.

    If all settings go by nodes touched, each counts as much as its number of nodes;
    otherwise all count the same.
    """
    sizes = {
        key: one.until_nodes_touched or one.iterations for key, one in settings.items()
    }
    by_nodes = all(one.until_nodes_touched for one in settings.values())
    try:
        files = {entry.name for entry in os.scandir(folder)}
    except FileNotFoundError:  # deleted; the workers make it again
        files = set()
    done = total = 0.0
    for key, one in settings.items():
        share = float(key + FINISHED in files)
        if key + UNFINISHED in files:
            count = _last_count(folder / (key + UNFINISHED), measure(one))
            share = min(count / sizes[key], 1.0)
        weight = sizes[key] if by_nodes else 1
        done += share * weight
        total += weight
    return done / total if total else 1.0


def _last_count(path: pathlib.Path, column: str) -> int:
    """The value of that column in the last whole row of a CSV file, 0 without one."""
    try:
        rows = read_table(path).rows
        return int(rows[-1][column])
    except (OSError, ValueError, IndexError, KeyError):  # it may be being written
        return 0
