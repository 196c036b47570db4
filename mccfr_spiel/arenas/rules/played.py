"""Games that compiled loops play: states, moves and information sets.

Walks over compiled rules (walks.py), the expansion of a whole tree (store.py), plays
(following.py) and passes over histories use these steps. No row is stored for a node.
A loop carries a state, which the rules change, and finds the infoset of a decision by
its key in a hash table.

A loop that visits some children later saves the state of their parent at a *level* of
the path: 1 for the first such parent on the way from the root, and so on. A child is
identified by the level of its parent and its index, see `stacked`. Children are visited
depth first, so a saved state is no longer needed when its level is saved again. A walk
that has to stop saves its state as a node without moves.

Wrong rules are detected before anything is written, so the walk stays where it is.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import kernel
from mccfr_spiel.arenas.rules.kernel import (
    ACTING,
    APPLY_ACTION,
    CHANCE_PROBS,
    INFO_KEY,
    INFOSETS,
    LEGAL_ACTIONS,
    RETURNS,
    SEQUENCES,
    call,
)
from mccfr_spiel.common.arrays import CHANCE_NODE, MAX_CHILDREN
from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.randomness import ROOT_PLACE
from mccfr_spiel.kernels.stack import Moves
from mccfr_spiel.kernels.tables import (
    DONE,
    FLAG,
    FLOAT,
    GROW,
    INT,
    LONG,
    STACK_FULL,
    UNSIGNED,
    TreeArrays,
)

KEY = np.dtype(np.uint16)

BROKEN = 100
"""A status from here on says, less this, what rules/kernel.py found wrong."""

LEVEL_BITS = 16
"""The number of bits on the stack that hold the child; the level is above them."""

WHO, START, MOVES, NUM_BRANCH = range(4)
"""The columns of `Path.branches`: who acts at the saved node, where its moves begin,
and how many moves led to it."""

NUM_MOVES, LEVEL, POSITION_SIZE = range(3)
"""The entries of `Path.position`: how many moves led to where the walk is, and the
level of the node that was saved last on the way there."""

LOW, HIGH, SUM, TOLERANCE, RETURNS_SIZE = range(5)
"""The entries of `Game.returns`, see `description.limits_of`."""

_NOTHING, _NO_TEXT, _NO_PROBS = (np.zeros(0, kind) for kind in (LONG, FLAG, FLOAT))


class Game(NamedTuple):
    """The declaration of a game, and the policies of players who follow one.

    Attributes:
        settings: values of its parameters.
        key_sizes: the number of values at each place of a key.
        stops: one more than the largest action and outcome.
        returns: see RETURNS_SIZE.
        player: the one who follows no policy, -1 for nobody.
        text: room for a string.
        hashes: of the infosets with a policy, ascending.
        starts: where actions begin.
        counts: how many they are.
        actions: these actions.
        probs: their probabilities.
    """

    settings: Annotated[np.ndarray, Entry(FLOAT, "[K]")]
    key_sizes: Annotated[np.ndarray, Entry(LONG, "[K]")]
    stops: Annotated[np.ndarray, Entry(LONG, "[2]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[RETURNS_SIZE]")]
    player: Annotated[np.ndarray, Entry(LONG, "[1]")] = np.zeros(1, LONG)
    text: Annotated[np.ndarray, Entry(FLAG, "[T]")] = _NO_TEXT
    hashes: Annotated[np.ndarray, Entry(UNSIGNED, "[I]")] = np.zeros(0, UNSIGNED)
    starts: Annotated[np.ndarray, Entry(LONG, "[I]")] = _NOTHING
    counts: Annotated[np.ndarray, Entry(LONG, "[I]")] = _NOTHING
    actions: Annotated[np.ndarray, Entry(LONG, "[S]")] = _NOTHING
    probs: Annotated[np.ndarray, Entry(FLOAT, "[S]")] = _NO_PROBS


class Known(NamedTuple):
    """The infosets met, besides their records in TreeArrays; I and S count the room.

    Attributes:
        actions: the action of each sequence.
        values: all keys, one after another.
        rows: see ROW.
        table: finds a key, see kernel.py.
        counts: see rules.kernel.CURSOR_SIZE.
    """

    actions: Annotated[np.ndarray, Entry(LONG, "[S]")]
    values: Annotated[np.ndarray, Entry(KEY, "[V]")]
    rows: Annotated[np.ndarray, Entry(kernel.ROW, "[I + 1]")]
    table: Annotated[np.ndarray, Entry(kernel.SLOT, "[T]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2]")]


class Path(NamedTuple):
    """Where a walk is, and the nodes on the way there that have children to come.

    D is one more than the longest history, n the length of a state, A the most moves at
    a node.

    Attributes:
        state: of the node where the walk is.
        moves: the moves from there.
        last: each player's last sequence.
        key: the player, and what it knows.
        uniform: room for a policy.
        history: the moves that led there.
        position: see POSITION_SIZE.
        states: the saved states by level.
        choices: the moves from there.
        lasts: `last` there.
        branches: see NUM_BRANCH.
    """

    state: Annotated[np.ndarray, Entry(LONG, "[n]")]
    moves: Annotated[np.ndarray, Entry(LONG, "[A]")]
    last: Annotated[np.ndarray, Entry(INT, "[P]")]
    key: Annotated[np.ndarray, Entry(LONG, "[K + 1]")]
    uniform: Annotated[np.ndarray, Entry(FLOAT, "[A]")]
    history: Annotated[np.ndarray, Entry(LONG, "[D]")]
    position: Annotated[np.ndarray, Entry(LONG, "[POSITION_SIZE]")]
    states: Annotated[np.ndarray, Entry(LONG, "[D, n]")]
    choices: Annotated[np.ndarray, Entry(LONG, "[D, A]")]
    lasts: Annotated[np.ndarray, Entry(INT, "[D, P]")]
    branches: Annotated[np.ndarray, Entry(LONG, "[D, NUM_BRANCH]")]


class RuleNodes(NamedTuple):
    """The record of nodes of a walk over compiled rules, see `kernels.walk.Source`.

    Attributes:
        infosets: as in TreeArrays, with spare room.
        chance_probs: the chance distribution of the present node.
        chance_cdf: its cumulative sums.
        utilities: `[1, P]`, the returns of the present node.
        game: the declaration.
        known: the infosets met.
        path: the present state.
        rules: the addresses from `kernel.callable_rules`.
    """

    infosets: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    utilities: np.ndarray
    game: Game
    known: Known
    path: Path
    rules: Any


@inlined
def nodes_of(
    tree: TreeArrays, game: Game, known: Known, path: Path, rules: Any
) -> RuleNodes:
    """Assembles the record of nodes."""
    return RuleNodes(
        infosets=tree.infosets,
        chance_probs=tree.chance_probs,
        chance_cdf=tree.chance_cdf,
        utilities=tree.utilities,
        game=game,
        known=known,
        path=path,
        rules=rules,
    )


@inlined
def stacked(level: int) -> int:
    """How a stack has the node saved at a level; its child k is this number + 1 + k."""
    return level << LEVEL_BITS


@inlined
def free_level(path: Path) -> int:
    """The level at which the node where the walk is may be saved.

    If the node was saved itself, because the walk could not go on there, that is its
    own. So no more levels are used than there are moves.
    """
    level = path.position[LEVEL]
    is_saved = path.position[NUM_MOVES] == path.branches[level, MOVES]
    return level if is_saved else level + 1


@inlined
def save(path: Path, level: int, acting: int, start: int, count: int) -> None:
    """Saves where the walk is at a level, with `count` moves."""
    for k in range(len(path.state)):
        path.states[level, k] = path.state[k]
    for k in range(count):
        path.choices[level, k] = path.moves[k]
    for p in range(len(path.last)):
        path.lasts[level, p] = path.last[p]
    path.branches[level, WHO] = acting
    path.branches[level, START] = start
    path.branches[level, MOVES] = path.position[NUM_MOVES]


@inlined
def who_acts(rules: Any, game: Game, path: Path) -> int:
    """The player who acts, or CHANCE_NODE or TERMINAL."""
    return call(rules, ACTING, (game.settings, path.state))


@inlined
def move_on(rules: Any, game: Game, path: Path, action: int) -> None:
    """Makes a move."""
    num_moves = path.position[NUM_MOVES]
    path.history[num_moves] = action
    path.position[NUM_MOVES] = num_moves + 1
    call(rules, APPLY_ACTION, (game.settings, path.state, action))


@inlined
def go_to(rules: Any, game: Game, path: Path, node: int) -> None:
    """Moves to a node of the stack."""
    level, child = node >> LEVEL_BITS, (node & MAX_CHILDREN) - 1
    for k in range(len(path.state)):
        path.state[k] = path.states[level, k]
    for p in range(len(path.last)):
        path.last[p] = path.lasts[level, p]
    path.position[LEVEL] = level
    path.position[NUM_MOVES] = path.branches[level, MOVES]
    if child >= 0:
        acting = path.branches[level, WHO]
        if acting >= 0:
            path.last[acting] = path.branches[level, START] + child
        move_on(rules, game, path, path.choices[level, child])


@inlined
def end_game(rules: Any, game: Game, path: Path, utilities: np.ndarray) -> int:
    """Writes the returns to `utilities[0]`; returns DONE, or what is wrong."""
    returns = utilities[0]
    low, high = game.returns[LOW], game.returns[HIGH]
    for p in range(len(path.last)):
        returns[p] = 0.0
    call(rules, RETURNS, (game.settings, path.state, returns))
    total = 0.0
    for p in range(len(path.last)):
        returns[p] += 0.0  # -0.0 becomes 0.0
        if not low <= returns[p] <= high:
            return BROKEN + kernel.BAD_RETURNS
        total += returns[p]
    if abs(total - game.returns[SUM]) > game.returns[TOLERANCE]:  # not if SUM is NaN
        return BROKEN + kernel.BAD_RETURNS
    return DONE


@inlined
def list_moves(rules: Any, game: Game, path: Path, acting: int) -> int:
    """Writes the moves; returns how many there are, or -1 - what is wrong."""
    if acting != CHANCE_NODE and (acting < 0 or acting >= len(path.last)):
        return -1 - kernel.BAD_PLAYER
    arguments = game.settings, path.state, path.moves
    count = call(rules, LEGAL_ACTIONS, arguments)
    if count < 1:
        return -1 - kernel.NO_ACTIONS
    if count > len(path.moves):
        return -1 - kernel.OVERRUN
    if count > MAX_CHILDREN:
        return -1 - kernel.TOO_MANY_CHILDREN
    if path.position[NUM_MOVES] >= len(path.history) - 2:
        return -1 - kernel.TOO_LONG
    return count


@inlined
def list_outcomes(nodes: RuleNodes, count: int) -> int:
    """Writes the chance distribution; returns DONE or a status from BROKEN on."""
    game, path, probs = nodes.game, nodes.path, nodes.chance_probs
    if not kernel.differ(path.moves, count, game.stops[1]):
        return BROKEN + kernel.BAD_ACTIONS
    for k in range(count):
        probs[k] = 1.0 / count
    call(nodes.rules, CHANCE_PROBS, (game.settings, path.state, probs))
    for k in range(count):
        probs[k] += 0.0  # -0.0 becomes 0.0
    if not kernel.sum_up(probs, count, nodes.chance_cdf):
        return BROKEN + kernel.BAD_CHANCE
    return DONE


@inlined
def key_of(
    rules: Any, game: Game, path: Path, known: Known, acting: int
) -> tuple[Any, Any]:
    """Writes the information key where the walk is, with the player before it.

    Where it stands in the hash table is asked for, so that it arrives from memory while
    the moves are listed.

    Returns:
        The length, 0 if it is not possible, and the `row_hash`.
    """
    key = path.key
    key[0] = acting
    arguments = game.settings, path.state, acting, key[1:]
    length = 1 + call(rules, INFO_KEY, arguments)
    if length < 1 or length > len(game.key_sizes) + 1:
        return np.int64(0), ROOT_PLACE
    hashed = kernel.row_hash(key, length)
    kernel.ask_for_slot(known.table, hashed)
    return length, hashed


@inlined
def has_room_for(
    infosets: np.ndarray, known: Known, more: int, sequences: int, values: int
) -> Any:
    """Whether `more` infosets fit, with their sequences and their keys' values."""
    before = known.counts[INFOSETS]
    after = before + more
    return (
        after <= len(infosets)
        and after < len(known.rows)
        and after <= kernel.MOST_USED * len(known.table)
        and known.counts[SEQUENCES] + sequences <= len(known.actions)
        and known.rows[before]["start"] + values <= len(known.values)
    )


@inlined
def find_infoset(
    game: Game,
    path: Path,
    infosets: np.ndarray,
    known: Known,
    acting: int,
    count: int,
    length: int,
    hashed: int,
) -> tuple[int, int]:
    """Finds the infoset of a decision, or adds it.

    Args:
        game, path: where the walk is.
        infosets, known: where infosets are kept.
        acting: the player who acts.
        count: how many moves there are.
        length, hashed: what `key_of` gave.

    Returns:
        DONE and its number; or GROW, if it is new and there is no room for it, or what
        is wrong, and -1.
    """
    key = path.key
    if length == 0:
        return BROKEN + kernel.BAD_KEY, -1
    infoset = kernel.find_key(
        known.values, known.rows, known.table, hashed, key, length
    )
    parent = path.last[acting]
    if infoset >= 0:
        status = kernel.check_infoset(
            infosets, known.actions, infoset, parent, path.moves, count
        )
        return (DONE, infoset) if status == DONE else (BROKEN + status, -1)
    if not kernel.ascends(path.moves, count, game.stops[0]):
        return BROKEN + kernel.BAD_ACTIONS, -1
    if not kernel.fits(key, game.key_sizes, length):
        return BROKEN + kernel.BAD_KEY, -1
    if not has_room_for(infosets, known, 1, count, length):
        return GROW, -1
    new, moves = known.counts[INFOSETS], path.moves[:count]
    add_infoset(infosets, known, key, length, hashed, infoset, parent, moves)
    return DONE, new


@inlined
def add_infoset(
    infosets: np.ndarray,
    known: Known,
    key: np.ndarray,
    length: int,
    hashed: int,
    found: int,
    parent: int,
    moves: np.ndarray,
) -> None:
    """Adds an infoset, for which there is room.

    Args:
        infosets, known: of which all arrays are written.
        key, length, hashed: its key, of which the first number is the player.
        found: what `find_key` gave.
        parent: the player's sequence before it.
        moves: its actions.
    """
    new, sequence = known.counts[INFOSETS], known.counts[SEQUENCES]
    first = known.rows[new]["start"]
    for k in range(length):
        known.values[first + k] = key[k]
    known.rows[new + 1]["start"] = first + length
    known.rows[new]["hash"] = hashed
    kernel.enter_key(known.table, found, hashed, new)
    infosets[new]["place"] = hashed
    infosets[new]["first_sequence"] = sequence
    infosets[new]["parent"] = parent
    infosets[new]["num_actions"] = len(moves)
    infosets[new]["player"] = key[0]
    for k in range(len(moves)):
        known.actions[sequence + k] = moves[k]
    known.counts[INFOSETS] = new + 1
    known.counts[SEQUENCES] = sequence + len(moves)


@inlined
def look_around(nodes: RuleNodes, acting: int, room: int) -> tuple[Any, Any, Any, Any]:
    """Lists the moves at a node that is not terminal, and the key of its infoset.

    Args:
        nodes: the record of nodes; `path` has the state, and a chance distribution is
            written.
        acting: the acting player.
        room: largest number of moves.

    Returns:
        A status, the number of moves, and the two results of `key_of`.
    """
    rules, game, path = nodes.rules, nodes.game, nodes.path
    length, hashed = np.int64(0), ROOT_PLACE
    if 0 <= acting < len(path.last):
        length, hashed = key_of(rules, game, path, nodes.known, acting)
    count = list_moves(rules, game, path, acting)
    status = np.int64(DONE)
    if count < 0:
        status = np.int64(BROKEN - 1 - count)
    elif count > room:
        status = np.int64(STACK_FULL)
    elif acting == CHANCE_NODE:
        status = np.int64(list_outcomes(nodes, count))
    return status, count, length, hashed


@inlined
def moves_at(path: Path, acting: int, infoset: int, start: int, count: int) -> Moves:
    """The `Moves` at the present node."""
    first = np.int64(stacked(free_level(path)) + 1)
    return Moves(
        np.int64(acting), np.int64(infoset), first, start, np.int64(count), start
    )


@inlined
def arrive(nodes, node, acting, room):
    """Lists the moves, and finds the infoset or adds it; returns a status and `Moves`.

    At a chance node `chance_probs` and `chance_cdf` have the distribution.
    """
    path = nodes.path
    status, count, length, hashed = look_around(nodes, acting, room)
    start, infoset = np.int64(0), np.int64(-1)
    if status == DONE and acting != CHANCE_NODE:
        status, infoset = find_infoset(
            nodes.game, path, nodes.infosets, nodes.known, acting, count, length, hashed
        )
        if status == DONE:
            start = np.int64(nodes.infosets[infoset]["first_sequence"])
    return np.int64(status), moves_at(path, acting, infoset, start, count)


@inlined
def keep(nodes, moves):
    """Saves the state, from which the children will be made."""
    path = nodes.path
    level = free_level(path)
    save(path, level, moves.acting, moves.start, moves.count)
    path.position[LEVEL] = level
