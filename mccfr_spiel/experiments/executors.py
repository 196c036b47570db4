"""Executors: run the tasks of a sweep.

| executor | where tasks run |
|---|---|
| `in_this_process` | here, one after the other |
| `local` | processes on this machine |
| `on_ray` | a Ray cluster |

All executors produce the same rows, except for the seconds.
"""

import concurrent.futures
import contextlib
import importlib
import itertools
import multiprocessing
import os
import pathlib
import pickle
import signal
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool

from mccfr_spiel.common.atomic_files import write_file
from mccfr_spiel.common.memory import (
    num_cores,
)
from mccfr_spiel.experiments.tasks import (
    FINISHED,
    UNFINISHED,
    Outcome,
    SweepTask,
    run_task,
)
from mccfr_spiel.solving.ray_connection import connected_ray

Executor = Callable[[Sequence[SweepTask]], Iterator[Outcome]]
"""Runs tasks and yields each outcome as soon as it is known."""

_ATTEMPTS = 3
"""How often killed workers are replaced while no task finishes."""


# --- this machine ------------------------------------------------------------------


def in_this_process(tasks: Sequence[SweepTask]) -> Iterator[Outcome]:
    """Runs tasks in this process, one after the other.

    A task has at most as many threads as the machine has cores.
    """
    return map(run_task, with_threads(tasks, 1))


def local(
    tasks: Sequence[SweepTask], workers: int, *, run_main: bool = True
) -> Iterator[Outcome]:
    """Runs tasks in processes on this machine; replaces processes that are killed.

    The workers share the cores: together they have at most one thread per core, but
    each has at least one thread.

    Args:
        tasks: the tasks.
        workers: number of processes.
        run_main: whether processes import the main script first, as Python's own
            process pools do. The script must then keep its calls below
            `if __name__ == "__main__"`. It may register games.
    """
    left = {task.key: task for task in with_threads(tasks, workers)}
    attempts = 0
    # When a worker is killed, Python breaks the whole pool. Each pass runs the
    # remaining tasks in a new pool, where they resume from their checkpoints. The loop
    # ends when all tasks are done, or after _ATTEMPTS passes in which no task finished.
    while left and attempts <= _ATTEMPTS:
        attempts += 1
        pickled = [_pickled(task) for task in left.values()]
        hidden = contextlib.nullcontext() if run_main else _hidden_main()
        with _pool(workers) as pool:
            futures = []
            with (
                contextlib.suppress(BrokenProcessPool),
                hidden,
            ):  # the pool can break here
                futures += [pool.submit(_run_pickled, task) for task in pickled]
            for future in concurrent.futures.as_completed(futures):
                with contextlib.suppress(BrokenProcessPool):
                    outcome = future.result()
                    attempts = 0
                    del left[outcome.key]
                    yield outcome
    advice = "Use fewer workers if memory is short."
    if run_main:
        advice += ' Keep the script\'s calls below `if __name__ == "__main__"`.'
    for key in left:
        yield Outcome(key, f"The worker processes were killed repeatedly. {advice}")


def _pickled(task: SweepTask) -> bytes:
    """Serializes a task. With cloudpickle, functions of notebooks and of the main
    script are serialized with their code."""
    try:
        return importlib.import_module("cloudpickle").dumps(task)
    except ImportError:
        return pickle.dumps(task)


def _run_pickled(task: bytes) -> Outcome:
    return run_task(pickle.loads(task))


def with_threads(tasks: Sequence[SweepTask], workers: int) -> list[SweepTask]:
    """Limits the threads of tasks so that concurrent tasks share the cores."""
    limit = max(num_cores() // (min(workers, len(tasks)) or 1), 1)
    return [_limit_threads(task, limit) for task in tasks]


def _limit_threads(task: SweepTask, limit: int) -> SweepTask:
    threads = min(task.settings.threads or limit, limit)
    return task._replace(settings=task.settings._replace(threads=threads))


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(workers, context, _start_worker)
    try:
        yield pool
    except BaseException:  # such as Ctrl-C: checkpoints and rows are on disk
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _hidden_main() -> Iterator[None]:
    """Hides the main script from processes that are started in the block.

    Python reruns the main script in each process, under another name. A script without
    the guard `if __name__ == "__main__"` would start a sweep in each of its workers.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start_worker() -> None:
    """Makes a worker ignore Ctrl-C, which the parent handles, and exit with the
    parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


# --- Ray -----------------------------------------------------------------------


def on_ray(
    tasks: Sequence[SweepTask], workers: int | None, address: str | None
) -> Iterator[Outcome]:
    """Runs tasks on a Ray cluster (the extra `ray`), which retries lost tasks.

    The machines need no shared folder: each expands the trees and sends back rows.

    Args:
        tasks: the tasks.
        workers: maximum number of concurrent tasks; None for the cluster's capacity.
        address: address of the cluster; None starts one on this machine. An existing
            connection of this process is used and stays open.

    Raises:
        ValueError: Ray is not installed, or there is no cluster at the address.
    """
    ray, is_new = connected_ray(address, workers)
    try:
        # Ray assigns one core to each task.
        tasks = [_limit_threads(task, 1) for task in tasks]
        remote = ray.remote(max_retries=_ATTEMPTS, num_cpus=1)(_run_remotely)
        waiting = iter(tasks)
        limit = workers or 4 * int(ray.cluster_resources().get("CPU", 1))
        running = {
            remote.remote(task): task for task in itertools.islice(waiting, limit)
        }
        # Each pass collects one finished task and submits the next one, so that a large
        # sweep does not queue all of its tasks at once. The loop ends when no task
        # runs.
        while running:
            (done,), _ = ray.wait(list(running), num_returns=1)
            task = running.pop(done)
            for following in itertools.islice(waiting, 1):
                running[remote.remote(following)] = following
            try:
                outcome, rows = ray.get(done)
            except ray.exceptions.RayError as error:
                yield Outcome(task.key, f"Ray failed to run the task: {error}")
                continue
            if rows is not None:
                ending = FINISHED if outcome.error is None else UNFINISHED
                write_file(task.path(ending), rows)
            yield outcome
    finally:
        if is_new:
            ray.shutdown()


def _run_remotely(task: SweepTask) -> tuple[Outcome, bytes | None]:
    """Runs a task in a temporary folder.

    Returns:
        The outcome, and the file of rows (up to the error, if the task failed).
    """
    with tempfile.TemporaryDirectory() as folder:
        task = task._replace(folder=pathlib.Path(folder), trees=None)
        outcome = run_task(task)
        path = task.path(FINISHED if outcome.error is None else UNFINISHED)
        return outcome, path.read_bytes() if path.exists() else None
