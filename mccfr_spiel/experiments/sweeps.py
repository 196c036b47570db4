"""Sweeps: tables of settings, each run by some worker into a file of its own.

A sweep's folder holds `settings.json` (key -> settings) and `KEY.csv` with the rows of
every setting that is finished. `compare` makes one of algorithms on games with seeds.
A sweep that is run again goes on where it was, whatever ended it. Except for their
seconds, its rows are the same for any executor and any number of workers.

A *task* is one setting, as a worker runs it; an *executor* runs the tasks of a sweep on
this machine or on a Ray cluster. While a task is under way its rows are in
`KEY.csv.unfinished`, which is renamed to `KEY.csv` at the end, and its state is in
`KEY.checkpoint`. A task that is run again goes on from its newest checkpoint and ends
with the same rows.
"""

import concurrent.futures
import contextlib
import functools
import glob
import importlib
import itertools
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import signal
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any, NamedTuple

import pyspiel

from mccfr_spiel.algorithms import Algorithm, OwnEstimator
from mccfr_spiel.arenas.infosets.loading import content_print, load_game, module_of
from mccfr_spiel.common import folders, refusals
from mccfr_spiel.common.display import Bar, hides_bar
from mccfr_spiel.common.limits import num_cores
from mccfr_spiel.evaluation.metrics import METRICS, Metrics, named_metrics
from mccfr_spiel.experiments import runs
from mccfr_spiel.experiments.algorithm_names import (
    Method,
    checked,
    import_module,
    name_of,
)
from mccfr_spiel.experiments.settings import (
    Settings,
    check,
    flags_of,
    refuse_code,
    settings_from,
)
from mccfr_spiel.experiments.trees import shared_tree
from mccfr_spiel.offline import GameSolver, OfflineMethod
from mccfr_spiel.solving.ray_connection import connected_ray
from mccfr_spiel.solving.running import Metric

if TYPE_CHECKING:
    from mccfr_spiel.experiments.comparison_table import Comparison

# --- tasks: one setting of a sweep, as a worker runs it into files of its own ---------


FINISHED, UNFINISHED, CHECKPOINT = ".csv", ".csv.unfinished", ".checkpoint"
"""What follows a task's key in the names of its files."""


class Task(NamedTuple):
    """One setting of a sweep, as a worker gets it.

    Attributes:
        key: the beginning of its files' names.
        settings: what to run. Exact evaluation takes its tree from the folder of trees.
        folder: where the files go.
        imports: modules that register games.
        trees: the folder of trees that processes share; None for none.
        checkpoint_every: seconds.
        metrics: what rows hold beside `runs.COLUMNS`, (label, function) pairs.
    """

    key: str
    settings: Settings
    folder: pathlib.Path
    imports: tuple[str, ...] = ()
    trees: pathlib.Path | None = None
    checkpoint_every: float = 60.0
    metrics: tuple[tuple[str, Metric], ...] = ()

    def path(self, ending: str) -> pathlib.Path:
        """The task's file with that ending."""
        return self.folder / (self.key + ending)


class Outcome(NamedTuple):
    """How a task ended: `error` is None, or a message that says why it failed."""

    key: str
    error: str | None


def run_task(task: Task) -> Outcome:
    """Runs a setting to its end, from where an earlier worker left it."""
    try:
        for module in task.imports:
            import_module(module)
        _run(task)
    except runs.IN_WORDS as error:
        return Outcome(task.key, runs.words_of_error(error))
    except Exception:  # whatever a user's game raises, the other tasks must go on
        return Outcome(task.key, traceback.format_exc())
    return Outcome(task.key, None)


def _run(task: Task) -> None:
    unfinished = task.path(UNFINISHED)
    solver, kept = _make_or_load(task)
    recording = runs.Recording(
        unfinished,
        task.path(CHECKPOINT),
        task.settings,
        solver,
        kept,
        metrics=dict(task.metrics),
        checkpoint_every=task.checkpoint_every,
    )
    with contextlib.closing(recording):
        try:
            for _ in recording.rows():
                pass
        except Exception as error:
            with contextlib.suppress(Exception):  # an older checkpoint stays
                recording.save()
            error.add_note(
                f"That was after {solver.num_iterations:,} iterations; the rows before "
                f"it are in {unfinished.name}."
            )
            raise
        recording.sync()
    os.replace(unfinished, task.path(FINISHED))
    for leftover in task.folder.glob(f"{glob.escape(task.key)}{CHECKPOINT}*"):
        leftover.unlink(missing_ok=True)


def _make_or_load(task: Task) -> tuple[GameSolver, list[dict[str, Any]]]:
    """The solver and the rows of a task, from its files if they are good."""
    settings = task.settings
    tree = None
    if settings.evaluate == "exact":
        how = task.trees, settings.max_memory, settings.twin
        tree = shared_tree(settings.game, *how)
    if settings.is_resumable:
        # Without a good checkpoint, or without the rows before it, the task begins
        # anew. It ends with the same rows, since its settings determine them.
        with contextlib.suppress(FileNotFoundError, folders.DamagedError):
            solver = runs.load_solver(settings, task.path(CHECKPOINT), tree)
            path, labels = task.path(UNFINISHED), dict(task.metrics)
            kept, is_missing = runs.read_rows(path, settings, solver, labels)
            if not is_missing:
                return solver, kept
    return runs.make_solver(settings, tree), []


# --- executors: what runs the tasks of a sweep, on this machine or on a Ray cluster ---


Executor = Callable[[Sequence[Task]], Iterator[Outcome]]
"""Runs tasks and yields the outcome of each when it is known."""

_ATTEMPTS = 3
"""How often workers are replaced in a row while no task is finished."""


# --- this machine ------------------------------------------------------------------


def in_this_process(tasks: Sequence[Task]) -> Iterator[Outcome]:
    """Runs tasks one after the other, with no process of their own.

    A task has no more threads than there are cores.
    """
    return map(run_task, with_threads(tasks, 1))


def local(
    tasks: Sequence[Task], workers: int, *, run_main: bool = True
) -> Iterator[Outcome]:
    """Runs tasks in processes of this machine and replaces processes that are killed.

    The threads of all workers together are not more than the machine's cores, unless
    the workers alone are.

    Args:
        tasks: what to run.
        workers: how many processes.
        run_main: whether processes import the main script first, as Python's own do.
            Such a script must keep its calls below `if __name__ == "__main__"`, and may
            register games.
    """
    left = {task.key: task for task in with_threads(tasks, workers)}
    attempts = 0
    # When one worker is killed, Python breaks the whole pool. So one pass runs what is
    # left in a new pool until all is done or the pool breaks; the tasks go on from
    # their checkpoints.
    while left and attempts <= _ATTEMPTS:
        attempts += 1
        pickled = [_pickled(task) for task in left.values()]
        hidden = contextlib.nullcontext() if run_main else _hidden_main()
        with _pool(workers) as pool:
            futures = []
            with contextlib.suppress(BrokenProcessPool), hidden:  # broken by now, maybe
                futures += [pool.submit(_run_pickled, task) for task in pickled]
            for future in concurrent.futures.as_completed(futures):
                with contextlib.suppress(BrokenProcessPool):
                    outcome = future.result()
                    attempts = 0
                    del left[outcome.key]
                    yield outcome
    for key in left:
        why = 'are the script\'s calls below `if __name__ == "__main__"`, and '
        why = f"{why * run_main}is there enough memory for as many?"
        yield Outcome(key, f"Workers ended again and again; {why}")


def _pickled(task: Task) -> bytes:
    """A task for another process; functions of notebooks go with their code, if the
    package is there that can do that."""
    try:
        return importlib.import_module("cloudpickle").dumps(task)
    except ImportError:
        return pickle.dumps(task)


def _run_pickled(task: bytes) -> Outcome:
    return run_task(pickle.loads(task))


def with_threads(tasks: Sequence[Task], workers: int) -> list[Task]:
    """Tasks whose runs have a core for each thread of those that run at once."""
    most = max(num_cores() // (min(workers, len(tasks)) or 1), 1)
    return [_with_most_threads(task, most) for task in tasks]


def _with_most_threads(task: Task, most: int) -> Task:
    threads = min(task.settings.threads or most, most)
    return task._replace(settings=task.settings._replace(threads=threads))


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(workers, context, _start_worker)
    try:
        yield pool
    except BaseException:  # such as Ctrl-C: the files hold what has been found
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _hidden_main() -> Iterator[None]:
    """Has processes that are started in the block know nothing of the main script.

    Python's own run it again, under another name. A script whose calls do not stand
    below `if __name__ == "__main__"` would then start a sweep in each of its workers.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start_worker() -> None:
    """Makes a worker ignore Ctrl-C, which its parent handles, and end when its parent
    has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


# --- Ray -----------------------------------------------------------------------


def on_ray(
    tasks: Sequence[Task], workers: int | None, address: str | None
) -> Iterator[Outcome]:
    """Runs tasks on a Ray cluster (the extra `ray`), which retries lost ones.

    The cluster's machines need no common folder: each makes its own trees and sends
    back rows.

    Args:
        tasks: what to run.
        workers: the most tasks at once; None for as many as the cluster has room for.
        address: of the cluster; None starts one on this machine. A Ray that this
            process is connected to already is used, and goes on.

    Raises:
        ValueError: Ray is not installed, or there is no cluster at the address.
    """
    ray, is_new = connected_ray(address, workers)
    try:
        # Ray gives each task one core.
        tasks = [_with_most_threads(task, 1) for task in tasks]
        remote = ray.remote(max_retries=_ATTEMPTS, num_cpus=1)(_run_away)
        waiting = iter(tasks)
        most = workers or 4 * int(ray.cluster_resources().get("CPU", 1))
        running = {
            remote.remote(task): task for task in itertools.islice(waiting, most)
        }
        # One pass takes the result of a task that is done and starts another one in its
        # place, so that a large sweep does not queue all its tasks at once.
        while running:
            (done,), _ = ray.wait(list(running), num_returns=1)
            task = running.pop(done)
            for more in itertools.islice(waiting, 1):
                running[remote.remote(more)] = more
            try:
                outcome, rows = ray.get(done)
            except ray.exceptions.RayError as error:
                yield Outcome(task.key, f"Ray gave up: {error}")
                continue
            if rows is not None:
                ending = FINISHED if outcome.error is None else UNFINISHED
                folders.write_file(task.path(ending), rows)
            yield outcome
    finally:
        if is_new:
            ray.shutdown()


def _run_away(task: Task) -> tuple[Outcome, bytes | None]:
    """Runs a task in a temporary folder; returns the outcome and the bytes of its rows,
    or of the rows before an error."""
    with tempfile.TemporaryDirectory() as folder:
        task = task._replace(folder=pathlib.Path(folder), trees=None)
        outcome = run_task(task)
        path = task.path(FINISHED if outcome.error is None else UNFINISHED)
        return outcome, path.read_bytes() if path.exists() else None


# --- sweeps: tables of settings, each run by some worker into a file of its own -------


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
    folder: str | os.PathLike[str],
    executor: Executor,
    on_progress: Callable[[float], object] = lambda share: None,
    *,
    imports: Iterable[str] = (),
    trees: pathlib.Path | None = None,
    checkpoint_every: float = 60.0,
    metrics: Mapping[str, Metric] = runs.NO_METRICS,
) -> list[Outcome]:
    """Runs what is not finished of a sweep; returns the outcomes that are failures.

    Args:
        settings: key -> settings; keys name files.
        folder: for the files, see above.
        executor: such as `functools.partial(local, workers=2)`.
        on_progress: called whenever a run has ended, with the share of the runs that
            have, from 0 to 1.
        imports, checkpoint_every: as in `Task`.
        trees: the folder where games' trees are kept; by default a temporary one.
        metrics: what rows hold beside `runs.COLUMNS`: label -> function of the solver.

    Raises:
        ValueError: the folder holds another sweep or is in use, a setting or an
            argument is wrong, or a key cannot name files.
    """
    folder = pathlib.Path(folder).expanduser()
    if not isinstance(settings, Mapping):
        raise ValueError("settings is no dictionary from keys to Settings.")
    refusals.function(executor, "executor", "of tasks")
    imports = refusals.names(imports, "imports")
    for name, one in settings.items():
        own_name = isinstance(name, str) and pathlib.PurePath(name).name
        if own_name != name or name[:1] in ("", "."):
            raise ValueError(f"{name!r} names no file; choose another key.")
        if not isinstance(one, Settings):
            raise ValueError(f"{name}: {one!r} is no Settings of a run.")
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
    with contextlib.ExitStack() as stack:
        stack.enter_context(folders.held(folder))
        _write_table(folder / folders.SETTINGS, settings)
        _check_rows_have(metrics, settings, folder)
        if trees is None:
            trees = stack.enter_context(_temporary_folder())
        how = imports, trees, checkpoint_every, tuple(metrics.items())
        tasks = [
            Task(name, one, folder, *how)
            for name, one in settings.items()
            if not is_finished(folder, name)
        ]
        failures = []
        before = len(settings) - len(tasks)
        for ended, outcome in enumerate(executor(tasks), before + 1):
            failures += [outcome] if outcome.error else []
            on_progress(ended / len(settings))
    return failures


@contextlib.contextmanager
def _temporary_folder() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="mccfr_spiel-trees-") as folder:
        yield pathlib.Path(folder)


def is_finished(folder: pathlib.Path, name: str) -> bool:
    """Whether a setting of the sweep in a folder has all its rows."""
    return (folder / (name + FINISHED)).exists()


def _check_rows_have(
    metrics: Iterable[str], keys: Iterable[str], folder: pathlib.Path
) -> None:
    """Refuses finished rows that lack a metric, which nobody can measure any more."""
    for path in (folder / (name + FINISHED) for name in keys):
        columns = folders.read_table(path).columns
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
            f"{path.parent} has rows ({rows[0]}) but no {path.name} that says which "
            "settings they are of. Choose another output folder, or delete the rows."
        )
    for name, one in settings.items():
        if name not in table:
            table[name] = flags_of(one)
            continue
        refuse_code(path.parent, table[name], flags_of(one))
        if settings_from(table[name], str(path)) != one:
            raise ValueError(
                f"{path.parent} holds a sweep with other settings of {name}. Choose "
                "another output folder, or delete it."
            )
    folders.write_json(path, table)


# --- `compare`: algorithms on games with seeds, as one call ---------------------------
#
# It makes a sweep of what is compared, runs it, and reads its rows into a table
# (experiments/comparison_table.py).


Games = str | pyspiel.Game | Iterable[str | pyspiel.Game] | Mapping[str, Any]
Algorithms = str | Method | Iterable[str | Method] | Mapping[str, str | Method]

_ROWS_BEFORE = 10_000
"""The first row of a run is due after one part in this many of the run."""


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
    for label in measures.keys() & {*tables.WHICH}:
        raise ValueError(
            f"The table has a column {label!r} already; give the metric another label."
        )
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
    parts = [
        (label, name, common._replace(game=str(game), algorithm=method, seed=seed))
        for label, game in chosen.items()
        for name, method in methods.items()
        for seed in range(refusals.integer(seeds, "seeds", 1) if _draws(method) else 1)
    ]
    # Seed by seed, so that all curves are there early.
    table = keyed(sorted(parts, key=lambda part: part[2].seed))
    modules = {name for one in chosen.values() if (name := module_of(one))}
    executor = _executor(workers, table, modules) if executor is None else executor
    kept = f"The rows of the others are in {folder}; the same call goes on from there."
    with contextlib.ExitStack() as stack:
        if folder is None:
            kept = "Give a folder, in which the rows of the others are kept."
            scratch = tempfile.TemporaryDirectory(
                prefix="mccfr_spiel-", ignore_cleanup_errors=True
            )
            folder = stack.enter_context(scratch)
        hidden = hides_bar(progress)
        bar = stack.enter_context(Bar(total=100.0, bar_format=BAR, disable=hidden))
        failures = run_sweep(
            table,
            pathlib.Path(folder),
            executor,
            lambda share: bar.update(100 * share - bar.n),
            imports=[*refusals.names(imports, "imports"), *modules - {"__main__"}],
            metrics=measures,
        )
        if failures:
            first, error = failures[0]
            raise ComparisonError(
                f"{len(failures)} of {len(table)} runs failed, first {first}: {error}\n"
                f"{kept}"
            )
        finished = [
            (*which, pathlib.Path(folder, key(*which) + FINISHED).expanduser())
            for which in [(game, name, one.seed) for game, name, one in parts]
        ]
        return tables.read_comparison(finished, list(measures))


# --- what is compared ------------------------------------------------------------


def _labelled_games(games: Games) -> dict[str, pyspiel.Game]:
    if isinstance(games, str) or not isinstance(games, Iterable):
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
    with contextlib.suppress(ValueError):
        if content_print(load_game(str(game))) == content_print(game):
            return game
    raise ValueError(
        f"The load string {str(game)!r} does not make this game, so that no other "
        "process can make it. Register the game (pyspiel.register_game)."
    )


def _labelled_algorithms(algorithms: Algorithms) -> dict[str, Method]:
    if isinstance(algorithms, str | Algorithm) or not isinstance(algorithms, Iterable):
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
    offline = [one.name for one in methods.values() if isinstance(one, OfflineMethod)]
    if offline:
        raise ValueError(
            f"{', '.join(offline)} and other offline methods count iterations, no "
            "nodes; say in iterations how long all runs are, such as iterations=1000."
        )
    return {"until_nodes_touched": int(refusals.number(nodes, "nodes", 1, 2**62))}


def _draws(method: Method) -> bool:
    """Whether the seed of a method matters."""
    if not isinstance(method, Algorithm):
        return False
    sampling = method.sampling
    is_random = sampling.is_sampled or isinstance(sampling, OwnEstimator)
    return is_random or bool(getattr(method.minimizer, "initial_regret", 0))


# --- where it runs ---------------------------------------------------------------


def _executor(
    workers: int | None, table: Mapping[str, Settings], modules: set[str]
) -> Executor:
    """Processes of this machine, or this process where they would be no use.

    Raises:
        ValueError: `workers` is no number of processes.
    """
    given = os.cpu_count() or 1 if workers is None else workers
    workers = min(refusals.integer(given, "workers", 1), len(table))
    if workers == 1 or "__main__" in modules:
        return in_this_process
    return functools.partial(local, workers=workers, run_main=False)
