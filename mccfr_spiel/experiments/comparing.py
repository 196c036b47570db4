"""`compare`: algorithms on games with seeds, as one call.

It makes a sweep (experiments/sweeps.py) of what is compared, runs it, and reads its
rows into a table (experiments/comparison_table.py).
"""

import contextlib
import functools
import importlib
import os
import pathlib
import tempfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyspiel
from tqdm import tqdm

from mccfr_spiel.algorithms import Algorithm, OwnEstimator
from mccfr_spiel.common import refusals
from mccfr_spiel.evaluation.metrics import METRICS, Metrics, named_metrics
from mccfr_spiel.experiments.algorithm_names import Method, checked, name_of
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.experiments.sweeps import (
    BAR,
    Executor,
    in_this_process,
    keyed,
    local,
    run_sweep,
)
from mccfr_spiel.offline import OfflineMethod
from mccfr_spiel.rules.description import rules_of
from mccfr_spiel.tree.loading import content_print, load_game

if TYPE_CHECKING:
    from mccfr_spiel.experiments.comparison_table import Comparison

Games = str | pyspiel.Game | Iterable[str | pyspiel.Game] | Mapping[str, Any]
Algorithms = str | Method | Iterable[str | Method] | Mapping[str, str | Method]

_ROWS_BEFORE = 10_000
"""The first row of a run is due at one part in so many of the run."""


class ComparisonError(RuntimeError):
    """Some runs of a comparison have failed; the others are kept."""


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

        table = ms.compare("kuhn_poker", [ms.CFR_PLUS, ms.EXTERNAL_SAMPLING])
        table.plot().savefig("kuhn.pdf")

    The table is a pandas DataFrame, see `experiments.comparison_table.Comparison`. Its
    numbers are the same for any number of workers, except for the seconds. An algorithm
    that draws nothing, as `CFR_PLUS`, is run with seed 0 only.

    Args:
        games: load strings or registered games, one or several, or label -> game. The
            module that registers a game is imported in each worker; if it is the main
            script or a notebook, all runs are done in this process.
        algorithms: values or names, one or several, or label -> algorithm.
        seeds: how many runs of each algorithm on each game.
        nodes: a run ends with the first iteration after which so many nodes of the tree
            have been touched, a cost that all algorithms share.
        metrics: functions of the solver, or names in `ms.metrics.METRICS`, one or
            several, or label -> function; by default NashConv. Without a metric that
            has a name, games may be too large for a whole tree.
        iterations: how long a run is, in place of `nodes`. Offline methods take this.
        folder: for the rows, which are not kept by default. The same call goes on where
            it was, also with more seeds, games or algorithms, but not with another
            function under the name of a metric.
        workers: processes; one for each core if not given.
        executor: what runs the runs in place of processes, such as
            `functools.partial(ms.experiments.on_ray, workers=None, address=None)`.
        imports: more modules, or paths of Python files, that each worker imports first.
        rows_per_decade: rows from 1,000 to 10,000 nodes, and so on.
        max_memory, twin, threads: as in `Solver`, for each run; but all workers
            together have no more threads than there are cores.
        progress: whether to show a bar; by default on terminals.

    Raises:
        ImportError: pandas or matplotlib is missing.
        ValueError: a game or an algorithm is wrong, or the folder has rows of others.
        ComparisonError: runs have failed; the message says which, and why.
    """
    try:
        tables = importlib.import_module("mccfr_spiel.experiments.comparison_table")
    except ImportError as error:
        raise ImportError(
            "A comparison is a pandas DataFrame that matplotlib draws, and one of them "
            "is not installed here: pip install 'mccfr_spiel[plot]'."
        ) from error
    measures = named_metrics(metrics, default=["nash_conv"])
    chosen = _labelled_games(games)
    methods = _labelled_algorithms(algorithms)
    limit = _limit(nodes, iterations, methods)
    # All metrics that have names take the whole tree.
    is_exact = any(one in METRICS.values() for one in measures.values())
    common = Settings(
        **limit,
        rows_per_decade=rows_per_decade,
        rows_from=max(1, min(limit.values()) // _ROWS_BEFORE),
        evaluate="exact" if is_exact else "none",
        max_memory=max_memory,
        twin=twin,
        threads=threads,
    )
    runs = [
        (label, name, common._replace(game=str(game), algorithm=method, seed=seed))
        for label, game in chosen.items()
        for name, method in methods.items()
        for seed in range(refusals.integer(seeds, "seeds", 1) if _draws(method) else 1)
    ]
    # Seed by seed, so that all curves are there early.
    table = keyed(sorted(runs, key=lambda run: run[2].seed))
    modules = _modules_of(chosen.values())
    if executor is None:
        executor = _executor(workers, table, modules)
    kept = f"The rows of the others are in {folder}; the same call goes on from there."
    with contextlib.ExitStack() as stack:
        if folder is None:
            kept = "Give a folder, in which the rows of the others are kept."
            scratch = tempfile.TemporaryDirectory(
                prefix="mccfr_spiel-", ignore_cleanup_errors=True
            )
            folder = stack.enter_context(scratch)
        hidden = None if progress is None else not progress
        bar = stack.enter_context(tqdm(total=100.0, bar_format=BAR, disable=hidden))
        failures = run_sweep(
            table,
            pathlib.Path(folder),
            executor,
            lambda share: bar.update(100 * share - bar.n),
            imports=[*imports, *modules - {"__main__"}],
            metrics=measures,
        )
        if failures:
            key, error = failures[0]
            raise ComparisonError(
                f"{len(failures)} of {len(table)} runs failed, first {key}: {error}\n"
                f"{kept}"
            )
        return tables.read_comparison(runs, pathlib.Path(folder), list(measures))


# --- what is compared ------------------------------------------------------------


def _labelled_games(games: Games) -> dict[str, pyspiel.Game]:
    if isinstance(games, str | pyspiel.Game):
        games = [games]
    if not isinstance(games, Mapping):
        games = {str(game): game for game in games}
    if not games:
        raise ValueError("There are no games to compare algorithms on.")
    return {label: _checked_game(game) for label, game in games.items()}


def _checked_game(game: str | pyspiel.Game) -> pyspiel.Game:
    """The game, if its load string makes the same game.

    Raises:
        ValueError: it does not, or there is no such game.
    """
    loaded = load_game(game)
    if isinstance(game, str):
        return loaded
    try:
        is_same = content_print(load_game(str(game))) == content_print(game)
    except ValueError:
        is_same = False
    if not is_same:
        raise ValueError(
            f"The load string {str(game)!r} does not make this game, so that no other "
            "process can make it. Register the game (pyspiel.register_game)."
        )
    return game


def _labelled_algorithms(algorithms: Algorithms) -> dict[str, Method]:
    if isinstance(algorithms, str | Algorithm | OfflineMethod):
        algorithms = [algorithms]
    if not isinstance(algorithms, Mapping):
        algorithms = {name_of(one): one for one in map(checked, algorithms)}
    if not algorithms:
        raise ValueError("There are no algorithms to compare.")
    return {str(label): checked(one) for label, one in algorithms.items()}


def _limit(
    nodes: float | None, iterations: int | None, methods: Mapping[str, Method]
) -> dict[str, Any]:
    """The settings that say how long a run is."""
    if iterations is not None:
        return {"iterations": refusals.integer(iterations, "iterations", 1)}
    if nodes is None or not nodes >= 1 or nodes > 2**62:
        raise ValueError(f"nodes={nodes!r} is no number of nodes, such as 1e6.")
    offline = [one.name for one in methods.values() if isinstance(one, OfflineMethod)]
    if offline:
        raise ValueError(
            f"{', '.join(offline)} and other offline methods count iterations, no "
            "nodes; say in iterations how long all runs are, such as iterations=1000."
        )
    return {"until_nodes_touched": int(nodes)}


def _draws(method: Method) -> bool:
    """Whether the seed of a method matters."""
    if not isinstance(method, Algorithm):
        return False
    sampling = method.sampling
    is_random = sampling.is_sampled or isinstance(sampling, OwnEstimator)
    return is_random or bool(getattr(method.minimizer, "initial_regret", 0))


# --- where it runs ---------------------------------------------------------------


def _modules_of(games: Iterable[pyspiel.Game]) -> set[str]:
    """The modules that register the games, those of OpenSpiel's C++ games excepted."""
    modules = set()
    for game in games:
        rules = rules_of(game)
        module = type(game).__module__
        if rules is not None:
            module = rules.description.rules.acting.__module__
        if module.partition(".")[0] != "pyspiel":
            modules.add(module)
    return modules


def _executor(
    workers: int | None, table: Mapping[str, Settings], modules: set[str]
) -> Executor:
    """Processes of this machine, or this process where they would be no use.

    Raises:
        ValueError: `workers` is no number of processes.
    """
    if workers is not None:
        workers = refusals.integer(workers, "workers", 1)
    workers = min(workers or os.cpu_count() or 1, len(table))
    if workers == 1 or "__main__" in modules:
        return in_this_process
    return functools.partial(local, workers=workers, run_main=False)
