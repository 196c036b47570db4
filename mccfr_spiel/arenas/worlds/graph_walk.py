"""The compiled walk over worlds along the graph of positions.

The same walk has three uses:

| use | calls the rules | writes |
|---|---|---|
| discovery | for new sequences and actions | graph and infosets |
| listing | no | `Worlds` |
| pass | no | gradients of the updated players |

position_graph.py explains entries (private pasts of a player), nodes, edges, answers
and private moves. The functions share these arguments: `scene` holds all records of the
walk, and `level` is the world's level on the stack.
"""

import numpy as np

from mccfr_spiel.arenas.rules.row_table import MOST_USED
from mccfr_spiel.arenas.worlds import world_traversal
from mccfr_spiel.arenas.worlds.position_graph import (
    ACTOR,
    ALL_EDGES,
    EXPLORED,
    HEIGHT,
    LAST_HEARD,
    LISTED_EDGES,
    LISTED_STEPS,
    NUM_EDGES,
    NUM_NODES,
    NUM_STEPS,
    PRIVATE,
    PRIVATE_HEARD,
    PositionGraph,
    WorldStack,
    find_infoset,
    look_along,
    number_node,
    stand,
    write_key,
)
from mccfr_spiel.arenas.worlds.world_lists import Worlds, pay, sum_of
from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import DONE


@inlined
def _has_room(scene):
    """Returns whether all arrays have room for one more world of the largest size.

    Listing and passes need no check: their arrays have the final size.
    """
    if len(scene.walk.plan) > 0 or len(scene.listed.steps) > 0:
        return True
    graph = scene.graph
    nodes = graph.counts[NUM_NODES] + scene.game.stops[0]
    has_nodes = nodes < min(MOST_USED * len(graph.table), len(graph.nodes))
    return has_nodes and world_traversal.has_room(scene)


@inlined
def _begin(scene):
    """Adds the node of the root to the graph; returns a status."""
    walk = scene.walk
    stand(scene, 0, 0, np.int64(0))
    status, length = write_key(scene)
    if status == DONE:
        status, walk.nodes[0] = number_node(scene, length)
    # A game without moves has no infosets.
    if status == DONE and scene.graph.nodes[walk.nodes[0], ACTOR] == TERMINAL:
        status = np.int64(world_traversal.NOT_SHARED)
    return status


@inlined
def _enter(scene, level):
    """Processes a world when the walk reaches it; returns a status.

    The infosets of the acting player's entries are written to `options`, and the
    entries after private moves are appended. Discovery also explores new actions, and
    listing appends the world to `Worlds`.
    """
    graph, walk, status = scene.graph, scene.walk, np.int64(DONE)
    if graph.counts[NUM_NODES] == 0:
        status = _begin(scene)
        if status != DONE:
            return status
    node, row = walk.nodes[level], level * walk.at[world_traversal.ROOM]
    player, heard = graph.nodes[node, ACTOR], graph.nodes[node, LAST_HEARD]
    first, num_given = walk.firsts[player, level], walk.counts[player, level]
    private_row, count, entry = (
        row + walk.at[world_traversal.ROOM],
        num_given,
        np.int64(0),
    )
    # Invariant: entries before `entry` have their `options`, and `count` is the number
    # of entries so far. Each pass of the loop finds the infoset of an entry, explores
    # the actions that are new at this node, and appends an entry for each private move.
    # The appended entries (from `num_given` on) are read by later passes with the
    # answer PRIVATE_HEARD, so several private moves may follow each other. They are
    # stored in the block of level + 1, which is free until the walk descends.
    while entry < count:
        sequence = np.int64(walk.sequences[first + entry])
        if entry == num_given:
            first, heard = private_row, graph.nodes[node, PRIVATE_HEARD]
            sequence = np.int64(walk.sequences[first + entry])
        if graph.next_infoset[sequence, heard] == 0:
            status = find_infoset(scene, level, player, sequence, heard)
            if status != DONE:
                return status
        infoset = np.int64(graph.next_infoset[sequence, heard]) - 1
        here = row + entry
        walk.options[here, 0] = graph.options[infoset, 0]
        walk.options[here, 1] = graph.options[infoset, 1]
        unexplored = walk.options[here, 0] & ~graph.nodes[node, EXPLORED]
        while unexplored:
            bit = unexplored & -unexplored
            unexplored ^= bit
            sequence = world_traversal.sequence_at(walk.options, here, bit)
            status = look_along(scene, level, node, sequence, bit)
            if status != DONE:
                return status
        private_moves = walk.options[here, 0] & graph.nodes[node, PRIVATE]
        while private_moves:
            bit = private_moves & -private_moves
            private_moves ^= bit
            if count == walk.at[world_traversal.ROOM]:
                return np.int64(world_traversal.MANY_ENTRIES)
            walk.sequences[private_row + count] = world_traversal.sequence_at(
                walk.options, here, bit
            )
            count += 1
        entry += 1
    walk.entries[level] = count
    walk.owed[0, level], walk.owed[1, level], walk.next_edge[level] = 0.0, 0.0, 0
    walk.num_edges[level] = graph.nodes[node, NUM_EDGES]
    graph.counts[HEIGHT] = max(graph.counts[HEIGHT], level + 1)
    if len(scene.listed.steps) > 0:
        _list_world(scene, level)
    return status


@inlined
def _gather(walk, level, actions, target, first, limit):
    """Writes the steps of an edge: the acting player's sequences that end with its
    actions.

    Args:
        walk: stack of the walk.
        level: level of the world.
        actions: set of the actions of the edge.
        target: array that receives the sequences.
        first: index of the first written element.
        limit: largest number of sequences.

    Returns:
        The number of sequences, or -1 if there are more than `limit`.
    """
    row = level * walk.at[world_traversal.ROOM]
    count = np.int64(0)
    for entry in range(row, row + walk.entries[level]):
        remaining = walk.options[entry, 0] & actions
        while remaining:
            bit = remaining & -remaining
            remaining ^= bit
            if count == limit:
                return np.int64(-1)
            target[first + count] = world_traversal.sequence_at(
                walk.options, entry, bit
            )
            count += 1
    return count


@inlined
def _list_world(scene, level):
    """Appends a world with its edges and steps to `Worlds`."""
    graph, worlds, walk, at = scene.graph, scene.listed, scene.walk, scene.walk.at
    node, world = walk.nodes[level], at[world_traversal.VISITED]
    worlds.actors[world], worlds.edges[world] = graph.nodes[node, ACTOR], 0
    first = node * scene.game.stops[0]
    for row in range(first, first + graph.nodes[node, NUM_EDGES]):
        begin, edge = at[LISTED_STEPS], at[LISTED_EDGES]
        count = _gather(
            walk,
            level,
            graph.edges[row, 0],
            worlds.steps,
            begin,
            walk.at[world_traversal.ROOM],
        )
        if count == 0:
            continue  # no entry of this world can take the edge
        target = graph.edges[row, 1]
        worlds.lengths[edge] = count
        worlds.ends[edge] = graph.nodes[target, ACTOR] == TERMINAL
        worlds.returns[edge, 0] = graph.returns[target, 0]
        worlds.returns[edge, 1] = graph.returns[target, 1]
        worlds.edges[world] += 1
        at[LISTED_STEPS], at[LISTED_EDGES] = begin + count, edge + 1


@inlined
def _go_along(scene, level, edge):
    """Follows an edge: prepares the next world at `level + 1`, or adds the returns if
    the game ends there.

    Returns:
        A status (DONE or MANY_ENTRIES), and whether to descend. The walk does not
            descend to terminal worlds, along edges that no entry takes, or (in a pass)
            to worlds below which no gradient changes.
    """
    graph, walk, at, counts = scene.graph, scene.walk, scene.walk.at, scene.graph.counts
    node, room = walk.nodes[level], walk.at[world_traversal.ROOM]
    new_row, below = (level + 1) * room, level + 1
    player, row = graph.nodes[node, ACTOR], node * scene.game.stops[0] + edge
    other, target = 1 - player, graph.edges[row, 1]
    is_search = at[world_traversal.END] == 0
    count = _gather(walk, level, graph.edges[row, 0], walk.sequences, new_row, room)
    if count <= 0:
        return np.int64(DONE if count == 0 else world_traversal.MANY_ENTRIES), False
    counts[NUM_STEPS] += count
    counts[ALL_EDGES] += 1
    is_end = graph.nodes[target, ACTOR] == TERMINAL
    is_paid = (
        at[world_traversal.FIRST] <= player < at[world_traversal.END]
        and walk.reach[player, level] != 0.0
    )
    # The opponent's gradient needs the sum of the acting player's plan over the steps
    # of this edge. The acting player's own gradient receives its value at these steps.
    total, needs_total = (
        0.0,
        at[world_traversal.FIRST] <= other < at[world_traversal.END],
    )
    if needs_total and not (is_end and graph.returns[target, other] == 0.0):
        total = sum_of(walk.plan, walk.sequences, new_row, count)
    if is_end:
        value = graph.returns[target, player] * walk.reach[player, level]
        if is_paid and value != 0.0:
            pay(walk.gradient, walk.sequences, new_row, count, value)
        walk.owed[other, level] += graph.returns[target, other] * total
        return np.int64(DONE), False
    walk.reach[player, below] = walk.reach[player, level]
    walk.reach[other, below] = total
    walk.firsts[player, below], walk.counts[player, below] = new_row, count
    # The opponent's entries stay the same.
    walk.firsts[other, below] = walk.firsts[other, level]
    walk.counts[other, below] = walk.counts[other, level]
    walk.nodes[below] = target
    return np.int64(DONE), is_search or is_paid or total != 0.0


@inlined
def _come_back(scene, level):
    """Distributes the values owed at `level + 1` after the walk has left this world.

    The player who acted at `level` receives the value in the gradient, at each step of
    the edge. The value of the opponent, who did not act, is added to what is owed at
    `level`. At the end of the walk, with level -1, the remaining values belong to the
    empty sequences.
    """
    graph, walk, below = scene.graph, scene.walk, level + 1
    if level < 0:
        for player in range(
            walk.at[world_traversal.FIRST], walk.at[world_traversal.END]
        ):
            walk.gradient[player] += walk.owed[player, 0]
        return
    player = graph.nodes[walk.nodes[level], ACTOR]
    value = walk.owed[player, below]
    if value != 0.0:
        first, count = walk.firsts[player, below], walk.counts[player, below]
        pay(walk.gradient, walk.sequences, first, count, value)
    # The opponent did not move along this edge, so the level above inherits the value.
    walk.owed[1 - player, level] += walk.owed[1 - player, below]


LAYOUT = world_traversal.layout_of(WorldStack, Worlds, PositionGraph)

follow_worlds = world_traversal.make_follow(
    LAYOUT, _has_room, _enter, _go_along, _come_back
)
