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

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import kernel, played
from mccfr_spiel.arenas.rules.kernel import (
    CLASS_RETURNS,
    LEAF_CLASS,
    RETURNS,
    WORLD_KEY,
    call,
)
from mccfr_spiel.arenas.worlds import histories
from mccfr_spiel.arenas.worlds.histories import MANY_ENTRIES, NOT_SHARED, ROOM, num_bits
from mccfr_spiel.arenas.worlds.passes import MOST_CLASSES, Leaves
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import DONE, FLOAT, INT, LONG


class Search(NamedTuple):
    """Where the walk is: the worlds on the way there, by level.

    D is the most levels, C the room for entries, A the number of actions, E the room
    for the edges of a world, M the most moves, H one more, K the room for a world's
    key. Rows of a player's entries at a level begin at `firsts`. A world is told by the
    hash of its key: 64 bits are enough for the few worlds that one leads to.
    `edge_actions` lead along the edges, and `leads` says along which: the edge of an
    action, by the other player's entry.

    Attributes:
        start: the first state.
        pasts: own moves and deals.
        lengths: how many they are.
        sequences: the last own sequence.
        weights: the probability of deals.
        firsts: the row of the first entry.
        counts: how many entries there are.
        spots: of the entries of who acts, as in `Way`.
        worlds: the worlds.
        owners: who sees each deal on the way.
        acting: who acts.
        next_edge: the next edge.
        num_edges: how many edges there are.
        behind: the worlds behind the edges.
        edge_actions: sets of actions.
        leads: by action and other entry.
        marks: hashes of what a player knows.
        noted: as in `Pass`.
        key: a buffer.
        at: see SIZE_OF_AT.
    """

    start: Annotated[np.ndarray, Entry(LONG, "[n]")]
    pasts: Annotated[np.ndarray, Entry(INT, "[2 D C, M]")]
    lengths: Annotated[np.ndarray, Entry(INT, "[2 D C]")]
    sequences: Annotated[np.ndarray, Entry(INT, "[2 D C]")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[2 D C]")]
    firsts: Annotated[np.ndarray, Entry(LONG, "[2, D]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2, D]")]
    spots: Annotated[np.ndarray, Entry(LONG, "[D C, 2]")]
    worlds: Annotated[np.ndarray, Entry(LONG, "[D]")]
    owners: Annotated[np.ndarray, Entry(LONG, "[D]")]
    acting: Annotated[np.ndarray, Entry(LONG, "[D]")]
    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]")]
    behind: Annotated[np.ndarray, Entry(LONG, "[D E]")]
    edge_actions: Annotated[np.ndarray, Entry(LONG, "[D E]")]
    leads: Annotated[np.ndarray, Entry(INT, "[D A, C]")]
    marks: Annotated[np.ndarray, Entry(LONG, "[C]")]
    noted: Annotated[np.ndarray, Entry(histories.BYTE, "[I, H]")]
    key: Annotated[np.ndarray, Entry(LONG, "[K]")]
    at: Annotated[np.ndarray, Entry(LONG, "[SIZE_OF_AT]")]


NUM_STEPS, NUM_LEAVES, NUM_RETURNS, SIZE_OF_AT = range(
    histories.NUM_AT, histories.NUM_AT + 4
)
"""The entries of `Search.at` behind those of all walks: what has been listed so far."""


# --- rows -----------------------------------------------------------------------------


@inlined
def _own_row(search, player, level):
    """Where new rows for a player's entries at a level begin."""
    return (player * len(search.acting) + level) * search.at[ROOM]


@inlined
def _edge_row(search, level):
    """The row of the first edge of a level."""
    return level * (len(search.edge_actions) // len(search.acting))


@inlined
def _begin_entries(search, player, level, count):
    """Has a player's entries at a level be the first `count` of new rows."""
    search.firsts[player, level] = _own_row(search, player, level)
    search.counts[player, level] = count


@inlined
def _copy_with(search, row, to_row, action):
    """Copies an entry, with one more move unless that is below 0."""
    length = search.lengths[row]
    for k in range(length):
        search.pasts[to_row, k] = search.pasts[row, k]
    search.sequences[to_row] = search.sequences[row]
    search.weights[to_row] = search.weights[row]
    if action >= 0:
        search.pasts[to_row, length] = action
        length += 1
    search.lengths[to_row] = length


@inlined
def _add_entries(scene, level, entry, going, count, to_level):
    """Makes what an entry of who acts becomes by a set of actions, as the entries of a
    level from `count` on; returns how many it then has, -1 if there is no room."""
    search, player = scene.walk, scene.walk.acting[level]
    spot = _own_row(search, 0, level) + entry
    # Private moves append to the list that they come from, which may have been handed
    # down, so that its rows are those of another level.
    first = search.firsts[player, level]
    before = first + entry
    if to_level != level:
        first = _own_row(search, player, to_level)
    while going:
        bit = going & -going
        going ^= bit
        if count == search.at[ROOM]:
            return np.int64(-1)
        _copy_with(search, before, first + count, num_bits(bit - 1))
        search.sequences[first + count] = histories.sequence_at(search.spots, spot, bit)
        count += 1
    return count


@inlined
def _stand(scene, level, player, entry, other):
    """Puts the path where an entry of a player meets one of the other player; returns
    whether they fit each other."""
    search = scene.walk
    row = search.firsts[0, level] + (entry if player == 0 else other)
    column = search.firsts[1, level] + (other if player == 0 else entry)
    first = search.pasts[row, : search.lengths[row]]
    second = search.pasts[column, : search.lengths[column]]
    return histories.replay(scene, first, second, search.owners)


@inlined
def _world_at(scene):
    """The world where the path is."""
    key = scene.walk.key
    arguments = scene.game.settings, scene.path.state, key
    return np.int64(kernel.row_hash(key, call(scene.rules, WORLD_KEY, arguments)))


# --- deals ----------------------------------------------------------------------------


@inlined
def _mark(scene, level, player, entry, action, who):
    """The hash of what `who` knows when chance has dealt `action` to an entry of a
    player. 64 bits are enough to tell so few keys apart."""
    rules, game, path = scene.rules, scene.game, scene.path
    _stand(scene, level, player, entry, 0)
    played.move_on(rules, game, path, action)
    return np.int64(played.key_of(rules, game, path, scene.known, who)[1])


@inlined
def _stand_at_deal(scene, level, player, entry):
    """Puts the path where chance acts and lists the outcomes; returns a status, and how
    many there are."""
    rules, game, path = scene.rules, scene.game, scene.path
    if not _stand(scene, level, player, entry, 0):
        return NOT_SHARED, np.int64(0)
    count = played.list_moves(rules, game, path, CHANCE_NODE)
    if count < 0:
        return played.BROKEN - 1 - count, np.int64(0)
    nodes = played.nodes_of(scene.tree, game, scene.known, path, rules)
    return played.list_outcomes(nodes, count), count


@inlined
def _deal(scene, level):
    """Makes the entries of the world behind a deal; returns a status.

    Who knows something else after another deal is its owner. Deals that the owner
    cannot tell apart are one entry.
    """
    search, moves = scene.walk, scene.path.moves
    status, size = _stand_at_deal(scene, level, 0, 0)
    if status != DONE:
        return status
    first, last = moves[0], moves[size - 1]
    one = _mark(scene, level, 0, 0, first, 0)
    owner = int(one == _mark(scene, level, 0, 0, last, 0))
    num_deals = 0
    for above in range(level):
        num_deals += search.acting[above] == CHANCE_NODE
    count, behind = np.int64(0), _own_row(search, owner, level + 1)
    for entry in range(search.counts[owner, level]):
        status, size = _stand_at_deal(scene, level, owner, entry)
        if status != DONE:
            return status
        row = search.firsts[owner, level] + entry
        for k in range(size):
            mark = _mark(scene, level, owner, entry, moves[k], owner)
            same = np.int64(0)
            while same < count and (
                search.marks[same] != mark
                or search.sequences[behind + same] != search.sequences[row]
            ):
                same += 1
            weight = search.weights[row] * scene.tree.chance_probs[k]
            if same < count:
                search.weights[behind + same] += weight
                continue
            if count == search.at[ROOM]:
                return MANY_ENTRIES
            _copy_with(search, row, behind + count, moves[k])
            search.weights[behind + count] = weight
            search.marks[count] = mark
            count += 1
    # The next world reads the other player's entries in the rows of this one.
    search.firsts[1 - owner, level + 1] = search.firsts[1 - owner, level]
    search.counts[1 - owner, level + 1] = search.counts[1 - owner, level]
    _begin_entries(search, owner, level + 1, count)
    search.owners[num_deals] = owner
    search.num_edges[level] = 1
    return DONE


# --- moves ----------------------------------------------------------------------------


@inlined
def _find_infoset(scene, level, player, entry):
    """Finds the infoset of an entry of who acts, or adds it; returns a status."""
    search, path = scene.walk, scene.path
    here = _own_row(search, 0, level) + entry
    if not _stand(scene, level, player, entry, 0):
        return np.int64(NOT_SHARED)
    path.last[player] = search.sequences[search.firsts[player, level] + entry]
    status, count, infoset = histories.meet(scene, player)
    search.spots[here, 0] = histories.as_set(path, count)
    search.spots[here, 1] = scene.tree.infosets[infoset]["first_sequence"]
    return status


@inlined
def _edge_to(search, level, world):
    """The edge to a world; -1 for the world itself, and the number of edges if it is a
    new one."""
    first, edge = _edge_row(search, level), np.int64(0)
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
        if not _stand(scene, level, player, entry, other):
            return NOT_SHARED, False
        played.move_on(scene.rules, game, scene.path, action)
        world = _world_at(scene)
        edge = _edge_to(search, level, world)
        row = _edge_row(search, level) + edge
        if edge == search.num_edges[level]:
            if edge == _edge_row(search, 1):
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
    search.worlds[level] = _world_at(scene)
    seen, private, entry = np.int64(0), np.int64(0), np.int64(0)
    while entry < search.counts[player, level]:
        status = _find_infoset(scene, level, player, entry)
        legal = search.spots[_own_row(search, 0, level) + entry, 0]
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
        count = _add_entries(scene, level, entry, going, count, level)
        if count < 0:
            return MANY_ENTRIES
        search.counts[player, level] = count
        entry += 1
    return DONE


@inlined
def _go_along(scene, level, edge):
    """Makes the entries of the world behind an edge; returns a status, and that the
    walk goes on there. `_deal` has made those behind a deal."""
    search, player = scene.walk, scene.walk.acting[level]
    if player == CHANCE_NODE:
        return np.int64(DONE), True
    actions, count = search.edge_actions[_edge_row(search, level) + edge], np.int64(0)
    here = _own_row(search, 0, level)
    for entry in range(search.counts[player, level]):
        going = search.spots[here + entry, 0] & actions
        count = _add_entries(scene, level, entry, going, count, level + 1)
        if count < 0:
            return np.int64(MANY_ENTRIES), False
    _begin_entries(search, player, level + 1, count)
    other, action, count = 1 - player, num_bits((actions & -actions) - 1), np.int64(0)
    behind = _own_row(search, other, level + 1)
    for entry in range(search.counts[other, level]):
        if search.leads[level * scene.game.stops[0] + action, entry] == edge:
            row = search.firsts[other, level] + entry
            _copy_with(search, row, behind + count, -1)
            count += 1
    _begin_entries(search, other, level + 1, count)
    return np.int64(DONE), True


# --- what is kept ---------------------------------------------------------------------


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
            if not _stand(scene, level, player, entry, 0):
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


# --- the steps of the walk ------------------------------------------------------------


@inlined
def _enter(scene, level):
    """Finds what is behind a world and writes what is kept of it; returns a status."""
    search = scene.walk
    if not _stand(scene, level, 0, 0, 0):
        return NOT_SHARED
    player = played.who_acts(scene.rules, scene.game, scene.path)
    search.acting[level], search.num_edges[level] = player, 0
    search.next_edge[level] = 0
    if player == TERMINAL:
        return _list_leaf(scene, level)
    if player == CHANCE_NODE:
        return _deal(scene, level)
    return _find_edges(scene, level)


@inlined
def _has_room(scene):
    """Whether all arrays have room for the next world, whatever it has."""
    leaves, at = scene.listed, scene.walk.at
    return (
        at[NUM_STEPS] + 2 * at[ROOM] < len(leaves.steps)
        and at[NUM_LEAVES] < len(leaves.lengths)
        and at[NUM_RETURNS] + MOST_CLASSES**2 < len(leaves.returns)
        and histories.has_room(scene)
    )


LAYOUT = histories.layout_of(Search, Leaves)

find = histories.make_follow(LAYOUT, _has_room, _enter, _go_along)
