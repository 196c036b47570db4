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
import pickle
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.arenas.choosing import choose_arena
from mccfr_spiel.arenas.needs import needs_of
from mccfr_spiel.arenas.sharing import SharedWalks, is_between_updates, pace_of
from mccfr_spiel.arenas.tree.whole import NUM_BLOCKS_OF_BATCH
from mccfr_spiel.arenas.tree_arenas import TreeWalks
from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import sequences_at, spans
from mccfr_spiel.common.checkpoint import Contents
from mccfr_spiel.common.limits import num_cores
from mccfr_spiel.kernels import shared_walks
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.solving import files
from mccfr_spiel.solving.ray_connection import connected_ray
from mccfr_spiel.solving.state import SolverState

# --- what every process of a cluster holds, and what it does for an update ------------


_ENDLESS = 2**62

Prepare = Callable[[], object]
"""What a worker calls first, such as an import that registers a game."""

State = dict[str, np.ndarray]
"""What `SolverState.saved` gives."""


class Pack(NamedTuple):
    """What the walks for an update found in a share of the blocks.

    Attributes:
        status: DONE, or NEEDS_ONE_THREAD if they could not be walked; then the rest
            says nothing.
        touched: the nodes touched in the top and in these blocks.
        counts: `[K]` how many infosets were met in each of all blocks.
        met: `[M]` these infosets, block by block, ancestors first.
        gradient: `[G]` their gradients.
    """

    status: int
    touched: int
    counts: np.ndarray
    met: np.ndarray
    gradient: np.ndarray


def gather(state: SolverState, share: int, num_shares: int) -> Pack:
    """Makes the walks for the next update anew, and packs what they found.

    Nothing that was learned changes. Signals are heard now and then.

    Args:
        state: of the solver.
        share: the share of the blocks that is walked; `num_shares` for the top alone.
        num_shares: into how many shares the blocks are divided.
    """
    sharing, records = sharing_of(state), state.records()
    _, tree, tables, walk = records
    sharing.drop(tables, walk)
    plan = np.array([0, shared_walks.GATHER, share, num_shares])
    while (status := sharing.run(*records, plan)) == layout.PAUSED:
        pass
    cut = sharing.get_ready()
    counts, touched = cut.num_met.copy(), int(walk.marks[layout.TOUCHED])
    met = cut.met[spans(cut.ends[:-1], counts)]
    gradient = tables.gradient[sequences_at(tree.infosets[met])]
    return Pack(status, touched, counts, met, gradient)


def apply(state: SolverState, packs: Iterable[Pack], touched: int) -> None:
    """Makes the update for which `gather` has walked the top.

    Args:
        state: of the solver.
        packs: those of all shares.
        touched: the nodes that all walks have touched.
    """
    sharing, records = sharing_of(state), state.records()
    _, tree, tables, walk = records
    cut = sharing.get_ready()
    # One pass takes over the blocks of a share. The lists come first, since they say
    # what is to be cleared should Ctrl-C come in between.
    for pack in packs:
        cut.met[spans(cut.ends[:-1], pack.counts)] = pack.met
        np.maximum(cut.num_met, pack.counts, out=cut.num_met)
        tables.gradient[sequences_at(tree.infosets[pack.met])] = pack.gradient
    walk.marks[layout.TOUCHED] = touched
    sharing.run(*records, np.array([0, shared_walks.APPLY, 0, 1]))


def sharing_of(state: SolverState) -> SharedWalks:
    """What runs walks by blocks, which states made with `splits` have."""
    engine = state.engine
    assert isinstance(engine, TreeWalks)
    assert engine.shared is not None
    return engine.shared


class Recipe(NamedTuple):
    """What a worker is made of, wherever it is.

    Attributes:
        contents: of a checkpoint, without the tables.
        algorithm: what is run.
        twin: whether the game's compiled twin may expand the tree.
    """

    contents: Contents
    algorithm: Algorithm
    twin: bool | None


class Worker:
    """Holds a tree and tables, and walks and updates as it is told."""

    def __init__(
        self, recipe: Recipe, threads: int = 1, prepare: Prepare | None = None
    ) -> None:
        """Makes nothing before `get_ready`."""
        self._recipe, self._threads, self._prepare = recipe, threads, prepare
        self.state: SolverState | None = None

    def get_ready(self) -> None:
        """Makes the tree and the tables, and compiles, at the first call.

        Raises:
            CheckpointError: the game is another one here.
            ValueError: it cannot be made of its string, or does not fit.
        """
        if self.state is not None:
            return
        if self._prepare is not None:
            self._prepare()
        contents, algorithm, twin = self._recipe
        table = files.arena_of_file(contents, None, None, None, twin)
        arena = choose_arena(table, needs_of(algorithm, cluster=True))
        seed = contents.header["seed"]
        state = SolverState(arena, algorithm, seed, self._threads, splits=True)
        files.check_rules(contents, state, None)
        for limit in layout.LAST_ITERATION, layout.NODE_LIMIT, layout.PAUSE_LIMIT:
            state.job[limit] = _ENDLESS  # the driver says when to stop
        sharing_of(state).get_ready()
        self.state = state

    def gather(
        self, cursor: tuple[int, ...], share: int, num_shares: int, tables: State | None
    ) -> Pack | None:
        """Makes the walks for the next update in a share of the blocks.

        Args:
            cursor: where the driver stands, see `CURSOR_SIZE`.
            share, num_shares: see the function `gather`.
            tables: the driver's; None for a worker that has them.

        Returns:
            What they found; None if the worker does not stand where the driver does.
        """
        state = self.state
        assert state is not None
        if tables is not None:
            state.restore(tables)
        is_there = cursor == tuple(state.walk.cursor.tolist())
        return gather(state, share, num_shares) if is_there else None

    def apply(self, touched: int, *packs: Pack) -> None:
        """Makes the update for which `gather` has walked, see the function `apply`."""
        assert self.state is not None
        apply(self.state, packs, touched)


# --- crews: workers by number, and how one talks to them ------------------------------


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


# --- the driver of a cluster: it has workers make the walks of a solver's batches -----


LEAST_NODES = 200_000
"""Workers make the walks of a batch that visits this many nodes for each player; the
driver makes shorter batches alone, which takes less time than asking."""

_ATTEMPTS = 3
"""How often in a row a worker may be lost before it is given up."""

_A_MOMENT = 0.02
"""Seconds between two checks whether the workers are there."""

_OF_TREE = "text", "ends", "infosets", "actions"
"""The arrays of a checkpoint that are not tables."""


class ClusterBatches:
    """Runs the batches of one solver on a cluster.

    Attributes:
        crew: the workers.
        num_shared: the updates that they have had a part in.
    """

    def __init__(self, cluster: Cluster, state: SolverState) -> None:
        """Connects to the cluster; workers are begun with the first long batch.

        Args:
            cluster: where they are.
            state: of the solver, on a complete tree, made with `splits`.

        Raises:
            ValueError: the cluster cannot be had.
        """
        if not hasattr(cluster, "connect"):
            raise ValueError(
                f"cluster={cluster!r} is none, such as ms.cluster.Ray(workers=4) is."
            )
        self._state = state
        self.crew: Crew = cluster.connect()
        self.num_shared = 0
        self._is_begun = self._is_alone = False
        self._losses = [0] * self.crew.num_workers  # in a row
        # Worker -> whether it has the driver's tables; those given up are left out.
        self._is_present: dict[int, bool] = {}

    def pays(self) -> bool:
        """Whether workers should make the walks of the next batch."""
        task, _, _, walk = self._state.records()
        if self._is_alone or not is_between_updates(walk):
            return False
        batch, mean = pace_of(task, walk, self._state.tree.num_players)
        return batch * mean >= LEAST_NODES

    def get_ready(self) -> None:
        """Compiles, begins the workers and waits for them for a while, once batches are
        long enough."""
        if self._is_begun or not self.pays():
            return
        sharing_of(self._state).get_ready()
        recipe = self._recipe()
        for nth in range(self.crew.num_workers):
            self.crew.begin(nth, recipe)
            self._is_present[nth] = False
        self._is_begun = True
        last = time.monotonic() + self.crew.patience
        while time.monotonic() < last and not all(
            map(self._is_ready, [*self._is_present])
        ):
            time.sleep(_A_MOMENT)

    def run(self) -> int:
        """Makes updates up to the job's limits.

        Returns:
            DONE, PAUSED in the midst of an iteration, or NEEDS_ONE_THREAD if this
            process must go on alone. The state is between two updates.
        """
        state = self._state
        _, _, tables, walk = state.records()
        counts = state.counts
        # One pass makes an update. Whatever comes in between throws away what the walks
        # have found. Workers that are an update ahead then say that they are elsewhere.
        while True:
            if not state.next_players():
                return layout.DONE
            is_late = counts[layout.NODES_TOUCHED] >= state.job[layout.PAUSE_LIMIT]
            if counts[layout.PLAYER] and is_late:
                return layout.PAUSED
            try:
                asked = self._ask()
                if not asked or not self._make_update(asked):
                    return layout.NEEDS_ONE_THREAD
            finally:
                sharing_of(state).drop(tables, walk)

    def _ask(self) -> dict[int, Parcel]:
        """Asks all workers that are ready for their shares; does not wait."""
        joining = {
            nth
            for nth, is_present in list(self._is_present.items())
            if not is_present and self._is_ready(nth)
        }
        tables = self.crew.parcel(self._state.saved()) if joining else None
        members = [nth for nth, is_in in self._is_present.items() if is_in]
        members += sorted(joining)
        cursor, asked = tuple(self._state.walk.cursor.tolist()), {}
        for share, nth in enumerate(members):
            turn = cursor, share, len(members), tables if nth in joining else None
            asked[nth] = self.crew.ask(nth, "gather", *turn)
            self._is_present[nth] = True
        return asked

    def _make_update(self, asked: dict[int, Parcel]) -> bool:
        """Makes an update with what the workers find; returns whether it could.

        What a worker does not answer, the driver walks itself.
        """
        state, num_shares = self._state, len(asked)
        top = gather(state, num_shares, num_shares)
        packs, parcels = [], []
        for share, (nth, parcel) in enumerate(asked.items()):
            pack = self._answer(nth, parcel)
            if pack is None:
                pack = gather(state, share, num_shares)
                parcel = self.crew.parcel(pack)
            packs.append(pack)
            parcels.append(parcel)
        if any(pack.status != layout.DONE for pack in [top, *packs]):
            self._is_alone = True
            return False
        touched = top.touched + sum(pack.touched - top.touched for pack in packs)
        for nth in asked:
            if self._is_present.get(nth):
                self.crew.ask(nth, "apply", touched, *parcels)
        apply(state, packs, touched)
        self.num_shared += 1
        return True

    # --- workers ---------------------------------------------------------------

    def _recipe(self) -> Recipe:
        tree = self._state.tree
        header, arrays = files.contents_of(self._state, 0.0)
        of_tree = {name: arrays[name] for name in _OF_TREE if name in arrays}
        contents = Contents(header, of_tree)
        return Recipe(contents, self._state.algorithm, tree.twin)

    def _is_ready(self, nth: int) -> bool:
        """Whether a worker is ready; one that was lost on the way is begun again.

        Raises:
            ValueError: it cannot be made.
        """
        try:
            return self.crew.is_ready(nth)
        except LostWorkerError as error:
            self._replace_worker(nth, error)
            return False
        except Exception as error:
            self._is_begun = False  # all are begun anew if the solver is called again
            self._is_present.clear()
            raise ValueError(
                f"A worker of the cluster cannot be made. {type(error).__name__}: "
                f"{error}"
            ) from error

    def _answer(self, nth: int, parcel: Parcel) -> Pack | None:
        """What a worker has found; None if it is lost or elsewhere."""
        try:
            pack = self.crew.opened(parcel)
        except LostWorkerError as error:
            self._replace_worker(nth, error)
            return None
        self._losses[nth] = 0
        # It is elsewhere after a Ctrl-C, or since this process has gone on alone.
        self._is_present[nth] = pack is not None
        return pack

    @signals_deferred()
    def _replace_worker(self, nth: int, error: Exception) -> None:
        """Begins a worker that is lost again, unless it was lost too often."""
        del self._is_present[nth]
        self._losses[nth] += 1
        if self._losses[nth] <= _ATTEMPTS:
            self.crew.begin(nth, self._recipe())
            self._is_present[nth] = False
        else:
            warnings.warn(
                f"Worker {nth} of the cluster was lost {self._losses[nth]} times in a "
                f"row and is given up; the others do its work. {error}",
                RuntimeWarning,
                stacklevel=2,
            )


# --- workers that are actors of a Ray cluster (the extra `ray`) -----------------------


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
