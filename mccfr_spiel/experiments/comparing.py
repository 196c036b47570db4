"""`compare`: algorithms on games with several seeds, in one call.

It makes the settings of all runs, runs them as a sweep (`sweeps.py`), and reads their
rows into a table (`comparison_table.py`).
"""

import contextlib
import functools
import importlib
import os
import pathlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyspiel

from mccfr_spiel.algorithms import Algorithm, OwnEstimator
from mccfr_spiel.arenas.infosets.identity import content_print, module_of
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import Bar, hides_bar
from mccfr_spiel.common.game_files import short_name
from mccfr_spiel.evaluation.metrics import METRICS, Metrics, named_metrics
from mccfr_spiel.experiments.algorithm_names import Method, checked, name_of
from mccfr_spiel.experiments.executors import Executor, in_this_process, local
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.experiments.sweeps import BAR, key, keyed, run_sweep
from mccfr_spiel.experiments.tasks import FINISHED
from mccfr_spiel.offline import OfflineMethod
from mccfr_spiel.solving.history import (
    Metric,
)

if TYPE_CHECKING:
    from mccfr_spiel.experiments.comparison_table import Comparison

Games = str | pyspiel.Game | Iterable[str | pyspiel.Game] | Mapping[str, Any]
"""Load strings, paths of Gambit files or registered games: a single one, several, or
label -> game.

Each worker imports the modules that register the games. If the main script or a
notebook registers a game, all runs are done in this process.
"""

Algorithms = str | Method | Iterable[str | Method] | Mapping[str, str | Method]
"""Methods or their names: a single one, several, or label -> method."""

Run = tuple[str, str, Settings]
"""A run: label of the game, label of the algorithm, settings."""

_ROWS_BEFORE = 10_000
"""The first row of a run is due after 1 / _ROWS_BEFORE of the run."""


class ComparisonError(RuntimeError):
    """Some runs of a comparison failed."""


def compare(
    games: Games,
    algorithms: Algorithms,
    seeds: int = 10,
    nodes: float | None = 1e6,
    metrics: Metrics = None,
    *,
    iterations: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    imports: Iterable[str] = (),
    rows_per_decade: int = 5,
    max_memory: int | str | None = None,
    twin: bool | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> "Comparison":
    """Runs algorithms on games with several seeds; returns a table of all rows.

    Games, algorithms and metrics are single values, lists, or dictionaries label ->
    value. The rows do not depend on the number of workers, except for the seconds.

        table = ms.compare("kuhn_poker", [ms.CFR_PLUS, ms.EXTERNAL_SAMPLING])

    Args:
        games, algorithms: load strings or registered games; algorithms or their names.
        seeds: runs of each algorithm on each game; one if it draws nothing.
        nodes, iterations: length of a run: nodes touched, or iterations instead.
        metrics: functions of the solver or names in `ms.metrics.METRICS`, by default
            NashConv. Named metrics need the whole tree.
        folder: folder of the rows, from which the same call resumes. By default none.
        workers: number of processes; by default one per core.
        executor: used in place of processes, such as
            `functools.partial(ms.experiments.on_ray, workers=None, address=None)`.
        imports: additional modules, or paths of Python files, for each worker.
        rows_per_decade: rows from 1,000 to 10,000 nodes, and so on.
        max_memory, twin, threads: see `Solver`; the workers share the cores.
        progress: whether to show a progress bar; by default on terminals.

    Raises:
        ImportError: pandas or matplotlib is missing.
        ValueError: an argument is wrong, or the folder has rows of other settings.
        ComparisonError: runs failed; the message has the first key and its error.
    """
    tables, measures = _load_tables(), named_metrics(metrics, default=["nash_conv"])
    _refuse_labels(measures, tables.WHICH)
    chosen, methods = _labelled_games(games), _labelled_algorithms(algorithms)
    limits = {"max_memory": max_memory, "twin": twin, "threads": threads}
    length = _length(nodes, iterations, methods)
    common = _common_settings(length, measures, rows_per_decade, limits)
    runs = _runs(chosen, methods, seeds, common)
    modules = {name for game in chosen.values() if (name := module_of(game))}
    executor = executor or _executor(workers, len(runs), modules)
    all_imports = [*refusals.names(imports, "imports"), *modules - {"__main__"}]
    with _opened(folder) as path:
        _run_all(runs, path, executor, all_imports, measures, folder, progress)
        return tables.read_comparison(_finished(runs, path), list(measures))


def _load_tables() -> ModuleType:
    """Imports `comparison_table`; raises ImportError if an extra is missing."""
    try:
        return importlib.import_module("mccfr_spiel.experiments.comparison_table")
    except ImportError as error:
        raise ImportError(
            "compare needs pandas and matplotlib. Install them with "
            "pip install 'mccfr_spiel[plot]'."
        ) from error


# --- runs ------------------------------------------------------------------------


def _refuse_labels(labels: Iterable[str], columns: Iterable[str]) -> None:
    """Raises ValueError if a metric has the label of another column."""
    for label in {*labels} & {*columns}:
        raise ValueError(
            f"The table already has a column {label!r}. Choose a different label."
        )


def _common_settings(
    length: Mapping[str, int],
    measures: Mapping[str, Metric],
    rows_per_decade: int,
    limits: Mapping[str, Any],
) -> Settings:
    """The settings that all runs share.

    Args:
        length: the setting that ends a run.
        measures: label -> metric.
        rows_per_decade: see `Settings`.
        limits: max_memory, twin and threads.
    """
    # All named metrics need the whole tree.
    is_exact = any(metric in METRICS.values() for metric in measures.values())
    return Settings(
        **length,
        **limits,
        rows_per_decade=rows_per_decade,
        rows_from=max(1, min(length.values()) // _ROWS_BEFORE),
        evaluate="exact" if is_exact else "none",
    )


def _runs(
    games: Mapping[str, pyspiel.Game],
    methods: Mapping[str, Method],
    seeds: int,
    common: Settings,
) -> list[Run]:
    """All runs, grouped by game and algorithm."""
    return [
        (label, name, common._replace(game=str(game), algorithm=method, seed=seed))
        for label, game in games.items()
        for name, method in methods.items()
        for seed in range(refusals.integer(seeds, "seeds", 1) if _draws(method) else 1)
    ]


def _labelled_games(games: Games) -> dict[str, pyspiel.Game]:
    if isinstance(games, str) or not isinstance(games, Iterable):
        games = [games]
    if not isinstance(games, Mapping):
        games = {str(game): game for game in games}
        short = {short_name(label): game for label, game in games.items()}
        games = short if len(short) == len(games) else games
    if not games:
        raise ValueError("games is empty. Expected at least one game.")
    return {label: _checked_game(game) for label, game in games.items()}


def _checked_game(game: str | pyspiel.Game) -> pyspiel.Game:
    """Loads a game, and checks that its load string reproduces it.

    Raises:
        ValueError: there is no such game, or the load string makes another game.
    """
    loaded = load_game(game)
    if isinstance(game, str):
        return loaded
    with contextlib.suppress(ValueError):
        if content_print(load_game(str(game))) == content_print(game):
            return game
    raise ValueError(
        f"The load string {str(game)!r} does not reproduce this game, so other "
        "processes cannot load it. Register the game (pyspiel.register_game)."
    )


def _labelled_algorithms(algorithms: Algorithms) -> dict[str, Method]:
    if isinstance(algorithms, str | Algorithm) or not isinstance(algorithms, Iterable):
        algorithms = [algorithms]
    if not isinstance(algorithms, Mapping):
        algorithms = {name_of(method): method for method in map(checked, algorithms)}
    if not algorithms:
        raise ValueError("algorithms is empty. Expected at least one.")
    return {str(label): checked(method) for label, method in algorithms.items()}


def _length(
    nodes: float | None, iterations: int | None, methods: Mapping[str, Method]
) -> dict[str, int]:
    """The setting that ends a run."""
    if iterations is not None:
        return {"iterations": refusals.integer(iterations, "iterations", 1)}
    offline = [m.name for m in methods.values() if isinstance(m, OfflineMethod)]
    if offline:
        raise ValueError(
            f"Offline methods ({', '.join(offline)}) count iterations, not nodes. Set "
            "the length of all runs in iterations, such as iterations=1000."
        )
    return {"until_nodes_touched": int(refusals.number(nodes, "nodes", 1, 2**62))}


def _draws(method: Method) -> bool:
    """Whether the results of a method depend on the seed."""
    if not isinstance(method, Algorithm):
        return False
    sampling = method.sampling
    is_random = sampling.is_sampled or isinstance(sampling, OwnEstimator)
    return is_random or bool(getattr(method.minimizer, "initial_regret", 0))


# --- execution -------------------------------------------------------------------


def _executor(workers: int | None, num_runs: int, modules: set[str]) -> Executor:
    """Local processes; this process for one worker or games of the main script.

    Raises:
        ValueError: `workers` is not a positive integer.
    """
    given = os.cpu_count() or 1 if workers is None else workers
    workers = min(refusals.integer(given, "workers", 1), num_runs)
    if workers == 1 or "__main__" in modules:
        return in_this_process
    return functools.partial(local, workers=workers, run_main=False)


@contextlib.contextmanager
def _opened(folder: str | os.PathLike[str] | None) -> Iterator[pathlib.Path]:
    """Yields the folder, or a temporary one if it is None."""
    if folder is not None:
        yield pathlib.Path(folder).expanduser()
        return
    with tempfile.TemporaryDirectory(
        prefix="mccfr_spiel-", ignore_cleanup_errors=True
    ) as temporary:
        yield pathlib.Path(temporary)


def _run_all(
    runs: Sequence[Run],
    path: pathlib.Path,
    executor: Executor,
    imports: Sequence[str],
    measures: Mapping[str, Metric],
    folder: str | os.PathLike[str] | None,
    progress: bool | None,
) -> None:
    """Runs the sweep with a progress bar; raises ComparisonError if runs failed.

    Args:
        runs: the runs.
        path: folder of the rows.
        executor: where runs are done.
        imports: modules for each worker.
        measures: label -> metric.
        folder: the user's folder; None if `path` is temporary.
        progress: whether to show the bar; None for terminals only.
    """
    # Seed by seed, so that each curve has rows early.
    table = keyed(sorted(runs, key=lambda run: run[2].seed))
    with Bar(total=100.0, bar_format=BAR, disable=hides_bar(progress)) as bar:
        failures = run_sweep(
            table,
            path,
            executor,
            lambda share: bar.update(100 * share - bar.n),
            imports=imports,
            metrics=measures,
        )
    if failures:
        first, error = failures[0]
        hint = (
            "Pass a folder to keep the rows of the other runs."
            if folder is None
            else f"The rows of the other runs are in {folder}. Repeat the call to "
            "resume."
        )
        raise ComparisonError(
            f"{len(failures)} of {len(table)} runs failed, first {first}: {error}\n"
            f"{hint}"
        )


def _finished(
    runs: Sequence[Run], path: pathlib.Path
) -> list[tuple[str, str, int, pathlib.Path]]:
    """For each run: game, algorithm, seed and the file of its rows."""
    return [
        (game, name, run.seed, path / (key(game, name, run.seed) + FINISHED))
        for game, name, run in runs
    ]
