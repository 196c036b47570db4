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
    """Does nothing. Rows need no state, and their infosets exist before the walk."""


@inlined
def acting_at(nodes, node):
    """Returns the acting player."""
    return np.int64(nodes.nodes[node]["player"])


@inlined
def pay(nodes, node):
    """Returns DONE and the leaf's row of `utilities`."""
    return np.int64(layout.DONE), np.int64(nodes.nodes[node]["start"])


@inlined
def arrive(nodes, node, acting, room):
    """Returns the moves of the node; the status is GROW if it is unexpanded."""
    record = nodes.nodes[node]
    count, status = np.int64(record["num_children"]), np.int64(layout.DONE)
    if count == 0:  # more moves than the field can hold, see NODE
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
    """Returns the place of the infoset."""
    return nodes.infosets[infoset]["place"]


@inlined
def policy_at(nodes, tables, moves):
    """Returns the table of policies, which is indexed by sequences."""
    return tables.policy, moves.start


@inlined
def descend(nodes, moves, child):
    """Returns the child's row."""
    return moves.first + child


@inlined
def stop(nodes, node, acting):
    """Returns the same row, which needs no saving."""
    return node


@pasted
def fetch(nodes: layout.TreeArrays, moves: Moves) -> None:
    """Prefetches the children before one of them is drawn."""
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
    limits of the job. The frame holds a Task, TreeArrays, Tables and a Walk. `iterate`
    returns a status. After GROW, STACK_FULL or PAUSED another call resumes.

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
