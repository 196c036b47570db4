"""The stack of a walk: the nodes to visit later.

Each entry is a row of the five arrays `node`, `sequence`, `weight`, `place` and `debt`
of `tables.Walk`. A node that has left the stack is a `Spot`. The moves from it are a
`Moves`. The functions below push children of a node.
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.randomness import child_place
from mccfr_spiel.kernels.tables import Walk

MOST_ASIDE = 16
"""Maximum number of unexpanded nodes that a walk postpones. Python then expands all of
them at one stop and caches their states for the next stops."""


class Spot(NamedTuple):
    """The history that a walk visits.

    Attributes:
        node: number of the node, see `walk.Source`.
        sequence: the updated player's last sequence before the node.
        weight: importance weight, the factor of all payoffs below the node.
        place: place of the history, see randomness.py.
        debt: debt to the average of the infoset of `sequence`, see apply.py.
    """

    node: Any
    sequence: Any
    weight: Any
    place: Any
    debt: Any


class Moves(NamedTuple):
    """The moves at a node.

    Attributes:
        acting: the acting player, or CHANCE_NODE.
        infoset: number of the infoset, -1 for chance.
        first: node number of the first child.
        start: index of the first move: a sequence, or an entry of the chance
            distributions.
        count: number of moves.
        slots: index of the first move in the gradient. It equals `start` except for
            players who forget, see visits.py.
    """

    acting: Any
    infoset: Any
    first: Any
    start: Any
    count: Any
    slots: Any


class Choice(NamedTuple):
    """The child that a walk follows from a node.

    Attributes:
        follows: False if the walk follows no child at once, because it has pushed all.
        child: number of the child among the moves.
        sequence: the updated player's last sequence before the child.
        weight: importance weight of the child.
        likelihood: probability with which the updated player's action was drawn, 1 if
            all actions are followed, 0 at nodes where another player or chance acts.
    """

    follows: Any
    child: Any
    sequence: Any
    weight: Any
    likelihood: Any


@inlined
def push(
    walk: Walk, height: int, node: int, sequence: int, weight: float, place: int
) -> int:
    """Pushes a node without its debt; returns the new height."""
    walk.node[height] = node
    walk.sequence[height] = sequence
    walk.weight[height] = weight
    walk.place[height] = place
    return height + 1


@inlined
def copy_entry(walk: Walk, entry: int, target: int) -> None:
    """Copies an entry of the stack to the entry `target`."""
    walk.node[target] = walk.node[entry]
    walk.sequence[target] = walk.sequence[entry]
    walk.weight[target] = walk.weight[entry]
    walk.place[target] = walk.place[entry]
    walk.debt[target] = walk.debt[entry]


@inlined
def postpone(
    walk: Walk, height: int, num_aside: int, status: Any
) -> tuple[int, int, Any]:
    """Postpones the node on top of the stack if it must be expanded first.

    The entry moves to the end of the stack's arrays, where `MOST_ASIDE` entries are
    reserved, and the walk visits other nodes meanwhile.

    Args:
        walk: the walk with the stack.
        height: height of the stack.
        num_aside: number of nodes postponed so far.
        status: the reason why the walk cannot visit the node.

    Returns:
        The new height, the new number of postponed nodes, and the status of the walk.
    """
    if status == layout.GROW:
        height -= 1
        copy_entry(walk, height, len(walk.node) - 1 - num_aside)
        num_aside += 1
        status = np.int64(layout.GROW if num_aside == MOST_ASIDE else layout.DONE)
    return height, num_aside, status


@inlined
def resume(walk: Walk, height: int, num_aside: int, status: Any) -> tuple[int, Any]:
    """Pushes the postponed nodes again, the first of them on top.

    Returns:
        The new height, and the status of the walk.
    """
    for entry in range(len(walk.node) - num_aside, len(walk.node)):
        copy_entry(walk, entry, height)
        height += 1
    walk.marks[layout.TO_GROW] = num_aside
    if num_aside > 0 and status == layout.DONE:
        status = np.int64(layout.GROW)
    return height, status


@pasted
def push_weighted_children(
    probs: np.ndarray,
    row: int,
    walk: Walk,
    height: int,
    spot: Spot,
    moves: Moves,
    prune: bool,
    placed: bool,
    indebted: bool,
) -> int:
    """Pushes all children after a move of chance or of another player.

    Args:
        probs: array with the probabilities of the moves.
        row: index of the first move in `probs`.
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        prune: whether children of probability 0 are left out.
        placed: whether places are stored.
        indebted: whether debts are stored.

    Returns:
        The new height.
    """
    for child in range(moves.count - 1, -1, -1):
        prob = probs[row + child]
        if not prune or prob > 0.0:
            walk.node[height] = moves.first + child
            walk.sequence[height] = spot.sequence
            walk.weight[height] = spot.weight * prob
            if placed:
                walk.place[height] = child_place(spot.place, child)
            if indebted:
                walk.debt[height] = spot.debt
            height += 1
    return height


@pasted
def push_other_children(
    walk: Walk,
    height: int,
    spot: Spot,
    moves: Moves,
    weighted: bool,
    placed: bool,
    indebted: bool,
) -> int:
    """Pushes all children but the first after a move of the updated player.

    The walk follows the first child at once. The last child is pushed first, so that
    children are visited in ascending order.

    Args:
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        weighted: whether weights are stored; otherwise all are 1.
        placed: whether places are stored.
        indebted: whether debts are stored.

    Returns:
        The new height.
    """
    for child in range(moves.count - 1, 0, -1):
        walk.node[height] = moves.first + child
        walk.sequence[height] = moves.slots + child
        if weighted:
            walk.weight[height] = spot.weight
        if placed:
            walk.place[height] = child_place(spot.place, child)
        if indebted:
            walk.debt[height] = spot.debt
        height += 1
    return height
