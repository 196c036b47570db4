"""Compiled rules as a source of nodes for walks, without a stored tree.

A *source* is a set of functions that supply the nodes of a walk (kernels/source.py).
The walk itself is that of kernels/walk.py. It draws the same random numbers with every
source, so the results are identical to those on a stored tree. The record `nodes` of
this source is a `rule_records.RuleNodes`. Nodes have no rows in memory: a node number
encodes a saved state of the path and the index of a child of this state, see
`played.stacked`.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules.played import (
    arrive,
    end_game,
    free_level,
    go_to,
    keep,
    move_on,
    save,
    stacked,
    who_acts,
)
from mccfr_spiel.arenas.rules.rule_records import (
    INFOSETS,
    LEVEL,
    GameArrays,
    Known,
    Path,
    nodes_of,
)
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.iterations import make_loop
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.source import Source
from mccfr_spiel.kernels.stored import STORED, nothing
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Task, TreeArrays, Walk

LAYOUT = Layout(Task, TreeArrays, Tables, Walk, GameArrays, Known, Path)
"""Records in the frame of these walks. In TreeArrays, `infosets` has unused entries for
new infosets, and the chance distribution and returns are those of the present node.
"""

frame_of = LAYOUT.frame_of
views = LAYOUT.viewer()


@inlined
def start_new(nodes, tables, walk, start_tables, task):
    """Initializes the solver's tables for new infosets, see `minimizers.make_start`."""
    # Most visits add no infoset, so usually only this comparison is executed.
    num_infosets = nodes.known.counts[INFOSETS]
    if num_infosets > walk.known[0]:
        infosets = nodes.infosets[:num_infosets]
        start_tables(task, infosets, tables, walk.known)


@inlined
def enter(nodes, node):
    """Moves the path to a node: restores the saved state and applies a move, if any."""
    go_to(nodes.rules, nodes.game, nodes.path, node)


@inlined
def acting_at(nodes, node):
    """Returns the acting player according to the rules."""
    return np.int64(who_acts(nodes.rules, nodes.game, nodes.path))


@inlined
def pay(nodes, node):
    """Writes the returns to row 0 of `utilities`; returns a status and the row, 0."""
    status = end_game(nodes.rules, nodes.game, nodes.path, nodes.utilities)
    return np.int64(status), np.int64(0)


@inlined
def descend(nodes, moves, child):
    """Applies a move to the present state, to visit the child immediately.

    Returns:
        0 as the number of the child, because the present node needs no number.
    """
    path = nodes.path
    # The rules do not know sequences, so the path tracks each player's last sequence.
    if moves.acting >= 0:
        path.last[moves.acting] = moves.start + child
    move_on(nodes.rules, nodes.game, path, path.moves[child])
    return np.int64(0)


@inlined
def stop(nodes, node, acting):
    """Saves the present state, at which the walk stops; returns its node number.

    It is saved without moves, because the moves will be listed when the walk resumes.
    """
    path = nodes.path
    level = free_level(path)
    save(path, level, acting, 0, 0)
    path.position[LEVEL] = level
    return stacked(level)


PLAYED: Source = STORED._replace(
    enter=enter,
    acting_at=acting_at,
    pay=pay,
    arrive=arrive,
    keep=keep,
    descend=descend,
    stop=stop,
    start=start_new,
    fetch=nothing,
    grows=False,
)
"""The source for walks over compiled rules. Places and policies of infosets are read as
in stored trees. Nothing is prefetched, because children have no rows in memory.
"""


@for_rule
def make_rule_iterate(rule: Rule, sampled: Sampled, source: Source = PLAYED) -> Any:
    """Compiles `iterate(frame, rules)`, which runs iterations with walks over rules.

    `frame` has the layout LAYOUT, and `rules` are the addresses from
    `rule_calls.callable_rules`. Like the result of `stored.make_iterate`, `iterate`
    runs iterations up to the limits of the job and returns a status. After GROW, the
    caller must make room for at least one more infoset before the next call. A status
    of BROKEN or higher is BROKEN + a status of rules/rule_faults.py: the rules contain
    an error, which shows in the present state.

    Args:
        rule: the local rule.
        sampled: the sampled parts of the algorithm, which must sample, but not with the
            balanced strategy.
        source: PLAYED, or `following.FACED` if some players follow fixed policies.
    """
    go_on, start_tables = make_loop(sampled, rule, source), make_start(rule)

    @jit(views_only=True)
    def iterate(frame, rules):
        tree, tables = views(frame, TreeArrays), views(frame, Tables)
        game, known = views(frame, GameArrays), views(frame, Known)
        path, walk = views(frame, Path), views(frame, Walk)
        task, nodes = views(frame, Task), nodes_of(tree, game, known, path, rules)
        start_new(nodes, tables, walk, start_tables, task)
        return go_on(task, nodes, tables, walk, known.counts[INFOSETS])

    return iterate
