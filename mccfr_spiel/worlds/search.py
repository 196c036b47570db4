"""The compiled search for the worlds of a game, and what it fills.

At each world the walk has the entries of both players, each as its player's own moves
and deals. Any entry of one player with any of the other gives a history, so the state
of a pair is made by playing their moves in turn. An action means the same for all
entries of a world, so one of them tells where it leads: to the same world, as a private
move that makes another entry of the mover; or along an *edge* to the next. There the
mover has an entry for each entry and action that lead along the edge, and the other
player's entries stay: the next world reads the same rows.

What is kept of an edge is the list of the mover's sequences that go along it (its
*steps*), in the order in which a pass meets them. Passes call no rules.

Games with *classes* (see listing.py) differ in three ways. Chance may deal to one
player in secret. The answer to a move may depend on what the other player hides, such
as a shot at a ship: a world has an edge for each answer, and along it go the other's
entries that give this answer. And what is kept are the worlds where the game ends.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.tables import DONE, FLAG, FLOAT, GROW, INT, LONG, TreeArrays
from mccfr_spiel.rules.kernel import (
    APPLY_ACTION,
    CLASS_RETURNS,
    INFOSETS,
    LEAF_CLASS,
    LEGAL_ACTIONS,
    SEQUENCES,
    WORLD_KEY,
    call,
)
from mccfr_spiel.rules.key_table import MOST_USED
from mccfr_spiel.rules.played import (
    BROKEN,
    NUM_MOVES,
    Game,
    Known,
    Path,
    arrive,
    end_game,
    key_of,
    list_moves,
    list_outcomes,
    move_on,
    who_acts,
)
from mccfr_spiel.worlds.listing import MOST_CLASSES, Leaves

BYTE = np.dtype(np.int8)

MOST_ACTIONS = 62
"""The actions of a world are a set of bits."""

MANY_ENTRIES, NOT_SHARED, OUT_OF_TIME = range(50, 53)
"""Statuses besides those of the kernels: a world has more entries or edges than there
is room for; two entries do not fit each other, or a class is out of range."""


class Worlds(NamedTuple):
    """The worlds of a game, depth first; those where the game ends are edges only."""

    steps: Annotated[
        np.ndarray, Entry(INT, "[T]", "the mover's sequences along each edge")
    ]
    lengths: Annotated[np.ndarray, Entry(INT, "[E]", "how many steps an edge has")]
    ends: Annotated[np.ndarray, Entry(FLAG, "[E]", "whether the game ends there")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[E, 2]", "the returns if it does")]
    actors: Annotated[np.ndarray, Entry(FLAG, "[W]", "who acts at a world")]
    edges: Annotated[np.ndarray, Entry(FLAG, "[W]", "how many edges it has")]
    height: Annotated[np.ndarray, Entry(LONG, "[1]", "the most worlds on a path")]

    @property
    def num_worlds(self) -> int:
        """How many worlds are kept."""
        return len(self.edges)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        return np.unique(self.returns[self.ends > 0], axis=0)


class Search(NamedTuple):
    """Where the walk is: the worlds on the way there, by level.

    D is the most levels, C the room for entries, G = D C or 0, A the number of actions,
    E the room for the edges of a world, M the most moves, H one more, K the room for a
    world's key. Rows of a player's entries at a level begin at `firsts`.
    """

    start: Annotated[np.ndarray, Entry(LONG, "[n]", "the first state")]
    pasts: Annotated[np.ndarray, Entry(INT, "[2 D C, M]", "own moves and deals")]
    lengths: Annotated[np.ndarray, Entry(INT, "[2 D C]", "how many they are")]
    sequences: Annotated[np.ndarray, Entry(INT, "[2 D C]", "the last own sequence")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[2 D C]", "the probability of deals")]
    ways: Annotated[np.ndarray, Entry(LONG, "[2 D C]", "how many deals lead there")]
    states: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[2 G, n]",
            "a state that shows the entry, as it was when the entry was made; with "
            "classes, or where histories are wanted, there are none",
        ),
    ]
    made: Annotated[np.ndarray, Entry(LONG, "[2 D C]", "the level where that was")]
    here: Annotated[
        np.ndarray, Entry(LONG, "[G, n]", "such states of the entries of who acts, now")
    ]
    firsts: Annotated[np.ndarray, Entry(LONG, "[2, D]", "the row of the first entry")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2, D]", "how many entries there are")]
    infosets: Annotated[np.ndarray, Entry(INT, "[D C]", "of the entries of who acts")]
    legal: Annotated[np.ndarray, Entry(LONG, "[D C]", "the actions there, as sets")]
    keys: Annotated[np.ndarray, Entry(LONG, "[D, K]", "of the worlds")]
    key_lengths: Annotated[np.ndarray, Entry(LONG, "[D]", "of these")]
    owners: Annotated[np.ndarray, Entry(LONG, "[D]", "who sees each deal on the way")]
    acting: Annotated[np.ndarray, Entry(LONG, "[D]", "who acts")]
    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]", "which edge comes next")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]", "how many there are")]
    edge_keys: Annotated[
        np.ndarray, Entry(LONG, "[D E, K]", "of the worlds behind the edges")
    ]
    edge_lengths: Annotated[np.ndarray, Entry(LONG, "[D E]", "of these keys")]
    edge_actions: Annotated[
        np.ndarray, Entry(LONG, "[D E]", "the sets of actions that lead along them")
    ]
    edge_ends: Annotated[
        np.ndarray, Entry(FLAG, "[D E]", "whether they are no more than an end")
    ]
    leads: Annotated[
        np.ndarray,
        Entry(INT, "[D A, C]", "the edge of an action, by the other player's entry"),
    ]
    marks: Annotated[np.ndarray, Entry(LONG, "[C]", "hashes of what a player knows")]
    histories: Annotated[
        np.ndarray,
        Entry(
            BYTE,
            "[I, H]",
            "how many moves lead to a state of each infoset, and which; none if they "
            "are not wanted",
        ),
    ]
    key: Annotated[np.ndarray, Entry(LONG, "[K]", "a buffer")]
    at: Annotated[np.ndarray, Entry(LONG, "[NUM_AT]", "see NUM_AT")]


(
    LEVEL,
    ENTERS,
    NUM_WORLDS,
    NUM_EDGES,
    NUM_STEPS,
    NUM_LEAVES,
    NUM_RETURNS,
    HISTORIES,
    HEIGHT,
    ROOM,
    HAS_CLASSES,
    NUM_AT,
) = range(12)
"""The entries of `Search.at`: the level; whether its world is to be entered; what has
been found so far, terminal histories among it; the most levels so far; C; whether the
game has classes."""

LAYOUT = Layout(TreeArrays, Game, Known, Path, Worlds, Leaves, Search)
_views = LAYOUT.viewer()


@inlined
def _own_row(search, player, level):
    """Where new rows for a player's entries at a level begin."""
    return (player * len(search.acting) + level) * search.at[ROOM]


@inlined
def _catch_up(rules, game, path, search, level, player, entry):
    """As `_stand`, with an entry of the other player that does not matter: in the state
    in which the entry was made, the other's moves since then are made.

    Each may be any that leads along the edge on the way. Returns whether there is one.
    """
    row = search.firsts[player, level] + entry
    for k in range(len(path.state)):
        path.state[k] = search.states[row, k]
    path.position[NUM_MOVES] = 0
    for above in range(search.made[row], level):
        edge = search.next_edge[above] - 1
        actions = search.edge_actions[_edge_row(search, above) + edge]
        arguments = game.settings, path.state, path.moves
        count = call(rules[LEGAL_ACTIONS], LEGAL_ACTIONS, arguments)
        k = 0
        while k < count and not actions >> path.moves[k] & 1:
            k += 1
        if k >= count:
            return False
        arguments = game.settings, path.state, path.moves[k]
        call(rules[APPLY_ACTION], APPLY_ACTION, arguments)
    return True


@inlined
def _make_move(rules, game, search, here, row, level, action):
    """Makes the state of a new entry at a level, of an entry of who acts."""
    if len(search.here) > 0:
        for k in range(search.states.shape[1]):
            search.states[row, k] = search.here[here, k]
        arguments = game.settings, search.states[row], action
        call(rules[APPLY_ACTION], APPLY_ACTION, arguments)
        search.made[row] = level


@inlined
def _stand(rules, game, path, search, level, player, entry, other):
    """Puts the path where an entry of a player meets one of the other player.

    Returns whether they fit each other, as they do if the declaration is right.
    """
    if len(search.here) > 0:
        return _catch_up(rules, game, path, search, level, player, entry)
    row = search.firsts[0, level] + (entry if player == 0 else other)
    column = search.firsts[1, level] + (other if player == 0 else entry)
    first_left, second_left = search.lengths[row], search.lengths[column]
    if first_left + second_left > len(path.history) - 2:
        return False
    for k in range(len(path.state)):
        path.state[k] = search.start[k]
    path.position[NUM_MOVES] = 0
    first, second, deals = np.int64(0), np.int64(0), np.int64(0)
    while first < first_left or second < second_left:
        acting = who_acts(rules, game, path)
        if acting == CHANCE_NODE:
            acting = search.owners[deals]
            deals += 1
        if acting == 0 and first < first_left:
            action = search.pasts[row, first]
            first += 1
        elif acting == 1 and second < second_left:
            action = search.pasts[column, second]
            second += 1
        else:
            return False
        move_on(rules, game, path, action)
    return True


@inlined
def _copy_with(search, row, to_row, action):
    """Copies an entry, with one more move unless that is below 0; nothing of it where
    states show entries."""
    if len(search.here) > 0:
        return
    length = search.lengths[row]
    for k in range(length):
        search.pasts[to_row, k] = search.pasts[row, k]
    search.sequences[to_row] = search.sequences[row]
    search.weights[to_row] = search.weights[row]
    search.ways[to_row] = search.ways[row]
    if action >= 0:
        search.pasts[to_row, length] = action
        length += 1
    search.lengths[to_row] = length


@inlined
def _are_equal(one, other, length):
    """Whether the first numbers of two arrays are the same."""
    k = 0
    while k < length and one[k] == other[k]:
        k += 1
    return k == length


@inlined
def _sequence_of(tree, search, here, action):
    """The sequence of an action at an entry of who acts."""
    below = search.legal[here] & ((np.int64(1) << action) - 1)
    sequence = np.int64(tree.infosets[search.infosets[here]]["first_sequence"])
    while below:
        below &= below - 1
        sequence += 1
    return sequence


# --- deals ----------------------------------------------------------------------------


@inlined
def _mark(rules, game, path, known, search, level, player, entry, action, who):
    """The hash of what `who` knows when chance has dealt `action` to an entry of a
    player. Of so few keys no two meet in 64 bits."""
    _stand(rules, game, path, search, level, player, entry, 0)
    move_on(rules, game, path, action)
    return np.int64(key_of(rules, game, path, known, who)[1])


@inlined
def _stand_at_deal(rules, game, path, tree, search, level, player, entry):
    """Puts the path where chance acts and lists the outcomes; returns a status, and how
    many there are."""
    if not _stand(rules, game, path, search, level, player, entry, 0):
        return NOT_SHARED, np.int64(0)
    count = list_moves(rules, game, path, CHANCE_NODE)
    if count < 0:
        return BROKEN - 1 - count, np.int64(0)
    return list_outcomes(rules, game, path, tree, count), count


@inlined
def _deal(rules, game, path, tree, known, search, level):
    """Makes the entries of the world behind a deal; returns a status.

    Who knows something else after another deal is its owner. Deals that the owner
    cannot tell apart are one entry.
    """
    status, size = _stand_at_deal(rules, game, path, tree, search, level, 0, 0)
    if status != DONE:
        return status
    first, last = path.moves[0], path.moves[size - 1]
    one = _mark(rules, game, path, known, search, level, 0, 0, first, 0)
    owner = int(one == _mark(rules, game, path, known, search, level, 0, 0, last, 0))
    num_deals = np.int64(0)
    for above in range(level):
        num_deals += int(search.acting[above] == CHANCE_NODE)
    count, behind = np.int64(0), _own_row(search, owner, level + 1)
    for entry in range(search.counts[owner, level]):
        status, size = _stand_at_deal(
            rules, game, path, tree, search, level, owner, entry
        )
        if status != DONE:
            return status
        row = search.firsts[owner, level] + entry
        for k in range(size):
            action = path.moves[k]
            mark = _mark(
                rules, game, path, known, search, level, owner, entry, action, owner
            )
            same = np.int64(0)
            while same < count and (
                search.marks[same] != mark
                or search.sequences[behind + same] != search.sequences[row]
            ):
                same += 1
            weight = search.weights[row] * tree.chance_probs[k]
            if same < count:
                search.weights[behind + same] += weight
                search.ways[behind + same] += search.ways[row]
                continue
            if count == search.at[ROOM]:
                return MANY_ENTRIES
            _copy_with(search, row, behind + count, action)
            search.weights[behind + count] = weight
            search.marks[count] = mark
            count += 1
    _hand_down(search, 1 - owner, level)
    search.firsts[owner, level + 1] = behind
    search.counts[owner, level + 1] = count
    search.owners[num_deals] = owner
    search.num_edges[level], search.edge_ends[_edge_row(search, level)] = 1, 0
    return DONE


@inlined
def _hand_down(search, player, level):
    """Has the next world read a player's entries in the rows of this one."""
    search.firsts[player, level + 1] = search.firsts[player, level]
    search.counts[player, level + 1] = search.counts[player, level]


# --- moves ----------------------------------------------------------------------------


@inlined
def _edge_row(search, level):
    """The row of the first edge of a level."""
    return level * (len(search.edge_actions) // len(search.acting))


@inlined
def _find_infoset(rules, game, path, tree, known, search, level, player, entry):
    """Finds the infoset of an entry of who acts, or adds it; returns a status."""
    here = _own_row(search, 0, level) + entry
    if not _stand(rules, game, path, search, level, player, entry, 0):
        return NOT_SHARED
    for k in range(len(path.state) if len(search.here) > 0 else 0):
        search.here[here, k] = path.state[k]
    path.last[player] = search.sequences[search.firsts[player, level] + entry]
    before = known.counts[INFOSETS]
    status, count, infoset = arrive(rules, game, path, tree, known, player, 1 << 40)
    if status != DONE:
        return status
    search.infosets[here], search.legal[here] = infoset, 0
    for k in range(count):
        search.legal[here] |= np.int64(1) << path.moves[k]
    if len(search.histories) > 0 and infoset == before:
        length = path.position[NUM_MOVES]
        search.histories[infoset, 0] = length
        for k in range(length):
            search.histories[infoset, 1 + k] = path.history[k]
    return DONE


@inlined
def _edge_to(search, level, length):
    """The edge to the world whose key is in the buffer; -1 for the world itself, and
    the number of edges if it is a new one."""
    key, first = search.key, _edge_row(search, level)
    is_same = length == search.key_lengths[level]
    if is_same and _are_equal(key, search.keys[level], length):
        return np.int64(-1)
    edge = np.int64(0)
    while edge < search.num_edges[level] and not (
        search.edge_lengths[first + edge] == length
        and _are_equal(key, search.edge_keys[first + edge], length)
    ):
        edge += 1
    return edge


@inlined
def _add_edge(rules, game, path, tree, worlds, search, level, edge, length):
    """Adds an edge to the world whose key is in the buffer; returns a status.

    If the game ends there, and has no classes, the edge pays what it pays.
    """
    row = _edge_row(search, level) + edge
    search.num_edges[level] = edge + 1
    search.edge_lengths[row], search.edge_actions[row] = length, 0
    for k in range(length):
        search.edge_keys[row, k] = search.key[k]
    search.edge_ends[row] = 0
    if search.at[HAS_CLASSES]:
        return np.int64(DONE)
    kept, status = search.at[NUM_EDGES] + edge, np.int64(DONE)
    if who_acts(rules, game, path) == TERMINAL:
        search.edge_ends[row] = 1
        status = np.int64(end_game(rules, game, path, tree.utilities))
        worlds.returns[kept, 0] = tree.utilities[0, 0]
        worlds.returns[kept, 1] = tree.utilities[0, 1]
    worlds.ends[kept] = search.edge_ends[row]
    return status


@inlined
def _look_along(
    rules, world_key, game, path, tree, worlds, search, level, entry, action
):
    """Finds where an action leads that no entry of the world had before: for each entry
    of the other player if there are classes, else for all of them at once.

    Returns a status, and whether it leads to the world itself.
    """
    player, room = search.acting[level], _edge_row(search, 1)
    others = search.counts[1 - player, level] if search.at[HAS_CLASSES] else np.int64(1)
    is_private = False
    for other in range(others):
        if not _stand(rules, game, path, search, level, player, entry, other):
            return NOT_SHARED, False
        move_on(rules, game, path, action)
        arguments = game.settings, path.state, search.key
        length = call(world_key, WORLD_KEY, arguments)
        edge = _edge_to(search, level, length)
        if edge == search.num_edges[level]:
            if edge == room:
                return MANY_ENTRIES, False
            status = _add_edge(
                rules, game, path, tree, worlds, search, level, edge, length
            )
            if status != DONE:
                return status, False
        if edge < 0:
            is_private = True
        else:
            row = _edge_row(search, level) + edge
            search.edge_actions[row] |= np.int64(1) << action
            search.leads[level * game.stops[0] + action, other] = edge
    return np.int64(DONE), is_private


@inlined
def _find_edges(rules, world_key, game, path, tree, known, worlds, search, level):
    """Finds the infosets and the edges of a world where a player acts; returns a
    status.

    Private moves append entries to the list of the mover that is read here.
    """
    player = search.acting[level]
    arguments = game.settings, path.state, search.keys[level]
    search.key_lengths[level] = call(world_key, WORLD_KEY, arguments)
    first, seen, private = search.firsts[player, level], np.int64(0), np.int64(0)
    entry = np.int64(0)
    while entry < search.counts[player, level]:
        status = _find_infoset(
            rules, game, path, tree, known, search, level, player, entry
        )
        here = _own_row(search, 0, level) + entry
        for action in range(game.stops[0]):
            bit = np.int64(1) << action
            if status != DONE or search.legal[here] & bit == 0:
                continue
            if seen & bit == 0:
                seen |= bit
                status, is_private = _look_along(
                    rules,
                    world_key,
                    game,
                    path,
                    tree,
                    worlds,
                    search,
                    level,
                    entry,
                    action,
                )
                private |= bit if is_private else np.int64(0)
            if private & bit:
                count = search.counts[player, level]
                if count == search.at[ROOM]:
                    return MANY_ENTRIES
                _copy_with(search, first + entry, first + count, action)
                row = first + count
                _make_move(rules, game, search, here, row, level, action)
                sequence = _sequence_of(tree, search, here, action)
                search.sequences[first + count] = sequence
                search.counts[player, level] = count + 1
        if status != DONE:
            return status
        entry += 1
    return DONE


@inlined
def _go_along(rules, game, tree, search, level, edge):
    """Makes the entries of the world behind an edge; returns a status."""
    player, behind = search.acting[level], np.int64(0)
    actions, count = search.edge_actions[_edge_row(search, level) + edge], np.int64(0)
    behind, here = _own_row(search, player, level + 1), _own_row(search, 0, level)
    for entry in range(search.counts[player, level]):
        going, action = search.legal[here + entry] & actions, np.int64(0)
        while going >> action:
            if going >> action & 1:
                if count == search.at[ROOM]:
                    return MANY_ENTRIES
                row = search.firsts[player, level] + entry
                _copy_with(search, row, behind + count, action)
                row, below = behind + count, level + 1
                _make_move(rules, game, search, here + entry, row, below, action)
                sequence = _sequence_of(tree, search, here + entry, action)
                search.sequences[behind + count] = sequence
                count += 1
            action += 1
    search.firsts[player, level + 1] = behind
    search.counts[player, level + 1] = count
    other, action, count = 1 - player, np.int64(0), np.int64(0)
    _hand_down(search, other, level)
    if search.at[HAS_CLASSES]:
        while not actions >> action & 1:
            action += 1
        behind = _own_row(search, other, level + 1)
        for entry in range(search.counts[other, level]):
            if search.leads[level * game.stops[0] + action, entry] == edge:
                row = search.firsts[other, level] + entry
                _copy_with(search, row, behind + count, -1)
                count += 1
        search.firsts[other, level + 1] = behind
        search.counts[other, level + 1] = count
    return DONE


# --- what is kept ---------------------------------------------------------------------


@inlined
def _list_edges(tree, worlds, search, level):
    """Writes a world and the steps along its edges."""
    at, player, first = search.at, search.acting[level], _own_row(search, 0, level)
    worlds.actors[at[NUM_WORLDS]] = player
    worlds.edges[at[NUM_WORLDS]] = search.num_edges[level]
    for edge in range(search.num_edges[level]):
        begin, behind = at[NUM_STEPS], _edge_row(search, level) + edge
        for here in range(first, first + search.counts[player, level]):
            going, action = search.legal[here] & search.edge_actions[behind], 0
            while going >> action:
                if going >> action & 1:
                    sequence = _sequence_of(tree, search, here, action)
                    worlds.steps[at[NUM_STEPS]] = sequence
                    at[NUM_STEPS] += 1
                action += 1
        length = at[NUM_STEPS] - begin
        worlds.lengths[at[NUM_EDGES]] = length
        at[NUM_EDGES] += 1
        if search.edge_ends[behind]:
            at[HISTORIES] += length * search.counts[1 - player, level]
    at[HEIGHT] = max(at[HEIGHT], level + 1)


@inlined
def _list_leaf(rules, more, game, path, leaves, search, level):
    """Writes a world where the game ends; returns a status."""
    at, leaf = search.at, search.at[NUM_LEAVES]
    ways = np.zeros(2, np.int64)
    for player in range(2):
        most = np.int64(0)
        for entry in range(search.counts[player, level]):
            if not _stand(rules, game, path, search, level, player, entry, 0):
                return NOT_SHARED
            arguments = game.settings, path.state, player
            its_class = call(more[1], LEAF_CLASS, arguments)
            if not 0 <= its_class < MOST_CLASSES:
                return NOT_SHARED
            row, step = search.firsts[player, level] + entry, at[NUM_STEPS]
            leaves.steps[step] = search.sequences[row]
            leaves.classes[step] = its_class
            leaves.weights[step] = search.weights[row]
            ways[player] += search.ways[row]
            at[NUM_STEPS] = step + 1
            most = max(most, its_class + 1)
        leaves.lengths[leaf, player] = search.counts[player, level]
        leaves.sizes[leaf, player] = most
    for first in range(leaves.sizes[leaf, 0]):
        for second in range(leaves.sizes[leaf, 1]):
            pays = leaves.returns[at[NUM_RETURNS]]
            arguments = game.settings, path.state, first, second, pays
            call(more[2], CLASS_RETURNS, arguments)
            at[NUM_RETURNS] += 1
    at[NUM_LEAVES] = leaf + 1
    at[HISTORIES] += ways[0] * ways[1]
    return DONE


# --- the loop -------------------------------------------------------------------------


@inlined
def _enter(rules, more, game, path, tree, known, worlds, leaves, search, level):
    """Finds what is behind a world and writes what is kept of it; returns a status."""
    if not _stand(rules, game, path, search, level, 0, 0, 0):
        return NOT_SHARED
    player = who_acts(rules, game, path)
    search.acting[level], search.num_edges[level] = player, 0
    search.next_edge[level] = 0
    if not search.at[HAS_CLASSES] and not 0 <= player <= 1:
        return NOT_SHARED
    if player == TERMINAL:
        return _list_leaf(rules, more, game, path, leaves, search, level)
    if player == CHANCE_NODE:
        return _deal(rules, game, path, tree, known, search, level)
    status = _find_edges(rules, more[0], game, path, tree, known, worlds, search, level)
    if status == DONE and not search.at[HAS_CLASSES]:
        _list_edges(tree, worlds, search, level)
    return status


@inlined
def _has_room(game, path, tree, known, worlds, leaves, search):
    """Whether all arrays have room for the next world, whatever it has."""
    at, num_actions, entries = search.at, game.stops[0], search.at[ROOM]
    num_infosets, num_sequences = known.counts[INFOSETS], known.counts[SEQUENCES]
    is_kept = len(search.histories) > 0
    if at[HAS_CLASSES]:
        fits = (
            at[NUM_STEPS] + 2 * entries < len(leaves.steps)
            and at[NUM_LEAVES] < len(leaves.lengths)
            and at[NUM_RETURNS] + MOST_CLASSES**2 < len(leaves.returns)
        )
    else:
        fits = (
            at[NUM_WORLDS] < len(worlds.edges)
            and at[NUM_EDGES] + _edge_row(search, 1) < len(worlds.ends)
            and at[NUM_STEPS] + entries * num_actions < len(worlds.steps)
        )
    starts, longest = known.rows[num_infosets]["start"], len(path.key)
    return (
        fits
        and num_infosets + entries < len(tree.infosets)
        and num_sequences + entries * num_actions < len(known.actions)
        and starts + entries * longest < len(known.values)
        and num_infosets + entries < MOST_USED * len(known.table)
        and not (is_kept and num_infosets + entries >= len(search.histories))
    )


@jit
def find(frame, rules, more, most):
    """Finds worlds until all are found, `most` are, or something stops the walk.

    Each pass enters a world that the walk has come to, unless it has done so; then it
    goes along the next edge or, if there is none, back to the world before.

    Args:
        frame: of LAYOUT.
        rules: as `callable_rules` gives them.
        more: likewise `world_key`, `leaf_class` and `class_returns`.
        most: how many worlds.

    Returns:
        DONE, `OUT_OF_TIME`, GROW if there must be more room first, `MANY_ENTRIES`,
        `NOT_SHARED`, or BROKEN + a status of rules/kernel.py.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, Game)
    known, path = _views(frame, Known), _views(frame, Path)
    worlds, leaves = _views(frame, Worlds), _views(frame, Leaves)
    search = _views(frame, Search)
    at = search.at
    while at[LEVEL] >= 0:
        level, status = at[LEVEL], np.int64(DONE)
        if at[ENTERS]:
            if not _has_room(game, path, tree, known, worlds, leaves, search):
                return GROW
            if at[NUM_WORLDS] >= most:
                return OUT_OF_TIME
            status = _enter(
                rules, more, game, path, tree, known, worlds, leaves, search, level
            )
            at[NUM_WORLDS] += 1
            at[ENTERS] = 0
        edge, first = search.next_edge[level], _edge_row(search, level)
        while edge < search.num_edges[level] and search.edge_ends[first + edge]:
            edge += 1
        search.next_edge[level] = edge + 1
        if status == DONE and edge >= search.num_edges[level]:
            at[LEVEL] = level - 1
            continue
        if status == DONE and search.acting[level] != CHANCE_NODE:
            status = _go_along(rules, game, tree, search, level, edge)
        if status != DONE:
            return status
        at[LEVEL], at[ENTERS] = level + 1, 1
    return DONE
