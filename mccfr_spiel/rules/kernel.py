"""The compiled loop that expands the tree of a game with compiled rules.

The walk goes depth first and numbers a node's children when it writes the node. That is
the order of `GameTree.expand_all`, so both give equal arrays. An infoset is looked up
by its information key, with the player put before it, in an open-addressing hash table.
Keys are kept as uint16.

Each pass of the loop in `expand` looks at the deepest node of the path. If that node is
written, the pass enters its next child or, after the last, goes up by one node. A node
that has just been entered is then written: a terminal node with its returns, any other
with room for its children behind all nodes so far, and with its chance distribution or
its infoset.

Compiled code cannot make its arrays longer. A pass that finds one full leaves the state
of the walk in the cursor and the path and returns before it has counted anything. The
caller enlarges the arrays and calls `expand` again, which writes the same node again.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arrays import MAX_CHILDREN
from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.compiled.randomness import ROOT_PLACE, child_place, mix
from mccfr_spiel.rules.description import CHANCE, SPARE, TERMINAL

DONE, NO_ROOM = 0, 1
(
    TOO_MANY_NODES,
    TOO_LONG,
    NO_ACTIONS,
    BAD_PLAYER,
    BAD_KEY,
    OTHER_ACTIONS,
    NO_RECALL,
    BAD_CHANCE,
    BAD_RETURNS,
    TOO_MANY_CHILDREN,
    BAD_ACTIONS,
    OVERRUN,
) = range(2, 14)

DEPTH, NODES, INFOSETS, SEQUENCES, CHANCES, OUTCOMES, CURSOR_SIZE = range(7)


ROW = np.dtype([("hash", "<u8"), ("start", "<i8")])
"""A row of a Pool: its `row_hash`, and where its values start."""


class Pool(NamedTuple):
    """Different rows of numbers, each kept once and numbered by first visit.

    Attributes:
        values: `[V]` the rows, one after the other.
        rows: `[R + 1]` ROW; row r is values[rows[r].start : rows[r + 1].start].
        table: `[a power of two]` int32, a hash table with open addressing. Each slot
            has the number of a row, or -1 if it is free.
    """

    values: np.ndarray
    rows: np.ndarray
    table: np.ndarray


class Path(NamedTuple):
    """The nodes from the root to where the walk is; D is the longest history allowed.

    Attributes:
        states: `[D, Sizes.state]` int64, the state of each node.
        sequences: `[D, P]` int32, each player's last sequence before each node.
        actions: `[D, Sizes.max_children]` int64, the actions to each node's children.
        frames: `[D]` FRAME, how far the walk is at each node.
    """

    states: np.ndarray
    sequences: np.ndarray
    actions: np.ndarray
    frames: np.ndarray


_FRAME_ITEMS = ("first", "count", "next", "own", "player")
FRAME = np.dtype([(name, "<i8") for name in _FRAME_ITEMS])
"""A node on the path: the number of its first child, how many children it has, which of
them the walk enters next (-1 if the node itself is not written yet), the first sequence
of its infoset, and who acts."""


class Store(NamedTuple):
    """The arrays that an expansion fills.

    Attributes:
        nodes, infosets, actions: as in GameTree.
        chance_cdf: running sums of the probabilities in `chances.values`.
        keys: the different information keys; row r is the name of infoset r.
        chances: the different chance distributions.
        outcomes: the different vectors of returns.
    """

    nodes: np.ndarray
    infosets: np.ndarray
    actions: np.ndarray
    chance_cdf: np.ndarray
    keys: Pool
    chances: Pool
    outcomes: Pool


# The functions below take arrays one by one instead of the tuples above. Taking an
# array out of a tuple, or a part out of an array, changes an atomic reference count
# twice, and that would be most of the time spent on a node.


@jit
def row_hash(row, length):
    """A hash of 64 bits that depends on each of the first `length` entries of a row."""
    place = ROOT_PLACE
    for k in range(length):
        place = child_place(place, row[k])
    return mix(place)


@jit
def find_row(values, rows, table, hashed, row, length):
    """Looks up row[:length] among the rows of a Pool.

    Each pass looks at one slot of the table, from the one that the hash names onwards,
    until it finds the row or a free slot.

    Returns:
        The number of the row. If there is none, -1 - the free slot where it belongs.
    """
    mask = len(table) - 1
    slot = np.int64(hashed & np.uint64(mask))
    while True:
        number = table[slot]
        if number < 0:
            return -1 - slot
        start = rows[number]["start"]
        if (
            rows[number]["hash"] == hashed
            and rows[number + 1]["start"] - start == length
        ):
            same = 0
            while same < length and values[start + same] == row[same]:
                same += 1
            if same == length:
                return np.int64(number)
        slot = (slot + 1) & mask


@jit
def number_row(values, rows, table, num_rows, hashed, row, length):
    """The number of row[:length]; a new row is added and gets the number `num_rows`.

    Returns -1 if the row is new and an array has no room for it.
    """
    number = find_row(values, rows, table, hashed, row, length)
    if number >= 0:
        return number
    slot = -1 - number
    start = rows[num_rows]["start"]
    if (
        num_rows + 1 >= len(rows)
        or start + length > len(values)
        or 2 * num_rows >= len(table)
    ):
        return np.int64(-1)
    for k in range(length):
        values[start + k] = row[k]
    rows[num_rows + 1]["start"] = start + length
    rows[num_rows]["hash"] = hashed
    table[slot] = num_rows
    return num_rows


@jit
def fill_table(table, rows, count):
    """Enters the first `count` rows into an empty hash table."""
    mask = len(table) - 1
    for number in range(count):
        slot = np.int64(rows[number]["hash"] & np.uint64(mask))
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


@jit
def check_infoset(infosets, actions, infoset, parent, legal, count):
    """Compares a known infoset with the one met again.

    Returns:
        DONE if it has the same parent sequence and the actions legal[:count], else the
        status that says what is different.
    """
    if infosets[infoset]["num_actions"] != count:
        return OTHER_ACTIONS
    first = infosets[infoset]["first_sequence"]
    for k in range(count):
        if actions[first + k] != legal[k]:
            return OTHER_ACTIONS
    return DONE if infosets[infoset]["parent"] == parent else NO_RECALL


@jit
def add_infoset(infosets, actions, cursor, place, player, parent, legal, count):
    """Writes the next infoset and its sequences; the arrays must have room for them."""
    infoset = cursor[INFOSETS]
    first = cursor[SEQUENCES]
    infosets[infoset]["place"] = place
    infosets[infoset]["first_sequence"] = first
    infosets[infoset]["parent"] = parent
    infosets[infoset]["num_actions"] = count
    infosets[infoset]["player"] = player
    for k in range(count):
        actions[first + k] = legal[k]
    cursor[INFOSETS] = infoset + 1
    cursor[SEQUENCES] = first + count


@jit
def ascends(actions, count, stop):
    """Whether actions[:count] are different, ascending, and in 0 .. stop - 1."""
    last = np.int64(-1)
    k = 0
    while k < count and actions[k] > last:
        last = actions[k]
        k += 1
    return k >= count and last < stop


@jit
def differ(outcomes, count, stop):
    """Whether outcomes[:count] are different and in 0 .. stop - 1.

    Chance may list its outcomes in any order, though nearly every game has them ascend,
    which is seen at once.
    """
    if ascends(outcomes, count, stop):
        return True
    for k in range(count):
        if outcomes[k] < 0 or outcomes[k] >= stop:
            return False
        for earlier in range(k):
            if outcomes[earlier] == outcomes[k]:
                return False
    return True


@jit
def fits(key, key_sizes, length):
    """Whether key[1:length] keeps to the sizes that its game declares."""
    k = 1
    while k < length and 0 <= key[k] < key_sizes[k - 1]:
        k += 1
    return k >= length


@jit
def sum_up(probs, count, cdf, start):
    """Writes the running sums of probs[:count] into cdf, from `start` on.

    The sums from the last possible outcome on are set to exactly 1, so that rounding
    cannot leave a gap into which a draw might fall.

    Returns:
        Whether probs[:count] is a distribution.
    """
    total = 0.0
    last = 0
    for k in range(count):
        if not probs[k] >= 0.0:
            return False
        if probs[k] > 0.0:
            last = k
        total += probs[k]
        cdf[start + k] = total
    for k in range(last, count):
        cdf[start + k] = 1.0
    return abs(total - 1.0) <= 1e-6


@jit
def expand(rules, settings, key_sizes, stops, max_nodes, cursor, path, store):
    """Writes nodes until the tree is whole or something stops the walk.

    What one pass of the loop does is said at the top of this file.

    Args:
        rules: pointers to the compiled rules.
        settings: the values of the game's parameters.
        key_sizes: `[K]` int64, the number of values at each place of a key.
        stops: `[2]` int64, one more than the largest action and outcome of chance.
        max_nodes: the most nodes to write.
        cursor: `[CURSOR_SIZE]` int64, the depth and the numbers of nodes and so on.
        path, store: where the walk is and what it fills, see `Path` and `Store`.

    Returns:
        DONE, NO_ROOM if an array is full, or the status that says what is wrong.
    """
    _, acting, legal_actions, chance_probs, apply_action, info_key, final = rules
    states, sequences, path_actions, frames = path
    nodes, infosets, actions, chance_cdf, keys, chances, outcomes = store
    key_values, key_rows, key_table = keys
    chance_values, chance_rows, chance_table = chances
    outcome_values, outcome_rows, outcome_table = outcomes
    num_players = sequences.shape[1]
    most_keys = len(key_sizes) + 1
    key = np.zeros(most_keys + SPARE, np.int64)[:most_keys]
    own_key = key[1:]
    probs = np.zeros(path_actions.shape[1] + SPARE)[: path_actions.shape[1]]
    prob_bits = probs.view(np.uint64)
    returns = np.zeros(num_players + SPARE)[:num_players]
    return_bits = returns.view(np.uint64)
    depth = cursor[DEPTH]
    state = states[depth]
    while depth >= 0:
        child = frames[depth]["next"]
        if child >= 0:  # the node is written, so enter its next child or go up
            if child == frames[depth]["count"]:
                depth -= 1
                continue
            cursor[DEPTH] = depth
            if depth + 1 == len(states):
                return TOO_LONG
            frames[depth]["next"] = child + 1
            for k in range(states.shape[1]):
                states[depth + 1, k] = states[depth, k]
            for p in range(num_players):
                sequences[depth + 1, p] = sequences[depth, p]
            player = frames[depth]["player"]
            if player >= 0:
                sequences[depth + 1, player] = frames[depth]["own"] + child
            state = states[depth + 1]
            apply_action(settings, state, path_actions[depth, child])
            depth += 1
            frames[depth]["next"] = -1
        cursor[DEPTH] = depth
        node = 0
        if depth > 0:
            node = frames[depth - 1]["first"] + frames[depth - 1]["next"] - 1
        player = acting(settings, state)
        nodes[node]["player"] = player
        nodes[node]["infoset"] = -1
        if player == TERMINAL:
            returns[:] = 0.0
            final(settings, state, returns)
            for p in range(num_players):
                if not abs(returns[p]) < np.inf:
                    return BAD_RETURNS
                returns[p] += 0.0  # -0.0 becomes 0.0
            hashed = row_hash(return_bits, num_players)
            count = cursor[OUTCOMES]
            row = number_row(
                outcome_values,
                outcome_rows,
                outcome_table,
                count,
                hashed,
                returns,
                num_players,
            )
            if row < 0:
                return NO_ROOM
            cursor[OUTCOMES] += int(row == count)
            nodes[node]["start"] = row
            nodes[node]["first_child"] = 0
            nodes[node]["num_children"] = 0
            depth -= 1
            continue
        if player != CHANCE and (player < 0 or player >= num_players):
            return BAD_PLAYER
        legal = path_actions[depth]
        count = legal_actions(settings, state, legal)
        if count < 1:
            return NO_ACTIONS
        if count > len(legal):
            return OVERRUN
        if count > MAX_CHILDREN:
            return TOO_MANY_CHILDREN
        first = cursor[NODES]
        if first + count > len(nodes):
            return TOO_MANY_NODES if first + count > max_nodes else NO_ROOM
        if player == CHANCE:
            if not differ(legal, count, stops[1]):
                return BAD_ACTIONS
            chance_probs(settings, state, probs)
            for k in range(count):
                probs[k] += 0.0  # -0.0 becomes 0.0
            hashed = row_hash(prob_bits, count)
            new = cursor[CHANCES]
            number = number_row(
                chance_values, chance_rows, chance_table, new, hashed, probs, count
            )
            if number < 0:
                return NO_ROOM
            start = chance_rows[number]["start"]
            if number == new:
                cursor[CHANCES] += 1
                if not sum_up(probs, count, chance_cdf, start):
                    return BAD_CHANCE
        else:
            key[0] = player
            length = 1 + info_key(settings, state, player, own_key)
            if length < 1 or length > most_keys:
                return BAD_KEY
            new = cursor[INFOSETS]
            if new >= len(infosets) or cursor[SEQUENCES] + count > len(actions):
                return NO_ROOM
            hashed = row_hash(key, length)
            infoset = number_row(
                key_values, key_rows, key_table, new, hashed, key, length
            )
            if infoset < 0:
                return NO_ROOM
            parent = sequences[depth, player]
            if infoset < new:
                status = check_infoset(infosets, actions, infoset, parent, legal, count)
                if status != DONE:
                    return status
            elif not ascends(legal, count, stops[0]):
                return BAD_ACTIONS
            elif fits(key, key_sizes, length):
                add_infoset(
                    infosets, actions, cursor, hashed, player, parent, legal, count
                )
            else:
                return BAD_KEY
            nodes[node]["infoset"] = infoset
            start = np.int64(infosets[infoset]["first_sequence"])
        nodes[node]["first_child"] = first
        nodes[node]["start"] = start
        nodes[node]["num_children"] = count
        cursor[NODES] = first + count
        frames[depth]["first"] = first
        frames[depth]["count"] = count
        frames[depth]["next"] = 0
        frames[depth]["own"] = start
        frames[depth]["player"] = player
    return DONE
