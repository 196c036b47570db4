"""Compiled rules as the source of a walk's nodes: no row is stored for a node.

The loop is that of kernels/walk.py, with the same draws at the same places, so it
computes the same bits as on a stored tree. The record `nodes` of this source is a
`played.RuleNodes`. A node on the stack is a saved state and the index of a child, see
`played.stacked`.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules.kernel import INFOSETS
from mccfr_spiel.arenas.rules.played import (
    LEVEL,
    Game,
    Known,
    Path,
    arrive,
    end_game,
    free_level,
    go_to,
    keep,
    move_on,
    nodes_of,
    save,
    stacked,
    who_acts,
)
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.iterations import make_loop
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.stored import STORED, nothing
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Task, TreeArrays, Walk
from mccfr_spiel.kernels.walk import Source

LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Game, Known, Path)
"""The records in a frame of these walks. TreeArrays has the infosets, with spare room,
and the chance distribution and the returns of one node."""

frame_of = LAYOUT.frame_of
views = LAYOUT.viewer()


@inlined
def start_new(nodes, tables, walk, start_tables, task):
    """Starts the tables of infosets that were added, see `make_start`."""
    num_infosets = nodes.known.counts[INFOSETS]
    if num_infosets > walk.known[0]:
        infosets = nodes.infosets[:num_infosets]
        start_tables(task, infosets, tables, walk.known)


@inlined
def enter(nodes, node):
    """Restores the saved state of the parent and makes the move to the child."""
    go_to(nodes.rules, nodes.game, nodes.path, node)


@inlined
def acting_at(nodes, node):
    """Asks the rules who acts."""
    return np.int64(who_acts(nodes.rules, nodes.game, nodes.path))


@inlined
def pay(nodes, node):
    """Asks the rules for the returns, and writes them to `utilities`."""
    status = end_game(nodes.rules, nodes.game, nodes.path, nodes.utilities)
    return np.int64(status), np.int64(0)


@inlined
def descend(nodes, moves, child):
    """Makes the move."""
    path = nodes.path
    if moves.acting >= 0:
        path.last[moves.acting] = moves.start + child
    move_on(nodes.rules, nodes.game, path, path.moves[child])
    return np.int64(0)


@inlined
def stop(nodes, node, acting):
    """Saves the state as a node without moves."""
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
"""Places and policies are those of stored trees. Children are not in memory, so nothing
is prefetched."""


@for_rule
def make_rule_iterate(rule: Rule, sampled: Sampled, source: Source = PLAYED) -> Any:
    """Makes `iterate(frame, rules)` for one kind of sampling and one local rule.

    `rules` are those of `kernel.callable_rules`. It runs whole iterations up to the
    limits of the job and returns the statuses of `stored.make_iterate`'s loop. After
    GROW there must be room for one more infoset. A status from BROKEN on says that the
    game's rules are wrong where the path ends.

    Args:
        rule: the local rule.
        sampled: what a walk samples: something, and not by the balanced strategy.
        source: PLAYED, or `following.FACED` where players follow policies.
    """
    go_on, start_tables = make_loop(sampled, rule, source), make_start(rule)

    @jit(views_only=True)
    def iterate(frame, rules):
        tree, tables = views(frame, TreeArrays), views(frame, Tables)
        game, known = views(frame, Game), views(frame, Known)
        path, walk = views(frame, Path), views(frame, Walk)
        task, nodes = views(frame, Task), nodes_of(tree, game, known, path, rules)
        start_new(nodes, tables, walk, start_tables, task)
        return go_on(task, nodes, tables, walk, known.counts[INFOSETS])

    return iterate
