"""Logs of walks above all blocks, for threads that share a batch (shared_walks.py).

The blocks are whole subtrees of the updated player's infosets. A walk in the part above
them, the top, does not write the gradient. It logs leaves, infosets, and *forks*: the
nodes at which it enters a block. Another stage of the batch continues from the forks.
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.stack import Moves, Spot
from mccfr_spiel.kernels.tables import DONE, LOG_FULL

FORK = np.dtype(
    [
        ("stream", np.uint64),
        ("place", np.uint64),
        ("weight", np.float64),
        ("node", np.int32),
        ("block", np.int32),
    ]
)
"""A node at which a walk enters a block: the key of the walk's stream, the place of the
history, its weight, the node, and the number of the block among all."""

LEAF = np.dtype([("payoff", np.float64), ("sequence", np.int32), ("pad", np.int32)])
"""A leaf above all blocks: its payoff times its weight, and the player's last sequence
before it."""


class Log(NamedTuple):
    """The log of some walks: C entries of each kind.

    Attributes:
        home: `[S]` int32, twice the block of a sequence's infoset, plus 1 if the
            infoset is the root of its subtree; -1 in the top.
        event: `[C]` int32, the player's infosets met, roots of subtrees included.
        leaf: `[C]` LEAF.
        fork: `[C]` FORK.
    """

    home: np.ndarray
    event: np.ndarray
    leaf: np.ndarray
    fork: np.ndarray


@inlined
def log_leaf(log: Log, num_leaves: int, payoff: float, sequence: int) -> Any:
    """Logs a leaf; returns DONE, or LOG_FULL if no other leaf fits."""
    log.leaf[num_leaves]["payoff"] = payoff
    log.leaf[num_leaves]["sequence"] = sequence
    return np.int64(LOG_FULL if num_leaves + 1 == len(log.leaf) else DONE)


@inlined
def log_infoset(
    log: Log, num_met: int, num_forks: int, stream: int, spot: Spot, moves: Moves
) -> tuple[Any, int]:
    """Logs an infoset, and a fork if the infoset is the root of a block's subtree.

    Returns:
        DONE, or LOG_FULL if no other infoset fits; and the new number of forks.
    """
    log.event[num_met] = moves.infoset
    if log.home[moves.start] >= 0:
        log.fork[num_forks]["stream"] = stream
        log.fork[num_forks]["place"] = spot.place
        log.fork[num_forks]["weight"] = spot.weight
        log.fork[num_forks]["node"] = spot.node
        log.fork[num_forks]["block"] = log.home[moves.start] >> 1
        num_forks += 1
    return np.int64(LOG_FULL if num_met + 1 == len(log.event) else DONE), num_forks
