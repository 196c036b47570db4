"""Batch sizes: the number of walks per player in each iteration.

All walks of a batch use the same policies, and the sum of their gradients enters one
update. Each walk has its own stream of random draws. The batch size is fixed, or it
grows with the iterations. If compiled rules of a game supply the nodes, a large batch
is divided into groups of walks, which threads share (arenas/rules/grouped.py).
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined, pasted

GROWING = 0
"""Value of `job[BATCH]` for batches that grow with the iterations."""

ITERATIONS_A_WALK, MOST_GROWN = 64, 4096
"""Iterations per walk of a growing batch, and the maximum of its size.

The size at iteration t is the largest power of two that is at most t / 64 (and at least
1). The walks of a batch do not see each other's updates. So at most the last 64th of
all walks is missing from the policies that a walk uses, which costs almost no accuracy
(docs/scaling.md).
"""


def plain_walks_at(batch_size: int, iteration: int) -> tuple[int, int]:
    """Counts the walks per player before an iteration and in the iteration.

    The random draws of a walk depend on its index among all walks of the player,
    counted from 1. With batches of one walk, this index is the number of the iteration.

    Args:
        batch_size: walks per player and iteration, or GROWING.
        iteration: number of the iteration, counted from 1.

    Returns:
        The number of walks in all earlier iterations, and in this iteration.
    """
    if batch_size != GROWING:
        return (iteration - 1) * batch_size, batch_size
    # Each pass of the loop adds the walks of all iterations with the batch size
    # `batch`, which begin at iteration `first`, and doubles `batch`. The loop ends when
    # `batch` is the size at `iteration`.
    walks, first, batch = 0, 1, 1
    while batch < MOST_GROWN and iteration >= 2 * ITERATIONS_A_WALK * batch:
        walks += (2 * ITERATIONS_A_WALK * batch - first) * batch
        first = 2 * ITERATIONS_A_WALK * batch
        batch *= 2
    return walks + (iteration - first) * batch, batch


walks_at = inlined(plain_walks_at)

NUM_GROUPS, NODES_OF_GROUP = 32, (1024, 2**18)
"""Usual maximum number of groups per batch; minimum and maximum nodes per group.

The maximum of nodes takes precedence: a batch of long walks has more groups.
"""


@pasted
def present_iteration(walk: layout.Walk) -> Any:
    """Returns the number of the iteration to which the present walks belong."""
    return walk.cursor[layout.ITERATION] + (walk.cursor[layout.PLAYER] == 0)


@pasted
def present_batch(task: layout.Task, walk: layout.Walk) -> Any:
    """Returns the number of walks per player in the present iteration."""
    return walks_at(np.int64(task.job[layout.BATCH]), present_iteration(walk))[1]


@inlined
def walks_of_group(task: layout.Task, walk: layout.Walk, num_players: int) -> Any:
    """Returns the number of walks per group in the present batch; 0 without groups.

    The number depends on the mean length of all walks so far, but not on the number of
    threads, because results must not depend on threads.
    """
    batch_size, iteration = np.int64(task.job[layout.BATCH]), present_iteration(walk)
    (before, batch), (low, high) = walks_at(batch_size, iteration), NODES_OF_GROUP
    num_walks = num_players * before + walk.cursor[layout.PLAYER] * batch
    touched = walk.cursor[layout.NODES_TOUCHED]
    has_walked = num_walks > 0 and touched > 0
    if task.job[layout.HAS_GROUPS] == 0 or batch == 1 or not has_walked:
        return np.int64(0)
    # Fewer than two groups are not worth the overhead. Neither are walks longer than
    # a whole group may be.
    mean = touched / num_walks
    groups = min(np.int64(mean * batch / low), NUM_GROUPS, batch)
    if groups < 2 or mean > high:
        return np.int64(0)
    return min(-(-batch // groups), max(np.int64(high / mean), 1))
