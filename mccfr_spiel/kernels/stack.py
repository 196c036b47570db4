"""The stack of a walk: the nodes to be visited later, and what is known of them."""

from typing import Any, NamedTuple

from mccfr_spiel.arrays import CHANCE_NODE
from mccfr_spiel.compiled.jit import inlined, pasted
from mccfr_spiel.compiled.randomness import child_place
from mccfr_spiel.kernels.tables import Tables, TreeArrays, Walk


class Visit(NamedTuple):
    """A node that a walk visits, and what the walk has brought along.

    Attributes:
        first: its first child.
        start: where its moves begin: sequences, or probabilities of chance.
        num_moves: how many there are.
        sequence: the updated player's last one before the node.
        weight: the factor of all payoffs below it.
        place: its history's, see randomness.py.
    """

    first: int
    start: int
    num_moves: int
    sequence: int
    weight: float
    place: Any


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
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    top: int,
    at: Visit,
    acting: int,
    prune: bool,
    placed: bool,
) -> int:
    """Stacks all children after a move of another player or of chance.

    Args:
        tree: with the probabilities of chance.
        tables: with the policies.
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        acting: who moves.
        prune: whether children of probability 0 are left out, unless chance moves.
        placed: whether places are asked; else they are not stacked.

    Returns:
        The new height.
    """
    is_chance = acting == CHANCE_NODE
    probs = tree.chance_probs if is_chance else tables.policy
    for child in range(at.num_moves - 1, -1, -1):
        prob = probs[at.start + child]
        if not prune or is_chance or prob > 0.0:
            walk.node[top] = at.first + child
            walk.sequence[top] = at.sequence
            walk.weight[top] = at.weight * prob
            if placed:
                walk.place[top] = child_place(at.place, child)
            top += 1
    return top


@pasted
def push_other_children(
    walk: Walk, top: int, at: Visit, weighted: bool, placed: bool
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
        top += 1
    return top
