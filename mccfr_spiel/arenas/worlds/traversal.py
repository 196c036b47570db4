"""The depth-first loop that all walks over histories and worlds share."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.kernel import INFOSETS
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.stored import nothing
from mccfr_spiel.kernels.tables import DONE, GROW, TreeArrays

BYTE = np.dtype(np.int8)

MANY_ENTRIES, NOT_SHARED, OUT_OF_TIME, MANY_ANSWERS = range(50, 54)
"""Statuses besides those of the kernels: a world has more entries or edges than there
is room for; two entries do not fit each other, or a class is out of range; the pass is
to go on; `heard` gives a number for which there is no room."""


LEVEL, VISITED, ROOM, FIRST, END, NUM_AT = range(6)
"""The first entries of `at` of each walk: the level where it is, -1 when it is over;
how many nodes or worlds it has entered; for how many entries of a world there is room;
the players who get gradients, from the first to the last but one."""


class Scene(NamedTuple):
    """All that the steps of a walk read and change.

    Attributes:
        rules: as `callable_rules` gives them.
        tree, game, known, path: as in walks over rules.
        walk: where the walk is, by level. The next edge of a node or world is -1 until
            it has been entered.
        listed: what the walk lists.
        kept: what it keeps of places, if it does.
    """

    rules: Any
    tree: TreeArrays
    game: played.Game
    known: played.Known
    path: played.Path
    walk: Any
    listed: Any
    kept: Any


def layout_of(walk: type, listed: type, *kept: type) -> Layout:
    """What the frame of a walk holds."""
    return Layout(
        TreeArrays, played.Game, played.Known, played.Path, walk, listed, *kept
    )


def make_follow(
    layout: Layout, has_room: Any, enter: Any, go_along: Any, come_back: Any = nothing
) -> Any:
    """Makes `follow(frame, rules, most)`, which goes on with a walk until it is
    over, or something stops it.

    Each turn of the loop enters the node or world where the walk is, unless it has done
    so, and then goes along its next edge or, if there is none, back to the one before.

    Args:
        layout: of the frame.
        has_room: (scene) -> whether all arrays have room for what is entered next.
        enter: (scene, level) -> a status; finds the edges.
        go_along: (scene, level, edge) -> a status, and whether the walk goes on there.
        come_back: (scene, level), which is -1 at the end.

    Returns:
        A function of a frame, what `callable_rules` gives, and how many nodes or worlds
        there may be before the walk is `OUT_OF_TIME`. It returns that, DONE, GROW if
        there must be more room first, another status of this file, or BROKEN + one of
        rules/kernel.py.
    """
    views = layout.viewer()
    walk_kind, listed_kind, kept_kind = *layout.kinds[4:6], layout.kinds[-1]

    @jit(nogil=True, views_only=True)
    def follow(frame, rules, most):
        tree, game = views(frame, TreeArrays), views(frame, played.Game)
        known, path = views(frame, played.Known), views(frame, played.Path)
        walk, listed = views(frame, walk_kind), views(frame, listed_kind)
        kept = views(frame, kept_kind)
        scene = Scene(rules, tree, game, known, path, walk, listed, kept)
        level, status = walk.at[LEVEL], np.int64(DONE)
        while level >= 0:
            walk.at[LEVEL] = level
            if walk.next_edge[level] < 0:
                if walk.at[VISITED] >= most:
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
                status, goes_on = go_along(scene, level, edge)
                if status != DONE:
                    return status
                if goes_on:
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
    """The size of a set of less than 63 actions."""
    pairs, nibbles, bytes_ = _BITS
    actions -= (actions >> 1) & pairs
    actions = (actions & nibbles) + ((actions >> 2) & nibbles)
    return (((actions + (actions >> 4)) & bytes_) * _ONES) >> 56


@inlined
def sequence_at(spots, entry, bit):
    """The sequence of an action, a set of one, at an entry's infoset, of which there
    are the set of actions and the first sequence."""
    return spots[entry, 1] + num_bits(spots[entry, 0] & (bit - 1))


@inlined
def has_room(scene):
    """Whether the infosets of as many more entries as there is room for fit all arrays
    of a store."""
    known, entries = scene.known, scene.walk.at[ROOM]
    sequences, values = entries * scene.game.stops[0], entries * len(scene.path.key)
    infosets = scene.tree.infosets
    fits = played.has_room_for(infosets, known, entries, sequences, values)
    return fits and not 0 < len(scene.walk.noted) <= known.counts[INFOSETS] + entries


@inlined
def meet(scene, player):
    """Finds the infoset of a player where the path is, or adds it; returns a status,
    how many moves there are, and the infoset, -1 for chance."""
    known, path, noted = scene.known, scene.path, scene.walk.noted
    before = known.counts[INFOSETS]
    room = np.int64(1) << 40
    nodes = played.nodes_of(scene.tree, scene.game, known, path, scene.rules)
    status, moves = played.arrive(nodes, 0, player, room)
    infoset = moves.infoset
    if status == DONE and infoset == before and len(noted) > 0:
        noted[infoset, 0] = path.position[played.NUM_MOVES]
        for k in range(path.position[played.NUM_MOVES]):
            noted[infoset, 1 + k] = path.history[k]
    return status, moves.count, infoset


@inlined
def as_set(path, count):
    """The moves of the path as a set."""
    moves = np.int64(0)
    for k in range(count):
        moves |= np.int64(1) << path.moves[k]
    return moves


@inlined
def replay(scene, first, second, owners):
    """Puts the path where the own moves and deals of both players meet.

    Args:
        scene: of a walk whose `start` is the first state.
        first, second: what player 0 and player 1 have done, and were dealt, in order.
        owners: who sees each deal.

    Returns:
        Whether the two fit each other, as they do if the declaration is right.
    """
    rules, game, path = scene.rules, scene.game, scene.path
    if len(first) + len(second) > len(path.history) - 2:
        return False
    for k in range(len(path.state)):
        path.state[k] = scene.walk.start[k]
    path.position[played.NUM_MOVES] = 0
    of_first, of_second, deals = np.int64(0), np.int64(0), np.int64(0)
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
