"""The depth-first loop of all walks over histories and worlds, with helpers.

A walk keeps a stack with one level per node or world on the path from the root. Four
functions, called steps, define a walk:

| step | does |
|---|---|
| `has_room` | checks that every array can hold the next node or world |
| `enter` | finds the outgoing edges |
| `go_along` | builds the node or world at the end of an edge |
| `come_back` | finishes an edge after the subtree |
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.rule_infosets import has_room_for
from mccfr_spiel.arenas.rules.rule_records import (
    INFOSETS,
    GameArrays,
    Known,
    nodes_of,
)
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.stored import nothing
from mccfr_spiel.kernels.tables import DONE, GROW, TreeArrays

BYTE = np.dtype(np.int8)
"""Type of the actions in `noted`, the histories that walks over worlds write."""

MANY_ENTRIES, NOT_SHARED, OUT_OF_TIME, MANY_ANSWERS = range(50, 54)
"""Statuses in addition to those of `kernels.tables`.

MANY_ENTRIES: a world has more entries (private pasts) or edges than the buffers hold.
NOT_SHARED: the game declares its worlds wrongly: two entries of a world do not form a
history, lead to different moves, or a class is out of range.
OUT_OF_TIME: the slice is finished; call the walk again.
MANY_ANSWERS: `heard` returned a number that has no column in `next_infoset`.
"""


LEVEL, VISITED, ROOM, FIRST, END, NUM_AT = range(6)
"""Indices of the array `at` that all walks share.

LEVEL: current stack level; -1 at the end of the walk.
VISITED: number of nodes or worlds entered so far.
ROOM: number of entries (private pasts) per player and world that the buffers hold.
FIRST, END: half-open range of updated players; empty during a search.
NUM_AT: number of these indices.
"""


class Scene(NamedTuple):
    """The records that the steps of a walk read and change.

    Attributes:
        rules: the addresses from `callable_rules`.
        tree: records of the infosets, and buffers for chance probabilities and returns.
        game: the game's declarations.
        known: keys and actions of the infosets.
        path: current state, at which the rules are evaluated.
        walk: stack of the walk. Per level, `next_edge` is the number of edges already
            taken, or -1 for a node or world not yet entered.
        listed: the lists that the walk writes.
        graph: the graph of positions; in walks without a graph, the same as `listed`.
    """

    rules: Any
    tree: TreeArrays
    game: GameArrays
    known: Known
    path: played.Path
    walk: Any
    listed: Any
    graph: Any


def layout_of(walk: type, listed: type, *graph: type) -> Layout:
    """Returns the layout of the frame (array of pointers) that holds a walk's records.

    Args:
        walk: class of the stack.
        listed: class of the lists that the walk writes.
        graph: class of the graph, if the walk has one.
    """
    return Layout(TreeArrays, GameArrays, Known, played.Path, walk, listed, *graph)


def make_follow(
    layout: Layout, has_room: Any, enter: Any, go_along: Any, come_back: Any = nothing
) -> Any:
    """Makes the compiled loop `follow(frame, rules, limit)` of a walk.

    Args:
        layout: layout of the frame.
        has_room: (scene) -> whether all arrays have room for the next node or world.
        enter: (scene, level) -> status; sets `next_edge` to 0, and `num_edges`.
        go_along: (scene, level, edge) -> (status, whether to descend along the edge).
        come_back: (scene, level); called when the walk returns to `level` from a
            subtree, and with level -1 when it leaves the root.

    Returns:
        A function `follow(frame, rules, limit)` that continues the walk until it ends,
            a step fails, or `at[VISITED]` reaches `limit`. It returns DONE; GROW if an
            array must grow first; a status of this file; or BROKEN plus a fault of
            rules/rule_faults.py. After GROW or OUT_OF_TIME another call resumes the
            walk.
    """
    views = layout.viewer()
    walk_kind, listed_kind, graph_kind = *layout.kinds[4:6], layout.kinds[-1]

    @jit(nogil=True, views_only=True)
    def follow(frame, rules, limit):
        tree, game = views(frame, TreeArrays), views(frame, GameArrays)
        known, path = views(frame, Known), views(frame, played.Path)
        walk, listed = views(frame, walk_kind), views(frame, listed_kind)
        graph = views(frame, graph_kind)
        scene = Scene(rules, tree, game, known, path, walk, listed, graph)
        level, status = walk.at[LEVEL], np.int64(DONE)
        # Invariant: levels 0 to `level - 1` have been entered, and `next_edge` counts
        # the edges already taken there. Each pass of the loop enters the node or world
        # at `level` if it has not been entered yet. Then it follows the next edge, or
        # returns to the level above if no edge is left. The walk ends when it leaves
        # level 0. The position is stored in `walk`, so that another call resumes here.
        while level >= 0:
            walk.at[LEVEL] = level
            if walk.next_edge[level] < 0:
                if walk.at[VISITED] >= limit:
                    return np.int64(OUT_OF_TIME)
                if not has_room(scene):
                    return np.int64(GROW)
                status = np.int64(enter(scene, level))
                if status != DONE:
                    return status
                walk.at[VISITED] += 1
            edge = walk.next_edge[level]
            if edge < walk.num_edges[level]:
                walk.next_edge[level] = edge + 1
                status, descends = go_along(scene, level, edge)
                if status != DONE:
                    return status
                if descends:
                    level += 1
                    walk.next_edge[level] = -1
            else:
                level -= 1
                come_back(scene, level)
        walk.at[LEVEL] = level
        return status

    return follow


_BITS = tuple(
    np.int64(x) for x in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
)
_ONES = np.int64(0x0101010101010101)


@inlined
def num_bits(actions):
    """Returns the number of bits that are set in a non-negative integer."""
    # Adds neighbouring bits, then pairs, then nibbles; the product sums up the bytes
    # (Warren, Hacker's Delight, section 5-1).
    pairs, nibbles, bytes_ = _BITS
    actions -= (actions >> 1) & pairs
    actions = (actions & nibbles) + ((actions >> 2) & nibbles)
    return (((actions + (actions >> 4)) & bytes_) * _ONES) >> 56


@inlined
def sequence_at(options, entry, bit):
    """Returns the sequence that ends with an action at the infoset of an entry.

    Args:
        options: `[n, 2]` per entry, the set of legal actions (as bits) and the first
            sequence of the infoset.
        entry: row of `options`.
        bit: the action, as a set with a single bit.
    """
    # The sequences of an infoset are in ascending order of their actions. So the
    # position of the sequence is the number of smaller legal actions.
    return options[entry, 1] + num_bits(options[entry, 0] & (bit - 1))


@inlined
def has_room(scene):
    """Returns whether the store has room for ROOM more infosets of the largest size."""
    known, entries = scene.known, scene.walk.at[ROOM]
    sequences, values = entries * scene.game.stops[0], entries * len(scene.path.key)
    infosets = scene.tree.infosets
    fits = has_room_for(infosets, known, entries, sequences, values)
    return fits and not 0 < len(scene.walk.noted) <= known.counts[INFOSETS] + entries


@inlined
def meet(scene, player):
    """Lists the moves at the current state of the path, and finds or adds the infoset.

    If `noted` is not empty, the history of a new infoset is written there.

    Args:
        scene: records of the walk.
        player: the acting player, or CHANCE_NODE.

    Returns:
        A status, the number of moves, and the infoset (-1 at a chance node).
    """
    known, path, noted = scene.known, scene.path, scene.walk.noted
    before = known.counts[INFOSETS]
    # `arrive` refuses nodes with more than `room` moves. These walks have no buffer
    # that would limit the number.
    room = np.int64(1) << 40
    nodes = nodes_of(scene.tree, scene.game, known, path, scene.rules)
    status, moves = played.arrive(nodes, 0, player, room)
    infoset = moves.infoset
    if status == DONE and infoset == before and len(noted) > 0:
        noted[infoset, 0] = path.position[played.NUM_MOVES]
        for k in range(path.position[played.NUM_MOVES]):
            noted[infoset, 1 + k] = path.history[k]
    return status, moves.count, infoset


@inlined
def as_set(path, count):
    """Returns the first `count` elements of `path.moves` as a bit set."""
    moves = np.int64(0)
    for k in range(count):
        moves |= np.int64(1) << path.moves[k]
    return moves


@inlined
def replay(scene, first, second, owners):
    """Replays the history that an entry of each player forms, from the initial state.

    Afterwards `scene.path` is at the state of this history.

    Args:
        scene: records of a walk whose stack has the initial state `start`.
        first: entry of player 0: the player's own moves and private deals, in order.
        second: entry of player 1.
        owners: for each private deal, the player who sees it, in order.

    Returns:
        Whether both entries form a history of the game. This is always so if the game
            declares its worlds correctly.
    """
    rules, game, path = scene.rules, scene.game, scene.path
    if len(first) + len(second) > len(path.history) - 2:
        return False
    for k in range(len(path.state)):
        path.state[k] = scene.walk.start[k]
    path.position[played.NUM_MOVES] = 0
    of_first, of_second, deals = np.int64(0), np.int64(0), np.int64(0)
    # The rules determine who acts. Each pass of the loop applies the next element of
    # this player's entry, or at a private deal the next element of the owner's entry.
    # It ends when both entries are used up, or when the player has no element left.
    while of_first < len(first) or of_second < len(second):
        acting = played.who_acts(rules, game, path)
        if acting == CHANCE_NODE and deals < len(owners):
            acting = owners[deals]
            deals += 1
        if acting == 0 and of_first < len(first):
            action = first[of_first]
            of_first += 1
        elif acting == 1 and of_second < len(second):
            action = second[of_second]
            of_second += 1
        else:
            return False
        played.move_on(rules, game, path, action)
    return True
