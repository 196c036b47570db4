"""The most that is paid below each node of a complete tree of two players.

Regret-based pruning (kernels/regret_pruning.py) takes it for the value of an action
that it leaves out.
"""

import numpy as np

from mccfr_spiel.kernels.regret_pruning import Ceilings, survey_nodes
from mccfr_spiel.kernels.tables import TreeArrays


def list_ceilings(tree: TreeArrays, num_sequences: int) -> Ceilings:
    """Makes the ceilings of a complete tree of two players.

    Args:
        tree: its arrays.
        num_sequences: the sequences of both players.
    """
    num_nodes = len(tree.nodes)
    ceilings = Ceilings(
        highest=np.empty((num_nodes, 2)),
        step=np.full(num_sequences, np.inf),
        num_nodes=np.zeros(num_sequences, np.int64),
        height=np.zeros(1, np.int64),
    )
    last, lowest = np.empty((num_nodes, 2), np.int32), np.empty((num_nodes, 2))
    survey_nodes(tree, last, lowest, ceilings)
    return ceilings


def bytes_of_ceilings(num_nodes: int, num_sequences: int) -> int:
    """The bytes of the ceilings, and of what is needed to make them."""
    return (16 + 36) * num_nodes + 16 * num_sequences
