"""How probable the information sets are that the others and chance lead to."""

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.compiled.jit import jit


@jit(nogil=True)
def add_reaches(tree, plan, reach):
    """Adds up over the nodes of each infoset how the others and chance play to them.

    Times the player's own plan at the infoset's parent, that is the probability that a
    play reaches the infoset. The walk is depth first, so it takes no memory for a node.

    Args:
        tree: the arrays of a complete tree.
        plan: `[S]` all players' realization plans.
        reach: `[I]` to which the reaches are added.
    """
    nodes, chance_probs = tree.nodes, tree.chance_probs
    num_players = tree.utilities.shape[1]
    height = 1024
    stack_node = np.empty(height, np.int32)
    stack_prob = np.empty(height)
    stack_sequences = np.empty((height, num_players), np.int32)
    mine = np.arange(num_players).astype(np.int32)
    stack_node[0] = 0
    stack_prob[0] = 1.0
    stack_sequences[0] = mine
    top = 1
    # One pass takes a node off the stack and puts its children on. `mine` has each
    # player's last sequence before the node, and the plans there say how it got there.
    while top > 0:
        top -= 1
        prob = stack_prob[top]
        mine[:] = stack_sequences[top]
        record = nodes[stack_node[top]]
        acting = record["player"]
        if acting == TERMINAL:
            continue
        start = record["start"]
        if acting != CHANCE_NODE:
            others = prob
            for player in range(num_players):
                if player != acting:
                    others *= plan[mine[player]]
            reach[record["infoset"]] += others
        count = np.int64(record["num_children"])
        first = record["first_child"]
        if top + count > height:
            more = top + count
            stack_node = np.concatenate((stack_node, np.empty(more, np.int32)))
            stack_prob = np.concatenate((stack_prob, np.empty(more)))
            stack_sequences = np.concatenate(
                (stack_sequences, np.empty((more, num_players), np.int32))
            )
            height += more
        for child in range(count - 1, -1, -1):
            stack_node[top] = first + child
            stack_prob[top] = prob
            stack_sequences[top] = mine
            if acting == CHANCE_NODE:
                stack_prob[top] = prob * chance_probs[start + child]
            else:
                stack_sequences[top, acting] = start + child
            top += 1
