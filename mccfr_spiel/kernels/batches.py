"""Batch sizes: how many walks an iteration makes for each player."""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.tables import Task, Walk

GROWING = 0
"""Stands for the number of walks in an iteration where that grows with the
iterations."""

ITERATIONS_A_WALK, MOST_GROWN = 64, 4096
"""A growing batch has one walk for every 64 iterations so far, rounded down to a power
of two, and at most the second number. The policies of 1.6 % of the run are then
as if a walk had not yet been made when the next one begins, which costs next to nothing
(docs/scaling.md)."""


def plain_walks_at(given: int, iteration: int) -> tuple[int, int]:
    """How many walks for a player come before an iteration, and how many it has.

    Draws go by the number of a walk among all of them, from 1 on, so that those of
    batches of one are as they always were, and no two walks share a stream.

    Args:
        given: the walks for a player in an iteration, or GROWING.
        iteration: from 1 on.
    """
    if given != GROWING:
        return (iteration - 1) * given, given
    # One pass counts the walks of the iterations from `first` on that have one batch.
    walks, first, batch = 0, 1, 1
    while batch < MOST_GROWN and iteration >= 2 * ITERATIONS_A_WALK * batch:
        walks += (2 * ITERATIONS_A_WALK * batch - first) * batch
        first = 2 * ITERATIONS_A_WALK * batch
        batch *= 2
    return walks + (iteration - first) * batch, batch


walks_at = inlined(plain_walks_at)

NUM_GROUPS, NODES_OF_GROUP = 32, (1024, 2**18)
"""The groups into which a batch of walks over rules is cut, and the least and the most
nodes of a group. A batch has more groups only where they would exceed the most."""


@pasted
def present_iteration(walk: Walk) -> Any:
    """The number of the iteration to which the walks for the next update belong."""
    return walk.cursor[layout.ITERATION] + (walk.cursor[layout.PLAYER] == 0)


@pasted
def present_batch(task: Task, walk: Walk) -> Any:
    """The walks for each player in that iteration."""
    return walks_at(np.int64(task.job[layout.BATCH]), present_iteration(walk))[1]


@inlined
def walks_of_group(task: Task, walk: Walk, num_players: int) -> Any:
    """How many walks of the present batch make a group; 0 if they are not left to
    groups.

    It follows from how long walks have been so far, the same for any number of threads.
    """
    given, iteration = np.int64(task.job[layout.BATCH]), present_iteration(walk)
    (before, batch), (least, most) = walks_at(given, iteration), NODES_OF_GROUP
    num_walks = num_players * before + walk.cursor[layout.PLAYER] * batch
    touched = walk.cursor[layout.NODES_TOUCHED]
    is_known = num_walks > 0 and touched > 0
    if task.job[layout.HAS_GROUPS] == 0 or batch == 1 or not is_known:
        return np.int64(0)
    mean = touched / num_walks
    groups = min(np.int64(mean * batch / least), NUM_GROUPS, batch)
    if groups < 2 or mean > most:
        return np.int64(0)
    return min(-(-batch // groups), max(np.int64(most / mean), 1))
