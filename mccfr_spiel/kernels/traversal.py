"""Depth-first traversals of a complete tree that allocate no arrays over nodes.

`leaves_walk` lists the leaves for passes (`tables.Passes`). `reaches_walk` computes
reach probabilities of infosets.
"""

# pyright: reportPossiblyUnboundVariable=false

from typing import Any

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import jit


def _make_walk(of_leaves: bool) -> Any:
    """Compiles `walk(tree, notes, stack)`; it returns False if the stack is too small.

    The work at a node is written inside the loop instead of in a helper. A call of a
    helper with the arrays of the stack would change their reference counts, which takes
    as long as the rest.

    Args:
        of_leaves: whether to list the leaves. Then `notes` are four values:

            - `next_row`, `[S]`: for each sequence, the number of rows so far, or the
              row number of its next leaf;
            - `others` and `payoffs` of `Passes`;
            - `fill`: whether rows are written. Otherwise they are only counted.

            If `of_leaves` is False, reach probabilities are computed, and `notes` are
            `reach` and `plan` of `add_reaches`.
    """

    @jit(nogil=True)
    def walk(tree, notes, stack):
        nodes, utilities = tree.nodes, tree.utilities
        chance_probs = tree.chance_probs
        if of_leaves:
            next_row, others, payoffs, fill = notes
        else:
            reach, plan = notes
        num_players = utilities.shape[1]
        stack_node, stack_prob, stack_sequences = stack
        sequences = stack_sequences[len(stack_node)]
        stack_node[0] = 0
        stack_prob[0] = 1.0
        for player in range(num_players):
            stack_sequences[0, player] = player
        top = 1
        # Each pass of the loop pops a node, works on it, and pushes its children, the
        # first child on top. `prob` is the probability of chance up to the node, and
        # `sequences` holds each player's last sequence before the node. `sequences` is
        # copied element by element: for the assignment of a whole row numba compiles an
        # error message about shapes, which takes 1 s. The loop ends when the stack is
        # empty. The function returns False if the stack would overflow.
        while top > 0:
            top -= 1
            prob = stack_prob[top]
            for player in range(num_players):
                sequences[player] = stack_sequences[top, player]
            record = nodes[stack_node[top]]
            acting = record["player"]
            start = record["start"]
            if acting == TERMINAL:
                if of_leaves:
                    for player in range(num_players):
                        row = next_row[sequences[player]]
                        next_row[sequences[player]] += 1
                        if fill:
                            payoffs[row] = prob * utilities[start, player]
                            for p in range(num_players):
                                if p != player:
                                    others[row, p - (p > player)] = sequences[p]
                continue
            if not of_leaves and acting != CHANCE_NODE:
                reached = prob
                for player in range(num_players):
                    if player != acting:
                        reached *= plan[sequences[player]]
                reach[record["infoset"]] += reached
            count = np.int64(record["num_children"])
            first = record["first_child"]
            if top + count > len(stack_node):
                return False
            for child in range(count - 1, -1, -1):
                stack_node[top] = first + child
                stack_prob[top] = prob
                for player in range(num_players):
                    stack_sequences[top, player] = sequences[player]
                if acting == CHANCE_NODE:
                    stack_prob[top] = prob * chance_probs[start + child]
                else:
                    stack_sequences[top, acting] = start + child
                top += 1
        return True

    return walk


leaves_walk, reaches_walk = _make_walk(of_leaves=True), _make_walk(of_leaves=False)


HEIGHT = 1024
"""Initial height of the stack."""


def walk_whole(
    walk: Any, tree: layout.TreeArrays, changed: np.ndarray, *notes: Any
) -> None:
    """Traverses a tree, and repeats the traversal with a larger stack if necessary.

    Args:
        walk: `leaves_walk` or `reaches_walk`.
        tree: arrays of a complete tree.
        changed: the first of the `notes` of `walk`, an array to which the walk adds. It
            is restored before a repetition.
        notes: the other notes of `walk`.
    """
    height, before, num_players = HEIGHT, changed.copy(), tree.utilities.shape[1]
    while True:
        sequences = np.empty((height + 1, num_players), np.int32)
        stack = np.empty(height, np.int32), np.empty(height), sequences
        if walk(tree, (changed, *notes), stack):
            return
        changed[:] = before
        height *= 4


def add_reaches(tree: layout.TreeArrays, plan: np.ndarray, reach: np.ndarray) -> None:
    """Computes the probability that chance and the other players reach each infoset.

    The probability is a sum over the nodes of the infoset. Multiplied by the player's
    own plan at the parent sequence, it is the probability that a play reaches the
    infoset.

    Args:
        tree: arrays of a complete tree.
        plan: `[S]` realization plans of all players.
        reach: `[I]` the probabilities are added to this array.
    """
    walk_whole(reaches_walk, tree, reach, plan)
