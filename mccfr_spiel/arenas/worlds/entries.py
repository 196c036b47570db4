"""Entries of worlds, and secret deals, for the search of search.py.

An *entry* of a world is the private past of one player: the list of this player's own
moves and of the cards or dice that chance dealt to this player alone. An entry of
player 0 and an entry of player 1 together form a history of the world. To obtain the
state of this history, the functions here replay both lists with the rules.
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
    """Stack of the search, one level per world on the path from the root.

    An entry is a player's private past in a world, see the module's docstring. Each
    level reserves C rows for the entries of player 0 and C rows for those of player 1.
    The arrays of shape `[2 D C]` hold the rows of all levels.

    Shapes: D levels, C entries per player and world, A actions, E edges per world, M
    largest length of an entry, n values of a state, K longest world key, I infosets, H
    longest history plus one. Worlds and information keys are compared by 64-bit hashes.
    Collisions are negligible, because only the few keys that occur at a single world
    are compared with each other.

    Attributes:
        start: initial state.
        pasts: moves and private deals of each entry, in order.
        lengths: number of moves and deals of each entry.
        sequences: last sequence of the player, per entry.
        weights: probability of the private deals, per entry.
        firsts: per player and level, the first row of the entries. After a deal to one
            player, the entries of the other player stay in the rows of an earlier
            level.
        counts: number of entries per player and level.
        options: per entry of the acting player, the set of legal actions and the first
            sequence of the entry's infoset. Sets of actions are bits of an integer.
        worlds: hash of the world key, per level.
        owners: for each deal on the path, the player whose information depends on the
            dealt card.
        acting: acting player per level.
        next_edge: number of edges already taken, per level; -1 for a world not entered.
        num_edges: number of edges found, per level.
        targets: hash of the successor world, per edge.
        edge_actions: set of the actions that take an edge.
        edge_of: the edge of an action, which may depend on what the opponent hides. The
            row is level * A + action, the column an entry of the opponent.
        views: while a deal is processed, the hash of the owner's information key per
            new entry. Deals with the same hash share an entry.
        noted: a history per infoset, see `HistoryStack`.
        key: buffer for the key of a world.
        at: counters of the walk, see NUM_STEPS.
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
"""Indices of `SearchStack.at`, in addition to the indices that all walks share.

NUM_STEPS: number of entries written to `Leaves`.
NUM_LEAVES: number of terminal worlds written to `Leaves`.
NUM_RETURNS: number of pairs of classes written to `Leaves.returns`.
SIZE_OF_AT: number of indices.
"""


@inlined
def own_row(search, player, level):
    """Returns the first of the rows that a level reserves for a player's entries."""
    return (player * len(search.acting) + level) * search.at[world_traversal.ROOM]


@inlined
def edge_row(search, level):
    """Returns the row of the first edge of a level in `targets` and `edge_actions`."""
    return level * (len(search.edge_actions) // len(search.acting))


@inlined
def begin_entries(search, player, level, count):
    """Declares the first `count` rows that a level reserves to be a player's entries.

    The rows must have been written before.
    """
    search.firsts[player, level] = own_row(search, player, level)
    search.counts[player, level] = count


@inlined
def copy_with(search, row, to_row, action):
    """Copies an entry to another row, and appends `action` unless it is negative."""
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
    """Extends an entry of the acting player by each action of a set.

    Args:
        scene: the search.
        level: level of the world in which the player acts.
        entry: number of the extended entry among the player's entries at `level`.
        actions: set of actions, as bits.
        count: number of entries that the player has at `to_level` so far.
        to_level: level to which the new entries are appended: `level + 1`, or `level`
            for private moves, which stay in the same world.

    Returns:
        The new number of entries at `to_level`, or -1 if there is no room for them.
    """
    search, player = scene.walk, scene.walk.acting[level]
    option_row = own_row(search, 0, level) + entry
    # After a private move, the new entry is appended to the list that contains `entry`.
    # This list may lie in the rows of an earlier level, see `SearchStack.firsts`.
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
    """Replays an entry of `player` together with the opponent's entry `other`.

    Afterwards `scene.path` is at the state of the history that both entries form.

    Returns:
        Whether the rules accept this history. False means that the game declares its
            worlds wrongly.
    """
    search = scene.walk
    row = search.firsts[0, level] + (entry if player == 0 else other)
    column = search.firsts[1, level] + (other if player == 0 else entry)
    first = search.pasts[row, : search.lengths[row]]
    second = search.pasts[column, : search.lengths[column]]
    return world_traversal.replay(scene, first, second, search.owners)


@inlined
def world_at(scene):
    """Returns the 64-bit hash of the world key of the path's current state."""
    key = scene.walk.key
    arguments = scene.game.settings, scene.path.state, key
    return np.int64(row_hash(key, call(scene.rules, WORLD_KEY, arguments)))


@inlined
def _view(scene, level, player, entry, action, who):
    """Returns the hash of the information key of player `who` after a deal.

    Chance deals `action` in the history formed by `entry` of `player` and the
    opponent's first entry.
    """
    rules, game, path = scene.rules, scene.game, scene.path
    stand(scene, level, player, entry, 0)
    played.move_on(rules, game, path, action)
    return np.int64(write_key(rules, game, path, scene.known, who)[1])


@inlined
def _stand_at_deal(scene, level, player, entry):
    """Moves the path to a chance node, reached by a player's entry and the opponent's
    first entry.

    The outcomes are in `scene.path.moves` afterwards, and their probabilities in
    `scene.tree.chance_probs`.

    Returns:
        A status, and the number of outcomes (0 unless the status is DONE).
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
    """Writes the entries after a private deal at `level` to `level + 1`.

    The owner of a deal is the player whose information depends on the outcome. Outcomes
    that the owner cannot tell apart are merged into a single entry.

    Returns:
        DONE; NOT_SHARED if the rules reject a replayed history; MANY_ENTRIES if the
            entries do not fit; or BROKEN plus a code if the rules contradict
            themselves.
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
    # Invariant: `count` new entries have been written. Each pass of the outer loop
    # extends one entry of the owner by all outcomes. If an earlier new entry has the
    # same last sequence and the same hash of the owner's information, the outcome only
    # adds its probability to that entry's weight; otherwise it becomes a new entry.
    # After the last entry of the owner, the list for `level + 1` is complete.
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
