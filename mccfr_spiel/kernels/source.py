"""The interface of sources, which supply the nodes of a walk.

There are sources for stored trees (stored.py) and for compiled rules of a game, which
compute nodes during the walk (arenas/rules/walks.py, with variants in following.py and
grouped.py of the same folder).
"""

from typing import Any, NamedTuple


class Source(NamedTuple):
    """Functions that supply nodes; compiled walks inline them.

    Each source defines a record `nodes`, the first argument of all functions. Walks
    read four of its fields, which have the same meaning as in `TreeArrays`: `infosets`,
    `utilities`, `chance_probs`, `chance_cdf`. If the source does not store the tree,
    `chance_probs`, `chance_cdf` and `utilities` describe the present node only.

    Attributes:
        enter: `(nodes, node)` makes a node popped from the stack the present node.
        acting_at: `(nodes, node)` returns the acting player, CHANCE_NODE or TERMINAL;
            UNEXPANDED if the source `grows`.
        pay: `(nodes, node)` returns a status and a leaf's row in `utilities`.
        arrive: `(nodes, node, acting, room)` returns a status and the `Moves`. The
            status is STACK_FULL if the node has more than `room` moves, GROW if Python
            must expand the node first.
        keep: `(nodes, moves)` saves the present node, because the walk will return to
            it for other children.
        place_at: `(nodes, infoset)` returns the place (key of draws) of the infoset.
        policy_at: `(nodes, tables, moves)` returns an array with the acting player's
            policy, and the index of the first move in that array.
        descend: `(nodes, moves, child)` makes child number `child` the present node and
            returns its node number.
        stop: `(nodes, node, acting)` saves the present node before the walk stops, and
            returns the node number to push.
        start: `(nodes, tables, walk, start_tables, task)` initializes the tables of
            infosets that `arrive` has added, see `minimizers.make_start`.
        fetch: `(nodes, moves)` prefetches the children from memory.
        grows: whether nodes may be missing until Python expands them.
    """

    enter: Any
    acting_at: Any
    pay: Any
    arrive: Any
    keep: Any
    place_at: Any
    policy_at: Any
    descend: Any
    stop: Any
    start: Any
    fetch: Any
    grows: bool
