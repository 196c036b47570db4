"""Walks over a complete tree, depth first, which take no memory for a node."""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.kernels.tables import TreeArrays


class LeafRows(NamedTuple):
    """What `walk_leaves` fills: the rows of `Passes`, or first only their counts.

    Attributes:
        next_row: `[S]` int64. Counts the rows of each sequence, or with `fill` says
            where its next one goes.
        others, payoffs: as in `Passes`, for all rows; empty without `fill`.
        fill: whether rows are written.
    """

    next_row: np.ndarray
    others: np.ndarray
    payoffs: np.ndarray
    fill: bool


class Reaches(NamedTuple):
    """What `add_reaches` reads and changes.

    Attributes:
        plan: `[S]` all players' realization plans.
        reach: `[I]` to which the reaches are added.
    """

    plan: np.ndarray
    reach: np.ndarray


def _make_walk(of_leaves: bool) -> Any:
    """Compiles `walk(tree, notes)`, which does its work where it meets a node.

    The work at a node stands in the loop, since a call that hands over the arrays of
    the stack would count references and take as long as the rest.

    Args:
        of_leaves: whether the notes are LeafRows and the work is done at leaves.
            Otherwise they are Reaches and it is done at decisions.
    """

    @jit(nogil=True)
    def walk(tree, notes):
        nodes, utilities = tree.nodes, tree.utilities
        chance_probs = tree.chance_probs
        if of_leaves:
            next_row, others, payoffs, fill = notes
        else:
            plan, reach = notes
        num_players = utilities.shape[1]
        height = 1024
        stack_node = np.empty(height, np.int32)
        stack_prob = np.empty(height)
        stack_sequences = np.empty((height, num_players), np.int32)
        mine = np.arange(num_players).astype(np.int32)
        stack_node[0] = 0
        stack_prob[0] = 1.0
        stack_sequences[0] = mine
        top = 1
        # One pass takes a node off the stack, works on it, and puts its children on.
        # `prob` is the probability of chance before the node. `mine` has each player's
        # last sequence there, whose plan says how the player plays to it.
        while top > 0:
            top -= 1
            prob = stack_prob[top]
            mine[:] = stack_sequences[top]
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

    return walk


leaves_walk, reaches_walk = _make_walk(of_leaves=True), _make_walk(of_leaves=False)


def walk_leaves(tree: TreeArrays, rows: LeafRows) -> None:
    """Counts or writes the rows of `Passes`: each leaf, for each player."""
    leaves_walk(tree, rows)


def add_reaches(tree: TreeArrays, plan: np.ndarray, reach: np.ndarray) -> None:
    """Adds up over the nodes of each infoset how the others and chance play to them.

    Times the player's own plan at the infoset's parent, that is the probability that a
    play reaches the infoset.

    Args:
        tree: the arrays of a complete tree.
        plan: `[S]` all players' realization plans.
        reach: `[I]` to which the reaches are added.
    """
    reaches_walk(tree, Reaches(plan, reach))
