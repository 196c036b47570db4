"""The stack of a walk: the nodes to be visited later, and what is known of them."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.randomness import child_place
from mccfr_spiel.kernels.tables import Walk


class Visit(NamedTuple):
    """A node that a walk visits, and what the walk has brought along.

    Attributes:
        first: its first child.
        start: where its moves begin: sequences, or probabilities of chance.
        num_moves: how many there are.
        sequence: the updated player's last one before the node.
        weight: the factor of all payoffs below it.
        place: its history's, see randomness.py.
        debt: what the infoset of `sequence` owes to the average.
    """

    first: Any
    start: Any
    num_moves: Any
    sequence: Any
    weight: float
    place: Any
    debt: float


@inlined
def push(
    walk: Walk, top: int, node: int, sequence: int, weight: float, place: int
) -> int:
    """Stacks a node to be walked on from later; returns the new height."""
    walk.node[top] = node
    walk.sequence[top] = sequence
    walk.weight[top] = weight
    walk.place[top] = place
    return top + 1


@pasted
def push_weighted_children(
    probs: np.ndarray,
    row: int,
    walk: Walk,
    top: int,
    at: Visit,
    prune: bool,
    placed: bool,
    indebted: bool,
) -> int:
    """Stacks all children after a move of another player or of chance.

    Args:
        probs, row: the array with the probabilities of the moves, and where they begin.
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        prune: whether children of probability 0 are left out.
        placed: whether places are asked; else they are not stacked.
        indebted: whether debts are.

    Returns:
        The new height.
    """
    for child in range(at.num_moves - 1, -1, -1):
        prob = probs[row + child]
        if not prune or prob > 0.0:
            walk.node[top] = at.first + child
            walk.sequence[top] = at.sequence
            walk.weight[top] = at.weight * prob
            if placed:
                walk.place[top] = child_place(at.place, child)
            if indebted:
                walk.debt[top] = at.debt
            top += 1
    return top


@pasted
def push_other_children(
    walk: Walk, top: int, at: Visit, weighted: bool, placed: bool, indebted: bool
) -> int:
    """Stacks all children but the first after a move of the updated player.

    The first is followed at once. The last child goes below the others, so that they
    are visited in their order.

    Args:
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        weighted: whether weights are asked; else they are not stacked.
        placed: whether places are asked.
        indebted: whether debts are.

    Returns:
        The new height.
    """
    for child in range(at.num_moves - 1, 0, -1):
        walk.node[top] = at.first + child
        walk.sequence[top] = at.start + child
        if weighted:
            walk.weight[top] = at.weight
        if placed:
            walk.place[top] = child_place(at.place, child)
        if indebted:
            walk.debt[top] = at.debt
        top += 1
    return top
