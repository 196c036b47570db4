"""Sweeps: tables of settings, each run by some worker into a file of its own.

A sweep's folder holds `settings.json` (key -> settings), `KEY.csv` with the rows of
every setting that is finished and, of those under way, `KEY.csv.unfinished` and
perhaps `KEY.checkpoint`. Running the sweep again goes on where it was, whatever ended
it. Rows are the same for any executor and number of workers, but for their seconds.
"""

import concurrent.futures
import contextlib
import functools
import importlib
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

from mccfr_spiel import experiments
from mccfr_spiel.compile import user_cache_folder
from mccfr_spiel.experiments import Settings
from mccfr_spiel.game_tree import GameTree
from mccfr_spiel.offline import OfflineSolver
from mccfr_spiel.solver import Solver
from mccfr_spiel.tree_cache import cached_tree

try:
    import fcntl
except ImportError:  # Windows has no such locks: do not run a sweep twice at once
    fcntl = None

SETTINGS = "settings.json"
_UNFINISHED, _CHECKPOINT = ".csv.unfinished", ".checkpoint"
_LOCK, _WORKERS_LOCK = ".lock", ".workers.lock"
_ATTEMPTS = 3
_ORPHAN_SECONDS = 30


class Task(NamedTuple):
    """One setting of a sweep, as a worker gets it.

    Attributes:
        key: names its files.
        settings: what to run; exact evaluation takes its tree from the cache.
        folder: where the files go.
        imports: modules that register games.
        trees: the folder of the tree cache, None for the user's.
        checkpoint_every: seconds.
    """

    key: str
    settings: Settings
    folder: pathlib.Path
    imports: tuple[str, ...] = ()
    trees: pathlib.Path | None = None
    checkpoint_every: float = 60.0


class Outcome(NamedTuple):
    """What became of a task: `error` is None, or why it failed, in words."""

    key: str
    error: str | None


Executor = Callable[[Sequence[Task]], Iterator[Outcome]]
"""Runs tasks and yields each one's outcome when it is known."""


# --- one task ------------------------------------------------------------------


def run_task(task: Task) -> Outcome:
    """Runs a setting to its end, from where an earlier worker left it."""
    try:
        for module in task.imports:
            importlib.import_module(module)
        _run(task)
    except (ValueError, OSError, MemoryError, ImportError) as error:
        return Outcome(task.key, str(error) or type(error).__name__)
    except Exception:  # of a user's game; the others must go on
        return Outcome(task.key, traceback.format_exc())
    return Outcome(task.key, None)


def _run(task: Task) -> None:
    settings = task.settings
    unfinished = task.folder / (task.key + _UNFINISHED)
    checkpoint = task.folder / (task.key + _CHECKPOINT)
    experiments.warm_up(settings)
    solver, kept = _make_or_load(task, unfinished, checkpoint)
    saved = time.monotonic()
    with experiments.RowWriter(unfinished, kept) as writer:

        def on_progress(done: int) -> None:
            nonlocal saved
            late = time.monotonic() - saved >= task.checkpoint_every
            if late and isinstance(solver, Solver):
                writer.sync()  # first: a checkpoint must not be ahead of the rows
                solver.save(checkpoint)
                saved = time.monotonic()

        for row in experiments.rows(solver, settings, on_progress, kept=kept):
            writer.write(row)
        writer.sync()
    os.replace(unfinished, task.folder / (task.key + ".csv"))
    for leftover in task.folder.glob(f"{task.key}{_CHECKPOINT}*"):
        leftover.unlink(missing_ok=True)


def _make_or_load(
    task: Task, unfinished: pathlib.Path, checkpoint: pathlib.Path
) -> tuple[Solver | OfflineSolver, list[dict[str, Any]]]:
    settings = task.settings
    tree = None
    if settings.evaluate == "exact":
        tree = _tree(experiments.load_string(settings), task.trees)
    if not experiments.is_offline(settings):
        with contextlib.suppress(FileNotFoundError):
            solver = experiments.load_solver(settings, checkpoint, tree)
            return solver, experiments.read_rows(unfinished, settings, solver)
    return experiments.make_solver(settings, tree), []


@functools.lru_cache(maxsize=8)
def _tree(game: str, folder: pathlib.Path | None) -> GameTree:
    """The game's tree from the cache; if it must be made, one process does that while
    the others wait."""
    with contextlib.ExitStack() as stack:
        base = folder or user_cache_folder() / "trees"
        with contextlib.suppress(OSError):  # `cached_tree` says what is wrong with it
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = _lock(base / ".sweeps.lock", exclusive=True, seconds=math.inf)
            stack.enter_context(contextlib.closing(lock))
        return cached_tree(game, folder)


# --- executors -----------------------------------------------------------------


def local(tasks: Sequence[Task], workers: int) -> Iterator[Outcome]:
    """Runs tasks in processes of this machine; one that is killed is replaced."""
    left = {task.key: task for task in tasks}
    attempts = dict.fromkeys(left, 0)
    in_vain = 0
    while left:
        before = len(left)
        with _pool(workers, tasks[0].folder) as pool:
            futures, lost = {}, []
            with contextlib.suppress(BrokenProcessPool):  # one may be gone by now
                for key, task in left.items():
                    futures[pool.submit(run_task, task)] = key
            for future in concurrent.futures.as_completed(futures):
                key = futures[future]
                try:
                    outcome = future.result()
                except BrokenProcessPool:
                    lost.append(key)
                    continue
                del left[key]
                yield outcome
        in_vain = in_vain + 1 if len(left) == before else 0
        for key in lost:
            # Nobody says which of the lost were under way; their files do.
            folder = left[key].folder
            attempts[key] += (folder / (key + _UNFINISHED)).exists()
            if max(attempts[key], in_vain) > _ATTEMPTS:
                del left[key]
                yield Outcome(
                    key,
                    f"Its worker was killed more than {_ATTEMPTS} times; is there "
                    "enough memory for as many workers?",
                )


@contextlib.contextmanager
def _pool(
    workers: int, folder: pathlib.Path
) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    pool = concurrent.futures.ProcessPoolExecutor(
        workers,
        multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(os.getpid(), folder),
    )
    try:
        yield pool
    except BaseException:  # Ctrl-C: the files hold what there is
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(parent: int, folder: pathlib.Path) -> None:
    """Makes a worker leave Ctrl-C to its parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lock = _lock(folder / _WORKERS_LOCK, exclusive=False, seconds=_ORPHAN_SECONDS)

    def watch() -> None:
        with lock:
            while os.getppid() == parent:
                time.sleep(0.2)
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def on_ray(
    tasks: Sequence[Task], workers: int | None, address: str | None
) -> Iterator[Outcome]:
    """Runs tasks on a Ray cluster (the extra `ray`), which retries lost ones.

    Its machines need no common folder: each makes its own trees and sends back rows.

    Args:
        tasks: what to run.
        workers: at most so many at once; None for all that the cluster has room for.
        address: of the cluster; None starts one on this machine.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    import ray.exceptions

    if address is None:
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    else:
        ray.init(address=address, log_to_driver=False)
    try:
        remote = ray.remote(max_retries=_ATTEMPTS, num_cpus=1)(_run_away)
        waiting = iter(tasks)
        most = workers or 4 * int(ray.cluster_resources().get("CPU", 1))
        running = {
            remote.remote(task): task for task in itertools.islice(waiting, most)
        }
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
                part = task.folder / (task.key + _UNFINISHED)
                part.write_bytes(rows)
                os.replace(part, task.folder / (task.key + ".csv"))
            yield outcome
    finally:
        ray.shutdown()


def _run_away(task: Task) -> tuple[Outcome, bytes | None]:
    """Runs a task in a folder that is then gone; returns the bytes of its rows."""
    with tempfile.TemporaryDirectory() as folder:
        task = task._replace(folder=pathlib.Path(folder))
        outcome = run_task(task)
        path = task.folder / (task.key + ".csv")
        return outcome, path.read_bytes() if path.exists() else None


# --- whole sweeps --------------------------------------------------------------


def run_sweep(
    settings: Mapping[str, Settings],
    folder: pathlib.Path,
    executor: Executor,
    on_progress: Callable[[float], object] = lambda share: None,
    *,
    imports: Iterable[str] = (),
    trees: pathlib.Path | None = None,
    checkpoint_every: float = 60.0,
) -> list[Outcome]:
    """Runs what is not finished of a sweep; returns the outcomes that are failures.

    Args:
        settings: key -> settings; keys name files.
        folder: for the files, see above.
        executor: such as `functools.partial(local, workers=2)`.
        on_progress: called with the share of the work that is done, from 0 to 1.
        imports, trees, checkpoint_every: as in `Task`.

    Raises:
        ValueError: the folder is of another sweep or in use, or a setting is wrong.
    """
    for key, one in settings.items():
        try:
            experiments.check(one)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        _write_table(folder / SETTINGS, settings)
        tasks = [
            Task(key, one, folder, tuple(imports), trees, checkpoint_every)
            for key, one in settings.items()
            if not is_finished(folder, key)
        ]
        with _reporting(settings, folder, on_progress):
            failures = [outcome for outcome in executor(tasks) if outcome.error]
        on_progress(_share_done(settings, folder))
    return failures


def is_finished(folder: pathlib.Path, key: str) -> bool:
    """Whether a setting of the sweep in a folder has all its rows."""
    return (folder / f"{key}.csv").exists()


def _write_table(path: pathlib.Path, settings: Mapping[str, Settings]) -> None:
    """Adds the settings to a sweep's table; raises ValueError if one has changed."""
    table = {key: one._asdict() for key, one in settings.items()}
    if path.exists():
        try:
            older = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is no table of settings: {error}") from error
        for key, one in older.items():
            if table.setdefault(key, one) != one:
                raise ValueError(
                    f"{path.parent} holds a sweep with other settings of {key}. Choose "
                    "another output folder, or delete it."
                )
    experiments.write_json(path, table)


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    """Holds the folder; waits until the workers of a killed sweep are gone."""
    with contextlib.closing(_lock(folder / _LOCK, exclusive=True, seconds=0)):
        _lock(folder / _WORKERS_LOCK, exclusive=True, seconds=_ORPHAN_SECONDS).close()
        yield


def _lock(path: pathlib.Path, *, exclusive: bool, seconds: float) -> Any:
    """Opens and locks a file; the lock lasts until the file is closed.

    Raises:
        ValueError: another process has held it for so many seconds.
    """
    file = path.open("a")
    if fcntl is None:
        return file
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                file.close()
                raise ValueError(
                    f"Another process runs the sweep in {path.parent}."
                ) from error
            time.sleep(0.1)
        else:
            return file


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
    """The share of the work that is done, by the rows there are."""
    sizes = {
        key: one.until_nodes_touched or one.iterations for key, one in settings.items()
    }
    by_nodes = all(one.until_nodes_touched for one in settings.values())
    files = {entry.name for entry in os.scandir(folder)}
    done = total = 0.0
    for key, one in settings.items():
        share = float(f"{key}.csv" in files)
        if key + _UNFINISHED in files:
            count = _last_count(folder / (key + _UNFINISHED), experiments.measure(one))
            share = min(count / sizes[key], 1.0)
        weight = sizes[key] if by_nodes else 1
        done += share * weight
        total += weight
    return done / total if total else 1.0


def _last_count(path: pathlib.Path, column: str) -> int:
    """That column's value in the last whole row of a CSV file, 0 without one."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return int(lines[-1].split(",")[experiments.COLUMNS.index(column)])
    except (OSError, ValueError, IndexError):  # it may be being written
        return 0
