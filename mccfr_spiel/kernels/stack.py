"""The stack of a walk: nodes to visit later.

An entry of the stack is a row of five arrays of `tables.Walk`: `node`, `sequence`,
`weight`, `place` and `debt`. A node popped from the stack becomes a `Spot`, with moves
in a `Moves`. The functions below push and postpone nodes.
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.randomness import child_place

MAX_POSTPONED = 16
"""Maximum number of unexpanded nodes that a walk postpones. One stop of the walk then
expands all of them."""


class Spot(NamedTuple):
    """The present node of a walk.

    Attributes:
        node: node number, as defined by the source.
        sequence: the updated player's last sequence before the node.
        weight: importance weight of payoffs below the node.
        place: place of the history, see randomness.py.
        debt: the average's debt to the infoset of `sequence`, see apply.py.
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
        infoset: infoset number, -1 for chance.
        first: node number of the first child.
        start: index of the first move: a sequence, or an entry of the chance
            distributions.
        count: number of moves.
        slots: index of the first move in the gradient, equal to `start` unless players
            have imperfect recall (visits.py).
    """

    acting: Any
    infoset: Any
    first: Any
    start: Any
    count: Any
    slots: Any


class Choice(NamedTuple):
    """The child that a walk visits next.

    Attributes:
        follows: False if all children were pushed, so that the history ends here.
        child: index of the child among the moves.
        sequence: the updated player's last sequence before the child.
        weight: importance weight of the child.
        likelihood: probability of the draw at nodes of the updated player, 1 if all
            actions are followed; 0 at nodes of other players and chance.
    """

    follows: Any
    child: Any
    sequence: Any
    weight: Any
    likelihood: Any


@inlined
def push(
    walk: layout.Walk, height: int, node: int, sequence: int, weight: float, place: int
) -> int:
    """Pushes a node without a debt; returns the new height."""
    walk.node[height] = node
    walk.sequence[height] = sequence
    walk.weight[height] = weight
    walk.place[height] = place
    return height + 1


@inlined
def copy_entry(walk: layout.Walk, entry: int, target: int) -> None:
    """Copies an entry of the stack to the entry `target`."""
    walk.node[target] = walk.node[entry]
    walk.sequence[target] = walk.sequence[entry]
    walk.weight[target] = walk.weight[entry]
    walk.place[target] = walk.place[entry]
    walk.debt[target] = walk.debt[entry]


@inlined
def postpone(
    walk: layout.Walk, height: int, num_aside: int, status: Any
) -> tuple[int, int, Any]:
    """Postpones the node on top of the stack if it must be expanded first.

    The entry moves to the end of the stack's arrays, where `MAX_POSTPONED` entries are
    reserved, and the walk visits other nodes meanwhile.

    Args:
        walk: the walk with the stack.
        height: height of the stack.
        num_aside: number of nodes postponed so far.
        status: reason why the walk cannot visit the node; GROW if it is unexpanded.

    Returns:
        The new height, the new number of postponed nodes, and the status of the walk.
    """
    if status == layout.GROW:
        # `halt` has pushed the node. `room_for_moves` reserves the end of the arrays.
        height -= 1
        copy_entry(walk, height, len(walk.node) - 1 - num_aside)
        num_aside += 1
        status = np.int64(layout.GROW if num_aside == MAX_POSTPONED else layout.DONE)
    return height, num_aside, status


@inlined
def resume(
    walk: layout.Walk, height: int, num_aside: int, status: Any
) -> tuple[int, Any]:
    """Pushes the postponed nodes, so that the first one postponed is on top.

    Returns:
        The new height, and the status of the walk.
    """
    # The node postponed first has the highest index and is pushed last.
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
    walk: layout.Walk,
    height: int,
    spot: Spot,
    moves: Moves,
    prune: bool,
    placed: bool,
    indebted: bool,
) -> int:
    """Pushes all children at a node of chance or of an opponent.

    Args:
        probs: array with the probabilities of the moves.
        row: index of the first move in `probs`.
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        prune: True to omit children of probability 0.
        placed: True to store places.
        indebted: True to store debts.

    Returns:
        The new height.
    """
    # Descending, so that children are visited in ascending order.
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
    walk: layout.Walk,
    height: int,
    spot: Spot,
    moves: Moves,
    weighted: bool,
    placed: bool,
    indebted: bool,
) -> int:
    """Pushes all children except the first at a node of the updated player.

    The walk continues with the first child. The last child is pushed first, so that
    children are visited in ascending order.

    Args:
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        weighted: True to store weights; otherwise all weights are 1.
        placed: True to store places.
        indebted: True to store debts.

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
