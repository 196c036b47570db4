"""The driver of a cluster: distributes the batches of walks of one solver.

cluster.py explains the terms driver, worker, share and pack.
"""

import time
import warnings

from mccfr_spiel.arenas.sharing import is_between_updates, pace_of
from mccfr_spiel.common.checkpoint import Contents
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.solving import files
from mccfr_spiel.solving.crews import Cluster, Crew, LostWorkerError, Parcel
from mccfr_spiel.solving.state import SolverState
from mccfr_spiel.solving.workers import Pack, Recipe, apply, gather, sharing_of

LEAST_NODES = 200_000
"""Batches with fewer expected nodes per player are walked by the driver alone, because
the communication would take longer than the walks."""

_ATTEMPTS = 3
"""How often in a row a lost worker is restarted; after another loss it is abandoned."""

_A_MOMENT = 0.02
"""Seconds between two checks for ready workers."""

_OF_TREE = "text", "ends", "infosets", "actions"
"""Names of a checkpoint's arrays that describe infosets; workers need no others."""


class ClusterBatches:
    """Runs the batches of one solver on a cluster.

    Attributes:
        crew: the workers.
        num_shared: the number of updates whose walks the workers made.
    """

    def __init__(self, cluster: Cluster, state: SolverState) -> None:
        """Connects to the cluster. Workers are started later, by `get_ready`.

        Args:
            cluster: the description of the workers.
            state: the state of a solver on a whole tree, made with `splits=True`.

        Raises:
            ValueError: the cluster is not available.
        """
        if not hasattr(cluster, "connect"):
            raise ValueError(
                f"cluster={cluster!r} must be a cluster such as "
                "ms.cluster.Ray(workers=4)."
            )
        self._state = state
        self.crew: Crew = cluster.connect()
        self.num_shared = 0
        self._is_begun = self._is_alone = False
        self._losses = [0] * self.crew.num_workers  # consecutive losses
        # Number of a worker -> whether the worker has the driver's tables. Abandoned
        # workers are missing.
        self._is_present: dict[int, bool] = {}

    def pays(self) -> bool:
        """Whether the workers should run the next batch.

        False if the batch is small, if a part of it has already been walked, or if the
        walks turned out to be unsuitable for sharing in an earlier batch.
        """
        task, _, _, walk = self._state.records()
        if self._is_alone or not is_between_updates(walk):
            return False
        batch, mean = pace_of(task, walk, self._state.tree.num_players)
        return batch * mean >= LEAST_NODES

    def get_ready(self) -> None:
        """Before the first batch that pays, compiles and starts the workers.

        Waits for all workers, but not longer than the patience of the crew. Otherwise
        does nothing.
        """
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
        """Makes updates up to the limits of the job.

        The state is between two updates when this method returns.

        Returns:
            A status: DONE if the limits are reached; PAUSED if some players of the
            iteration have not been updated yet; NEEDS_ONE_THREAD if the driver must
            continue alone.
        """
        state = self._state
        _, _, tables, walk = state.records()
        counts = state.counts
        # Each iteration of this loop makes one update. An exception discards the
        # results of the walks. Some workers may then have made the update already; they
        # return None at the next request, because their cursor differs.
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
        """Requests the walks for an update from all ready workers, without waiting.

        Returns:
            Number of a worker -> parcel with the worker's pack. The order of the
            workers is the order of the shares.
        """
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
        """Makes an update from the workers' packs.

        The driver itself walks the shares of workers that do not answer.

        Args:
            asked: the result of `_ask`.

        Returns:
            True; False if the walks cannot be shared. No update is made then, and the
            driver makes all further updates alone.
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
        """Whether a worker is ready; replaces the worker if it has been lost.

        Raises:
            ValueError: the worker cannot be prepared, for example because it cannot
                load the game.
        """
        try:
            return self.crew.is_ready(nth)
        except LostWorkerError as error:
            self._replace_worker(nth, error)
            return False
        except Exception as error:
            self._is_begun = False  # a later call starts all workers again
            self._is_present.clear()
            raise ValueError(
                f"A worker of the cluster cannot start. {type(error).__name__}: {error}"
            ) from error

    def _answer(self, nth: int, parcel: Parcel) -> Pack | None:
        """The pack of a worker; None if the worker is lost or has another cursor."""
        try:
            pack = self.crew.opened(parcel)
        except LostWorkerError as error:
            self._replace_worker(nth, error)
            return None
        self._losses[nth] = 0
        # The cursor of a worker (iteration, player, touched nodes) differs from the
        # driver's after Ctrl-C, or if the driver has made updates alone.
        self._is_present[nth] = pack is not None
        return pack

    @signals_deferred()
    def _replace_worker(self, nth: int, error: Exception) -> None:
        """Restarts a lost worker; warns and abandons it if it was lost too often."""
        del self._is_present[nth]
        self._losses[nth] += 1
        if self._losses[nth] <= _ATTEMPTS:
            self.crew.begin(nth, self._recipe())
            self._is_present[nth] = False
        else:
            warnings.warn(
                f"Worker {nth} of the cluster was lost {self._losses[nth]} times in a "
                f"row and is not restarted. The other processes do the work. {error}",
                RuntimeWarning,
                stacklevel=2,
            )
