"""Workers of a cluster: the walks and the update that every process computes."""

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
