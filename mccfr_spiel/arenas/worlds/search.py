"""The compiled search for the worlds where a game ends.

It serves games with *classes* and games without a `position_key`. They differ in two
ways from those of graph_walk.py:

- Chance may deal to one player in secret.
- The answer to a move may depend on what the opponent hides, such as a shot at a ship.
  A world has an edge per answer, for the opponent's entries that give this answer.

At a world an action means the same for all entries of the acting player, so a single
entry shows the destination: the same world (a private move), or another world along an
edge. The search lists terminal worlds only, and passes over this list call no rules.
"""

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.rule_calls import (
    CLASS_RETURNS,
    LEAF_CLASS,
    RETURNS,
    call,
)
from mccfr_spiel.arenas.worlds import world_traversal
from mccfr_spiel.arenas.worlds.entries import (
    NUM_LEAVES,
    NUM_RETURNS,
    NUM_STEPS,
    SearchStack,
    add_entries,
    begin_entries,
    copy_with,
    deal,
    edge_row,
    own_row,
    stand,
    world_at,
)
from mccfr_spiel.arenas.worlds.world_lists import (
    MOST_CLASSES,
    Leaves,
)
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import DONE


@inlined
def _find_infoset(scene, level, player, entry):
    """Finds or adds the infoset of an entry of the acting player; returns a status."""
    search, path = scene.walk, scene.path
    option_row = own_row(search, 0, level) + entry
    if not stand(scene, level, player, entry, 0):
        return np.int64(world_traversal.NOT_SHARED)
    path.last[player] = search.sequences[search.firsts[player, level] + entry]
    status, count, infoset = world_traversal.meet(scene, player)
    search.options[option_row, 0] = world_traversal.as_set(path, count)
    search.options[option_row, 1] = scene.tree.infosets[infoset]["first_sequence"]
    return status


@inlined
def _edge_to(search, level, world):
    """The edge to a world: -1 for the present world, and the number of edges for a new
    world.
    """
    first, edge = edge_row(search, level), np.int64(0)
    if world == search.worlds[level]:
        return np.int64(-1)
    while edge < search.num_edges[level] and search.targets[first + edge] != world:
        edge += 1
    return edge


@inlined
def _look_along(scene, level, entry, action):
    """Follows an action that is new at a world, once for each entry of the opponent.

    Returns:
        A status, and whether the action is private.
    """
    search, game = scene.walk, scene.game
    player, is_private = search.acting[level], False
    for other in range(search.counts[1 - player, level]):
        if not stand(scene, level, player, entry, other):
            return world_traversal.NOT_SHARED, False
        played.move_on(scene.rules, game, scene.path, action)
        world = world_at(scene)
        edge = _edge_to(search, level, world)
        row = edge_row(search, level) + edge
        if edge == search.num_edges[level]:
            # The first row of level 1 is the number of edges per level.
            if edge == edge_row(search, 1):
                return world_traversal.MANY_ENTRIES, False
            search.num_edges[level] = edge + 1
            search.targets[row], search.edge_actions[row] = world, 0
        if edge < 0:
            is_private = True
        else:
            search.edge_actions[row] |= np.int64(1) << action
            search.edge_of[level * game.stops[0] + action, other] = edge
    return np.int64(DONE), is_private


@inlined
def _find_edges(scene, level):
    """Finds the infosets and edges of a world where a player acts; returns a status."""
    search, player = scene.walk, scene.walk.acting[level]
    search.worlds[level] = world_at(scene)
    followed, private, entry = np.int64(0), np.int64(0), np.int64(0)
    # Invariant: entries before `entry` have infosets and private moves, and `followed`
    # has the actions whose edges are known. An iteration handles an entry. Private
    # moves append entries to the same list, so the loop also handles these, and it ends
    # when no entry is left.
    while entry < search.counts[player, level]:
        status = _find_infoset(scene, level, player, entry)
        legal = search.options[own_row(search, 0, level) + entry, 0]
        unknown = legal & ~followed
        followed |= legal
        while unknown and status == DONE:
            bit = unknown & -unknown
            unknown ^= bit
            status, is_private = _look_along(
                scene, level, entry, world_traversal.num_bits(bit - 1)
            )
            private |= bit if is_private else np.int64(0)
        if status != DONE:
            return status
        count, private_moves = search.counts[player, level], legal & private
        count = add_entries(scene, level, entry, private_moves, count, level)
        if count < 0:
            return world_traversal.MANY_ENTRIES
        search.counts[player, level] = count
        entry += 1
    return DONE


@inlined
def _go_along(scene, level, edge):
    """Makes the entries at the end of an edge; returns a status and True (descend)."""
    search, player = scene.walk, scene.walk.acting[level]
    if player == CHANCE_NODE:
        return np.int64(DONE), True  # `deal` wrote the entries
    actions, count = search.edge_actions[edge_row(search, level) + edge], np.int64(0)
    option_row = own_row(search, 0, level)
    for entry in range(search.counts[player, level]):
        moves = search.options[option_row + entry, 0] & actions
        count = add_entries(scene, level, entry, moves, count, level + 1)
        if count < 0:
            return np.int64(world_traversal.MANY_ENTRIES), False
    begin_entries(search, player, level + 1, count)
    # All actions of an edge get the same answers, so the first action selects the
    # opponent's entries.
    other, count = 1 - player, np.int64(0)
    action = world_traversal.num_bits((actions & -actions) - 1)
    new_row = own_row(search, other, level + 1)
    for entry in range(search.counts[other, level]):
        if search.edge_of[level * scene.game.stops[0] + action, entry] == edge:
            row = search.firsts[other, level] + entry
            copy_with(search, row, new_row + count, -1)
            count += 1
    begin_entries(search, other, level + 1, count)
    return np.int64(DONE), True


@inlined
def _list_leaf(scene, level):
    """Writes a terminal world to the lists; returns a status."""
    leaves, search, at = scene.listed, scene.walk, scene.walk.at
    settings, state = scene.game.settings, scene.path.state
    leaf = at[NUM_LEAVES]
    has_classes = scene.rules[LEAF_CLASS] != 0
    # The entries of player 0 first, then those of player 1. Without classes all entries
    # have class 0.
    for player in range(2):
        num_classes = np.int64(0)
        for entry in range(search.counts[player, level]):
            if not stand(scene, level, player, entry, 0):
                return world_traversal.NOT_SHARED
            entry_class = np.int64(0)
            if has_classes:
                entry_class = call(scene.rules, LEAF_CLASS, (settings, state, player))
            if not 0 <= entry_class < MOST_CLASSES:
                return world_traversal.NOT_SHARED
            row, step = search.firsts[player, level] + entry, at[NUM_STEPS]
            leaves.steps[step] = search.sequences[row]
            leaves.classes[step] = entry_class
            leaves.weights[step] = search.weights[row]
            at[NUM_STEPS] = step + 1
            num_classes = max(num_classes, entry_class + 1)
        leaves.lengths[leaf, player] = search.counts[player, level]
        leaves.sizes[leaf, player] = num_classes
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
    """Enters a world: lists it if it is terminal, deals cards, or finds edges. Returns
    a status.
    """
    search = scene.walk
    if not stand(scene, level, 0, 0, 0):
        return world_traversal.NOT_SHARED
    acting = played.who_acts(scene.rules, scene.game, scene.path)
    search.acting[level], search.num_edges[level] = acting, 0
    search.next_edge[level] = 0
    if acting == TERMINAL:
        return _list_leaf(scene, level)
    if acting == CHANCE_NODE:
        return deal(scene, level)
    return _find_edges(scene, level)


@inlined
def _has_room(scene):
    """Whether all arrays have room for the next world, however large it is."""
    leaves, at = scene.listed, scene.walk.at
    return (
        at[NUM_STEPS] + 2 * at[world_traversal.ROOM] < len(leaves.steps)
        and at[NUM_LEAVES] < len(leaves.lengths)
        and at[NUM_RETURNS] + MOST_CLASSES**2 < len(leaves.returns)
        and world_traversal.has_room(scene)
    )


LAYOUT = world_traversal.layout_of(SearchStack, Leaves)

find = world_traversal.make_follow(LAYOUT, _has_room, _enter, _go_along)
