"""The most that is paid below each action of a complete tree of two players.

Regret-based pruning (kernels/regret_pruning.py) takes it for the value of an action
that it leaves out.
"""

import numpy as np

from mccfr_spiel import kernels


def list_ceilings(tree: kernels.TreeArrays, num_sequences: int) -> kernels.Ceilings:
    """Lists the children of a complete tree's decisions, of two players.

    Args:
        tree: its arrays.
        num_sequences: the sequences of both players.
    """
    num_nodes, nodes = len(tree.nodes), tree.nodes
    probs, last = np.empty(num_nodes), np.empty((num_nodes, 2), np.int32)
    lowest, highest = np.empty((num_nodes, 2)), np.empty((num_nodes, 2))
    kernels.survey_nodes(tree, probs, last, lowest, highest)
    counts = np.zeros(num_sequences + 1, np.int64)
    decisions = nodes[nodes["player"] >= 0]
    # A difference of 1 begins at the first sequence of a decision and ends at its last.
    np.add.at(counts, decisions["start"], 1)
    np.add.at(counts, decisions["start"] + decisions["num_children"].astype(int), -1)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.cumsum(counts)[:-1])))
    ceilings = kernels.Ceilings(
        ends=ends,
        others=np.empty((ends[-1], 1), np.int32),
        highest=np.empty(ends[-1]),
        step=np.zeros(num_sequences),
        num_nodes=np.bincount(last.ravel(), minlength=num_sequences),
    )
    goes_on = np.zeros(num_sequences, np.uint8)
    kernels.fill_ceilings(
        tree, probs, last, lowest, highest, ends[:-1].copy(), goes_on, ceilings
    )
    ceilings.step[goes_on == 0] = np.inf
    return ceilings


def bytes_of_ceilings(num_nodes: int, num_sequences: int) -> int:
    """The bytes of the list and of what is needed to make it."""
    return (12 + 48) * num_nodes + 40 * num_sequences
