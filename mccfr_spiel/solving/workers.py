"""The tables, walks and updates of each process of a cluster.

cluster.py explains the terms driver, worker, share and top.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.arenas.choosing import choose_arena
from mccfr_spiel.arenas.needs import needs_of
from mccfr_spiel.arenas.sharing import SharedWalks
from mccfr_spiel.arenas.tree_arenas import TreeWalks
from mccfr_spiel.common.arrays import sequences_at, spans
from mccfr_spiel.common.checkpoint import Contents
from mccfr_spiel.kernels import shared_walks
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.solving import files
from mccfr_spiel.solving.state import SolverState

_ENDLESS = 2**62

Prepare = Callable[[], object]
"""A function that a worker calls first, such as an import that registers a game."""

State = dict[str, np.ndarray]
"""The type of the result of `SolverState.saved`: name -> array."""


class Pack(NamedTuple):
    """The results of the walks for one update, in the blocks of one share.

    Attributes:
        status: DONE; NEEDS_ONE_THREAD if a walk is too long or a payoff too unlikely
            for sharing. All other fields are undefined in the second case.
        touched: number of nodes touched in the top and in the blocks of the share.
        counts: `[K]` for each of the K blocks, the number of visited infosets; 0 in
            blocks of other shares.
        met: `[M]` the visited infosets, block by block, ancestors first.
        gradient: `[G]` the gradient at the sequences of these infosets, in this order.
    """

    status: int
    touched: int
    counts: np.ndarray
    met: np.ndarray
    gradient: np.ndarray


def gather(state: SolverState, share: int, num_shares: int) -> Pack:
    """Runs the walks for the next update in the top and in one share of the blocks.

    Results of earlier calls for the same update are dropped first. Learned tables do
    not change, except for the gradient. The compiled code returns regularly so that
    Python can handle signals.

    Args:
        state: the state of the solver.
        share: the index of the share. `num_shares` restricts the walks to the top.
        num_shares: the number of shares.
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
    """Makes an update from the packs of all shares.

    `gather` must have run in this process before, because the gradient in the top is
    not in the packs.

    Args:
        state: the state of the solver.
        packs: the packs of all shares.
        touched: the total number of nodes touched by the walks.
    """
    sharing, records = sharing_of(state), state.records()
    _, tree, tables, walk = records
    cut = sharing.get_ready()
    # The visited infosets of a pack are copied before its gradient. If Ctrl-C
    # interrupts, `SharedWalks.drop` then knows which gradients must be cleared.
    for pack in packs:
        cut.met[spans(cut.ends[:-1], pack.counts)] = pack.met
        np.maximum(cut.num_met, pack.counts, out=cut.num_met)
        tables.gradient[sequences_at(tree.infosets[pack.met])] = pack.gradient
    walk.marks[layout.TOUCHED] = touched
    sharing.run(*records, np.array([0, shared_walks.APPLY, 0, 1]))


def sharing_of(state: SolverState) -> SharedWalks:
    """The part of the engine that walks block by block.

    The state must have been made with `splits=True`.
    """
    engine = state.engine
    assert isinstance(engine, TreeWalks)
    assert engine.shared is not None
    return engine.shared


class Recipe(NamedTuple):
    """All data from which a process makes a worker.

    Attributes:
        contents: the contents of a checkpoint, without tables.
        algorithm: the algorithm.
        twin: whether the game's compiled twin may expand the tree.
    """

    contents: Contents
    algorithm: Algorithm
    twin: bool | None


class Worker:
    """A copy of the driver's solver. It walks and updates at the driver's request."""

    def __init__(
        self, recipe: Recipe, threads: int = 1, prepare: Prepare | None = None
    ) -> None:
        """Stores the arguments; `get_ready` makes the tables.

        Args:
            recipe: the game and the algorithm.
            threads: the number of threads of the worker.
            prepare: a function to call first; None for no such function.
        """
        self._recipe, self._threads, self._prepare = recipe, threads, prepare
        self.state: SolverState | None = None

    def get_ready(self) -> None:
        """At the first call, makes the tree and the tables, and compiles.

        Raises:
            CheckpointError: the game in this process is a different one.
            ValueError: the game cannot be loaded, or does not fit into memory.
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
            state.job[limit] = _ENDLESS  # the driver decides when to stop
        sharing_of(state).get_ready()
        self.state = state

    def gather(
        self, cursor: tuple[int, ...], share: int, num_shares: int, tables: State | None
    ) -> Pack | None:
        """Runs the walks for the driver's next update in one share.

        Args:
            cursor: the driver's cursor: iteration, player and touched nodes, see
                `layout.CURSOR_SIZE`.
            share, num_shares: see the function `gather`.
            tables: the driver's arrays, if the worker is new; otherwise None.

        Returns:
            The pack of the share; None if the worker's cursor differs from the
            driver's, so that their tables differ.
        """
        state = self.state
        assert state is not None
        if tables is not None:
            state.restore(tables)
        is_there = cursor == tuple(state.walk.cursor.tolist())
        return gather(state, share, num_shares) if is_there else None

    def apply(self, touched: int, *packs: Pack) -> None:
        """Makes an update after `gather`. The arguments are those of the function
        `apply`."""
        assert self.state is not None
        apply(self.state, packs, touched)
