"""Numbered workers, and the driver's calls to them."""

import pickle
from typing import Any, Protocol

from mccfr_spiel.solving.workers import Recipe, Worker

Parcel = Any
"""A reference to an object in some process. The object may not be computed yet;
`Crew.opened` waits for it and returns it."""


class LostWorkerError(Exception):
    """A worker has ended or does not answer."""


class Crew:
    """Workers 0, 1, ..., each of which may be lost at any time.

    The workers of this base class, which serves for tests, are objects in this process.
    Arguments and answers are pickled, as between processes.

    Attributes:
        num_workers: the intended number of workers.
        patience: seconds to wait for all workers at the beginning of a run.
        workers: number of a worker -> `Worker`, or a handle of one.
    """

    def __init__(self, num_workers: int, patience: float = 0.0) -> None:
        """Stores the arguments; starts no workers."""
        self.num_workers, self.patience = num_workers, patience
        self.workers: dict[int, Any] = {}

    def begin(self, nth: int, recipe: Recipe) -> None:
        """Starts worker number `nth`; replaces an existing worker of this number."""
        self.workers[nth] = Worker(pickle.loads(pickle.dumps(recipe)))

    def is_ready(self, nth: int) -> bool:
        """Whether a worker has finished its preparation.

        Raises:
            LostWorkerError: the worker has ended and can be restarted.
            Exception: the preparation failed; a restart would fail, too.
        """
        self.workers[nth].get_ready()
        return True

    def ask(self, nth: int, method: str, *arguments: Any) -> Parcel:
        """Requests a method call from a worker, without waiting.

        Args:
            nth: the number of the worker.
            method: the name of a method of `Worker`.
            arguments: the arguments; parcels are replaced by their contents.

        Returns:
            A parcel with the return value. Opening it raises LostWorkerError if there
            is no such worker.
        """
        if nth not in self.workers:
            return None
        opened = (pickle.loads(a) if isinstance(a, bytes) else a for a in arguments)
        return pickle.dumps(getattr(self.workers[nth], method)(*opened))

    def opened(self, parcel: Parcel) -> Any:
        """Waits for a parcel and returns its content.

        Raises:
            LostWorkerError: the worker that computes it is lost.
        """
        if parcel is None:
            raise LostWorkerError
        return pickle.loads(parcel)

    def parcel(self, content: object) -> Parcel:
        """Makes a parcel of an object, which `ask` accepts as an argument."""
        return pickle.dumps(content)


class Cluster(Protocol):
    """The type of `Solver(cluster=...)`: settings that can make a crew of workers."""

    def connect(self) -> Crew:
        """Returns a crew that has not started workers yet.

        Raises:
            ValueError: the cluster does not exist, or a package is missing.
        """
        ...
