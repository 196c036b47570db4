"""A stored tree as the source of a walk's nodes: a node is a row of an array."""

from typing import Any

import numpy as np

from mccfr_spiel.common.arrays import NODE, UNEXPANDED
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.frame import prefetch
from mccfr_spiel.kernels.jit import inlined, jit, pasted
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.sampling import Visit, push
from mccfr_spiel.kernels.tables import Tables, Task, Walk, tree_in, views
from mccfr_spiel.kernels.walk import Sampled, Source, make_loop

_NODES_A_LINE = 64 // NODE.itemsize
"""The nodes that fit in one line of the processor's cache, which is loaded as a
whole."""

_MOST_FETCHED = 256


@inlined
def nothing(*arguments):
    """A step that has nothing to do. Rows of a tree need no state and stay, and their
    infosets come with them, before the walk."""


@inlined
def acting_at(tree, game, known, path, rules, node):
    """Who acts."""
    return np.int64(tree.nodes[node]["player"])


@inlined
def pay(tree, game, known, path, rules, node):
    """The row of the returns."""
    return np.int64(layout.DONE), np.int64(tree.nodes[node]["start"])


@inlined
def arrive(tree, game, known, path, rules, node, acting, free):
    """The node's row, unless it must be expanded first."""
    record = tree.nodes[node]
    count, status = np.int64(record["num_children"]), np.int64(layout.DONE)
    if count == 0:  # there are more than fit, see NODE
        count = -np.int64(record["infoset"])
    if acting == UNEXPANDED:
        status = np.int64(layout.GROW)
    elif count > free:
        status = np.int64(layout.STACK_FULL)
    first, start = np.int64(record["first_child"]), np.int64(record["start"])
    return status, first, start, count, np.int64(record["infoset"])


@inlined
def place_at(tree, game, known, path, rules, infoset):
    """The place of the infoset."""
    return tree.infosets[infoset]["place"]


@inlined
def policy_at(tree, game, known, path, rules, tables, acting, start, count):
    """The row of the table."""
    return tables.policy, start


@inlined
def descend(tree, game, known, path, rules, first, acting, start, chosen):
    """The child's row."""
    return first + chosen


@inlined
def stop(
    tree, game, known, path, rules, walk, top, node, acting, sequence, weight, place
):
    """Stacks the node again."""
    walk.marks[layout.TO_GROW] = 1
    return push(walk, top, node, sequence, weight, place)


@pasted
def fetch(tree: Any, at: Visit) -> None:
    """Asks memory for the children of a node, of which one is about to be drawn."""
    count = min(at.num_moves, _MOST_FETCHED)
    for child in range(at.first, at.first + count, _NODES_A_LINE):
        prefetch(tree.nodes, child)


STORED = Source(
    *(nothing, acting_at, pay, arrive, nothing),
    *(place_at, policy_at, descend, stop, nothing, fetch),
    grows=True,
)


@for_rule
def make_iterate(rule: Rule, sampled: Sampled) -> Any:
    """Makes `iterate(frame)` for walks over stored trees.

    It starts the tables of infosets that are new, then runs whole iterations until the
    job's limits. What the frame holds is said in tables.py: a Task, the TreeArrays,
    Tables and a Walk, which are changed. It returns a status of tables.py. After GROW,
    STACK_FULL and PAUSED it is to be called again.

    Args:
        rule: the local rule.
        sampled: what a walk samples.
    """
    go_on, start_tables = make_loop(sampled, rule, STORED), make_start(rule)

    @jit(views_only=True)
    def iterate(frame):
        task = views(frame, Task)
        tree = tree_in(frame, task.job)
        tables, walk = views(frame, Tables), views(frame, Walk)
        start_tables(task, tree, tables, walk.known)
        size = len(tree.nodes)
        return go_on(task, tree, None, None, None, None, tables, walk, size)

    return iterate
