"""The graph of positions of a game, which allows walks over worlds without the rules.

The successors of a world depend only on its *position*, such as the board and the
player to move. A *node* of the graph is a position together with an *answer* per
player: the information that the player has received since the own last move, encoded as
a number by `Description.heard`. A game with a billion worlds may have only thousands of
nodes. A node stores its private moves (moves that the opponent does not notice) and its
edges; an edge is a set of actions that lead to the same next node. Each path through
the graph is a world of the game, with a list of entries (private pasts) per player.

A walk (graph_walk.py) represents an entry by the last sequence of the player. A table
contains the infoset of each pair of last sequence and answer, so the rules are not
needed to find it. The actions of these infosets that belong to an edge yield the
entries of the next world. The rules are called only for pairs and actions that occur
for the first time.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.played import end_game, who_acts
from mccfr_spiel.arenas.rules.row_table import ROW, SLOT, find_key, number_row, row_hash
from mccfr_spiel.arenas.rules.rule_calls import (
    HEARD,
    POSITION_KEY,
    call,
)
from mccfr_spiel.arenas.worlds import world_traversal
from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import DONE, FLOAT, INT, LONG


class PositionGraph(NamedTuple):
    """The nodes of the graph, and a table from sequences to infosets.

    Shapes: N nodes, A actions, H answers (`heard` returns 0 to H - 1), I infosets, S
    sequences, V values in all keys, T slots.

    Attributes:
        next_infoset: 1 + the infoset that follows a sequence and an answer; 0 if
            unknown.
        parents: per sequence, the previous sequence of the same player; emptied after
            the search.
        options: per infoset, the set of legal actions (as bits) and the first sequence.
        nodes: see ACTOR.
        edges: A rows per node, the first of which are used; per row, a set of actions
            and the node to which they lead.
        returns: returns of both players, valid at terminal nodes.
        values: concatenated keys of the nodes: position key and both answers.
        rows: start and hash of each key, see `RowTable`.
        table: hash table of the keys.
        counts: see NUM_NODES.
    """

    next_infoset: Annotated[np.ndarray, Entry(INT, "[S, H]")]
    parents: Annotated[np.ndarray, Entry(INT, "[S]")]
    options: Annotated[np.ndarray, Entry(LONG, "[I, 2]")]
    nodes: Annotated[np.ndarray, Entry(LONG, "[N, NUM_NODE_COLUMNS]")]
    edges: Annotated[np.ndarray, Entry(LONG, "[N A, 2]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[N, 2]")]
    values: Annotated[np.ndarray, Entry(LONG, "[V]")]
    rows: Annotated[np.ndarray, Entry(ROW, "[N + 1]")]
    table: Annotated[np.ndarray, Entry(SLOT, "[T]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[NUM_COUNTS]")]

    @property
    def num_worlds(self) -> int:
        """Number of worlds that the walk has visited."""
        return int(self.counts[NUM_WORLDS])

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the distinct returns."""
        ends = self.nodes[:, ACTOR] == TERMINAL
        return np.unique(self.returns[ends], axis=0)


ACTOR, NUM_EDGES, LAST_HEARD, PRIVATE, PRIVATE_HEARD, EXPLORED, NUM_NODE_COLUMNS = (
    range(7)
)
"""The columns of `PositionGraph.nodes`.

ACTOR: the acting player, or TERMINAL.
NUM_EDGES: number of edges.
LAST_HEARD: the acting player's answer (`Description.heard`) on arrival at the node.
PRIVATE: set of private moves, which stay in the same world.
PRIVATE_HEARD: the acting player's answer after a private move.
EXPLORED: set of actions whose effect is known.
NUM_NODE_COLUMNS: number of columns.
"""

NUM_NODES, NUM_WORLDS, ALL_EDGES, NUM_STEPS, HEIGHT, NUM_COUNTS = range(6)
"""Indices of `PositionGraph.counts`.

NUM_NODES: number of nodes.
NUM_WORLDS: number of worlds visited by the walk.
ALL_EDGES: number of edges followed from these worlds.
NUM_STEPS: number of steps (acting player's sequences) along these edges.
HEIGHT: largest number of worlds on a path.
NUM_COUNTS: number of indices.
"""


class WorldStack(NamedTuple):
    """Stack of a walk over worlds, with a level per world on the path.

    An entry is a private past of a player, represented by the player's last sequence.
    Shapes: D levels, C entries per world, n values of a state, M longest past, K
    longest key, I infosets, S sequences, H longest history plus one. Block `level` of
    an array of shape `[D C]` begins at `level * C`. When the walk follows an edge, the
    new entries of the player who acted are written to block `level + 1` of `sequences`.
    The entries of the other player do not change, so `firsts` keeps pointing to their
    earlier block.

    Attributes:
        sequences: last sequence per entry.
        firsts: per player and level, index of the first entry in `sequences`.
        counts: per player and level, the number of entries, without those that result
            from private moves at this world.
        options: per entry of the acting player, the set of legal actions (as bits) and
            the first sequence of the infoset.
        entries: number of entries of the acting player, those after private moves
            included.
        nodes: node of the world per level.
        next_edge: number of edges already taken, per level; -1 for a world not entered.
        num_edges: number of edges per level.
        reach: per player, the plan of the opponent, summed over the opponent's entries.
        owed: per player, the value of finished parts of the subtree that is not yet
            added to the gradient at the player's last sequences.
        start: initial state.
        pasts: buffer of `stand` for the own moves of both players.
        key: buffer of `write_key` for the key of a node.
        noted: a history per infoset, see `HistoryStack`.
        plan: plans of both players; empty during a search.
        gradient: gradients of the updated players.
        at: counters of the walk, see LISTED_EDGES.
    """

    sequences: Annotated[np.ndarray, Entry(INT, "[D C]")]
    firsts: Annotated[np.ndarray, Entry(LONG, "[2, D]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2, D]")]
    options: Annotated[np.ndarray, Entry(LONG, "[D C, 2]")]
    entries: Annotated[np.ndarray, Entry(LONG, "[D]")]
    nodes: Annotated[np.ndarray, Entry(LONG, "[D]")]
    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]")]
    reach: Annotated[np.ndarray, Entry(FLOAT, "[2, D]")]
    owed: Annotated[np.ndarray, Entry(FLOAT, "[2, D]")]
    start: Annotated[np.ndarray, Entry(LONG, "[n]")]
    pasts: Annotated[np.ndarray, Entry(LONG, "[2, M]")]
    key: Annotated[np.ndarray, Entry(LONG, "[K]")]
    noted: Annotated[np.ndarray, Entry(world_traversal.BYTE, "[I, H]")]
    plan: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    gradient: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    at: Annotated[np.ndarray, Entry(LONG, "[SIZE_OF_AT]")]


LISTED_EDGES, LISTED_STEPS, SIZE_OF_AT = range(
    world_traversal.NUM_AT, world_traversal.NUM_AT + 3
)
"""Indices of `WorldStack.at`, in addition to the indices that all walks share.

LISTED_EDGES: number of edges written to `Worlds`.
LISTED_STEPS: number of steps written to `Worlds`.
SIZE_OF_AT: number of indices.
"""


@inlined
def _unroll(scene, player, sequence):
    """Writes the player's own moves that lead to a sequence, in order, to the end of
    the player's row of `pasts`.

    Returns:
        The index of the first of these moves.
    """
    past = scene.walk.pasts[player]
    first = len(past)
    # Sequences 0 and 1 are the players' empty sequences.
    while sequence >= 2:
        first -= 1
        past[first] = scene.known.actions[sequence]
        sequence = np.int64(scene.graph.parents[sequence])
    return first


@inlined
def stand(scene, level, player, sequence):
    """Replays the moves of a player's sequence together with the opponent's first
    entry.

    Afterwards `scene.path` is at the state of the history that both form. Any entry of
    the opponent would give the same result, because the information of the player
    depends only on the world and the player's own past.

    Returns:
        Whether the rules accept this history. False means that the game declares its
            worlds wrongly.
    """
    walk, other = scene.walk, 1 - player
    mine = _unroll(scene, player, sequence)
    others = np.int64(walk.sequences[walk.firsts[other, level]])
    theirs = _unroll(scene, other, others)
    begin, start = (mine, theirs) if player == 0 else (theirs, mine)
    first, second = walk.pasts[0, begin:], walk.pasts[1, start:]
    return world_traversal.replay(scene, first, second, walk.pasts[0, :0])


@inlined
def find_infoset(scene, level, player, sequence, heard):
    """Finds or adds the infoset that follows a sequence and an answer, with the rules.

    It is called when `next_infoset[sequence, heard]` is unknown, and sets this value.
    For a new infoset it also sets `options` and `parents`.

    Args:
        scene: the walk.
        level: level of the world.
        player: the acting player.
        sequence: last sequence of the player.
        heard: answer of the player.

    Returns:
        DONE; NOT_SHARED if the game declares its worlds wrongly; GROW or BROKEN plus a
            code, if the infoset cannot be added.
    """
    graph, path = scene.graph, scene.path
    is_there = stand(scene, level, player, sequence)
    if not is_there or who_acts(scene.rules, scene.game, path) != player:
        return np.int64(world_traversal.NOT_SHARED)
    path.last[player] = sequence
    status, count, infoset = world_traversal.meet(scene, player)
    if status == DONE:
        first = np.int64(scene.tree.infosets[infoset]["first_sequence"])
        graph.next_infoset[sequence, heard] = infoset + 1
        graph.options[infoset, 0] = world_traversal.as_set(path, count)
        graph.options[infoset, 1] = first
        for k in range(count):
            graph.parents[first + k] = sequence
    return status


@inlined
def write_key(scene):
    """Writes the key of the current state's node to `walk.key`: the position key, then
    the answers of both players.

    Returns:
        A status, and the length of the key. The status is NOT_SHARED if the position
            key has a wrong length, MANY_ANSWERS if an answer has no column in the
            table, else DONE.
    """
    walk, graph, game, state = scene.walk, scene.graph, scene.game, scene.path.state
    arguments = game.settings, state, walk.key
    length = np.int64(call(scene.rules, POSITION_KEY, arguments))
    if not 0 <= length <= len(walk.key) - 2:
        return np.int64(world_traversal.NOT_SHARED), length
    status = np.int64(DONE)
    for player in range(2):
        heard = call(scene.rules, HEARD, (game.settings, state, player))
        walk.key[length + player] = heard
        if not 0 <= heard < graph.next_infoset.shape[1]:
            status = np.int64(world_traversal.MANY_ANSWERS)
    return status, length + 2


@inlined
def number_node(scene, length):
    """Finds or adds the node with the key in `walk.key`.

    `scene.path` must be at a state of this node.

    Returns:
        A status, and the number of the node.
    """
    graph, key, counts = scene.graph, scene.walk.key, scene.graph.counts
    new, hashed = counts[NUM_NODES], row_hash(key, length)
    node = number_row(graph.values, graph.rows, graph.table, new, hashed, key, length)
    status = np.int64(DONE)
    if node == new:
        counts[NUM_NODES] = new + 1
        acting = who_acts(scene.rules, scene.game, scene.path)
        graph.nodes[new, ACTOR] = acting
        if acting == TERMINAL:
            utilities = scene.tree.utilities
            status = np.int64(end_game(scene.rules, scene.game, scene.path, utilities))
            graph.returns[new, 0] = utilities[0, 0]
            graph.returns[new, 1] = utilities[0, 1]
        elif 0 <= acting <= 1:
            graph.nodes[new, LAST_HEARD] = key[length - 2 + acting]
        else:
            status = np.int64(world_traversal.NOT_SHARED)
    return status, node


@inlined
def look_along(scene, level, node, sequence, bit):
    """Follows an action that is new at a node, by means of the rules.

    The action is added to the set of an edge, or to the node's private moves.

    Args:
        scene: the walk.
        level: level of a world at the node.
        node: the node.
        sequence: a sequence of the acting player that ends with the action.
        bit: the action, as a set with a single bit.

    Returns:
        A status.
    """
    graph, player = scene.graph, scene.graph.nodes[node, ACTOR]
    if not stand(scene, level, player, sequence):
        return np.int64(world_traversal.NOT_SHARED)
    graph.nodes[node, EXPLORED] |= bit
    status, length = write_key(scene)
    if status != DONE:
        return status
    # A move is private if it changes only the acting player's own answer: then the
    # opponent has not noticed anything. To test this, the answer in the new key is
    # replaced by the old one. The move is private if this gives the key of `node`.
    key, last = scene.walk.key, length - 2 + player
    heard, key[last] = key[last], graph.nodes[node, LAST_HEARD]
    hashed = row_hash(key, length)
    same_node = find_key(graph.values, graph.rows, graph.table, hashed, key, length)
    key[last] = heard
    if same_node == node:
        if graph.nodes[node, PRIVATE] and graph.nodes[node, PRIVATE_HEARD] != heard:
            return np.int64(world_traversal.NOT_SHARED)
        graph.nodes[node, PRIVATE] |= bit
        graph.nodes[node, PRIVATE_HEARD] = heard
        return status
    status, target = number_node(scene, length)
    count = graph.nodes[node, NUM_EDGES]
    row = node * scene.game.stops[0]
    end = row + count
    # Actions that lead to the same node share an edge.
    while row < end and graph.edges[row, 1] != target:
        row += 1
    if row == end:
        graph.edges[row, 0], graph.edges[row, 1] = 0, target
        graph.nodes[node, NUM_EDGES] = count + 1
    graph.edges[row, 0] |= bit
    return status
