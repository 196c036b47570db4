"""Sweeps: tables of settings, each run by some worker into a file of its own.

A sweep's folder holds `settings.json` (key -> settings) and `KEY.csv` with the rows of
every setting that is finished; experiments/tasks.py names the files of those under way.
A sweep that is run again goes on where it was, whatever ended it. Except for their
seconds, its rows are the same for any executor and any number of workers.
"""

import json
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping

from mccfr_spiel.experiments.executors import Executor
from mccfr_spiel.experiments.flags import flags_of
from mccfr_spiel.experiments.runs import NO_METRICS
from mccfr_spiel.experiments.settings import Settings, check
from mccfr_spiel.experiments.settings_files import settings_from
from mccfr_spiel.experiments.tasks import FINISHED, Outcome, Task
from mccfr_spiel.solving.running import Metric
from mccfr_spiel.storage import locks
from mccfr_spiel.storage.results_folder import SETTINGS, write_json
from mccfr_spiel.storage.row_file import read_table

BAR = "{percentage:5.1f} % |{bar}| {elapsed} so far, {remaining} to go"
"""How tqdm shows the progress of a sweep."""


def key(title: str, label: str, seed: int) -> str:
    """The name of a run's files, without their endings."""
    name = f"{title}_{label}".lower().replace("+", "plus")
    return re.sub(r"[^a-z0-9.]+", "_", name) + f"_s{seed}"


def keyed(runs: Iterable[tuple[str, str, Settings]]) -> dict[str, Settings]:
    """A sweep of runs that have a title and a label each: key -> settings.

    Raises:
        ValueError: two runs have the same key.
    """
    table: dict[str, Settings] = {}
    for title, label, settings in runs:
        name = key(title, label, settings.seed)
        if name in table:
            raise ValueError(
                f"Two curves would share the files {name}.*: {label!r} of {title!r} "
                "and another. Choose labels that differ in letters or digits."
            )
        table[name] = settings
    return table


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
        on_progress: called whenever a run has ended, with the share of the runs that
            have, from 0 to 1.
        imports, trees, checkpoint_every: as in `Task`.
        metrics: what rows hold beside `runs.COLUMNS`: label -> function of the solver.

    Raises:
        ValueError: the folder holds another sweep or is in use, a setting is wrong, or
            a key cannot name files.
    """
    for name, one in settings.items():
        if pathlib.PurePath(name).name != name or name.startswith("."):
            raise ValueError(f"{name!r} names no file; choose another key.")
        try:
            check(one)
            if one.keep_policies is not None:
                raise ValueError(
                    "The runs of a sweep leave rows and no policies; drop "
                    f"keep_policies={one.keep_policies}."
                )
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    with locks.held(folder):
        _write_table(folder / SETTINGS, settings)
        _check_rows_have(metrics, settings, folder)
        how = tuple(imports), trees, checkpoint_every, tuple(metrics.items())
        tasks = [
            Task(name, one, folder, *how)
            for name, one in settings.items()
            if not is_finished(folder, name)
        ]
        failures = []
        ended = len(settings) - len(tasks)
        for outcome in executor(tasks):
            failures += [outcome] if outcome.error else []
            ended += 1
            on_progress(ended / len(settings))
    return failures


def is_finished(folder: pathlib.Path, name: str) -> bool:
    """Whether a setting of the sweep in a folder has all its rows."""
    return (folder / (name + FINISHED)).exists()


def _check_rows_have(
    metrics: Iterable[str], keys: Iterable[str], folder: pathlib.Path
) -> None:
    """Refuses finished rows that lack a metric, which nobody can measure any more."""
    for path in (folder / (name + FINISHED) for name in keys):
        columns = read_table(path).columns
        for label in metrics:
            if columns and label not in columns:
                raise ValueError(
                    f"{path} was made without the metric {label!r}. Choose another "
                    "output folder, or delete the rows."
                )


def _write_table(path: pathlib.Path, settings: Mapping[str, Settings]) -> None:
    """Adds settings to a sweep's table.

    Entries that are there already are kept as they are: what counts is whether they
    describe the same run, not how.

    Raises:
        ValueError: a setting has changed, or there are rows of which nobody can tell
            the settings.
    """
    rows = sorted(found.name for found in path.parent.glob(f"*{FINISHED}*"))
    table = {}
    if path.exists():
        try:
            table = dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is no table of settings: {error}") from error
    elif rows:
        raise ValueError(
            f"{path.parent} has rows ({rows[0]}) but no {SETTINGS} that says which "
            "settings they are of. Choose another output folder, or delete the rows."
        )
    for name, one in settings.items():
        if name not in table:
            table[name] = flags_of(one)
        elif settings_from(table[name], str(path)) != one:
            raise ValueError(
                f"{path.parent} holds a sweep with other settings of {name}. Choose "
                "another output folder, or delete it."
            )
    write_json(path, table)
