"""Depth-first traversals of a complete tree."""

# pyright: reportPossiblyUnboundVariable=false

from typing import Any

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import jit


def _make_walk(of_leaves: bool) -> Any:
    """Compiles `walk(tree, notes, stack)`, which does its work where it meets a node;
    returns whether the stack was high enough.

    The work at a node stands in the loop, since a call that hands over the arrays of
    the stack would count references and take as long as the rest.

    Args:
        of_leaves: whether the work is done at leaves, which are counted or, with
            `fill`, written: the notes are then `[S]` the count of each sequence's rows
            or where its next one goes, `others` and `payoffs` of `Passes`, and `fill`.
            Otherwise the notes are those of `add_reaches`.
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
        mine = stack_sequences[len(stack_node)]
        stack_node[0] = 0
        stack_prob[0] = 1.0
        for player in range(num_players):
            stack_sequences[0, player] = player
        top = 1
        # One pass takes a node off the stack, works on it, and puts its children on.
        # `prob` is the probability of chance before the node. `mine` has each player's
        # last sequence there, whose plan says how the player plays to it. It is copied
        # one by one: rows that do not fit would have numba compile a message, for 1 s.
        while top > 0:
            top -= 1
            prob = stack_prob[top]
            for player in range(num_players):
                mine[player] = stack_sequences[top, player]
            record = nodes[stack_node[top]]
            acting = record["player"]
            start = record["start"]
            if acting == TERMINAL:
                if of_leaves:
                    for player in range(num_players):
                        row = next_row[mine[player]]
                        next_row[mine[player]] += 1
                        if fill:
                            payoffs[row] = prob * utilities[start, player]
                            for p in range(num_players):
                                if p != player:
                                    others[row, p - (p > player)] = mine[p]
                continue
            if not of_leaves and acting != CHANCE_NODE:
                reached = prob
                for player in range(num_players):
                    if player != acting:
                        reached *= plan[mine[player]]
                reach[record["infoset"]] += reached
            count = np.int64(record["num_children"])
            first = record["first_child"]
            if top + count > len(stack_node):
                return False
            for child in range(count - 1, -1, -1):
                stack_node[top] = first + child
                stack_prob[top] = prob
                for player in range(num_players):
                    stack_sequences[top, player] = mine[player]
                if acting == CHANCE_NODE:
                    stack_prob[top] = prob * chance_probs[start + child]
                else:
                    stack_sequences[top, acting] = start + child
                top += 1
        return True

    return walk


leaves_walk, reaches_walk = _make_walk(of_leaves=True), _make_walk(of_leaves=False)


HEIGHT = 1024
"""The height of the stack at first."""


def walk_whole(
    walk: Any, tree: layout.TreeArrays, changed: np.ndarray, *notes: Any
) -> None:
    """Walks a tree with notes, of which the first one counts or adds up."""
    height, before, num_players = HEIGHT, changed.copy(), tree.utilities.shape[1]
    while True:
        sequences = np.empty((height + 1, num_players), np.int32)
        stack = np.empty(height, np.int32), np.empty(height), sequences
        if walk(tree, (changed, *notes), stack):
            return
        changed[:] = before
        height *= 4


def add_reaches(tree: layout.TreeArrays, plan: np.ndarray, reach: np.ndarray) -> None:
    """Adds up over the nodes of each infoset how the others and chance play to them.

    Times the player's own plan at the infoset's parent, that is the probability that a
    play reaches the infoset.

    Args:
        tree: the arrays of a complete tree.
        plan: `[S]` all players' realization plans.
        reach: `[I]` to which the reaches are added.
    """
    walk_whole(reaches_walk, tree, reach, plan)
