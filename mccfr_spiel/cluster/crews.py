"""Crews: workers by number, and how one talks to them."""

import pickle
from dataclasses import dataclass
from typing import Any, Protocol

from mccfr_spiel import refusals
from mccfr_spiel.cluster.workers import Recipe, Worker
from mccfr_spiel.tree.blocks import NUM_BLOCKS_OF_BATCH

MOST_WORKERS = NUM_BLOCKS_OF_BATCH
"""About as many blocks each player has for workers to share."""

Parcel = Any
"""Something that is or will be somewhere: `Crew.opened` gives the content."""


class LostWorkerError(Exception):
    """A worker has ended, or does not answer any more."""


class Crew(Protocol):
    """Workers 0, 1, ..., each of which may be lost at any time.

    Attributes:
        num_workers: how many there are, or should be.
        patience: seconds for which a run waits for all workers when it begins.
    """

    num_workers: int
    patience: float

    def begin(self, nth: int, recipe: Recipe) -> None:
        """Begins to make a worker, in the place of the one that had its number."""

    def is_ready(self, nth: int) -> bool:
        """Whether a worker that was begun is there by now.

        Raises:
            LostWorkerError: it has ended, so it can be begun again.
            Exception: what kept it from being made, and would again.
        """
        ...

    def ask(self, nth: int, method: str, *arguments: Any) -> Parcel:
        """Has a worker call a method of `Worker`; does not wait.

        Args:
            nth: the worker.
            method: the method's name.
            arguments: its arguments; what is in a parcel is taken out first.

        Returns:
            What the method will return.
        """
        ...

    def opened(self, parcel: Parcel) -> Any:
        """What is in a parcel; waits for it.

        Raises:
            LostWorkerError: the worker that was asked for it is lost.
        """
        ...

    def parcel(self, content: object) -> Parcel:
        """A parcel with something of this process."""
        ...


class Cluster(Protocol):
    """What `Solver(cluster=...)` may be: where workers are, as a value."""

    def connect(self) -> Crew:
        """The crew, with no worker begun.

        Raises:
            ValueError: there is no such cluster, or a package is missing.
        """
        ...


def checked_workers(workers: int | None) -> int | None:
    """Returns a number of workers, or None; raises ValueError if it cannot be had."""
    if workers is None:
        return None
    workers = refusals.integer(workers, "workers", 1)
    if workers > MOST_WORKERS:
        raise ValueError(
            f"workers={workers} is more than {MOST_WORKERS}, into which a game's "
            "infosets are cut; give each of them several threads instead."
        )
    return workers


@dataclass(frozen=True)
class InThisProcess:
    """Workers that are objects in this process and work one after the other.

    It is no faster than one process. It shows that the bits are those of one process.

    Attributes:
        workers: how many.
    """

    workers: int = 2

    def __post_init__(self) -> None:
        checked_workers(self.workers)

    def connect(self) -> "LocalCrew":
        """The crew, with no worker begun."""
        return LocalCrew(self.workers)


class LocalCrew:
    """A crew of objects in this process; what they are told and answer is pickled."""

    patience = 0.0

    def __init__(self, num_workers: int) -> None:
        """Has no workers yet."""
        self.num_workers = num_workers
        self.workers: dict[int, Worker] = {}

    def begin(self, nth: int, recipe: Recipe) -> None:
        """See `Crew`."""
        self.workers[nth] = Worker(pickle.loads(pickle.dumps(recipe)))

    def is_ready(self, nth: int) -> bool:
        """See `Crew`."""
        self.workers[nth].get_ready()
        return True

    def ask(self, nth: int, method: str, *arguments: Any) -> Parcel:
        """See `Crew`."""
        if nth not in self.workers:
            return None
        given = (pickle.loads(a) if isinstance(a, bytes) else a for a in arguments)
        return pickle.dumps(getattr(self.workers[nth], method)(*given))

    def opened(self, parcel: Parcel) -> Any:
        """See `Crew`."""
        if parcel is None:
            raise LostWorkerError
        return pickle.loads(parcel)

    def parcel(self, content: object) -> Parcel:
        """See `Crew`."""
        return pickle.dumps(content)
