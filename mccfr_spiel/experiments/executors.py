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
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from mccfr_spiel.storage import locks

Executor = Callable[[Sequence[Task]], Iterator[Outcome]]
"""Runs tasks and yields the outcome of each when it is known."""

_WORKER_LOCKS = ".worker-*.lock"
_ATTEMPTS = 3


# --- this machine ------------------------------------------------------------------


def in_this_process(tasks: Sequence[Task]) -> Iterator[Outcome]:
    """Runs tasks one after the other, with no process of their own.

    A task has no more threads than there are cores.
    """
    return map(run_task, with_threads(tasks, num_cores()))


def local(
    tasks: Sequence[Task], workers: int, *, run_main: bool = True
) -> Iterator[Outcome]:
    """Runs tasks in processes of this machine and replaces processes that are killed.

    A task is given up when its worker has been killed more than _ATTEMPTS times. The
    threads of all workers together are not more than the machine's cores, unless the
    workers alone are.

    Args:
        tasks: what to run.
        workers: how many processes.
        run_main: whether processes import the main script first, as Python's own do.
            Such a script must keep its calls below `if __name__ == "__main__"`, and may
            register games.
    """
    tasks = with_threads(tasks, threads_each(workers, len(tasks)))
    left = {task.key: task for task in tasks}
    attempts = dict.fromkeys(left, 0)
    in_vain = 0
    # When one worker is killed, Python breaks the whole pool. So one pass runs what is
    # left in a new pool until all is done or the pool breaks. `in_vain` counts the
    # passes in a row that have finished nothing.
    while left:
        before = len(left)
        with _pool(workers, tasks[0].folder, run_main=run_main) as pool:
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
            # The pool does not say which of the lost tasks were under way, but their
            # files do.
            attempts[key] += left[key].path(UNFINISHED).exists()
            if max(attempts[key], in_vain) > _ATTEMPTS:
                del left[key]
                yield Outcome(
                    key,
                    f"Its worker was killed more than {_ATTEMPTS} times; is there "
                    "enough memory for as many workers?",
                )


def threads_each(workers: int, num_tasks: int) -> int:
    """How many threads each of some workers may have, so that there is a core for each
    thread of those that have a task; at least 1."""
    at_once = max(min(workers, num_tasks), 1)
    return max(num_cores() // at_once, 1)


def with_threads(tasks: Iterable[Task], most: int) -> list[Task]:
    """Tasks whose runs have at most so many threads."""
    return [
        task._replace(
            settings=task.settings._replace(
                threads=min(task.settings.threads or most, most)
            )
        )
        for task in tasks
    ]


@contextlib.contextmanager
def _pool(
    workers: int, folder: pathlib.Path, *, run_main: bool = True
) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    pool = concurrent.futures.ProcessPoolExecutor(
        workers,
        multiprocessing.get_context("spawn") if run_main else _WithoutMain(),
        initializer=_start_worker,
        initargs=(os.getpid(), folder),
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


def _start_worker(parent: int, folder: pathlib.Path) -> None:
    """Makes a worker ignore Ctrl-C, which its parent handles, and end when its parent
    has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name = _WORKER_LOCKS.replace("*", uuid.uuid4().hex)
    folder.mkdir(parents=True, exist_ok=True)  # it may have been deleted
    lock = locks.acquire(folder / name)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        locks.release(lock)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def wait_for_workers(folder: pathlib.Path, seconds: float) -> None:
    """Waits until no worker of an earlier sweep is running in a folder.

    Raises:
        ValueError: one is still running after so many seconds.
    """
    for path in folder.glob(_WORKER_LOCKS):
        try:
            locks.release(locks.acquire(path, seconds=seconds))
        except TimeoutError as error:
            raise ValueError(
                f"A worker of an earlier sweep is still running in {folder}: {error}"
            ) from error


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
        tasks = with_threads(tasks, 1)
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
                task.path(UNFINISHED).write_bytes(rows)
                if outcome.error is None:
                    os.replace(task.path(UNFINISHED), task.path(FINISHED))
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
