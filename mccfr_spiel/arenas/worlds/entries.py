"""Entries of worlds: the record of the search for leaves, and deals."""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import kernel, played
from mccfr_spiel.arenas.rules.kernel import WORLD_KEY, call
from mccfr_spiel.arenas.worlds import traversal
from mccfr_spiel.arenas.worlds.traversal import MANY_ENTRIES, NOT_SHARED, num_bits
from mccfr_spiel.common.arrays import CHANCE_NODE
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
    noted: Annotated[np.ndarray, Entry(traversal.BYTE, "[I, H]")]
    key: Annotated[np.ndarray, Entry(LONG, "[K]")]
    at: Annotated[np.ndarray, Entry(LONG, "[SIZE_OF_AT]")]


NUM_STEPS, NUM_LEAVES, NUM_RETURNS, SIZE_OF_AT = range(
    traversal.NUM_AT, traversal.NUM_AT + 4
)
"""The entries of `Search.at` behind those of all walks: what has been listed so far."""


@inlined
def own_row(search, player, level):
    """Where new rows for a player's entries at a level begin."""
    return (player * len(search.acting) + level) * search.at[traversal.ROOM]


@inlined
def edge_row(search, level):
    """The row of the first edge of a level."""
    return level * (len(search.edge_actions) // len(search.acting))


@inlined
def begin_entries(search, player, level, count):
    """Has a player's entries at a level be the first `count` of new rows."""
    search.firsts[player, level] = own_row(search, player, level)
    search.counts[player, level] = count


@inlined
def copy_with(search, row, to_row, action):
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
def add_entries(scene, level, entry, going, count, to_level):
    """Makes what an entry of who acts becomes by a set of actions, as the entries of a
    level from `count` on; returns how many it then has, -1 if there is no room."""
    search, player = scene.walk, scene.walk.acting[level]
    spot = own_row(search, 0, level) + entry
    # Private moves append to the list that they come from, which may have been handed
    # down, so that its rows are those of another level.
    first = search.firsts[player, level]
    before = first + entry
    if to_level != level:
        first = own_row(search, player, to_level)
    while going:
        bit = going & -going
        going ^= bit
        if count == search.at[traversal.ROOM]:
            return np.int64(-1)
        copy_with(search, before, first + count, num_bits(bit - 1))
        search.sequences[first + count] = traversal.sequence_at(search.spots, spot, bit)
        count += 1
    return count


@inlined
def stand(scene, level, player, entry, other):
    """Puts the path where an entry of a player meets one of the other player; returns
    whether they fit each other."""
    search = scene.walk
    row = search.firsts[0, level] + (entry if player == 0 else other)
    column = search.firsts[1, level] + (other if player == 0 else entry)
    first = search.pasts[row, : search.lengths[row]]
    second = search.pasts[column, : search.lengths[column]]
    return traversal.replay(scene, first, second, search.owners)


@inlined
def world_at(scene):
    """The world where the path is."""
    key = scene.walk.key
    arguments = scene.game.settings, scene.path.state, key
    return np.int64(kernel.row_hash(key, call(scene.rules, WORLD_KEY, arguments)))


@inlined
def _mark(scene, level, player, entry, action, who):
    """The hash of what `who` knows when chance has dealt `action` to an entry of a
    player. 64 bits are enough to tell so few keys apart."""
    rules, game, path = scene.rules, scene.game, scene.path
    stand(scene, level, player, entry, 0)
    played.move_on(rules, game, path, action)
    return np.int64(played.key_of(rules, game, path, scene.known, who)[1])


@inlined
def _stand_at_deal(scene, level, player, entry):
    """Puts the path where chance acts and lists the outcomes; returns a status, and how
    many there are."""
    rules, game, path = scene.rules, scene.game, scene.path
    if not stand(scene, level, player, entry, 0):
        return NOT_SHARED, np.int64(0)
    count = played.list_moves(rules, game, path, CHANCE_NODE)
    if count < 0:
        return played.BROKEN - 1 - count, np.int64(0)
    nodes = played.nodes_of(scene.tree, game, scene.known, path, rules)
    return played.list_outcomes(nodes, count), count


@inlined
def deal(scene, level):
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
    count, behind = np.int64(0), own_row(search, owner, level + 1)
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
            if count == search.at[traversal.ROOM]:
                return MANY_ENTRIES
            copy_with(search, row, behind + count, moves[k])
            search.weights[behind + count] = weight
            search.marks[count] = mark
            count += 1
    # The next world reads the other player's entries in the rows of this one.
    search.firsts[1 - owner, level + 1] = search.firsts[1 - owner, level]
    search.counts[1 - owner, level + 1] = search.counts[1 - owner, level]
    begin_entries(search, owner, level + 1, count)
    search.owners[num_deals] = owner
    search.num_edges[level] = 1
    return DONE
