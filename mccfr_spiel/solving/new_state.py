"""Chooses the kind of a solver's tables."""

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.arenas.arena import Arena
from mccfr_spiel.arenas.hand_arena import BlockArena
from mccfr_spiel.arenas.needs import why_no_blocks
from mccfr_spiel.solving.block_state import BlockState
from mccfr_spiel.solving.locking import Locks
from mccfr_spiel.solving.state import SolverState


def new_state(
    arena: Arena,
    algorithm: Algorithm,
    seed: int,
    threads: int | None = 1,
    *,
    splits: bool = False,
    locked: Locks | None = None,
) -> SolverState | BlockState:
    """Makes the tables of a solver: blocks of float32 in a BlockArena if the algorithm
    allows it, otherwise rows of float64. Locked policies do not tremble, and blocks
    cannot mix the two.

    Arguments and errors are those of SolverState.
    """
    mixes = bool(locked) and algorithm.minimizer.tremble > 0.0
    has_blocks = not (mixes or why_no_blocks(algorithm))
    if isinstance(arena, BlockArena) and has_blocks:
        return BlockState(arena, algorithm, seed, threads, locked)
    return SolverState(arena, algorithm, seed, threads, splits=splits, locked=locked)
