"""Batches: several walks for a player against the same policies, then one update.

The walks of a batch draw from different streams and add to one gradient. A walk that
cannot go on may have to begin again from the root, and what it has added must then be
taken back to the last bit. What it added at infosets that no earlier walk of the batch
met is simply cleared. Before it adds to others, their gradients are written to a list,
from which they are restored.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined, pasted
from mccfr_spiel.kernels.stack import Visit
from mccfr_spiel.kernels.tables import AVERAGE_WEIGHT, Tables, Walk

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


@pasted
def enter_average(
    tables: Tables,
    walk: Walk,
    player: int,
    given: int,
    iteration: int,
    batched: bool,
) -> None:
    """Adds an iteration to a player's average, by its weight. Where batches grow, that
    is taken times the walks, as the gradient has a term for each walk."""
    weight = walk.clock[AVERAGE_WEIGHT]
    if batched and given == GROWING:
        weight *= batch_at(given, iteration)
    tables.average[player] += weight


@inlined
def note_gradient(
    tables: Tables, walk: Walk, noted: int, infoset: int, at: Visit
) -> int:
    """Writes an infoset's gradient to the list, if a walk has met the infoset before.

    Args:
        tables: with the gradient.
        walk: whose list changes.
        noted: how long the list is.
        infoset: that the walk has come to.
        at: the node.

    Returns:
        How long the list is now.
    """
    if tables.is_met[infoset] != 0:
        for s in range(at.start, at.start + at.num_moves):
            walk.undo_sequence[noted] = s
            walk.undo_gradient[noted] = tables.gradient[s]
            noted += 1
    return noted


@inlined
def undo_gradient(gradient: np.ndarray, walk: Walk, noted: int) -> None:
    """Restores the gradients of the list, the one written last first.

    A walk that comes to an infoset twice has noted it twice, the older value earlier.
    """
    for k in range(noted - 1, -1, -1):
        gradient[walk.undo_sequence[k]] = walk.undo_gradient[k]
