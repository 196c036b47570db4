"""Several processes, on one or many machines, that solve one game together.

    solver = ms.Solver("liars_dice", batched, cluster=ms.cluster.Ray(workers=4))

The process of the Solver is called the driver; it starts the other processes, the
workers. The infosets of each player are divided into blocks, which are whole subtrees,
and the top, the part of the tree above all blocks (see kernels/shared_walks.py). Every
process stores the tables of all infosets.

The blocks are distributed over the workers; the blocks of one worker are its share. For
an update, each worker runs all walks of the batch through the top, but continues them
only into the blocks of its share. It sends the gradients from these blocks, as a
`Pack`, to all other processes. With the packs of all shares, each process has the
complete gradient and updates its own tables. Results are therefore equal, to the bit,
to those of a single process, for any number of workers and whichever workers are lost.

The driver can be saved between any two updates. If a worker is lost, the driver
computes its share, starts a replacement, and sends its tables to the replacement. With
`Ray` (the extra `ray`), packs travel from worker to worker through Ray's object store.

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
"""Time limit in seconds for a worker's answer; a slower worker is replaced. A typical
answer takes one or two seconds."""


@dataclass(frozen=True)
class Ray:
    """Settings of workers on a Ray cluster, for `Solver(cluster=...)`.

        cluster = ms.cluster.Ray(workers=4, address="auto")
        ms.Solver("liars_dice", batched, cluster=cluster)

    If this process has started Ray or is connected to a Ray cluster, that cluster is
    used. All machines need the same version of this package, and processors with
    identical floating-point results. Update rules with exponentials, such as FTRL, need
    machines of a single type, because exponentials may be rounded differently.

    Attributes:
        workers: the number of workers; None for as many as the cores allow, at most 32.
            Infosets are divided into about 32 blocks, so more workers would be idle.
        address: the address for `ray.init`, such as "auto"; None starts a cluster on
            this machine, which ends with this process.
        threads: threads per worker, each of which reserves a core.
        patience: seconds to wait for all workers at the beginning of a run. Workers
            that need longer join when they are ready.
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
        """Connects to Ray if necessary; returns a crew that has not started workers.

        Raises:
            ValueError: Ray is not installed, or the address has no cluster.
        """
        cores = self.workers or max(num_cores() // self.threads, 1)
        ray, _ = connected_ray(self.address, cores * self.threads)
        room = int(ray.cluster_resources().get("CPU", 1)) // self.threads
        room = min(max(room, 1), NUM_BLOCKS_OF_BATCH)
        return RayCrew(ray, self, self.workers or room)


class RayCrew(Crew):
    """A crew of Ray actors. Ray ends an actor once the crew drops the actor's
    handle."""

    def __init__(self, ray: Any, cluster: Ray, num_workers: int) -> None:
        """Stores the settings; starts no workers.

        Args:
            ray: the imported module `ray`.
            cluster: the settings of the workers.
            num_workers: the number of workers.
        """
        super().__init__(num_workers, cluster.patience)
        self._ray, self._cluster = ray, cluster
        self._make = ray.remote(num_cpus=cluster.threads, max_restarts=0)(Worker)
        self._beginnings: dict[int, Any] = {}

    def begin(self, nth: int, recipe: Recipe) -> None:
        """Starts a worker as a Ray actor, see `Crew.begin`."""
        old = self.workers.pop(nth, None)
        if old is not None:  # the old actor may hang, so it is killed
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(old)
        cluster = self._cluster
        self.workers[nth] = self._make.remote(recipe, cluster.threads, cluster.prepare)
        self._beginnings[nth] = self.ask(nth, "get_ready")

    def is_ready(self, nth: int) -> bool:
        """Whether a worker has finished its preparation, see `Crew.is_ready`."""
        done, _ = self._ray.wait([self._beginnings[nth]], timeout=0)
        try:
            self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except self._ray.exceptions.RayError as error:
            raise LostWorkerError(str(error)) from error
        return bool(done)

    def ask(self, nth: int, method: str, *arguments: Any) -> Parcel:
        """Requests a method call from a worker, see `Crew.ask`."""
        return getattr(self.workers[nth], method).remote(*arguments)

    def opened(self, parcel: Parcel) -> Any:
        """Waits for a parcel and returns its content, see `Crew.opened`."""
        try:
            return self._ray.get(parcel, timeout=_TURN_SECONDS)
        except (self._ray.exceptions.RayError, TimeoutError) as error:
            raise LostWorkerError(str(error)) from error

    def parcel(self, content: object) -> Parcel:
        """Stores an object in Ray's object store, see `Crew.parcel`."""
        return self._ray.put(content)
