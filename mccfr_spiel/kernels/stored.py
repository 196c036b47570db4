"""Stored trees as a source of nodes. A node is a row of `TreeArrays.nodes`.

`TreeArrays` is also the record `nodes` of this source, see `source.Source`.
"""

from typing import Any

import numpy as np

from mccfr_spiel.common.arrays import NODE, UNEXPANDED
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.iterations import make_loop
from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.prefetching import prefetch
from mccfr_spiel.kernels.source import Source
from mccfr_spiel.kernels.stack import Moves
from mccfr_spiel.kernels.switches import Sampled

_NODES_A_LINE = 64 // NODE.itemsize
"""Number of nodes per cache line."""

_MAX_FETCHED = 256


@inlined
def nothing(*arguments):
    """Does nothing: stored nodes need no preparation, and no infosets are added."""


@inlined
def acting_at(nodes, node):
    """Returns the acting player."""
    return np.int64(nodes.nodes[node]["player"])


@inlined
def pay(nodes, node):
    """Returns the status DONE, and the row of the leaf in `utilities`."""
    return np.int64(layout.DONE), np.int64(nodes.nodes[node]["start"])


@inlined
def arrive(nodes, node, acting, room):
    """Returns a status, and the `Moves` at a node.

    The status is GROW if the node is unexpanded, STACK_FULL if it has more than `room`
    moves, else DONE. The moves are meaningful only if the status is DONE.
    """
    record = nodes.nodes[node]
    count, status = np.int64(record["num_children"]), np.int64(layout.DONE)
    if count == 0:  # the field `num_children` is too small, see `arrays.NODE`
        count = -np.int64(record["infoset"])
    # The other fields of an unexpanded node are meaningless but safe to read.
    if acting == UNEXPANDED:
        status = np.int64(layout.GROW)
    elif count > room:
        status = np.int64(layout.STACK_FULL)
    first, start = np.int64(record["first_child"]), np.int64(record["start"])
    infoset = np.int64(record["infoset"])
    return status, Moves(acting, infoset, first, start, count, start)


@inlined
def place_at(nodes, infoset):
    """Returns the place (key of draws) of the infoset."""
    return nodes.infosets[infoset]["place"]


@inlined
def policy_at(nodes, tables, moves):
    """Returns the table of policies and the sequence of the first move."""
    return tables.policy, moves.start


@inlined
def descend(nodes, moves, child):
    """Returns the row of child number `child`."""
    return moves.first + child


@inlined
def stop(nodes, node, acting):
    """Returns the same row, because a stored node need not be saved."""
    return node


@pasted
def fetch(nodes: layout.TreeArrays, moves: Moves) -> None:
    """Prefetches the rows of the children, at most _MAX_FETCHED."""
    count = min(moves.count, _MAX_FETCHED)
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
    """Compiles `iterate(frame)`, which runs iterations with walks over a stored tree.

    `iterate` initializes the tables of new infosets and runs iterations up to the
    limits of the job. The frame (frame.py) contains a Task, TreeArrays, Tables and a
    Walk. `iterate` returns a status. After GROW, STACK_FULL or PAUSED, another call
    continues where this call stopped.

    Args:
        rule: the local rule.
        sampled: the sampled parts of the algorithm.
    """
    go_on, start_tables = make_loop(sampled, rule, STORED), make_start(rule)

    @jit(views_only=True)
    def iterate(frame):
        task = layout.views(frame, layout.Task)
        nodes = layout.tree_in(frame, task.job)
        tables, walk = (
            layout.views(frame, layout.Tables),
            layout.views(frame, layout.Walk),
        )
        start_tables(task, nodes.infosets, tables, walk.known)
        return go_on(task, nodes, tables, walk, len(nodes.nodes))

    return iterate
