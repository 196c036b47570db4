"""Several processes, on one machine or on many, that solve one game together.

    solver = ms.Solver("liars_dice", batched, cluster=ms.cluster.Ray(workers=4))

The infosets of each player are cut into a top and blocks, see kernels/shared_walks.py.
Every process holds the same tables, walks the top of all walks, and follows the blocks
of one share. What it finds in its blocks it packs for the others. With the packs of all
shares a process has what it would have found alone, and makes the update. So results
are those of one process, to the bit, whatever the number of workers, and whichever of
them are lost on the way.

The driver can be saved between any two updates, does the work of a worker that is lost,
and tells a new one where it stands. With `Ray` (the extra `ray`) packs go from worker
to worker through Ray's object store, not by way of the driver.
"""

import contextlib
from dataclasses import dataclass
from typing import Any

from mccfr_spiel.arenas.tree.whole import NUM_BLOCKS_OF_BATCH
from mccfr_spiel.common import refusals
from mccfr_spiel.common.memory import num_cores
from mccfr_spiel.solving.crews import Crew, LostWorkerError, Parcel
from mccfr_spiel.solving.ray_connection import connected_ray
from mccfr_spiel.solving.workers import Prepare, Recipe, Worker

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
        workers: how many; None for as many as there are cores for, and at most 32.
            Infosets are cut into about 32 pieces, so that more would have no work.
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
        if self.workers is not None:
            refusals.integer(self.workers, "workers", 1)
        refusals.integer(self.threads, "threads", 1)
        if not self.patience >= 0:
            raise ValueError(f"patience={self.patience} is not at least 0.")

    def connect(self) -> "RayCrew":
        """The crew, with no worker begun; connects to Ray if need be.

        Raises:
            ValueError: Ray is not installed, or there is no cluster at the address.
        """
        cores = self.workers or max(num_cores() // self.threads, 1)
        ray, _ = connected_ray(self.address, cores * self.threads)
        room = int(ray.cluster_resources().get("CPU", 1)) // self.threads
        room = min(max(room, 1), NUM_BLOCKS_OF_BATCH)
        return RayCrew(ray, self, self.workers or room)


class RayCrew(Crew):
    """A crew of actors. An actor that is no longer named here is ended by Ray."""

    def __init__(self, ray: Any, cluster: Ray, num_workers: int) -> None:
        """Has no workers yet.

        Args:
            ray: the module.
            cluster: where the workers shall be.
            num_workers: how many there shall be.
        """
        super().__init__(num_workers, cluster.patience)
        self._ray, self._cluster = ray, cluster
        self._make = ray.remote(num_cpus=cluster.threads, max_restarts=0)(Worker)
        self._beginnings: dict[int, Any] = {}

    def begin(self, nth: int, recipe: Recipe) -> None:
        """See `Crew`."""
        old = self.workers.pop(nth, None)
        if old is not None:  # it may hang
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(old)
        cluster = self._cluster
        self.workers[nth] = self._make.remote(recipe, cluster.threads, cluster.prepare)
        self._beginnings[nth] = self.ask(nth, "get_ready")

    def is_ready(self, nth: int) -> bool:
        """See `Crew`."""
        done, _ = self._ray.wait([self._beginnings[nth]], timeout=0)
        try:
            self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except self._ray.exceptions.RayError as error:
            raise LostWorkerError(str(error)) from error
        return bool(done)

    def ask(self, nth: int, method: str, *arguments: Any) -> Parcel:
        """See `Crew`."""
        return getattr(self.workers[nth], method).remote(*arguments)

    def opened(self, parcel: Parcel) -> Any:
        """See `Crew`."""
        try:
            return self._ray.get(parcel, timeout=_TURN_SECONDS)
        except (self._ray.exceptions.RayError, TimeoutError) as error:
            raise LostWorkerError(str(error)) from error

    def parcel(self, content: object) -> Parcel:
        """See `Crew`."""
        return self._ray.put(content)
