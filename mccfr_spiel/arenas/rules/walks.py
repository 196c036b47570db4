"""Compiled rules as a source of nodes, which stores no rows of nodes.

The walk is that of kernels/walk.py and uses the same draws at the same places. Its
results are therefore identical to those on a stored tree. The record `nodes` of this
source is a `played.RuleNodes`. A node number encodes a saved state and the index of a
child, see `played.stacked`.
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
"""Records in the frame of these walks. TreeArrays contains the infosets, with spare
room, and the chance distribution and the returns of the present node."""

frame_of = LAYOUT.frame_of
views = LAYOUT.viewer()


@inlined
def start_new(nodes, tables, walk, start_tables, task):
    """Initializes the tables of added infosets, see `minimizers.make_start`."""
    # Most visits add nothing, so that the comparison is all the work.
    num_infosets = nodes.known.counts[INFOSETS]
    if num_infosets > walk.known[0]:
        infosets = nodes.infosets[:num_infosets]
        start_tables(task, infosets, tables, walk.known)


@inlined
def enter(nodes, node):
    """Restores the saved state of the parent and moves to the child."""
    go_to(nodes.rules, nodes.game, nodes.path, node)


@inlined
def acting_at(nodes, node):
    """Returns the acting player according to the rules."""
    return np.int64(who_acts(nodes.rules, nodes.game, nodes.path))


@inlined
def pay(nodes, node):
    """Writes the returns to row 0 of `utilities`; returns a status and that row."""
    status = end_game(nodes.rules, nodes.game, nodes.path, nodes.utilities)
    return np.int64(status), np.int64(0)


@inlined
def descend(nodes, moves, child):
    """Applies the move; returns 0, because the present node needs no number."""
    path = nodes.path
    # Rules have no notion of sequences. The path tracks them for all players.
    if moves.acting >= 0:
        path.last[moves.acting] = moves.start + child
    move_on(nodes.rules, nodes.game, path, path.moves[child])
    return np.int64(0)


@inlined
def stop(nodes, node, acting):
    """Saves the state as a node without moves; returns its number."""
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
"""Places and policies are read as in stored trees. Nothing is prefetched, because
children have no rows in memory."""


@for_rule
def make_rule_iterate(rule: Rule, sampled: Sampled, source: Source = PLAYED) -> Any:
    """Compiles `iterate(frame, rules)`, which runs iterations with walks over rules.

    `rules` are the addresses from `rule_calls.callable_rules`. `iterate` runs
    iterations up to the limits of the job and returns a status, as
    `stored.make_iterate` describes. After GROW, make room for at least one more infoset
    before the next call. A status of BROKEN or higher means that the game's rules are
    invalid in the present state.

    Args:
        rule: the local rule.
        sampled: the sampled parts of an algorithm that samples, but not with the
            balanced strategy.
        source: PLAYED, or `following.FACED` if players follow given policies.
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
