"""Workers that are actors of a Ray cluster (the extra `ray`).

Packs go from worker to worker through Ray's object store, not by way of the driver.
"""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mccfr_spiel import refusals
from mccfr_spiel.cluster.crews import (
    MOST_WORKERS,
    LostWorkerError,
    Parcel,
    checked_workers,
)
from mccfr_spiel.cluster.packs import Pack
from mccfr_spiel.cluster.workers import Prepare, Recipe, State, Turn, Worker
from mccfr_spiel.compiled.teams import num_cores

_TURN_SECONDS = 120.0
"""A worker that takes longer for its walks is replaced; they should take a second or
two."""


@dataclass(frozen=True)
class Ray:
    """Workers on a Ray cluster.

        cluster = ms.cluster.Ray(workers=4, address="auto")
        ms.Solver("liars_dice", batched, cluster=cluster)

    A Ray that this process has started, or is connected to, is used. The machines need
    the same version of this package, and processors whose results are the same: so take
    machines of one kind for rules with exponentials, such as FTRL.

    Attributes:
        workers: how many, up to 32; None for as many as there are cores for.
        address: of the cluster, as `ray.init` takes it, such as "auto"; None starts one
            on this machine, which ends with this process.
        threads: of each worker, for which it takes as many cores.
        patience: how many seconds a run waits for all workers when it begins; those
            that come later join it.
        prepare: a function that each worker calls first, such as one that imports the
            module that registers a game.
    """

    workers: int | None = None
    address: str | None = None
    threads: int = 1
    patience: float = 60.0
    prepare: Prepare | None = None

    def __post_init__(self) -> None:
        checked_workers(self.workers)
        refusals.integer(self.threads, "threads", 1)
        if not self.patience >= 0:
            raise ValueError(f"patience={self.patience} is not at least 0.")

    def connect(self) -> "RayCrew":
        """The crew, with no worker begun; connects to Ray if need be.

        Raises:
            ValueError: Ray is not installed, or there is no cluster at the address.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise ValueError(
                "A cluster takes Ray, which is not installed: pip install "
                f"'mccfr_spiel[ray]'. ({error})"
            ) from error
        if not ray.is_initialized():
            try:
                if self.address is None:
                    workers = self.workers or max(num_cores() // self.threads, 1)
                    ray.init(
                        num_cpus=workers * self.threads,
                        include_dashboard=False,
                        log_to_driver=False,
                    )
                else:
                    ray.init(address=self.address, log_to_driver=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ValueError(
                    f"There is no Ray cluster at {self.address or 'this machine'}: "
                    f"{error}"
                ) from error
        cores = int(ray.cluster_resources().get("CPU", 1))
        room = min(max(cores // self.threads, 1), MOST_WORKERS)
        return RayCrew(ray, self.workers or room, self.threads)


class RayCrew:
    """Actors by number. An actor that is no longer named here is ended by Ray."""

    def __init__(self, ray: Any, num_workers: int, threads: int) -> None:
        """Has no workers yet.

        Args:
            ray: the module.
            num_workers: how many there shall be.
            threads: of each.
        """
        self._ray, self.num_workers = ray, num_workers
        self._make = ray.remote(num_cpus=threads, max_restarts=0)(Worker)
        self.actors: dict[int, Any] = {}
        self._beginnings: dict[int, Any] = {}

    def begin(self, nth: int, recipe: Recipe) -> None:
        """See `Crew`."""
        old = self.actors.pop(nth, None)
        if old is not None:  # it may hang
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(old)
        self.actors[nth] = actor = self._make.remote(recipe)
        self._beginnings[nth] = actor.get_ready.remote()

    def is_ready(self, nth: int) -> bool:
        """See `Crew`."""
        beginning = self._beginnings.get(nth)
        if beginning is None:
            return nth in self.actors
        done, _ = self._ray.wait([beginning], timeout=0)
        if not done:
            return False
        del self._beginnings[nth]
        try:
            return self._ray.get(beginning)
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except self._ray.exceptions.RayError as error:
            raise LostWorkerError(str(error)) from error

    def gather(self, nth: int, turn: Turn, tables: Parcel) -> Parcel:
        """See `Crew`."""
        return self.actors[nth].gather.remote(turn, tables)

    def apply(self, nth: int, touched: int, packs: Sequence[Parcel]) -> None:
        """See `Crew`."""
        self.actors[nth].apply.remote(touched, *packs)

    def opened(self, parcel: Parcel) -> Pack | None:
        """See `Crew`."""
        try:
            return self._ray.get(parcel, timeout=_TURN_SECONDS)
        except (self._ray.exceptions.RayError, TimeoutError) as error:
            raise LostWorkerError(str(error)) from error

    def parcel(self, content: Pack | State) -> Parcel:
        """See `Crew`."""
        return self._ray.put(content)
