"""The compiled search for the worlds of a game, and what it fills.

At each world the walk has the *entries* of both players, each as its player's own moves
and deals. Any entry of one player with any of the other gives a history, so the state
of a pair is made by playing their moves in turn. An action means the same for all
entries of a world, so one of them tells where it leads: to the same world, as a private
move that makes another entry of the mover; or along an *edge* to the next. There the
mover has an entry for each entry and action that lead along the edge.

This search is for games with *classes* (see passes.py), and for all that have no
`position_key`. They may differ in three ways from those of places.py. Chance may deal
to one player in secret. The answer to a move may depend on what the other player hides,
such as a shot at a ship: a world has an edge for each answer, and along it go the
other's entries that give this answer. And what is kept are the worlds where the game
ends. Passes call no rules.
"""

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.kernel import CLASS_RETURNS, LEAF_CLASS, RETURNS, call
from mccfr_spiel.arenas.worlds import traversal
from mccfr_spiel.arenas.worlds.entries import (
    NUM_LEAVES,
    NUM_RETURNS,
    NUM_STEPS,
    Search,
    add_entries,
    begin_entries,
    copy_with,
    deal,
    edge_row,
    own_row,
    stand,
    world_at,
)
from mccfr_spiel.arenas.worlds.traversal import MANY_ENTRIES, NOT_SHARED, ROOM, num_bits
from mccfr_spiel.arenas.worlds.world_lists import MOST_CLASSES, Leaves
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import DONE


@inlined
def _find_infoset(scene, level, player, entry):
    """Finds the infoset of an entry of who acts, or adds it; returns a status."""
    search, path = scene.walk, scene.path
    here = own_row(search, 0, level) + entry
    if not stand(scene, level, player, entry, 0):
        return np.int64(NOT_SHARED)
    path.last[player] = search.sequences[search.firsts[player, level] + entry]
    status, count, infoset = traversal.meet(scene, player)
    search.spots[here, 0] = traversal.as_set(path, count)
    search.spots[here, 1] = scene.tree.infosets[infoset]["first_sequence"]
    return status


@inlined
def _edge_to(search, level, world):
    """The edge to a world; -1 for the world itself, and the number of edges if it is a
    new one."""
    first, edge = edge_row(search, level), np.int64(0)
    if world == search.worlds[level]:
        return np.int64(-1)
    while edge < search.num_edges[level] and search.behind[first + edge] != world:
        edge += 1
    return edge


@inlined
def _look_along(scene, level, entry, action):
    """Finds where an action leads that no entry of the world had before, for each entry
    of the other player.

    Returns a status, and whether it leads to the world itself.
    """
    search, game = scene.walk, scene.game
    player, is_private = search.acting[level], False
    for other in range(search.counts[1 - player, level]):
        if not stand(scene, level, player, entry, other):
            return NOT_SHARED, False
        played.move_on(scene.rules, game, scene.path, action)
        world = world_at(scene)
        edge = _edge_to(search, level, world)
        row = edge_row(search, level) + edge
        if edge == search.num_edges[level]:
            if edge == edge_row(search, 1):
                return MANY_ENTRIES, False
            search.num_edges[level] = edge + 1
            search.behind[row], search.edge_actions[row] = world, 0
        if edge < 0:
            is_private = True
        else:
            search.edge_actions[row] |= np.int64(1) << action
            search.leads[level * game.stops[0] + action, other] = edge
    return np.int64(DONE), is_private


@inlined
def _find_edges(scene, level):
    """Finds the infosets and the edges of a world where a player acts; returns a
    status.

    Private moves append entries to the list of the mover that is read here.
    """
    search, player = scene.walk, scene.walk.acting[level]
    search.worlds[level] = world_at(scene)
    seen, private, entry = np.int64(0), np.int64(0), np.int64(0)
    while entry < search.counts[player, level]:
        status = _find_infoset(scene, level, player, entry)
        legal = search.spots[own_row(search, 0, level) + entry, 0]
        unknown = legal & ~seen
        seen |= legal
        while unknown and status == DONE:
            bit = unknown & -unknown
            unknown ^= bit
            status, is_private = _look_along(scene, level, entry, num_bits(bit - 1))
            private |= bit if is_private else np.int64(0)
        if status != DONE:
            return status
        count, going = search.counts[player, level], legal & private
        count = add_entries(scene, level, entry, going, count, level)
        if count < 0:
            return MANY_ENTRIES
        search.counts[player, level] = count
        entry += 1
    return DONE


@inlined
def _go_along(scene, level, edge):
    """Makes the entries of the world behind an edge; returns a status, and that the
    walk goes on there. `deal` has made those behind a deal."""
    search, player = scene.walk, scene.walk.acting[level]
    if player == CHANCE_NODE:
        return np.int64(DONE), True
    actions, count = search.edge_actions[edge_row(search, level) + edge], np.int64(0)
    here = own_row(search, 0, level)
    for entry in range(search.counts[player, level]):
        going = search.spots[here + entry, 0] & actions
        count = add_entries(scene, level, entry, going, count, level + 1)
        if count < 0:
            return np.int64(MANY_ENTRIES), False
    begin_entries(search, player, level + 1, count)
    other, action, count = 1 - player, num_bits((actions & -actions) - 1), np.int64(0)
    behind = own_row(search, other, level + 1)
    for entry in range(search.counts[other, level]):
        if search.leads[level * scene.game.stops[0] + action, entry] == edge:
            row = search.firsts[other, level] + entry
            copy_with(search, row, behind + count, -1)
            count += 1
    begin_entries(search, other, level + 1, count)
    return np.int64(DONE), True


@inlined
def _list_leaf(scene, level):
    """Writes a world where the game ends; returns a status."""
    leaves, search, at = scene.listed, scene.walk, scene.walk.at
    settings, state = scene.game.settings, scene.path.state
    leaf = at[NUM_LEAVES]
    has_classes = scene.rules[LEAF_CLASS] != 0
    for player in range(2):
        most = np.int64(0)
        for entry in range(search.counts[player, level]):
            if not stand(scene, level, player, entry, 0):
                return NOT_SHARED
            its_class = np.int64(0)
            if has_classes:
                its_class = call(scene.rules, LEAF_CLASS, (settings, state, player))
            if not 0 <= its_class < MOST_CLASSES:
                return NOT_SHARED
            row, step = search.firsts[player, level] + entry, at[NUM_STEPS]
            leaves.steps[step] = search.sequences[row]
            leaves.classes[step] = its_class
            leaves.weights[step] = search.weights[row]
            at[NUM_STEPS] = step + 1
            most = max(most, its_class + 1)
        leaves.lengths[leaf, player] = search.counts[player, level]
        leaves.sizes[leaf, player] = most
    for first in range(leaves.sizes[leaf, 0]):
        for second in range(leaves.sizes[leaf, 1]):
            pays = leaves.returns[at[NUM_RETURNS]]
            if has_classes:
                arguments = settings, state, first, second, pays
                call(scene.rules, CLASS_RETURNS, arguments)
            else:
                call(scene.rules, RETURNS, (settings, state, pays))
            at[NUM_RETURNS] += 1
    at[NUM_LEAVES] = leaf + 1
    return DONE


@inlined
def _enter(scene, level):
    """Finds what is behind a world and writes what is kept of it; returns a status."""
    search = scene.walk
    if not stand(scene, level, 0, 0, 0):
        return NOT_SHARED
    player = played.who_acts(scene.rules, scene.game, scene.path)
    search.acting[level], search.num_edges[level] = player, 0
    search.next_edge[level] = 0
    if player == TERMINAL:
        return _list_leaf(scene, level)
    if player == CHANCE_NODE:
        return deal(scene, level)
    return _find_edges(scene, level)


@inlined
def _has_room(scene):
    """Whether all arrays have room for the next world, whatever it has."""
    leaves, at = scene.listed, scene.walk.at
    return (
        at[NUM_STEPS] + 2 * at[ROOM] < len(leaves.steps)
        and at[NUM_LEAVES] < len(leaves.lengths)
        and at[NUM_RETURNS] + MOST_CLASSES**2 < len(leaves.returns)
        and traversal.has_room(scene)
    )


LAYOUT = traversal.layout_of(Search, Leaves)

find = traversal.make_follow(LAYOUT, _has_room, _enter, _go_along)
