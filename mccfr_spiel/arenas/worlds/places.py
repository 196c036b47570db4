"""Worlds that are made again on the way by each pass, since their lists do not fit.

What a world leads to depends on little: its *position*, such as the board and whose
turn it is. A world's *place* is the position together with what both players have
heard last. There are thousands of places where there are a billion worlds, and they
make a graph: each has the actions that are private there, and edges, which are sets of
actions, to other places. A tree of worlds is walked along this graph.

On the way down a walk has a list of each player's last sequences, one of each entry of
the world. Where a player acts, the infosets behind these sequences are read from a
table, by the sequence and what the player has heard. Each edge then makes the list of
the next world: the sequences of its actions at these infosets.

One compiled walk serves three ends. It finds places and infosets, by the game's rules,
where it comes to a sequence or an action for the first time. It lists the worlds for
the passes of passes.py. And it adds gradients, of both players at once if both are
wanted, without the rules, as these passes do.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import kernel
from mccfr_spiel.arenas.rules.kernel import HEARD, POSITION_KEY, call
from mccfr_spiel.arenas.rules.played import end_game, who_acts
from mccfr_spiel.arenas.worlds import histories
from mccfr_spiel.arenas.worlds.histories import (
    END,
    FIRST,
    NOT_SHARED,
    ROOM,
    sequence_at,
)
from mccfr_spiel.arenas.worlds.passes import Worlds, pay, sum_of
from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import DONE, FLOAT, INT, LONG


class Places(NamedTuple):
    """The places of a game, and where sequences lead.

    P is the number of places, A of actions, and H is one more than what a player may
    hear. `behind` has numbers from 1 on, and 0 where none is known; once all are, there
    is no `above`. An infoset's spot is the set of its actions and its first sequence,
    an edge the set of its actions and the place that it leads to.

    Attributes:
        behind: the infosets behind sequences.
        above: the sequences before.
        spots: the infosets behind.
        places: see NUM_PLACE.
        edges: actions and place behind.
        returns: where the game ends.
        values: the places' keys, see RowTable.
        rows: of these, P + 1.
        table: of these.
        counts: see NUM_COUNTS.
    """

    behind: Annotated[np.ndarray, Entry(INT, "[S, H]")]
    above: Annotated[np.ndarray, Entry(INT, "[S]")]
    spots: Annotated[np.ndarray, Entry(LONG, "[I, 2]")]
    places: Annotated[np.ndarray, Entry(LONG, "[P, NUM_PLACE]")]
    edges: Annotated[np.ndarray, Entry(LONG, "[P A, 2]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[P, 2]")]
    values: Annotated[np.ndarray, Entry(LONG, "[V]")]
    rows: Annotated[np.ndarray, Entry(kernel.ROW, "[P + 1]")]
    table: Annotated[np.ndarray, Entry(kernel.SLOT, "[T]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[NUM_COUNTS]")]

    @property
    def num_worlds(self) -> int:
        """How many worlds the walk goes to."""
        return int(self.counts[NUM_WORLDS])

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        ends = self.places[:, ACTOR] == TERMINAL
        return np.unique(self.returns[ends], axis=0)


ACTOR, NUM_EDGES, LAST_HEARD, PRIVATE, TRIED, LOOKED, NUM_PLACE = range(7)
"""The columns of `Places.places`: who acts, or TERMINAL; how many edges there are; what
who acts has heard; the set of private moves, and what is heard of them; the set of all
actions of which it is known where they lead."""

NUM_PLACES, NUM_WORLDS, ALL_EDGES, NUM_STEPS, HEIGHT, NUM_COUNTS = range(6)
"""The entries of `Places.counts`: how many places, worlds, edges between these and
steps along them there are, and the most worlds on a path."""


class Way(NamedTuple):
    """Where a walk is: the worlds on the way there, by level.

    D is the most levels, and C the room for entries. The list that who acts at a level
    has behind the edge gone along is in block `level + 1` of `sequences`. A player's
    reach is the sum of the plan over the other's list.

    Attributes:
        sequences: lists of last sequences.
        firsts: where a player's list begins.
        counts: how long it is.
        spots: of the infosets of who acts.
        entries: how many these are.
        places: the places of the worlds.
        next_edge: the next edge.
        num_edges: how many edges there are.
        reach: of both players.
        owed: what the last sequences get.
        start: the first state.
        pasts: own moves.
        key: a buffer.
        noted: as in `Pass`.
        plan: all plans; none to find infosets.
        gradient: of those who get one.
        at: see SIZE_OF_AT.
    """

    sequences: Annotated[np.ndarray, Entry(INT, "[D C]")]
    firsts: Annotated[np.ndarray, Entry(LONG, "[2, D]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2, D]")]
    spots: Annotated[np.ndarray, Entry(LONG, "[D C, 2]")]
    entries: Annotated[np.ndarray, Entry(LONG, "[D]")]
    places: Annotated[np.ndarray, Entry(LONG, "[D]")]
    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]")]
    reach: Annotated[np.ndarray, Entry(FLOAT, "[2, D]")]
    owed: Annotated[np.ndarray, Entry(FLOAT, "[2, D]")]
    start: Annotated[np.ndarray, Entry(LONG, "[n]")]
    pasts: Annotated[np.ndarray, Entry(LONG, "[2, M]")]
    key: Annotated[np.ndarray, Entry(LONG, "[K]")]
    noted: Annotated[np.ndarray, Entry(histories.BYTE, "[I, H]")]
    plan: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    gradient: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    at: Annotated[np.ndarray, Entry(LONG, "[SIZE_OF_AT]")]


LISTED_EDGES, LISTED_STEPS, SIZE_OF_AT = range(histories.NUM_AT, histories.NUM_AT + 3)
"""The entries of `Way.at` behind those of all walks: what has been listed so far."""


# --- what the rules are asked for -----------------------------------------------------


@inlined
def _unroll(scene, player, sequence):
    """Writes the own moves up to a sequence to the end of a row; returns where they
    begin."""
    past = scene.walk.pasts[player]
    first = len(past)
    while sequence >= 2:
        first -= 1
        past[first] = scene.known.actions[sequence]
        sequence = np.int64(scene.kept.above[sequence])
    return first


@inlined
def _stand(scene, level, player, sequence):
    """Puts the path where a player's sequence meets the other's first entry; returns
    whether the two fit each other."""
    way, other = scene.walk, 1 - player
    mine = _unroll(scene, player, sequence)
    others = np.int64(way.sequences[way.firsts[other, level]])
    theirs = _unroll(scene, other, others)
    begin, start = (mine, theirs) if player == 0 else (theirs, mine)
    first, second = way.pasts[0, begin:], way.pasts[1, start:]
    return histories.replay(scene, first, second, way.pasts[0, :0])


@inlined
def _find_infoset(scene, level, player, sequence, heard):
    """Finds the infoset behind a sequence, or adds it; returns a status."""
    kept, path = scene.kept, scene.path
    is_there = _stand(scene, level, player, sequence)
    if not is_there or who_acts(scene.rules, scene.game, path) != player:
        return np.int64(NOT_SHARED)
    path.last[player] = sequence
    status, count, infoset = histories.meet(scene, player)
    if status == DONE:
        first = np.int64(scene.tree.infosets[infoset]["first_sequence"])
        kept.behind[sequence, heard] = infoset + 1
        kept.spots[infoset, 0], kept.spots[infoset, 1] = (
            histories.as_set(path, count),
            first,
        )
        for k in range(count):
            kept.above[first + k] = sequence
    return status


@inlined
def _write_key(scene):
    """Writes the key of the place where the path is: the position and what both players
    have heard. Returns a status, and its length."""
    way, kept, game, state = scene.walk, scene.kept, scene.game, scene.path.state
    arguments = game.settings, state, way.key
    length = np.int64(call(scene.rules, POSITION_KEY, arguments))
    if not 0 <= length <= len(way.key) - 2:
        return np.int64(NOT_SHARED), length
    status = np.int64(DONE)
    for player in range(2):
        heard = call(scene.rules, HEARD, (game.settings, state, player))
        way.key[length + player] = heard
        if not 0 <= heard < kept.behind.shape[1]:
            status = np.int64(histories.MANY_ANSWERS)
    return status, length + 2


@inlined
def _number_place(scene, length):
    """The place where the path is, whose key is in the buffer; returns a status and its
    number."""
    kept, key, counts = scene.kept, scene.walk.key, scene.kept.counts
    new, hashed = counts[NUM_PLACES], kernel.row_hash(key, length)
    number = kernel.number_row(
        kept.values, kept.rows, kept.table, new, hashed, key, length
    )
    status = np.int64(DONE)
    if number == new:
        counts[NUM_PLACES] = new + 1
        acting = who_acts(scene.rules, scene.game, scene.path)
        kept.places[new, ACTOR] = acting
        if acting == TERMINAL:
            utilities = scene.tree.utilities
            status = np.int64(end_game(scene.rules, scene.game, scene.path, utilities))
            kept.returns[new, 0] = utilities[0, 0]
            kept.returns[new, 1] = utilities[0, 1]
        elif 0 <= acting <= 1:
            kept.places[new, LAST_HEARD] = key[length - 2 + acting]
        else:
            status = np.int64(NOT_SHARED)
    return status, number


@inlined
def _look_along(scene, level, place, sequence, bit):
    """Finds where an action leads that nobody has looked along at a place; returns a
    status."""
    kept, player = scene.kept, scene.kept.places[place, ACTOR]
    if not _stand(scene, level, player, sequence):
        return np.int64(NOT_SHARED)
    kept.places[place, LOOKED] |= bit
    status, length = _write_key(scene)
    if status != DONE:
        return status
    # A move is private if nothing but what the player has heard is different behind it,
    # so that the other has heard nothing.
    key, last = scene.walk.key, length - 2 + player
    heard, key[last] = key[last], kept.places[place, LAST_HEARD]
    hashed = kernel.row_hash(key, length)
    found = kernel.find_key(kept.values, kept.rows, kept.table, hashed, key, length)
    key[last] = heard
    if found == place:
        if kept.places[place, PRIVATE] and kept.places[place, TRIED] != heard:
            return np.int64(NOT_SHARED)
        kept.places[place, PRIVATE] |= bit
        kept.places[place, TRIED] = heard
        return status
    status, behind = _number_place(scene, length)
    count = kept.places[place, NUM_EDGES]
    row = place * scene.game.stops[0]
    end = row + count
    while row < end and kept.edges[row, 1] != behind:
        row += 1
    if row == end:
        kept.edges[row, 0], kept.edges[row, 1] = 0, behind
        kept.places[place, NUM_EDGES] = count + 1
    kept.edges[row, 0] |= bit
    return status


@inlined
def _has_room(scene):
    """Whether all arrays have room for what the next world may add."""
    if len(scene.walk.plan) > 0 or len(scene.listed.steps) > 0:
        return True  # nothing is found any more
    kept = scene.kept
    places = kept.counts[NUM_PLACES] + scene.game.stops[0]
    has_places = places < min(kernel.MOST_USED * len(kept.table), len(kept.places))
    return has_places and histories.has_room(scene)


# --- the steps of the walk ------------------------------------------------------------


@inlined
def _begin(scene):
    """Has the walk stand at the root; returns a status."""
    way = scene.walk
    _stand(scene, 0, 0, np.int64(0))
    status, length = _write_key(scene)
    if status == DONE:
        status, way.places[0] = _number_place(scene, length)
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
            status = _find_infoset(scene, level, player, sequence, heard)
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
            status = _look_along(scene, level, place, sequence, bit)
            if status != DONE:
                return status
        going = way.spots[here, 0] & kept.places[place, PRIVATE]
        while going:
            bit = going & -going
            going ^= bit
            if count == way.at[ROOM]:
                return np.int64(histories.MANY_ENTRIES)
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
    place, number = way.places[level], at[histories.VISITED]
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
        return np.int64(DONE if count == 0 else histories.MANY_ENTRIES), False
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


LAYOUT = histories.layout_of(Way, Worlds, Places)

follow_worlds = histories.make_follow(LAYOUT, _has_room, _enter, _go_along, _come_back)
