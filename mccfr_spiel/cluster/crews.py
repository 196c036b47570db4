"""Crews: workers by number, and how one talks to them."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mccfr_spiel import refusals
from mccfr_spiel.cluster.workers import Prepare, Recipe, State, Turn, Worker
from mccfr_spiel.solving.splitting import WalkLog

MOST_WORKERS = 32
"""A segment of a batch has no more tickets."""

Parcel = Any
"""A log, or None, that is or will be somewhere: `Crew.opened` gives it."""


class LostWorkerError(Exception):
    """A worker has ended, or does not answer any more."""


class Crew(Protocol):
    """Workers 0, 1, ..., each of which may be lost at any time."""

    @property
    def num_workers(self) -> int:
        """How many there are, or should be."""
        ...

    def begin(self, nth: int, recipe: Recipe) -> None:
        """Begins to make a worker, in the place of the one that had its number."""
        ...

    def is_ready(self, nth: int) -> bool:
        """Whether a worker that was begun is there by now.

        Raises:
            LostWorkerError: it has ended, so it can be begun again.
            Exception: what kept it from being made, and would again.
        """
        ...

    def turn(
        self, nth: int, turn: Turn, state: Parcel, parcels: Sequence[Parcel]
    ) -> Parcel:
        """Asks a worker for a turn; does not wait.

        Args:
            nth: the worker.
            turn: what it is asked for.
            state: None, or the tables with which it begins, see `Worker.turn`.
            parcels: the logs of the last segment, in the order of the tickets.
        """
        ...

    def opened(self, parcel: Parcel) -> WalkLog | None:
        """What a worker has answered; waits for it.

        Raises:
            LostWorkerError: there is no answer.
        """
        ...

    def parcel(self, content: WalkLog | State) -> Parcel:
        """A log or tables of this process, for turns."""
        ...


class Cluster(Protocol):
    """What `Solver(cluster=...)` may be: where workers are, as a value.

    Attributes:
        threads: of each worker.
        patience: seconds for which a run waits for all workers when it begins.
        prepare: see `Recipe`.
    """

    @property
    def threads(self) -> int: ...

    @property
    def patience(self) -> float: ...

    @property
    def prepare(self) -> Prepare | None: ...

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
            f"workers={workers} is more than {MOST_WORKERS}, into which a batch is "
            "cut; give each of them several threads instead."
        )
    return workers


@dataclass(frozen=True)
class InThisProcess:
    """Workers that are objects in this process and take turns one after the other.

    It is no faster than one process. It shows what a network would have to carry, and
    that the bits are those of one process.

    Attributes:
        workers: how many.
    """

    workers: int = 2
    threads = 1
    patience = 0.0
    prepare = None

    def __post_init__(self) -> None:
        checked_workers(self.workers)

    def connect(self) -> "LocalCrew":
        """The crew, with no worker begun."""
        return LocalCrew(self.workers)


class LocalCrew:
    """A crew of objects in this process; what they are told and answer is pickled."""

    def __init__(self, num_workers: int) -> None:
        """Has no workers yet."""
        self.num_workers = num_workers
        self.workers: dict[int, Worker] = {}

    def begin(self, nth: int, recipe: Recipe) -> None:
        """See `Crew`."""
        self.workers[nth] = Worker(pickle.loads(pickle.dumps(recipe)))

    def is_ready(self, nth: int) -> bool:
        """See `Crew`."""
        return nth in self.workers and self.workers[nth].get_ready()

    def turn(
        self, nth: int, turn: Turn, state: Parcel, parcels: Sequence[Parcel]
    ) -> Parcel:
        """See `Crew`."""
        if nth not in self.workers:
            return None
        turn = pickle.loads(pickle.dumps(turn))
        tables = None if state is None else pickle.loads(state)
        logs = map(pickle.loads, parcels)
        return pickle.dumps(self.workers[nth].turn(turn, tables, *logs))

    def opened(self, parcel: Parcel) -> WalkLog | None:
        """See `Crew`."""
        if parcel is None:
            raise LostWorkerError
        return pickle.loads(parcel)

    def parcel(self, content: WalkLog | State) -> Parcel:
        """See `Crew`."""
        return pickle.dumps(content)
