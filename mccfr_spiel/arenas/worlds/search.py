"""The compiled search for the terminal worlds of a game.

It serves games that declare *classes* (`leaf_class`) or no `position_key`. These games
differ in two ways from those of graph_walk.py:

- Chance may deal to one player in secret.
- The public answer to a move may depend on what the opponent hides: a shot at a ship is
  a hit or a miss. A world then has one edge per answer, and only the opponent's entries
  that give this answer follow the edge.

In a world, an action has the same effect for all entries of the acting player. So it is
enough to follow the action with one of these entries. It leads either to the same world
(a *private* move, which the opponent does not notice), or along an edge to another
world. The search lists terminal worlds only, and passes over this list do not call the
rules.

The functions share these arguments: `scene` holds all records of the search, and
`level` is the world's level on the stack. Statuses other than DONE are NOT_SHARED (the
worlds are declared wrongly), MANY_ENTRIES (too little room) and BROKEN plus a code (the
rules contradict themselves).
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
    """Finds or adds the infoset of an entry of the acting player; returns a status.

    Its legal actions and first sequence are written to `SearchStack.options`.
    """
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
    """Returns the number of the edge from the world at `level` to another world.

    Args:
        search: stack of the search.
        level: level of the present world.
        world: hash of the other world's key.

    Returns:
        The edge; -1 if both worlds are the same; `num_edges[level]` if no edge leads
            there yet.
    """
    first, edge = edge_row(search, level), np.int64(0)
    if world == search.worlds[level]:
        return np.int64(-1)
    while edge < search.num_edges[level] and search.targets[first + edge] != world:
        edge += 1
    return edge


@inlined
def _look_along(scene, level, entry, action):
    """Follows a new action with one entry of the acting player and each entry of the
    opponent.

    New edges are added, and `edge_of` records the edge per entry of the opponent.

    Returns:
        A status, and whether the action is private (stays in the same world).
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
    """Finds all infosets and edges of a world where a player acts; returns a status."""
    search, player = scene.walk, scene.walk.acting[level]
    search.worlds[level] = world_at(scene)
    followed, private, entry = np.int64(0), np.int64(0), np.int64(0)
    # Invariant: entries before `entry` have their infosets, and the entries after their
    # private moves are in the list; `followed` is the set of actions whose edges are
    # known. Each pass of the loop handles one entry. Private moves append entries to
    # the list that is being read, so the loop handles these, too.
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
    """Writes the entries of both players after an edge to `level + 1`.

    Returns:
        DONE and True (the walk descends), or MANY_ENTRIES and False.
    """
    search, player = scene.walk, scene.walk.acting[level]
    if player == CHANCE_NODE:
        return np.int64(DONE), True  # `deal` has already written the entries
    actions, count = search.edge_actions[edge_row(search, level) + edge], np.int64(0)
    option_row = own_row(search, 0, level)
    for entry in range(search.counts[player, level]):
        moves = search.options[option_row + entry, 0] & actions
        count = add_entries(scene, level, entry, moves, count, level + 1)
        if count < 0:
            return np.int64(world_traversal.MANY_ENTRIES), False
    begin_entries(search, player, level + 1, count)
    # Actions that share an edge get the same answer from each entry of the opponent, so
    # the first of these actions selects the opponent's entries that follow the edge.
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
    """Appends a terminal world to `Leaves`; returns a status."""
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
    """Processes a world when the walk reaches it; returns a status.

    A terminal world is added to the list. At a chance node the private cards are dealt.
    Otherwise the infosets and edges of the acting player are found.
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
    """Returns whether all arrays can hold one more world of the largest possible size.

    This size is ROOM entries and MOST_CLASSES classes per player.
    """
    leaves, at = scene.listed, scene.walk.at
    return (
        at[NUM_STEPS] + 2 * at[world_traversal.ROOM] < len(leaves.steps)
        and at[NUM_LEAVES] < len(leaves.lengths)
        and at[NUM_RETURNS] + MOST_CLASSES**2 < len(leaves.returns)
        and world_traversal.has_room(scene)
    )


LAYOUT = world_traversal.layout_of(SearchStack, Leaves)

find = world_traversal.make_follow(LAYOUT, _has_room, _enter, _go_along)
