"""The compiled walk over worlds along the graph of places."""

import numpy as np

from mccfr_spiel.arenas.rules import kernel
from mccfr_spiel.arenas.worlds import traversal
from mccfr_spiel.arenas.worlds.places import (
    ACTOR,
    ALL_EDGES,
    HEIGHT,
    LAST_HEARD,
    LISTED_EDGES,
    LISTED_STEPS,
    LOOKED,
    NUM_EDGES,
    NUM_PLACES,
    NUM_STEPS,
    PRIVATE,
    TRIED,
    Places,
    Way,
    find_infoset,
    look_along,
    number_place,
    stand,
    write_key,
)
from mccfr_spiel.arenas.worlds.traversal import (
    END,
    FIRST,
    NOT_SHARED,
    ROOM,
    sequence_at,
)
from mccfr_spiel.arenas.worlds.world_lists import Worlds, pay, sum_of
from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import DONE


@inlined
def _has_room(scene):
    """Whether all arrays have room for what the next world may add."""
    if len(scene.walk.plan) > 0 or len(scene.listed.steps) > 0:
        return True  # nothing is found any more
    kept = scene.kept
    places = kept.counts[NUM_PLACES] + scene.game.stops[0]
    has_places = places < min(kernel.MOST_USED * len(kept.table), len(kept.places))
    return has_places and traversal.has_room(scene)


@inlined
def _begin(scene):
    """Has the walk stand at the root; returns a status."""
    way = scene.walk
    stand(scene, 0, 0, np.int64(0))
    status, length = write_key(scene)
    if status == DONE:
        status, way.places[0] = number_place(scene, length)
    if status == DONE and scene.kept.places[way.places[0], ACTOR] == TERMINAL:
        status = np.int64(NOT_SHARED)
    return status


@inlined
def _enter(scene, level):
    """Finds the infosets of who acts at a world; returns a status.

    Private moves append entries to those that are read here; the sequences to these
    wait in the next block, which is free. Nothing is looked up in the rules that is
    known, so in a pass nothing is.
    """
    kept, way, status = scene.kept, scene.walk, np.int64(DONE)
    if kept.counts[NUM_PLACES] == 0:
        status = _begin(scene)
        if status != DONE:
            return status
    place, row = way.places[level], level * way.at[ROOM]
    player, heard = kept.places[place, ACTOR], kept.places[place, LAST_HEARD]
    first, listed = way.firsts[player, level], way.counts[player, level]
    waiting, count, entry = row + way.at[ROOM], listed, np.int64(0)
    while entry < count:
        sequence = np.int64(way.sequences[first + entry])
        if entry == listed:
            first, heard = waiting, kept.places[place, TRIED]
            sequence = np.int64(way.sequences[first + entry])
        if kept.behind[sequence, heard] == 0:
            status = find_infoset(scene, level, player, sequence, heard)
            if status != DONE:
                return status
        spot, here = np.int64(kept.behind[sequence, heard]) - 1, row + entry
        way.spots[here, 0] = kept.spots[spot, 0]
        way.spots[here, 1] = kept.spots[spot, 1]
        unknown = way.spots[here, 0] & ~kept.places[place, LOOKED]
        while unknown:
            bit = unknown & -unknown
            unknown ^= bit
            sequence = sequence_at(way.spots, here, bit)
            status = look_along(scene, level, place, sequence, bit)
            if status != DONE:
                return status
        going = way.spots[here, 0] & kept.places[place, PRIVATE]
        while going:
            bit = going & -going
            going ^= bit
            if count == way.at[ROOM]:
                return np.int64(traversal.MANY_ENTRIES)
            way.sequences[waiting + count] = sequence_at(way.spots, here, bit)
            count += 1
        entry += 1
    way.entries[level] = count
    way.owed[0, level], way.owed[1, level], way.next_edge[level] = 0.0, 0.0, 0
    way.num_edges[level] = kept.places[place, NUM_EDGES]
    kept.counts[HEIGHT] = max(kept.counts[HEIGHT], level + 1)
    if len(scene.listed.steps) > 0:
        _list_world(scene, level)
    return status


@inlined
def _gather(way, level, actions, to, first, most):
    """Writes the sequences of who acts along an edge; returns how many there are, -1 if
    there are more than `most`."""
    row = level * way.at[ROOM]
    count = np.int64(0)
    for entry in range(row, row + way.entries[level]):
        going = way.spots[entry, 0] & actions
        while going:
            bit = going & -going
            going ^= bit
            if count == most:
                return np.int64(-1)
            to[first + count] = sequence_at(way.spots, entry, bit)
            count += 1
    return count


@inlined
def _list_world(scene, level):
    """Writes a world and the steps along its edges."""
    kept, worlds, way, at = scene.kept, scene.listed, scene.walk, scene.walk.at
    place, number = way.places[level], at[traversal.VISITED]
    worlds.actors[number], worlds.edges[number] = kept.places[place, ACTOR], 0
    first = place * scene.game.stops[0]
    for row in range(first, first + kept.places[place, NUM_EDGES]):
        begin, edge = at[LISTED_STEPS], at[LISTED_EDGES]
        count = _gather(
            way, level, kept.edges[row, 0], worlds.steps, begin, way.at[ROOM]
        )
        if count == 0:
            continue
        behind = kept.edges[row, 1]
        worlds.lengths[edge] = count
        worlds.ends[edge] = kept.places[behind, ACTOR] == TERMINAL
        worlds.returns[edge, 0] = kept.returns[behind, 0]
        worlds.returns[edge, 1] = kept.returns[behind, 1]
        worlds.edges[number] += 1
        at[LISTED_STEPS], at[LISTED_EDGES] = begin + count, edge + 1


@inlined
def _go_along(scene, level, edge):
    """Makes the world behind an edge, or pays for it if the game ends there.

    Returns a status, and whether the walk goes on there: not where no entry goes along,
    nor where nobody is paid anything.
    """
    kept, way, at, counts = scene.kept, scene.walk, scene.walk.at, scene.kept.counts
    place, to, below = way.places[level], (level + 1) * way.at[ROOM], level + 1
    player, row = kept.places[place, ACTOR], place * scene.game.stops[0] + edge
    other, behind, finds = 1 - player, kept.edges[row, 1], at[END] == 0
    count = _gather(way, level, kept.edges[row, 0], way.sequences, to, way.at[ROOM])
    if count <= 0:
        return np.int64(DONE if count == 0 else traversal.MANY_ENTRIES), False
    counts[NUM_STEPS] += count
    counts[ALL_EDGES] += 1
    is_end = kept.places[behind, ACTOR] == TERMINAL
    pays = at[FIRST] <= player < at[END] and way.reach[player, level] != 0.0
    total, sums = 0.0, at[FIRST] <= other < at[END]
    if sums and not (is_end and kept.returns[behind, other] == 0.0):
        total = sum_of(way.plan, way.sequences, to, count)
    if is_end:
        value = kept.returns[behind, player] * way.reach[player, level]
        if pays and value != 0.0:
            pay(way.gradient, way.sequences, to, count, value)
        way.owed[other, level] += kept.returns[behind, other] * total
        return np.int64(DONE), False
    way.reach[player, below], way.reach[other, below] = way.reach[player, level], total
    way.firsts[player, below], way.counts[player, below] = to, count
    way.firsts[other, below] = way.firsts[other, level]
    way.counts[other, below] = way.counts[other, level]
    way.places[below] = behind
    return np.int64(DONE), finds or pays or total != 0.0


@inlined
def _come_back(scene, level):
    """Pays, at a level, what is owed behind the edge that the walk went along; at the
    end, what is owed to the empty sequences."""
    kept, way, below = scene.kept, scene.walk, level + 1
    if level < 0:
        for player in range(way.at[FIRST], way.at[END]):
            way.gradient[player] += way.owed[player, 0]
        return
    player = kept.places[way.places[level], ACTOR]
    value = way.owed[player, below]
    if value != 0.0:
        first, count = way.firsts[player, below], way.counts[player, below]
        pay(way.gradient, way.sequences, first, count, value)
    way.owed[1 - player, level] += way.owed[1 - player, below]


LAYOUT = traversal.layout_of(Way, Worlds, Places)

follow_worlds = traversal.make_follow(LAYOUT, _has_room, _enter, _go_along, _come_back)
