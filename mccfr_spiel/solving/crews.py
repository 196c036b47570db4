"""Crews: numbered workers, and the calls that the driver makes to them."""

import pickle
from typing import Any, Protocol

from mccfr_spiel.solving.workers import Recipe, Worker

Parcel = Any
"""Something that is, or will be, in some process; `Crew.opened` gives the content."""


class LostWorkerError(Exception):
    """A worker has ended, or does not answer any more."""


class Crew:
    """Workers 0, 1, ..., each of which may be lost at any time.

    The workers of this class are objects in this process; their arguments and answers
    are pickled.

    Attributes:
        num_workers: how many there are, or should be.
        patience: seconds for which a run waits for all workers when it begins.
    """

    def __init__(self, num_workers: int, patience: float = 0.0) -> None:
        """Has no workers yet."""
        self.num_workers, self.patience = num_workers, patience
        self.workers: dict[int, Any] = {}

    def begin(self, nth: int, recipe: Recipe) -> None:
        """Begins to make a worker; replaces the one that had its number."""
        self.workers[nth] = Worker(pickle.loads(pickle.dumps(recipe)))

    def is_ready(self, nth: int) -> bool:
        """Whether a worker that was begun is there by now.

        Raises:
            LostWorkerError: it has ended, so it can be begun again.
            Exception: what kept it from being made, and would again.
        """
        self.workers[nth].get_ready()
        return True

    def ask(self, nth: int, method: str, *arguments: Any) -> Parcel:
        """Has a worker call a method of `Worker`; does not wait.

        Args:
            nth: the worker.
            method: the method's name.
            arguments: its arguments; what is in a parcel is taken out first.

        Returns:
            What the method will return.
        """
        if nth not in self.workers:
            return None
        given = (pickle.loads(a) if isinstance(a, bytes) else a for a in arguments)
        return pickle.dumps(getattr(self.workers[nth], method)(*given))

    def opened(self, parcel: Parcel) -> Any:
        """What is in a parcel; waits for it.

        Raises:
            LostWorkerError: the worker that was asked for it is lost.
        """
        if parcel is None:
            raise LostWorkerError
        return pickle.loads(parcel)

    def parcel(self, content: object) -> Parcel:
        """A parcel with something of this process."""
        return pickle.dumps(content)


class Cluster(Protocol):
    """What `Solver(cluster=...)` may be: where workers are, as a value."""

    def connect(self) -> Crew:
        """The crew, with no worker begun.

        Raises:
            ValueError: there is no such cluster, or a package is missing.
        """
        ...
