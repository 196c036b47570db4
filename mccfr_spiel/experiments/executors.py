"""Executors: what runs the tasks of a sweep, on this machine or on a Ray cluster."""

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess

from mccfr_spiel.compiled.teams import num_cores
from mccfr_spiel.experiments.tasks import (
    FINISHED,
    UNFINISHED,
    Outcome,
    Task,
    run_task,
)
from mccfr_spiel.storage.atomic import write_file

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
        with _pool(workers, run_main=run_main) as pool:
            futures = []
            with contextlib.suppress(BrokenProcessPool):  # it may be broken by now
                futures += [pool.submit(run_task, task) for task in left.values()]
            for future in concurrent.futures.as_completed(futures):
                with contextlib.suppress(BrokenProcessPool):
                    outcome = future.result()
                    attempts = 0
                    del left[outcome.key]
                    yield outcome
    for key in left:
        yield Outcome(
            key,
            "Workers were killed again and again; is there enough memory for as many?",
        )


def with_threads(tasks: Sequence[Task], workers: int) -> list[Task]:
    """Tasks whose runs have a core for each thread of those that run at once."""
    at_once = max(min(workers, len(tasks)), 1)
    most = max(num_cores() // at_once, 1)
    return [_with_most_threads(task, most) for task in tasks]


def _with_most_threads(task: Task, most: int) -> Task:
    threads = min(task.settings.threads or most, most)
    return task._replace(settings=task.settings._replace(threads=threads))


@contextlib.contextmanager
def _pool(
    workers: int, *, run_main: bool
) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn") if run_main else _WithoutMain()
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_start_worker, initargs=(os.getpid(),)
    )
    try:
        yield pool
    except BaseException:  # such as Ctrl-C: the files hold what has been found
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class _ProcessWithoutMain(SpawnProcess):
    """A process that does not know the main script.

    Python's own run it again, under another name. A script whose calls do not stand
    below `if __name__ == "__main__"` would then start a sweep in each of its workers.
    """

    def start(self) -> None:
        """Starts the process, which is told of an empty main module."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _WithoutMain(SpawnContext):
    """Starts such processes."""

    Process = _ProcessWithoutMain


def _start_worker(parent: int) -> None:
    """Makes a worker ignore Ctrl-C, which its parent handles, and end when its parent
    has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
                write_file(task.path(ending), rows)
            yield outcome
    finally:
        ray.shutdown()


def _run_away(task: Task) -> tuple[Outcome, bytes | None]:
    """Runs a task in a temporary folder; returns the outcome and the bytes of its rows,
    or of the rows before an error."""
    with tempfile.TemporaryDirectory() as folder:
        task = task._replace(folder=pathlib.Path(folder))
        outcome = run_task(task)
        path = task.path(FINISHED if outcome.error is None else UNFINISHED)
        return outcome, path.read_bytes() if path.exists() else None
