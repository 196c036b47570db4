"""A stored tree as the source of a walk's nodes: a node is a row of an array.

The record `nodes` of this source is the `TreeArrays`.
"""

from typing import Any

import numpy as np

from mccfr_spiel.common.arrays import NODE, UNEXPANDED
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.frame import prefetch
from mccfr_spiel.kernels.iterations import make_loop
from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.stack import Moves
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Task, TreeArrays, Walk, tree_in, views
from mccfr_spiel.kernels.walk import Source

_NODES_A_LINE = 64 // NODE.itemsize
"""Number of nodes in a cache line."""

_MOST_FETCHED = 256


@inlined
def nothing(*arguments):
    """A step without effect. Rows need no state, and infosets are added with them."""


@inlined
def acting_at(nodes, node):
    """The acting player."""
    return np.int64(nodes.nodes[node]["player"])


@inlined
def pay(nodes, node):
    """The row of the returns."""
    return np.int64(layout.DONE), np.int64(nodes.nodes[node]["start"])


@inlined
def arrive(nodes, node, acting, room):
    """The moves in the node's row; GROW if the node is not expanded."""
    record = nodes.nodes[node]
    count, status = np.int64(record["num_children"]), np.int64(layout.DONE)
    if count == 0:  # there are more than fit, see NODE
        count = -np.int64(record["infoset"])
    if acting == UNEXPANDED:
        status = np.int64(layout.GROW)
    elif count > room:
        status = np.int64(layout.STACK_FULL)
    first, start = np.int64(record["first_child"]), np.int64(record["start"])
    infoset = np.int64(record["infoset"])
    return status, Moves(acting, infoset, first, start, count, start)


@inlined
def place_at(nodes, infoset):
    """The place of the infoset."""
    return nodes.infosets[infoset]["place"]


@inlined
def policy_at(nodes, tables, moves):
    """The rows of the table."""
    return tables.policy, moves.start


@inlined
def descend(nodes, moves, child):
    """The child's row."""
    return moves.first + child


@inlined
def stop(nodes, node, acting):
    """The same row."""
    return node


@pasted
def fetch(nodes: TreeArrays, moves: Moves) -> None:
    """Prefetches the children, of which one is about to be drawn."""
    count = min(moves.count, _MOST_FETCHED)
    for child in range(moves.first, moves.first + count, _NODES_A_LINE):
        prefetch(nodes.nodes, child)


STORED = Source(
    enter=nothing,
    acting_at=acting_at,
    pay=pay,
    arrive=arrive,
    keep=nothing,
    place_at=place_at,
    policy_at=policy_at,
    descend=descend,
    stop=stop,
    start=nothing,
    fetch=fetch,
    grows=True,
)


@for_rule
def make_iterate(rule: Rule, sampled: Sampled) -> Any:
    """Makes `iterate(frame)` for walks over stored trees.

    It starts the tables of new infosets and runs whole iterations up to the limits of
    the job. The frame holds a Task, the TreeArrays, Tables and a Walk, which change. It
    returns a status. After GROW, STACK_FULL and PAUSED call it again.

    Args:
        rule: the local rule.
        sampled: what a walk samples.
    """
    go_on, start_tables = make_loop(sampled, rule, STORED), make_start(rule)

    @jit(views_only=True)
    def iterate(frame):
        task = views(frame, Task)
        nodes = tree_in(frame, task.job)
        tables, walk = views(frame, Tables), views(frame, Walk)
        start_tables(task, nodes.infosets, tables, walk.known)
        return go_on(task, nodes, tables, walk, len(nodes.nodes))

    return iterate
