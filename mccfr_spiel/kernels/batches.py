"""Batches: several walks for a player against the same policies, then one update.

The walks of a batch draw from different streams and add to one gradient.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.tables import (
    BATCH,
    HAS_GROUPS,
    ITERATION,
    NODES_TOUCHED,
    PLAYER,
    Task,
    Walk,
)

GROWING = 0
"""In place of the walks in an iteration: they grow with the iterations."""

ITERATIONS_A_WALK, MOST_GROWN = 64, 4096
"""A batch that grows has a walk for each so many iterations up to then, rounded down to
a power of two, and at most the second number. The policies of 1.6 % of the run are then
as if a walk had not yet been made when the next one begins, which costs next to nothing
(docs/scaling.md)."""


def plain_batch_at(given: int, iteration: int) -> int:
    """The walks for each player in an iteration.

    Args:
        given: their number, or GROWING.
        iteration: from 1 on.
    """
    if given != GROWING:
        return given
    batch = 1
    while batch < MOST_GROWN and iteration >= 2 * ITERATIONS_A_WALK * batch:
        batch *= 2
    return batch


batch_at = inlined(plain_batch_at)


def plain_walk_number(given: int, iteration: int, nth: int) -> int:
    """The number of a walk among all walks for a player, from 1 on.

    Its draws go by that number, so that those of batches of one are as they always
    were, and no two walks share a stream.

    Args:
        given: the walks for a player in an iteration, or GROWING.
        iteration: from 1 on.
        nth: the walk's number in its batch, from 0 on.
    """
    if given != GROWING:
        return (iteration - 1) * given + nth + 1
    # One pass counts the walks of the iterations from `first` on that have one batch.
    walks, first, batch = 0, 1, 1
    while batch < MOST_GROWN and iteration >= 2 * ITERATIONS_A_WALK * batch:
        walks += (2 * ITERATIONS_A_WALK * batch - first) * batch
        first = 2 * ITERATIONS_A_WALK * batch
        batch *= 2
    return walks + (iteration - first) * batch + nth + 1


walk_number = inlined(plain_walk_number)

NUM_GROUPS, NODES_OF_GROUP = 32, (1024, 2**18)
"""How many groups a batch of walks over rules is cut into, at most unless they would
have more nodes than the third number, and the least nodes of one."""


@inlined
def present_iteration(walk: Walk) -> Any:
    """The number of the iteration to which the walks for the next update belong."""
    return walk.cursor[ITERATION] + (walk.cursor[PLAYER] == 0)


@inlined
def walks_of_group(task: Task, walk: Walk, num_players: int) -> Any:
    """How many walks of the present batch over rules make a group; 0 if none do.

    It follows from how long walks have been so far, the same for any number of threads.
    """
    given, iteration = task.job.view(np.int64)[BATCH], present_iteration(walk)
    batch, (least, most) = batch_at(given, iteration), NODES_OF_GROUP
    num_walks = num_players * (walk_number(given, iteration, 0) - 1)
    num_walks += walk.cursor[PLAYER] * batch
    touched = walk.cursor[NODES_TOUCHED]
    if batch == 1 or num_walks == 0 or touched == 0:
        return np.int64(0)
    mean = touched / num_walks
    groups = min(np.int64(mean * batch / least), NUM_GROUPS, batch)
    if groups < 2 or mean > most:
        return np.int64(0)
    return min(-(-batch // groups), max(np.int64(most / mean), 1))


@inlined
def is_for_groups(task: Task, walk: Walk, num_players: int) -> bool:
    """Whether the walks of the next batch are left to groups."""
    return task.job[HAS_GROUPS] != 0 and walks_of_group(task, walk, num_players) > 0
