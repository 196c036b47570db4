"""Batches: several walks for a player against the same policies, then one update.

The walks of a batch draw from different streams and add to one gradient. A walk that
cannot go on may have to begin again from the root, and what it has added must then be
taken back to the last bit. What it added at infosets that no earlier walk of the batch
met is simply cleared. Before it adds to others, their gradients are written to a list,
from which they are restored.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.stack import Visit
from mccfr_spiel.kernels.tables import Tables, Walk


def plain_walk_number(iteration: int, batch: int, nth: int) -> int:
    """The number of a walk among all walks for a player, from 1 on.

    Its draws go by that number, so that those of batches of one are as they always
    were, and no two walks share a stream.

    Args:
        iteration: from 1 on.
        batch: the walks for a player in an iteration.
        nth: the walk's number in its batch, from 0 on.
    """
    return (iteration - 1) * batch + nth + 1


walk_number = inlined(plain_walk_number)


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
