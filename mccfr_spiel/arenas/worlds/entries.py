"""Entries of worlds, and secret deals, for the search of search.py.

An entry is a list of one player's moves and private deals. An entry of player 0 and an
entry of player 1 form a history of the world; the rules rebuild the state by replaying
both lists.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.row_table import row_hash
from mccfr_spiel.arenas.rules.rule_calls import (
    WORLD_KEY,
    call,
)
from mccfr_spiel.arenas.rules.rule_infosets import write_key
from mccfr_spiel.arenas.rules.rule_records import nodes_of
from mccfr_spiel.arenas.worlds import world_traversal
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import DONE, FLOAT, INT, LONG


class SearchStack(NamedTuple):
    """Stack of the search, one level per world on the path.

    Shapes: D levels, C entries per world, A actions, E edges per world, M longest past,
    n values of a state, K longest world key, I infosets, H longest history plus one.
    Worlds and views are identified by 64-bit hashes, which suffice for the few that are
    compared.

    Attributes:
        start: initial state.
        pasts: moves and private deals per entry.
        lengths: length per past.
        sequences: last sequence per entry.
        weights: probability of the deals per entry.
        firsts: first row of a player's entries.
        counts: number of entries per player.
        options: per entry of the acting player, the legal actions and the first
            sequence.
        worlds: hash per world.
        owners: players who see the deals on the path.
        acting: acting player per world.
        next_edge: next edge per world.
        num_edges: number of edges per world.
        targets: hash of the destination per edge.
        edge_actions: set of the actions along an edge.
        edge_of: the edge that an action takes, per entry of the other player.
        views: per new entry, hash of the owner's information after a deal.
        noted: histories of infosets, see `HistoryStack`.
        key: key of a world, a buffer.
        at: see NUM_STEPS.
    """

    start: Annotated[np.ndarray, Entry(LONG, "[n]")]
    pasts: Annotated[np.ndarray, Entry(INT, "[2 D C, M]")]
    lengths: Annotated[np.ndarray, Entry(INT, "[2 D C]")]
    sequences: Annotated[np.ndarray, Entry(INT, "[2 D C]")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[2 D C]")]
    firsts: Annotated[np.ndarray, Entry(LONG, "[2, D]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2, D]")]
    options: Annotated[np.ndarray, Entry(LONG, "[D C, 2]")]
    worlds: Annotated[np.ndarray, Entry(LONG, "[D]")]
    owners: Annotated[np.ndarray, Entry(LONG, "[D]")]
    acting: Annotated[np.ndarray, Entry(LONG, "[D]")]
    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]")]
    targets: Annotated[np.ndarray, Entry(LONG, "[D E]")]
    edge_actions: Annotated[np.ndarray, Entry(LONG, "[D E]")]
    edge_of: Annotated[np.ndarray, Entry(INT, "[D A, C]")]
    views: Annotated[np.ndarray, Entry(LONG, "[C]")]
    noted: Annotated[np.ndarray, Entry(world_traversal.BYTE, "[I, H]")]
    key: Annotated[np.ndarray, Entry(LONG, "[K]")]
    at: Annotated[np.ndarray, Entry(LONG, "[SIZE_OF_AT]")]


NUM_STEPS, NUM_LEAVES, NUM_RETURNS, SIZE_OF_AT = range(
    world_traversal.NUM_AT, world_traversal.NUM_AT + 4
)
"""The entries of `SearchStack.at` after those of all walks.

NUM_STEPS: number of entries written to `Leaves`.
NUM_LEAVES: number of worlds written.
NUM_RETURNS: number of pairs of classes written.
"""


@inlined
def own_row(search, player, level):
    """First row that a level reserves for a player's entries."""
    return (player * len(search.acting) + level) * search.at[world_traversal.ROOM]


@inlined
def edge_row(search, level):
    """Row of the first edge of a level."""
    return level * (len(search.edge_actions) // len(search.acting))


@inlined
def begin_entries(search, player, level, count):
    """Makes the first `count` rows reserved by a level a player's entries there."""
    search.firsts[player, level] = own_row(search, player, level)
    search.counts[player, level] = count


@inlined
def copy_with(search, row, to_row, action):
    """Copies an entry and appends a move, unless `action` is negative."""
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
def add_entries(scene, level, entry, actions, count, to_level):
    """Appends an entry for each action of a set, made from one entry of the acting
    player.

    Args:
        scene, level: the world.
        entry: the entry that moves.
        actions: the set of actions.
        count: number of entries at `to_level` so far.
        to_level: level of the new entries; the same level for private moves.

    Returns:
        The number of entries, or -1 if there is no room.
    """
    search, player = scene.walk, scene.walk.acting[level]
    option_row = own_row(search, 0, level) + entry
    # Private moves append to the list of the entry itself, which may lie in the rows of
    # an earlier level.
    first = search.firsts[player, level]
    source = first + entry
    if to_level != level:
        first = own_row(search, player, to_level)
    while actions:
        bit = actions & -actions
        actions ^= bit
        if count == search.at[world_traversal.ROOM]:
            return np.int64(-1)
        copy_with(search, source, first + count, world_traversal.num_bits(bit - 1))
        search.sequences[first + count] = world_traversal.sequence_at(
            search.options, option_row, bit
        )
        count += 1
    return count


@inlined
def stand(scene, level, player, entry, other):
    """Moves the path to where a player's entry meets an entry of the opponent; returns
    whether the two fit each other.
    """
    search = scene.walk
    row = search.firsts[0, level] + (entry if player == 0 else other)
    column = search.firsts[1, level] + (other if player == 0 else entry)
    first = search.pasts[row, : search.lengths[row]]
    second = search.pasts[column, : search.lengths[column]]
    return world_traversal.replay(scene, first, second, search.owners)


@inlined
def world_at(scene):
    """The hash of the world at the path."""
    key = scene.walk.key
    arguments = scene.game.settings, scene.path.state, key
    return np.int64(row_hash(key, call(scene.rules, WORLD_KEY, arguments)))


@inlined
def _view(scene, level, player, entry, action, who):
    """Hash of what `who` knows after chance dealt `action` to a player's entry."""
    rules, game, path = scene.rules, scene.game, scene.path
    stand(scene, level, player, entry, 0)
    played.move_on(rules, game, path, action)
    return np.int64(write_key(rules, game, path, scene.known, who)[1])


@inlined
def _stand_at_deal(scene, level, player, entry):
    """Moves the path to a player's entry at a deal; returns a status and the number of
    outcomes.
    """
    rules, game, path = scene.rules, scene.game, scene.path
    if not stand(scene, level, player, entry, 0):
        return world_traversal.NOT_SHARED, np.int64(0)
    count = played.list_moves(rules, game, path, CHANCE_NODE)
    if count < 0:
        return played.BROKEN - 1 - count, np.int64(0)
    nodes = nodes_of(scene.tree, game, scene.known, path, rules)
    return played.list_outcomes(nodes, count), count


@inlined
def deal(scene, level):
    """Makes the entries after a deal; returns a status.

    The owner of a deal is the player whose information depends on it. Deals that the
    owner cannot tell apart share an entry.
    """
    search, moves = scene.walk, scene.path.moves
    status, size = _stand_at_deal(scene, level, 0, 0)
    if status != DONE:
        return status
    first, last = moves[0], moves[size - 1]
    # Player 1 owns the deal if player 0 cannot tell the first outcome from the last.
    view = _view(scene, level, 0, 0, first, 0)
    owner = int(view == _view(scene, level, 0, 0, last, 0))
    num_deals = 0
    for above in range(level):
        num_deals += search.acting[above] == CHANCE_NODE
    count, new_row = np.int64(0), own_row(search, owner, level + 1)
    # Invariant: `count` new entries are complete. An iteration deals all outcomes to an
    # entry of the owner. An outcome joins an earlier entry with the same last sequence
    # and the same view, and adds its probability to that weight; otherwise it becomes a
    # new entry. The loop ends with the entries of the world after the deal.
    for entry in range(search.counts[owner, level]):
        status, size = _stand_at_deal(scene, level, owner, entry)
        if status != DONE:
            return status
        row = search.firsts[owner, level] + entry
        for k in range(size):
            owner_view = _view(scene, level, owner, entry, moves[k], owner)
            match = np.int64(0)
            while match < count and (
                search.views[match] != owner_view
                or search.sequences[new_row + match] != search.sequences[row]
            ):
                match += 1
            weight = search.weights[row] * scene.tree.chance_probs[k]
            if match < count:
                search.weights[new_row + match] += weight
                continue
            if count == search.at[world_traversal.ROOM]:
                return world_traversal.MANY_ENTRIES
            copy_with(search, row, new_row + count, moves[k])
            search.weights[new_row + count] = weight
            search.views[count] = owner_view
            count += 1
    # The other player's entries are unchanged, so level + 1 refers to the same rows.
    search.firsts[1 - owner, level + 1] = search.firsts[1 - owner, level]
    search.counts[1 - owner, level + 1] = search.counts[1 - owner, level]
    begin_entries(search, owner, level + 1, count)
    search.owners[num_deals] = owner
    search.num_edges[level] = 1
    return DONE
