"""The compiled search for the worlds of a game, and what it fills.

At each world the walk has the entries of both players, each with one state that shows
it. An action means the same for all entries of a world, so one state tells where it
leads: to the same world, as a private move that makes another entry of the mover; or
along an *edge* to the next. There the mover has an entry for each entry and action that
lead along the edge, and the other player's entries stay, their states moved on.

What is kept of an edge is the list of the mover's sequences that go along it (its
*steps*), in the order in which a pass meets them. Passes call no rules.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arrays import TERMINAL
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.tables import DONE, FLAG, FLOAT, GROW, INT, LONG, TreeArrays
from mccfr_spiel.rules.calls import (
    ACTING,
    APPLY_ACTION,
    LEGAL_ACTIONS,
    WORLD_KEY,
    call,
)
from mccfr_spiel.rules.kernel import INFOSETS, SEQUENCES
from mccfr_spiel.rules.key_table import MOST_USED
from mccfr_spiel.rules.played import Game, Known, Path, arrive, end_game

BYTE = np.dtype(np.int8)

MOST_ACTIONS = 62
"""The actions of a world are a set of bits."""

MANY_ENTRIES, NOT_SHARED, OUT_OF_TIME = range(50, 53)
"""Statuses besides those of the kernels: a world has more entries than there is room
for; an entry has no move of those that the world allows."""


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

    D is the most levels, C the room for entries, A the number of actions, M the most
    moves, H one more, K the room for a world's key. Rows of entries are those of
    `row_of`; rows of edges are `A level + edge`.
    """

    states: Annotated[
        np.ndarray, Entry(LONG, "[2 D C, n]", "a state that shows the entry")
    ]
    sequences: Annotated[
        np.ndarray, Entry(INT, "[2 D C]", "the player's last sequence there")
    ]
    pasts: Annotated[
        np.ndarray, Entry(BYTE, "[2 D C, M]", "the moves to the state, if wanted")
    ]
    lengths: Annotated[np.ndarray, Entry(INT, "[2 D C]", "how many moves they are")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2, D]", "how many entries there are")]
    infosets: Annotated[np.ndarray, Entry(INT, "[D C]", "of the entries of who acts")]
    legal: Annotated[np.ndarray, Entry(LONG, "[D C]", "the actions there, as sets")]
    keys: Annotated[np.ndarray, Entry(LONG, "[D, K]", "of the worlds")]
    key_lengths: Annotated[np.ndarray, Entry(LONG, "[D]", "of these")]
    acting: Annotated[np.ndarray, Entry(LONG, "[D]", "who acts")]
    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]", "which edge comes next")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]", "how many there are")]
    edge_keys: Annotated[
        np.ndarray, Entry(LONG, "[D A, K]", "of the worlds behind the edges")
    ]
    edge_lengths: Annotated[np.ndarray, Entry(LONG, "[D A]", "of these keys")]
    edge_actions: Annotated[
        np.ndarray, Entry(LONG, "[D A]", "the sets of actions that lead along them")
    ]
    edge_ends: Annotated[
        np.ndarray, Entry(FLAG, "[D A]", "whether the game ends there")
    ]
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


(LEVEL, ENTERS, NUM_WORLDS, NUM_EDGES, NUM_STEPS, HISTORIES, HEIGHT, ROOM, NUM_AT) = (
    range(9)
)
"""The entries of `Search.at`: the level; whether its world is to be entered; what has
been found so far, terminal histories among it; the most levels so far; C."""

LAYOUT = Layout(TreeArrays, Game, Known, Path, Worlds, Search)
_views = LAYOUT.viewer()


@inlined
def row_of(search, player, level):
    """The row of the first entry of a player at a level."""
    return (player * len(search.acting) + level) * search.at[ROOM]


@inlined
def _copy_entry(search, row, to_row):
    """Copies an entry's state, and the moves to it if they are wanted."""
    for k in range(search.states.shape[1]):
        search.states[to_row, k] = search.states[row, k]
    length = search.lengths[row]
    search.lengths[to_row] = length
    if len(search.histories) > 0:
        for k in range(length):
            search.pasts[to_row, k] = search.pasts[row, k]


@inlined
def _move(rules, settings, search, row, action):
    """Makes a move in an entry's state."""
    call(rules[APPLY_ACTION], APPLY_ACTION, (settings, search.states[row], action))
    length = search.lengths[row]
    search.lengths[row] = length + 1
    if len(search.histories) > 0:
        search.pasts[row, length] = action


@inlined
def are_equal(one, other, length):
    """Whether the first numbers of two arrays are the same."""
    k = 0
    while k < length and one[k] == other[k]:
        k += 1
    return k == length


@inlined
def _edge_to(search, level, first, length):
    """The edge to the world whose key is in the buffer; -1 for the world itself, and
    the number of edges if it is a new one. `first` is the row of the first edge."""
    key, count = search.key, search.num_edges[level]
    if length == search.key_lengths[level] and are_equal(
        key, search.keys[level], length
    ):
        return np.int64(-1)
    edge = np.int64(0)
    while edge < count and not (
        search.edge_lengths[first + edge] == length
        and are_equal(key, search.edge_keys[first + edge], length)
    ):
        edge += 1
    return edge


@inlined
def _find_entry(rules, game, path, tree, known, search, player, row, here):
    """Finds the infoset of an entry of who acts, or adds it; returns a status.

    Args:
        row: of the entry.
        here: its row among those of who acts.
    """
    for k in range(len(path.state)):
        path.state[k] = search.states[row, k]
    path.last[player] = search.sequences[row]
    before = known.counts[INFOSETS]
    status, count, infoset = arrive(rules, game, path, tree, known, player, 1 << 40)
    if status == DONE:
        search.infosets[here] = infoset
        legal = np.int64(0)
        for k in range(count):
            legal |= np.int64(1) << path.moves[k]
        search.legal[here] = legal
        if len(search.histories) > 0 and infoset == before:
            length = search.lengths[row]
            search.histories[infoset, 0] = length
            for k in range(length):
                search.histories[infoset, 1 + k] = search.pasts[row, k]
    return status


@inlined
def sequence_of(tree, search, here, action):
    """The sequence of an action at an entry of who acts."""
    below = search.legal[here] & ((np.int64(1) << action) - 1)
    sequence = np.int64(tree.infosets[search.infosets[here]]["first_sequence"])
    while below:
        below &= below - 1
        sequence += 1
    return sequence


@inlined
def _look_along(rules, world_key, game, path, tree, worlds, search, level, action):
    """Where an action leads that no entry of the world had before.

    `path.state` is that of an entry. Returns a status, and the edge or -1 for the world
    itself.
    """
    call(rules[APPLY_ACTION], APPLY_ACTION, (game.settings, path.state, action))
    arguments = game.settings, path.state, search.key
    length = call(world_key, WORLD_KEY, arguments)
    first, status = level * game.stops[0], np.int64(DONE)
    edge = _edge_to(search, level, first, length)
    if edge == search.num_edges[level]:
        search.num_edges[level] += 1
        search.edge_lengths[first + edge] = length
        search.edge_actions[first + edge] = 0
        for k in range(length):
            search.edge_keys[first + edge, k] = search.key[k]
        is_end = call(rules[ACTING], ACTING, (game.settings, path.state)) == TERMINAL
        search.edge_ends[first + edge] = is_end
        row = search.at[NUM_EDGES] + edge
        worlds.ends[row] = is_end
        if is_end:
            status = np.int64(end_game(rules, game, path, tree.utilities))
            worlds.returns[row, 0] = tree.utilities[0, 0]
            worlds.returns[row, 1] = tree.utilities[0, 1]
    if edge >= 0:
        search.edge_actions[first + edge] |= np.int64(1) << action
    return status, edge


@inlined
def _enter(rules, world_key, game, path, tree, known, worlds, search, level):
    """Finds the infosets and the edges of a world; returns a status.

    Private moves append entries to the list of the mover that is read here.
    """
    shown = search.states[row_of(search, 0, level)]
    player = call(rules[ACTING], ACTING, (game.settings, shown))
    if player < 0 or player > 1:
        return NOT_SHARED
    search.acting[level], search.num_edges[level] = player, 0
    first, first_here = row_of(search, player, level), row_of(search, 0, level)
    seen, private, entry = np.int64(0), np.int64(0), np.int64(0)
    while entry < search.counts[player, level]:
        row, here = first + entry, first_here + entry
        status = _find_entry(rules, game, path, tree, known, search, player, row, here)
        if status != DONE:
            return status
        legal = search.legal[here]
        for action in range(game.stops[0]):
            bit = np.int64(1) << action
            if legal & bit == 0:
                continue
            if seen & bit == 0:
                seen |= bit
                for k in range(len(path.state)):
                    path.state[k] = search.states[row, k]
                status, edge = _look_along(
                    rules, world_key, game, path, tree, worlds, search, level, action
                )
                if status != DONE:
                    return status
                if edge < 0:
                    private |= bit
            if private & bit:
                count = search.counts[player, level]
                if count == search.at[ROOM]:
                    return MANY_ENTRIES
                search.counts[player, level] = count + 1
                _copy_entry(search, row, first + count)
                _move(rules, game.settings, search, first + count, action)
                search.sequences[first + count] = sequence_of(
                    tree, search, here, action
                )
        entry += 1
    return DONE


@inlined
def _list_edges(tree, worlds, search, level, num_actions):
    """Writes a world and the steps along its edges."""
    at, player, first = search.at, search.acting[level], row_of(search, 0, level)
    worlds.actors[at[NUM_WORLDS]] = player
    worlds.edges[at[NUM_WORLDS]] = search.num_edges[level]
    at[NUM_WORLDS] += 1
    for edge in range(search.num_edges[level]):
        begin, behind = at[NUM_STEPS], level * num_actions + edge
        for here in range(first, first + search.counts[player, level]):
            going, action = search.legal[here] & search.edge_actions[behind], 0
            while going >> action:
                if going >> action & 1:
                    sequence = sequence_of(tree, search, here, action)
                    worlds.steps[at[NUM_STEPS]] = sequence
                    at[NUM_STEPS] += 1
                action += 1
        length = at[NUM_STEPS] - begin
        worlds.lengths[at[NUM_EDGES]] = length
        at[NUM_EDGES] += 1
        if search.edge_ends[behind]:
            at[HISTORIES] += length * search.counts[1 - player, level]
    search.next_edge[level] = 0
    at[HEIGHT] = max(at[HEIGHT], level + 1)


@inlined
def _go_along(rules, game, path, tree, search, level, behind):
    """Makes the entries of the world behind an edge; returns a status."""
    player, actions = search.acting[level], search.edge_actions[behind]
    first, count = row_of(search, player, level + 1), np.int64(0)
    here = row_of(search, 0, level)
    for row in range(
        row_of(search, player, level),
        row_of(search, player, level) + search.counts[player, level],
    ):
        going, action = search.legal[here] & actions, np.int64(0)
        while going >> action:
            if going >> action & 1:
                if count == search.at[ROOM]:
                    return MANY_ENTRIES
                _copy_entry(search, row, first + count)
                _move(rules, game.settings, search, first + count, action)
                search.sequences[first + count] = sequence_of(
                    tree, search, here, action
                )
                count += 1
            action += 1
        here += 1
    search.counts[player, level + 1] = count
    other = 1 - player
    search.counts[other, level + 1] = search.counts[other, level]
    first, row = row_of(search, other, level + 1), row_of(search, other, level)
    for entry in range(search.counts[other, level]):
        search.sequences[first + entry] = search.sequences[row + entry]
        _copy_entry(search, row + entry, first + entry)
        arguments = game.settings, search.states[first + entry], path.moves
        count = call(rules[LEGAL_ACTIONS], LEGAL_ACTIONS, arguments)
        k = 0
        while k < count and not actions >> path.moves[k] & 1:
            k += 1
        if k >= count:
            return NOT_SHARED
        _move(rules, game.settings, search, first + entry, path.moves[k])
    search.key_lengths[level + 1] = search.edge_lengths[behind]
    for k in range(search.edge_lengths[behind]):
        search.keys[level + 1, k] = search.edge_keys[behind, k]
    return DONE


@inlined
def knows_room(infosets, known, search, num_actions, longest):
    """Whether the infosets of the next world fit the arrays, whatever it has."""
    entries = search.at[ROOM]
    num_infosets, num_sequences = known.counts[INFOSETS], known.counts[SEQUENCES]
    is_kept = len(search.histories) > 0
    return (
        num_infosets + entries < len(infosets)
        and num_sequences + entries * num_actions < len(known.actions)
        and known.rows[num_infosets]["start"] + entries * longest < len(known.values)
        and num_infosets + entries < MOST_USED * len(known.table)
        and not (is_kept and num_infosets + entries >= len(search.histories))
    )


@jit
def find(frame, rules, more, most):
    """Finds worlds until all are found, `most` are, or something stops the walk.

    Each pass enters a world that the walk has come to, or goes along the next edge of
    the world where it is, or back to the world before. `more` has `world_key` as
    `callable_rules` gives it.

    Returns:
        DONE, `OUT_OF_TIME`, GROW if there must be more room first, `MANY_ENTRIES`,
        `NOT_SHARED`, or BROKEN + a status of rules/kernel.py.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, Game)
    known, path = _views(frame, Known), _views(frame, Path)
    worlds, search = _views(frame, Worlds), _views(frame, Search)
    at, num_actions, longest = search.at, game.stops[0], len(path.key)
    while at[LEVEL] >= 0:
        level = at[LEVEL]
        if at[ENTERS]:
            if at[NUM_WORLDS] >= most:
                return OUT_OF_TIME
            if (
                not knows_room(tree.infosets, known, search, num_actions, longest)
                or at[NUM_WORLDS] >= len(worlds.edges)
                or at[NUM_EDGES] + num_actions >= len(worlds.ends)
                or at[NUM_STEPS] + at[ROOM] * num_actions >= len(worlds.steps)
            ):
                return GROW
            status = _enter(
                rules, more[0], game, path, tree, known, worlds, search, level
            )
            if status != DONE:
                return status
            _list_edges(tree, worlds, search, level, num_actions)
            at[ENTERS] = 0
        edge, first = search.next_edge[level], level * num_actions
        while edge < search.num_edges[level] and search.edge_ends[first + edge]:
            edge += 1
        search.next_edge[level] = edge + 1
        if edge >= search.num_edges[level]:
            at[LEVEL] = level - 1
            continue
        status = _go_along(rules, game, path, tree, search, level, first + edge)
        if status != DONE:
            return status
        at[LEVEL], at[ENTERS] = level + 1, 1
    return DONE
