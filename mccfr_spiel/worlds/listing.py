"""The compiled search for the leaves of games whose returns depend on what is private.

It goes from world to world as that of search.py. But chance may deal to one player in
secret, the answer to a move may depend on what the other player hides (a shot at a
ship), and so may the returns. Therefore an entry is kept as its player's own moves and
deals. Any entry of one player with any of the other gives a history, so the state of a
pair is made by playing their moves in turn. A world from which a move leads to several
has an edge to each: along it go the other's entries that give this answer.

What is kept are the worlds where the game ends, each with the entries of both players.
Their returns depend on the world and on the *class* of each entry, a small number: how
many dice match the bid, which ships are sunk.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.tables import DONE, FLAG, FLOAT, GROW, INT, LONG, TreeArrays
from mccfr_spiel.rules.calls import CLASS_RETURNS, LEAF_CLASS, WORLD_KEY, call
from mccfr_spiel.rules.kernel import INFOSETS
from mccfr_spiel.rules.played import (
    BROKEN,
    NUM_MOVES,
    Game,
    Known,
    Path,
    arrive,
    key_of,
    list_moves,
    list_outcomes,
    move_on,
    who_acts,
)
from mccfr_spiel.worlds.search import (
    BYTE,
    ENTERS,
    HEIGHT,
    HISTORIES,
    LEVEL,
    MANY_ENTRIES,
    NOT_SHARED,
    NUM_EDGES,
    NUM_STEPS,
    NUM_WORLDS,
    OUT_OF_TIME,
    ROOM,
    are_equal,
    knows_room,
    row_of,
    sequence_of,
)

MOST_CLASSES = 64
"""The classes of one player's entries at a leaf."""

NUM_LEAVES, NUM_RETURNS = NUM_EDGES, HEIGHT
"""What these entries of `at` count here."""


class Leaves(NamedTuple):
    """The worlds where a game ends. Z is how many, T how many entries they have."""

    steps: Annotated[
        np.ndarray,
        Entry(INT, "[T]", "the last sequences of player 0's entries, then of 1's"),
    ]
    classes: Annotated[np.ndarray, Entry(FLAG, "[T]", "the classes of the entries")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[T]", "how chance deals the entries")]
    lengths: Annotated[np.ndarray, Entry(INT, "[Z, 2]", "the players' entries there")]
    sizes: Annotated[np.ndarray, Entry(INT, "[Z, 2]", "one more than their classes")]
    returns: Annotated[
        np.ndarray,
        Entry(FLOAT, "[R, 2]", "what pairs of classes pay, player 1's fastest"),
    ]

    @property
    def num_worlds(self) -> int:
        """How many worlds are kept."""
        return len(self.lengths)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        return np.unique(self.returns, axis=0)


class Listing(NamedTuple):
    """Where the walk is, by level, as in `search.Search`.

    E is the room for the edges of a world, M the most moves with those of chance, H one
    more.
    """

    start: Annotated[np.ndarray, Entry(LONG, "[n]", "the first state")]
    pasts: Annotated[np.ndarray, Entry(INT, "[2 D C, M]", "own moves and deals")]
    lengths: Annotated[np.ndarray, Entry(INT, "[2 D C]", "how many they are")]
    sequences: Annotated[np.ndarray, Entry(INT, "[2 D C]", "the last own sequence")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[2 D C]", "the probability of deals")]
    ways: Annotated[np.ndarray, Entry(LONG, "[2 D C]", "how many deals lead there")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2, D]", "how many entries there are")]
    infosets: Annotated[np.ndarray, Entry(INT, "[D C]", "of the entries of who acts")]
    legal: Annotated[np.ndarray, Entry(LONG, "[D C]", "the actions there, as sets")]
    owners: Annotated[np.ndarray, Entry(LONG, "[D]", "who sees each deal on the way")]
    acting: Annotated[np.ndarray, Entry(LONG, "[D]", "who acts")]
    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]", "which edge comes next")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]", "how many there are")]
    edge_keys: Annotated[
        np.ndarray, Entry(LONG, "[D E, K]", "of the worlds behind the edges")
    ]
    edge_lengths: Annotated[np.ndarray, Entry(LONG, "[D E]", "of these keys")]
    edge_actions: Annotated[np.ndarray, Entry(LONG, "[D E]", "which lead along them")]
    leads: Annotated[
        np.ndarray,
        Entry(INT, "[D A, C]", "the edge of an action, by the other player's entry"),
    ]
    marks: Annotated[np.ndarray, Entry(LONG, "[C]", "hashes of what a player knows")]
    histories: Annotated[np.ndarray, Entry(BYTE, "[I, H]", "as in `Search`")]
    key: Annotated[np.ndarray, Entry(LONG, "[K]", "a buffer")]
    at: Annotated[np.ndarray, Entry(LONG, "[NUM_AT]", "see search.NUM_AT")]


LISTING = Layout(TreeArrays, Game, Known, Path, Leaves, Listing)
_views = LISTING.viewer()


@inlined
def _stand(rules, game, path, listing, level, player, entry, other):
    """Puts the path where an entry of a player meets one of the other player.

    Returns whether they fit each other, as they do if the declaration is right.
    """
    rows = (
        row_of(listing, 0, level) + (entry if player == 0 else other),
        row_of(listing, 1, level) + (other if player == 0 else entry),
    )
    for k in range(len(path.state)):
        path.state[k] = listing.start[k]
    path.position[NUM_MOVES] = 0
    first, second, deals = np.int64(0), np.int64(0), np.int64(0)
    while first < listing.lengths[rows[0]] or second < listing.lengths[rows[1]]:
        acting = who_acts(rules, game, path)
        if acting == CHANCE_NODE:
            acting = listing.owners[deals]
            deals += 1
        if acting == 0 and first < listing.lengths[rows[0]]:
            action = listing.pasts[rows[0], first]
            first += 1
        elif acting == 1 and second < listing.lengths[rows[1]]:
            action = listing.pasts[rows[1], second]
            second += 1
        else:
            return False
        move_on(rules, game, path, action)
    return True


@inlined
def _copy(listing, row, to_row):
    """Copies an entry."""
    length = listing.lengths[row]
    for k in range(length):
        listing.pasts[to_row, k] = listing.pasts[row, k]
    listing.lengths[to_row] = length
    listing.sequences[to_row] = listing.sequences[row]
    listing.weights[to_row] = listing.weights[row]
    listing.ways[to_row] = listing.ways[row]


@inlined
def _add_move(listing, row, action):
    """Adds a move to an entry."""
    listing.pasts[row, listing.lengths[row]] = action
    listing.lengths[row] += 1


@inlined
def _mark(rules, game, path, known, listing, level, player, entry, action, who):
    """The hash of what `who` knows when chance has dealt `action` to an entry of a
    player. Of so few keys no two meet in 64 bits."""
    _stand(rules, game, path, listing, level, player, entry, 0)
    move_on(rules, game, path, action)
    return np.int64(key_of(rules, game, path, known, who)[1])


@inlined
def _stand_at_deal(rules, game, path, tree, listing, level, player, entry):
    """Puts the path where chance acts and lists the outcomes; returns a status, and how
    many there are."""
    if not _stand(rules, game, path, listing, level, player, entry, 0):
        return NOT_SHARED, np.int64(0)
    count = list_moves(rules, game, path, CHANCE_NODE)
    if count < 0:
        return BROKEN - 1 - count, np.int64(0)
    return list_outcomes(rules, game, path, tree, count), count


@inlined
def _deal(rules, game, path, tree, known, listing, level):
    """Makes the entries of the world behind a deal; returns a status.

    Who knows something else after another deal is its owner. Deals that the owner
    cannot tell apart are one entry.
    """
    status, size = _stand_at_deal(rules, game, path, tree, listing, level, 0, 0)
    if status != DONE:
        return status
    first, last = path.moves[0], path.moves[size - 1]
    one = _mark(rules, game, path, known, listing, level, 0, 0, first, 0)
    owner = int(one == _mark(rules, game, path, known, listing, level, 0, 0, last, 0))
    num_deals = np.int64(0)
    for above in range(level):
        num_deals += int(listing.acting[above] == CHANCE_NODE)
    count, behind = np.int64(0), row_of(listing, owner, level + 1)
    for entry in range(listing.counts[owner, level]):
        status, size = _stand_at_deal(
            rules, game, path, tree, listing, level, owner, entry
        )
        if status != DONE:
            return status
        row = row_of(listing, owner, level) + entry
        for k in range(size):
            action = path.moves[k]
            mark = _mark(
                rules, game, path, known, listing, level, owner, entry, action, owner
            )
            same = np.int64(0)
            while same < count and (
                listing.marks[same] != mark
                or listing.sequences[behind + same] != listing.sequences[row]
            ):
                same += 1
            weight = listing.weights[row] * tree.chance_probs[k]
            if same < count:
                listing.weights[behind + same] += weight
                listing.ways[behind + same] += listing.ways[row]
                continue
            if count == listing.at[ROOM]:
                return MANY_ENTRIES
            _copy(listing, row, behind + count)
            _add_move(listing, behind + count, action)
            listing.weights[behind + count] = weight
            listing.marks[count] = mark
            count += 1
    listing.counts[owner, level + 1] = count
    listing.counts[1 - owner, level + 1] = listing.counts[1 - owner, level]
    for entry in range(listing.counts[1 - owner, level]):
        here = row_of(listing, 1 - owner, level) + entry
        _copy(listing, here, row_of(listing, 1 - owner, level + 1) + entry)
    listing.owners[num_deals] = owner
    listing.num_edges[level] = 1
    return DONE


@inlined
def _find_infosets(rules, game, path, tree, known, listing, level, player):
    """Finds the infosets of who acts, or adds them; returns a status."""
    for entry in range(listing.counts[player, level]):
        row = row_of(listing, player, level) + entry
        here = row_of(listing, 0, level) + entry
        if not _stand(rules, game, path, listing, level, player, entry, 0):
            return NOT_SHARED
        path.last[player] = listing.sequences[row]
        before = known.counts[INFOSETS]
        status, count, infoset = arrive(rules, game, path, tree, known, player, 1 << 40)
        if status != DONE:
            return status
        listing.infosets[here], listing.legal[here] = infoset, 0
        for k in range(count):
            listing.legal[here] |= np.int64(1) << path.moves[k]
        if len(listing.histories) > 0 and infoset == before:
            length = path.position[NUM_MOVES]
            listing.histories[infoset, 0] = length
            for k in range(length):
                listing.histories[infoset, 1 + k] = path.history[k]
    return DONE


@inlined
def _find_edges(rules, world_key, game, path, listing, level, player):
    """Finds where each action leads, for each entry of the other player; returns a
    status."""
    num_actions, room = game.stops[0], len(listing.edge_actions) // len(listing.acting)
    first, count, seen = level * room, np.int64(0), np.int64(0)
    for entry in range(listing.counts[player, level]):
        new = listing.legal[row_of(listing, 0, level) + entry] & ~seen
        seen |= new
        for action in range(num_actions):
            if not new >> action & 1:
                continue
            for other in range(listing.counts[1 - player, level]):
                if not _stand(rules, game, path, listing, level, player, entry, other):
                    return NOT_SHARED
                move_on(rules, game, path, action)
                arguments = game.settings, path.state, listing.key
                length = call(world_key, WORLD_KEY, arguments)
                edge = np.int64(0)
                while edge < count and not (
                    listing.edge_lengths[first + edge] == length
                    and are_equal(listing.key, listing.edge_keys[first + edge], length)
                ):
                    edge += 1
                if edge == count:
                    if count == room:
                        return MANY_ENTRIES
                    count += 1
                    listing.edge_lengths[first + edge] = length
                    listing.edge_actions[first + edge] = 0
                    for k in range(length):
                        listing.edge_keys[first + edge, k] = listing.key[k]
                listing.edge_actions[first + edge] |= np.int64(1) << action
                listing.leads[level * num_actions + action, other] = edge
    listing.num_edges[level] = count
    return DONE


@inlined
def _go_along(tree, listing, level, edge, num_actions):
    """Makes the entries of the world behind an edge; returns a status."""
    room = len(listing.edge_actions) // len(listing.acting)
    player, actions = listing.acting[level], listing.edge_actions[level * room + edge]
    behind, count = row_of(listing, player, level + 1), np.int64(0)
    for entry in range(listing.counts[player, level]):
        here = row_of(listing, 0, level) + entry
        for action in range(num_actions):
            if not (listing.legal[here] & actions) >> action & 1:
                continue
            if count == listing.at[ROOM]:
                return MANY_ENTRIES
            _copy(listing, row_of(listing, player, level) + entry, behind + count)
            _add_move(listing, behind + count, action)
            sequence = sequence_of(tree, listing, here, action)
            listing.sequences[behind + count] = sequence
            count += 1
    listing.counts[player, level + 1] = count
    other, action = 1 - player, np.int64(0)
    while not actions >> action & 1:
        action += 1
    behind, count = row_of(listing, other, level + 1), np.int64(0)
    for entry in range(listing.counts[other, level]):
        if listing.leads[level * num_actions + action, entry] == edge:
            _copy(listing, row_of(listing, other, level) + entry, behind + count)
            count += 1
    listing.counts[other, level + 1] = count
    return DONE


@inlined
def _list_leaf(rules, more, game, path, leaves, listing, level):
    """Writes a world where the game ends; returns a status."""
    at, leaf = listing.at, listing.at[NUM_LEAVES]
    ways = np.zeros(2, np.int64)
    for player in range(2):
        most = np.int64(0)
        for entry in range(listing.counts[player, level]):
            if not _stand(rules, game, path, listing, level, player, entry, 0):
                return NOT_SHARED
            arguments = game.settings, path.state, player
            its_class = call(more[1], LEAF_CLASS, arguments)
            if not 0 <= its_class < MOST_CLASSES:
                return NOT_SHARED
            row, step = row_of(listing, player, level) + entry, at[NUM_STEPS]
            leaves.steps[step] = listing.sequences[row]
            leaves.classes[step] = its_class
            leaves.weights[step] = listing.weights[row]
            ways[player] += listing.ways[row]
            at[NUM_STEPS] = step + 1
            most = max(most, its_class + 1)
        leaves.lengths[leaf, player] = listing.counts[player, level]
        leaves.sizes[leaf, player] = most
    for first in range(leaves.sizes[leaf, 0]):
        for second in range(leaves.sizes[leaf, 1]):
            pays = leaves.returns[at[NUM_RETURNS]]
            arguments = game.settings, path.state, first, second, pays
            call(more[2], CLASS_RETURNS, arguments)
            at[NUM_RETURNS] += 1
    at[NUM_LEAVES] = leaf + 1
    at[HISTORIES] += ways[0] * ways[1]
    listing.num_edges[level] = 0
    return DONE


@inlined
def _enter(rules, more, game, path, tree, known, leaves, listing, level):
    """Finds what is behind a world, or writes it if the game ends; returns a status."""
    if not _stand(rules, game, path, listing, level, 0, 0, 0):
        return NOT_SHARED
    player = who_acts(rules, game, path)
    listing.acting[level], listing.next_edge[level] = player, 0
    if player == TERMINAL:
        return _list_leaf(rules, more, game, path, leaves, listing, level)
    if player == CHANCE_NODE:
        return _deal(rules, game, path, tree, known, listing, level)
    status = _find_infosets(rules, game, path, tree, known, listing, level, player)
    if status == DONE:
        status = _find_edges(rules, more[0], game, path, listing, level, player)
    return status


@inlined
def _has_room(game, path, tree, known, leaves, listing):
    """Whether all arrays have room for the next world, whatever it has."""
    at, num_actions = listing.at, game.stops[0]
    return (
        at[NUM_STEPS] + 2 * at[ROOM] < len(leaves.steps)
        and at[NUM_LEAVES] < len(leaves.lengths)
        and at[NUM_RETURNS] + MOST_CLASSES**2 < len(leaves.returns)
        and knows_room(tree.infosets, known, listing, num_actions, len(path.key))
    )


@jit
def list_leaves(frame, rules, more, most):
    """Finds worlds until all are found, `most` are, or something stops the walk.

    Args:
        frame: of LISTING.
        rules: as `callable_rules` gives them.
        more: likewise `world_key`, `leaf_class` and `class_returns`.
        most: how many worlds.

    Returns:
        As `search.find`.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, Game)
    known, path = _views(frame, Known), _views(frame, Path)
    leaves, listing = _views(frame, Leaves), _views(frame, Listing)
    at, num_actions = listing.at, game.stops[0]
    while at[LEVEL] >= 0:
        level, status = at[LEVEL], np.int64(DONE)
        if at[ENTERS]:
            if not _has_room(game, path, tree, known, leaves, listing):
                return GROW
            if at[NUM_WORLDS] >= most:
                return OUT_OF_TIME
            status = _enter(
                rules, more, game, path, tree, known, leaves, listing, level
            )
            at[NUM_WORLDS] += 1
            at[ENTERS] = listing.next_edge[level] = 0
        edge = listing.next_edge[level]
        if status == DONE and edge >= listing.num_edges[level]:
            at[LEVEL] = level - 1
            continue
        if status == DONE and listing.acting[level] != CHANCE_NODE:
            status = _go_along(tree, listing, level, edge, num_actions)
        if status != DONE:
            return status
        listing.next_edge[level] = edge + 1
        at[LEVEL], at[ENTERS] = level + 1, 1
    return DONE
