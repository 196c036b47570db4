"""Sweeps: tables of settings, each run into separate files.

The folder of a sweep has `settings.json` (key -> settings) and a file `KEY.csv` with
the rows of each finished run. Rerunning a sweep runs what is missing. Except for their
seconds, the rows do not depend on the executor, the number of workers or interruptions.

| module | provides |
|---|---|
| `sweeps` | the table of runs and its execution |
| `tasks` | one run of a sweep |
| `executors` | where tasks run: this process, local processes, a Ray cluster |
| `comparing` | `compare`, a sweep of algorithms, games and seeds in one call |
"""

import contextlib
import json
import os
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping

from mccfr_spiel.common import refusals
from mccfr_spiel.common.atomic_files import write_json
from mccfr_spiel.common.csv_files import read_table
from mccfr_spiel.common.folder_lock import locked_folder
from mccfr_spiel.experiments import run_files
from mccfr_spiel.experiments.executors import Executor
from mccfr_spiel.experiments.run_solvers import check
from mccfr_spiel.experiments.runs import NO_METRICS
from mccfr_spiel.experiments.setting_names import flags_of
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.experiments.settings_files import refuse_code, settings_from
from mccfr_spiel.experiments.tasks import FINISHED, Outcome, SweepTask
from mccfr_spiel.solving.history import (
    Metric,
)

BAR = "{percentage:5.1f} % |{bar}| {elapsed} elapsed, {remaining} remaining"
"""The progress bar of a sweep, as a format of tqdm."""


def key(title: str, label: str, seed: int) -> str:
    """The beginning of the names of a run's files."""
    name = f"{title}_{label}".lower().replace("+", "plus")
    return re.sub(r"[^a-z0-9.]+", "_", name) + f"_s{seed}"


def keyed(runs: Iterable[tuple[str, str, Settings]]) -> dict[str, Settings]:
    """Makes the table of a sweep, key -> settings.

    Args:
        runs: title, label and settings of each run.

    Raises:
        ValueError: two runs have the same key.
    """
    table: dict[str, Settings] = {}
    for title, label, settings in runs:
        name = key(title, label, settings.seed)
        if name in table:
            raise ValueError(
                f"Two curves would share the files {name}.*: {label!r} of {title!r} "
                "and an earlier curve. Choose labels that differ in letters or digits."
            )
        table[name] = settings
    return table


def run_sweep(
    settings: Mapping[str, Settings],
    folder: str | os.PathLike[str],
    executor: Executor,
    on_progress: Callable[[float], object] = lambda share: None,
    *,
    imports: Iterable[str] = (),
    trees: pathlib.Path | None = None,
    checkpoint_every: float = 60.0,
    metrics: Mapping[str, Metric] = NO_METRICS,
) -> list[Outcome]:
    """Runs the unfinished runs of a sweep; returns the outcomes of failed runs.

    Args:
        settings: key -> settings. Keys are the beginnings of file names.
        folder: folder of the files, see the module.
        executor: where runs are done, such as `functools.partial(local, workers=2)`.
        on_progress: called after each run with the finished share of the sweep, from 0
            to 1.
        imports: modules that register games, names or paths of Python files.
        trees: folder of shared trees; by default a temporary one.
        checkpoint_every: seconds between checkpoints of a run.
        metrics: additional columns: label -> function of the solver.

    Raises:
        ValueError: the folder holds another sweep or is in use, a setting or an
            argument is wrong, or a key cannot name a file.
    """
    folder = pathlib.Path(folder).expanduser()
    if not isinstance(settings, Mapping):
        raise ValueError(
            f"settings={settings!r} is not a dictionary from keys to Settings."
        )
    refusals.function(executor, "executor", "of tasks")
    imports = refusals.names(imports, "imports")
    for name, run in settings.items():
        _check_run(name, run)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked_folder(folder))
        _write_table(folder / run_files.SETTINGS, settings)
        _check_rows_have(metrics, settings, folder)
        if trees is None:
            trees = stack.enter_context(_temporary_folder())
        tasks = [
            SweepTask(
                name,
                run,
                folder,
                imports,
                trees,
                checkpoint_every,
                tuple(metrics.items()),
            )
            for name, run in settings.items()
            if not is_finished(folder, name)
        ]
        failures = []
        before = len(settings) - len(tasks)
        for ended, outcome in enumerate(executor(tasks), before + 1):
            failures += [outcome] if outcome.error else []
            on_progress(ended / len(settings))
    return failures


def _check_run(name: object, run: object) -> None:
    """Raises ValueError unless a key names files and its settings can be run."""
    own_name = isinstance(name, str) and pathlib.PurePath(name).name
    if not isinstance(name, str) or own_name != name or name[:1] in ("", "."):
        raise ValueError(
            f"The key {name!r} cannot name a file. Use a string without slashes that "
            "does not begin with a dot."
        )
    if not isinstance(run, Settings):
        raise ValueError(f"{name}: expected Settings, not {run!r}.")
    try:
        check(run)
        if run.keep_policies is not None:
            raise ValueError(
                "Runs of a sweep write rows only. Drop "
                f"keep_policies={run.keep_policies}."
            )
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


@contextlib.contextmanager
def _temporary_folder() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="mccfr_spiel-trees-") as folder:
        yield pathlib.Path(folder)


def is_finished(folder: pathlib.Path, name: str) -> bool:
    """Whether the run with that key has all its rows."""
    return (folder / (name + FINISHED)).exists()


def _check_rows_have(
    metrics: Iterable[str], keys: Iterable[str], folder: pathlib.Path
) -> None:
    """Raises ValueError if finished rows lack a metric, because the solver no longer
    exists."""
    for path in (folder / (name + FINISHED) for name in keys):
        columns = read_table(path).columns
        for label in metrics:
            if columns and label not in columns:
                raise ValueError(
                    f"{path} lacks the metric {label!r}. Use a different output "
                    "folder, or delete the rows."
                )


def _write_table(path: pathlib.Path, settings: Mapping[str, Settings]) -> None:
    """Adds settings to the settings.json of a sweep.

    Existing entries must describe the same run. Their text stays.

    Raises:
        ValueError: a setting has changed, or there are rows but no settings.json.
    """
    rows = sorted(file.name for file in path.parent.glob(f"*{FINISHED}*"))
    table = {}
    if path.exists():
        try:
            table = dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is not a table of settings: {error}") from error
    elif rows:
        raise ValueError(
            f"{path.parent} has rows ({rows[0]}), but no {path.name} with their "
            "settings. Use a different output folder, or delete the rows."
        )
    for name, run in settings.items():
        if name not in table:
            table[name] = flags_of(run)
            continue
        refuse_code(path.parent, table[name], flags_of(run))
        if settings_from(table[name], str(path)) != run:
            raise ValueError(
                f"{path.parent} holds a sweep with other settings of {name}. Use a "
                "different output folder, or delete the sweep."
            )
    write_json(path, table)
