"""The interface of sources, which supply the nodes of a walk.

Sources: stored.py (rows of a stored tree), arenas/rules/walks.py (states of compiled
rules), and variants of the latter in following.py and grouped.py.
"""

from typing import Any, NamedTuple


class Source(NamedTuple):
    """Functions that supply nodes; compiled walks inline them.

    Each source defines a record `nodes`. Walks read four fields, which every source
    provides as in `TreeArrays`: `infosets`, `utilities`, `chance_probs`, `chance_cdf`.
    A source without rows keeps chance probabilities and returns of the present node.

    Attributes:
        enter: `(nodes, node)` moves to a node popped from the stack.
        acting_at: `(nodes, node)` returns the acting player, CHANCE_NODE or TERMINAL.
        pay: `(nodes, node)` returns a status and a leaf's row of `utilities`.
        arrive: `(nodes, node, acting, room)` returns a status and the `Moves`. The
            status is STACK_FULL if the node has more than `room` moves.
        keep: `(nodes, moves)` saves the present node before children are pushed.
        place_at: `(nodes, infoset)` returns the place of draws at the infoset.
        policy_at: `(nodes, tables, moves)` returns an array with the acting player's
            policy, and the index of the first move in that array.
        descend: `(nodes, moves, child)` moves to a child and returns the child's node.
        stop: `(nodes, node, acting)` saves the present node before the walk stops, and
            returns the node to push.
        start: `(nodes, tables, walk, start_tables, task)` initializes the tables of
            infosets added by `arrive`, see `minimizers.make_start`.
        fetch: `(nodes, moves)` prefetches the children.
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
