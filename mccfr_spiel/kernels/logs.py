"""Logs of walks in the top part of a tree, for shared batches (shared_walks.py).

A block consists of whole subtrees of the updated player's infosets. The top part
consists of the infosets above all blocks. A walk in the top part does not write the
gradient. It logs leaves, infosets and *forks*, the nodes where it enters a block. A
later stage continues the walk from the forks.
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.stack import Moves, Spot
from mccfr_spiel.kernels.tables import DONE, LOG_FULL

FORK = np.dtype(
    [
        ("serial", np.int64),
        ("place", np.uint64),
        ("weight", np.float64),
        ("node", np.int32),
        ("block", np.int32),
    ]
)
"""A node where a walk enters a block.

- serial: number of the walk, see `progress.Trip`;
- place: key of chance draws at the node, a hash of its history (randomness.py);
- weight: importance weight;
- node: node number;
- block: number of the block among the blocks of all players.
"""

LEAF = np.dtype([("payoff", np.float64), ("sequence", np.int32), ("pad", np.int32)])
"""A leaf in the top part.

- payoff: payoff times importance weight;
- sequence: the updated player's last sequence before the leaf.
"""


class Log(NamedTuple):
    """The log of several walks, with room for C infosets, C leaves and C forks.

    Attributes:
        home: `[S]` int32. For sequences of infosets in a block, twice the number of the
            block, plus 1 if the infoset is the root of a subtree. -1 for other
            sequences.
        event: `[C]` int32, infosets of the updated player that walks visited in the top
            part, including the roots of blocks.
        leaf: `[C]` LEAF.
        fork: `[C]` FORK.
    """

    home: np.ndarray
    event: np.ndarray
    leaf: np.ndarray
    fork: np.ndarray


@inlined
def log_leaf(log: Log, num_leaves: int, payoff: float, sequence: int) -> Any:
    """Logs a leaf; returns DONE, or LOG_FULL if there is no room for another leaf."""
    log.leaf[num_leaves]["payoff"] = payoff
    log.leaf[num_leaves]["sequence"] = sequence
    return np.int64(LOG_FULL if num_leaves + 1 == len(log.leaf) else DONE)


@inlined
def log_infoset(
    log: Log, num_met: int, num_forks: int, serial: int, spot: Spot, moves: Moves
) -> tuple[Any, int]:
    """Logs an infoset, and a fork if the infoset is the root of a block.

    Returns:
        DONE, or LOG_FULL if there is no room for another infoset; and the new number of
        forks.
    """
    # The infoset is logged on each visit; `shared_walks.gather_top` drops duplicates.
    log.event[num_met] = moves.infoset
    if log.home[moves.start] >= 0:
        log.fork[num_forks]["serial"] = serial
        log.fork[num_forks]["place"] = spot.place
        log.fork[num_forks]["weight"] = spot.weight
        log.fork[num_forks]["node"] = spot.node
        log.fork[num_forks]["block"] = log.home[moves.start] >> 1
        num_forks += 1
    return np.int64(LOG_FULL if num_met + 1 == len(log.event) else DONE), num_forks
