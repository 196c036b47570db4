"""The stack of a walk: nodes to visit later.

An entry of the stack is a row of five arrays of `tables.Walk`: `node`, `sequence`,
`weight`, `place` and `debt`. A node popped from the stack becomes a `Spot`; a `Moves`
describes its moves. The functions below push and postpone nodes.

Three switches decide which arrays are used, because other algorithms need not store
them: `weighted` (weights may differ from 1), `placed` (chance is sampled, so the stack
stores the key of each node's chance draws) and `indebted` (the stack stores debts, the
amounts that the lazy average still owes).
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.randomness import NO_PLACES, place_below

MAX_POSTPONED = 16
"""Maximum number of unexpanded nodes that a walk postpones.

When the walk finally stops, Python expands all of them at once.
"""


class Spot(NamedTuple):
    """The present node of a walk.

    Attributes:
        node: node number, as defined by the source.
        sequence: the updated player's last sequence before the node.
        weight: importance weight of payoffs below the node.
        place: key of chance draws, a hash of the node's history (randomness.py).
        debt: amount that the lazy average still owes the infoset of `sequence`, see
            lazy_average.py.
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
        start: the first move's sequence; at chance nodes its index in `chance_probs`.
        count: number of moves.
        slots: index of the first move in the gradient. It equals `start` unless players
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
        likelihood: at nodes of the updated player, the probability with which the
            action was drawn, or 1 if the walk follows all actions. 0 at nodes of other
            players and chance.
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
    """Pushes a node without setting `Walk.debt`; returns the new height."""
    walk.node[height] = node
    walk.sequence[height] = sequence
    walk.weight[height] = weight
    walk.place[height] = place
    return height + 1


@inlined
def copy_entry(walk: layout.Walk, entry: int, target: int) -> None:
    """Copies row `entry` of the stack's arrays to row `target`."""
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

    The node moves to the end of the stack's arrays, where `MAX_POSTPONED` rows are
    reserved. The walk visits other nodes first.

    Args:
        walk: the walk with the stack.
        height: height of the stack.
        num_aside: number of nodes postponed so far.
        status: why the walk cannot visit the node; GROW if the node is unexpanded.

    Returns:
        The new height, the new number of postponed nodes, and the status: DONE if the
        walk can continue with other nodes.
    """
    if status == layout.GROW:
        # `walk.make_halt` has pushed the node, and `walk.make_room` keeps the end of
        # the arrays free.
        height -= 1
        copy_entry(walk, height, len(walk.node) - 1 - num_aside)
        num_aside += 1
        status = np.int64(layout.GROW if num_aside == MAX_POSTPONED else layout.DONE)
    return height, num_aside, status


@inlined
def resume(
    walk: layout.Walk, height: int, num_aside: int, status: Any
) -> tuple[int, Any]:
    """Pushes the postponed nodes in reverse order, so that the oldest is on top.

    Returns:
        The new height, and the status: GROW instead of DONE if nodes were postponed.
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
    places: int,
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
        places: NO_PLACES, or the kind of places to store, see randomness.py.
        indebted: True to store debts.

    Returns:
        The new height.
    """
    # In descending order, so that children are popped in ascending order.
    for child in range(moves.count - 1, -1, -1):
        prob = probs[row + child]
        if not prune or prob > 0.0:
            walk.node[height] = moves.first + child
            walk.sequence[height] = spot.sequence
            walk.weight[height] = spot.weight * prob
            if places != NO_PLACES:
                walk.place[height] = place_below(spot.place, child, places)
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
    places: int,
    indebted: bool,
) -> int:
    """Pushes the second to last children of a node of the updated player.

    The first child is not pushed because the walk visits it next. The other children
    are pushed in descending order, so that they are popped in ascending order. They
    inherit the weight and the debt of the node, because all actions are followed.

    Args:
        walk: the walk with the stack.
        height: height of the stack.
        spot: the node.
        moves: its moves.
        weighted: True to store weights; otherwise all weights are 1.
        places: NO_PLACES, or the kind of places to store, see randomness.py.
        indebted: True to store debts.

    Returns:
        The new height.
    """
    for child in range(moves.count - 1, 0, -1):
        walk.node[height] = moves.first + child
        walk.sequence[height] = moves.slots + child
        if weighted:
            walk.weight[height] = spot.weight
        if places != NO_PLACES:
            walk.place[height] = place_below(spot.place, child, places)
        if indebted:
            walk.debt[height] = spot.debt
        height += 1
    return height
