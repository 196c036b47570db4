"""What the processes of a cluster do for an update, and what they exchange.

The infosets of each player are cut into a top and blocks, see
`kernels.shared_walks`. Every process walks the top of all walks, and the blocks of one
share. What it finds in its blocks it packs for the others. With the packs of all shares
a process has what it would have found alone, and makes the update.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.kernels.scratch import Cut
from mccfr_spiel.kernels.shared_walks import (
    APPLY,
    GATHER,
    NUM_SHARES,
    PLAN_SIZE,
    PURPOSE,
    SHARE,
)
from mccfr_spiel.solving.sharing import SharedWalks
from mccfr_spiel.solving.state import SolverState


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

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return self.counts.nbytes + self.met.nbytes + self.gradient.nbytes


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
    plan = _plan(GATHER, share, num_shares)
    while (status := sharing.run(*records, plan)) == kernels.PAUSED:
        pass
    cut = sharing.get_ready()
    met = cut.met[_spans(cut.ends[:-1], cut.num_met)]
    return Pack(
        status=status,
        touched=int(walk.marks[kernels.TOUCHED]),
        counts=cut.num_met.copy(),
        met=met,
        gradient=tables.gradient[_sequences(tree.infosets, met)],
    )


def apply(state: SolverState, packs: Iterable[Pack], touched: int) -> None:
    """Makes the update for which `gather` has walked the top.

    Args:
        state: of the solver.
        packs: those of all shares.
        touched: the nodes that all walks have touched.
    """
    sharing, records = sharing_of(state), state.records()
    _, tree, tables, walk = records
    cut: Cut = sharing.get_ready()
    # One pass takes over the blocks of a share. The lists come first, since they say
    # what is to be cleared should Ctrl-C come in between.
    for pack in packs:
        is_met = pack.counts > 0
        cut.met[_spans(cut.ends[:-1], pack.counts)] = pack.met
        cut.num_met[is_met] = pack.counts[is_met]
        tables.gradient[_sequences(tree.infosets, pack.met)] = pack.gradient
    walk.marks[kernels.TOUCHED] = touched
    sharing.run(*records, _plan(APPLY, 0, 1))


def sharing_of(state: SolverState) -> SharedWalks:
    """What runs walks by blocks, which states made with `splits` have."""
    assert state.sharing is not None
    return state.sharing


def _plan(purpose: int, share: int, num_shares: int) -> np.ndarray:
    plan = np.zeros(PLAN_SIZE, np.int64)
    plan[[PURPOSE, SHARE, NUM_SHARES]] = purpose, share, num_shares
    return plan


def _spans(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The numbers `first .. first + count - 1` of each pair, one after another."""
    before = np.cumsum(counts) - counts
    return np.repeat(firsts - before, counts) + np.arange(counts.sum())


def _sequences(infosets: np.ndarray, met: np.ndarray) -> np.ndarray:
    """The sequences that end at some infosets."""
    return _spans(infosets["first_sequence"][met], infosets["num_actions"][met])
