"""Crews: workers by number, and how one talks to them."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mccfr_spiel import refusals
from mccfr_spiel.cluster.packs import Pack
from mccfr_spiel.cluster.workers import Prepare, Recipe, State, Turn, Worker
from mccfr_spiel.tree.blocks import NUM_BLOCKS_OF_BATCH

MOST_WORKERS = NUM_BLOCKS_OF_BATCH
"""About as many blocks each player has for workers to share."""

Parcel = Any
"""A pack or tables, or None, that are or will be somewhere: what `Crew.gather` and
`Crew.parcel` return, and `Crew.opened` gives the content of."""


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

    def gather(self, nth: int, turn: Turn, tables: Parcel) -> Parcel:
        """Asks a worker for `Worker.gather`; does not wait.

        Args:
            nth: the worker.
            turn: what it is asked for.
            tables: None, or the driver's.
        """
        ...

    def apply(self, nth: int, touched: int, packs: Sequence[Parcel]) -> None:
        """Has a worker call `Worker.apply`; does not wait."""
        ...

    def opened(self, parcel: Parcel) -> Pack | None:
        """What a worker has answered to `gather`; waits for it.

        Raises:
            LostWorkerError: there is no answer.
        """
        ...

    def parcel(self, content: Pack | State) -> Parcel:
        """A pack or tables of this process, for the workers."""
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
            f"workers={workers} is more than {MOST_WORKERS}, into which a game's "
            "infosets are cut; give each of them several threads instead."
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

    def gather(self, nth: int, turn: Turn, tables: Parcel) -> Parcel:
        """See `Crew`."""
        if nth not in self.workers:
            return None
        given = None if tables is None else pickle.loads(tables)
        return pickle.dumps(self.workers[nth].gather(turn, given))

    def apply(self, nth: int, touched: int, packs: Sequence[Parcel]) -> None:
        """See `Crew`."""
        if nth in self.workers:
            self.workers[nth].apply(touched, *map(pickle.loads, packs))

    def opened(self, parcel: Parcel) -> Pack | None:
        """See `Crew`."""
        if parcel is None:
            raise LostWorkerError
        return pickle.loads(parcel)

    def parcel(self, content: Pack | State) -> Parcel:
        """See `Crew`."""
        return pickle.dumps(content)
