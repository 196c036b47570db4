"""The entries of the worlds on the way to where a search is, and the rows they take.

An entry is a player's own moves and deals.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import FLOAT, INT, LONG, TreeArrays
from mccfr_spiel.rules.played import NUM_MOVES, Game, Known, Path, move_on, who_acts
from mccfr_spiel.worlds.passes import Leaves

BYTE = np.dtype(np.int8)


class Search(NamedTuple):
    """Where the walk is: the worlds on the way there, by level.

    D is the most levels, C the room for entries, A the number of actions, E the room
    for the edges of a world, M the most moves, H one more, K the room for a world's
    key. Rows of a player's entries at a level begin at `firsts`.
    """

    start: Annotated[np.ndarray, Entry(LONG, "[n]", "the first state")]
    pasts: Annotated[np.ndarray, Entry(INT, "[2 D C, M]", "own moves and deals")]
    lengths: Annotated[np.ndarray, Entry(INT, "[2 D C]", "how many they are")]
    sequences: Annotated[np.ndarray, Entry(INT, "[2 D C]", "the last own sequence")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[2 D C]", "the probability of deals")]
    ways: Annotated[np.ndarray, Entry(LONG, "[2 D C]", "how many deals lead there")]
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
    NUM_STEPS,
    NUM_LEAVES,
    NUM_RETURNS,
    HISTORIES,
    ROOM,
    NUM_AT,
) = range(9)
"""The entries of `Search.at`: the level; whether its world is to be entered; what has
been found so far, terminal histories among it; C."""


class Scene(NamedTuple):
    """All that the functions of a search read and change.

    Attributes:
        rules: as `callable_rules` gives them.
        more: likewise `world_key`, `leaf_class` and `class_returns`.
    """

    rules: Any
    more: Any
    tree: TreeArrays
    game: Game
    known: Known
    path: Path
    leaves: Leaves
    search: Search


# --- rows -----------------------------------------------------------------------------


@inlined
def own_row(search, player, level):
    """Where new rows for a player's entries at a level begin."""
    return (player * len(search.acting) + level) * search.at[ROOM]


@inlined
def edge_row(search, level):
    """The row of the first edge of a level."""
    return level * (len(search.edge_actions) // len(search.acting))


@inlined
def hand_down(search, player, level):
    """Has the next world read a player's entries in the rows of this one."""
    search.firsts[player, level + 1] = search.firsts[player, level]
    search.counts[player, level + 1] = search.counts[player, level]


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
    search.ways[to_row] = search.ways[row]
    if action >= 0:
        search.pasts[to_row, length] = action
        length += 1
    search.lengths[to_row] = length


@inlined
def sequence_of(scene, here, action):
    """The sequence of an action at an entry of who acts."""
    search = scene.search
    below = search.legal[here] & ((np.int64(1) << action) - 1)
    infoset = search.infosets[here]
    sequence = np.int64(scene.tree.infosets[infoset]["first_sequence"])
    while below:
        below &= below - 1
        sequence += 1
    return sequence


@inlined
def add_entry(scene, level, entry, action, count, to_level):
    """Makes what an entry of who acts becomes by an action, as the entry `count` of a
    level; returns whether there is room for it."""
    search, player = scene.search, scene.search.acting[level]
    if count == search.at[ROOM]:
        return False
    here = own_row(search, 0, level) + entry
    # Private moves append to the list that they come from, which may have been handed
    # down, so that its rows are those of another level.
    first = own_row(search, player, to_level)
    row = (search.firsts[player, level] if to_level == level else first) + count
    copy_with(search, search.firsts[player, level] + entry, row, action)
    search.sequences[row] = sequence_of(scene, here, action)
    return True


# --- states ---------------------------------------------------------------------------


@inlined
def stand(scene, level, player, entry, other):
    """Puts the path where an entry of a player meets one of the other player.

    Returns whether they fit each other, as they do if the declaration is right.
    """
    search, path = scene.search, scene.path
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
        acting = who_acts(scene.rules, scene.game, path)
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
        move_on(scene.rules, scene.game, path, action)
    return True
