"""Batch sizes: the number of walks per player in each iteration.

All walks of a batch sample against the same policies, and their gradients are added up
for one update. Each walk has its own stream of draws. A batch is fixed, or it grows
with the iterations. Over rules, a large batch is cut into groups of walks, which
threads share.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined, pasted

GROWING = 0
"""Value of `job[BATCH]` for batches that grow with the iterations."""

ITERATIONS_A_WALK, MOST_GROWN = 64, 4096
"""Iterations per walk of a growing batch, and the largest such batch.

The batch is the largest power of two that is at most 1/64 of the iterations so far. The
walks of a batch do not see each other's updates. That affects the last 1.6 % of a run,
which costs almost no accuracy (docs/scaling.md).
"""


def plain_walks_at(batch_size: int, iteration: int) -> tuple[int, int]:
    """Returns the number of walks per player before an iteration, and in it.

    Draws depend on the index of a walk among all walks of the run, counted from 1. So
    no two walks share a stream, and a batch of one has the index of its iteration.

    Args:
        batch_size: walks per player and iteration, or GROWING.
        iteration: index of the iteration, from 1 on.
    """
    if batch_size != GROWING:
        return (iteration - 1) * batch_size, batch_size
    # Each pass counts the walks of the iterations `first, ...` with equal batches. The
    # loop ends at the batch of `iteration`.
    walks, first, batch = 0, 1, 1
    while batch < MOST_GROWN and iteration >= 2 * ITERATIONS_A_WALK * batch:
        walks += (2 * ITERATIONS_A_WALK * batch - first) * batch
        first = 2 * ITERATIONS_A_WALK * batch
        batch *= 2
    return walks + (iteration - first) * batch, batch


walks_at = inlined(plain_walks_at)

NUM_GROUPS, NODES_OF_GROUP = 32, (1024, 2**18)
"""Number of groups of a batch over rules; minimum and maximum nodes per group.

The maximum takes precedence: a batch of very long walks has more groups.
"""


@pasted
def present_iteration(walk: layout.Walk) -> Any:
    """Returns the iteration to which the walks for the next update belong."""
    return walk.cursor[layout.ITERATION] + (walk.cursor[layout.PLAYER] == 0)


@pasted
def present_batch(task: layout.Task, walk: layout.Walk) -> Any:
    """Returns the number of walks per player in that iteration."""
    return walks_at(np.int64(task.job[layout.BATCH]), present_iteration(walk))[1]


@inlined
def walks_of_group(task: layout.Task, walk: layout.Walk, num_players: int) -> Any:
    """Returns the number of walks per group in the current batch; 0 without groups.

    It depends on the mean length of all walks so far, never on the number of threads.
    """
    batch_size, iteration = np.int64(task.job[layout.BATCH]), present_iteration(walk)
    (before, batch), (low, high) = walks_at(batch_size, iteration), NODES_OF_GROUP
    num_walks = num_players * before + walk.cursor[layout.PLAYER] * batch
    touched = walk.cursor[layout.NODES_TOUCHED]
    has_walked = num_walks > 0 and touched > 0
    if task.job[layout.HAS_GROUPS] == 0 or batch == 1 or not has_walked:
        return np.int64(0)
    # The criterion must not depend on threads, because the results must not.
    mean = touched / num_walks
    groups = min(np.int64(mean * batch / low), NUM_GROUPS, batch)
    if groups < 2 or mean > high:
        return np.int64(0)
    return min(-(-batch // groups), max(np.int64(high / mean), 1))
