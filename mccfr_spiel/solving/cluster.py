"""Several processes, on one or many machines, that solve one game together.

    solver = ms.Solver("liars_dice", batched, cluster=ms.cluster.Ray(workers=4))

The infosets of each player are divided into a top and blocks, see
kernels/shared_walks.py. All processes store the same tables. A process follows all
walks through the top, continues them in the blocks of its share, and sends the packed
results to the other processes. With the packs of all shares, a process has the result
of the complete walks and makes the update. Results are therefore equal, to the bit, to
those of a single process, for any number of workers and whichever workers are lost.

The driver can be saved between any two updates. It does the work of a lost worker and
sends its state to the replacement. With `Ray` (the extra `ray`), packs travel between
workers through Ray's object store, not through the driver.

workers.py          the tables, walks and updates of each process
crews.py            calls to numbered workers
cluster_batches.py  the driver
cluster.py          workers as Ray actors
"""

import contextlib
from dataclasses import dataclass
from typing import Any

from mccfr_spiel.arenas.tree.cutting import NUM_BLOCKS_OF_BATCH
from mccfr_spiel.common import refusals
from mccfr_spiel.common.memory import num_cores
from mccfr_spiel.solving.crews import Crew, LostWorkerError, Parcel
from mccfr_spiel.solving.ray_connection import connected_ray
from mccfr_spiel.solving.workers import Prepare, Recipe, Worker

_TURN_SECONDS = 120.0
"""Time limit for a worker's answer; a slower worker is replaced. Typical answers take
one or two seconds."""


@dataclass(frozen=True)
class Ray:
    """Workers on a Ray cluster.

        cluster = ms.cluster.Ray(workers=4, address="auto")
        ms.Solver("liars_dice", batched, cluster=cluster)

    If this process has started Ray or is connected to Ray, that Ray is used. The
    machines need the same version of this package, and processors with identical
    floating-point results. Use machines of one type for rules with exponentials, such
    as FTRL.

    Attributes:
        workers: the number of workers; None for as many as the cores allow, at most 32.
            Infosets are divided into about 32 blocks, so more workers would be idle.
        address: the address for `ray.init`, such as "auto"; None starts a cluster on
            this machine, which ends with this process.
        threads: threads, and cores, per worker.
        patience: seconds to wait for all workers at the beginning of a run; later
            workers join when they are ready.
        prepare: a function that each worker calls first, for example one that imports
            the module that registers a game.
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
            raise ValueError(f"patience={self.patience} must be at least 0.")

    def connect(self) -> "RayCrew":
        """Connects to Ray if necessary; returns the crew without any worker.

        Raises:
            ValueError: Ray is not installed, or the address has no cluster.
        """
        cores = self.workers or max(num_cores() // self.threads, 1)
        ray, _ = connected_ray(self.address, cores * self.threads)
        room = int(ray.cluster_resources().get("CPU", 1)) // self.threads
        room = min(max(room, 1), NUM_BLOCKS_OF_BATCH)
        return RayCrew(ray, self, self.workers or room)


class RayCrew(Crew):
    """A crew of Ray actors. Ray ends an actor once the crew drops its handle."""

    def __init__(self, ray: Any, cluster: Ray, num_workers: int) -> None:
        """Starts no workers.

        Args:
            ray: the module `ray`.
            cluster: the settings of the workers.
            num_workers: the number of workers.
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
