"""The sampled loop over compiled rules: walks that store nothing for a node.

The loop does what that of kernels/walk.py does, with the same pieces and the same
draws at the same places, so it computes the same bits. Only where a node comes from is
different. There a node is a row of an array. Here a walk carries a state, which rules
move on, and finds the information set of a decision by its key in a hash table.

A walk that leaves children for later saves the state of their parent at a *level* of
the path: 1 for the first such parent on the way from the root, and so on. On the stack
a child is known by the level of its parent and its number, as `stacked` says. Nodes are
taken from the stack depth first, so a saved state is needed no more when the next one
is saved at the same level.

A walk that cannot go on saves the state in which it stands, as a node with no move to
be made. What the rules do wrong is found before anything is written, and the walk then
stays where it is.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

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
    SPELL,
    call,
)
from mccfr_spiel.common.arrays import CHANCE_NODE, MAX_CHILDREN, TERMINAL
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.randomness import ROOT_PLACE
from mccfr_spiel.kernels.sampling import draw_action, push
from mccfr_spiel.kernels.stored import STORED, nothing
from mccfr_spiel.kernels.tables import (
    DONE,
    FLAG,
    FLOAT,
    GROW,
    INT,
    LONG,
    STACK_FULL,
    UNSIGNED,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.walk import Sampled, Source, make_loop

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
    """What a game declares, and the policies that players follow, see `FACED`.

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


LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Game, Known, Path)
"""What a frame of these walks holds. Of the tree there are the infosets, with room to
spare; the chance distribution and the returns are those of one node."""

frame_of = LAYOUT.frame_of
views = LAYOUT.viewer()


@inlined
def start_new(tree, game, known, path, rules, tables, walk, start_tables, task):
    """Starts the tables of infosets that were added, see `make_start`."""
    if known.counts[INFOSETS] > walk.known[0]:
        met = TreeArrays(
            nodes=tree.nodes,
            infosets=tree.infosets[: known.counts[INFOSETS]],
            chance_probs=tree.chance_probs,
            chance_cdf=tree.chance_cdf,
            utilities=tree.utilities,
        )
        start_tables(task, met, tables, walk.known)


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
def go_to(tree: Any, game: Game, known: Any, path: Path, rules: Any, node: int) -> None:
    """Puts the walk at a node of the stack."""
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
def list_outcomes(
    rules: Any, game: Game, path: Path, tree: TreeArrays, count: int
) -> int:
    """Writes the distribution of chance; returns DONE, or what is wrong."""
    if not kernel.differ(path.moves, count, game.stops[1]):
        return BROKEN + kernel.BAD_ACTIONS
    probs = tree.chance_probs
    for k in range(count):
        probs[k] = 1.0 / count
    call(rules, CHANCE_PROBS, (game.settings, path.state, probs))
    for k in range(count):
        probs[k] += 0.0  # -0.0 becomes 0.0
    if not kernel.sum_up(probs, count, tree.chance_cdf):
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
    enter(infosets, known, key, length, hashed, infoset, parent, moves)
    return DONE, new


@inlined
def enter(
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
def look_around(
    rules: Any,
    game: Game,
    path: Path,
    tree: TreeArrays,
    known: Known,
    acting: int,
    free: int,
) -> tuple[Any, Any, Any, Any]:
    """Learns of a node that a walk has come to what its infoset does not tell.

    Args:
        rules, game, path: tell what comes next.
        tree: of which a distribution is written.
        known: whose table will be asked for the infoset.
        acting: the player who acts, if the game has not ended.
        free: how many moves there is room for on the stack.

    Returns:
        DONE or why the walk cannot go on, the number of moves, and what `key_of` gives.
    """
    length, hashed = np.int64(0), ROOT_PLACE
    if 0 <= acting < len(path.last):
        length, hashed = key_of(rules, game, path, known, acting)
    count = list_moves(rules, game, path, acting)
    status = np.int64(DONE)
    if count < 0:
        status = np.int64(BROKEN - 1 - count)
    elif count > free:
        status = np.int64(STACK_FULL)
    elif acting == CHANCE_NODE:
        status = np.int64(list_outcomes(rules, game, path, tree, count))
    return status, count, length, hashed


@inlined
def p_acting(tree, game, known, path, rules, node):
    """Asks the rules who acts."""
    return np.int64(who_acts(rules, game, path))


@inlined
def pay(tree, game, known, path, rules, node):
    """Asks the rules for the returns, which `utilities` then has."""
    return np.int64(end_game(rules, game, path, tree.utilities)), np.int64(0)


@inlined
def arrive(tree, game, known, path, rules, node, acting, free):
    """Asks the rules for the moves, and finds the infoset or adds it."""
    status, count, length, hashed = look_around(
        rules, game, path, tree, known, acting, free
    )
    start, infoset = np.int64(0), np.int64(-1)
    if status == DONE and acting != CHANCE_NODE:
        status, infoset = find_infoset(
            game, path, tree.infosets, known, acting, count, length, hashed
        )
        if status == DONE:
            start = np.int64(tree.infosets[infoset]["first_sequence"])
    first = np.int64(stacked(free_level(path)) + 1)
    return np.int64(status), first, start, np.int64(count), np.int64(infoset)


@inlined
def keep(tree, game, known, path, rules, acting, start, count):
    """Saves the state, from which the children will be made."""
    level = free_level(path)
    save(path, level, acting, start, count)
    path.position[LEVEL] = level


@inlined
def descend(tree, game, known, path, rules, first, acting, start, chosen):
    """Makes the move."""
    if acting >= 0:
        path.last[acting] = start + chosen
    move_on(rules, game, path, path.moves[chosen])
    return np.int64(0)


@inlined
def stop(
    tree, game, known, path, rules, walk, top, node, acting, sequence, weight, place
):
    """Saves and stacks the node where the walk stands."""
    keep(tree, game, known, path, rules, acting, 0, 0)
    return push(walk, top, stacked(path.position[LEVEL]), sequence, weight, place)


PLAYED: Source = STORED._replace(
    enter=go_to,
    acting_at=p_acting,
    pay=pay,
    arrive=arrive,
    keep=keep,
    descend=descend,
    stop=stop,
    start=start_new,
    fetch=nothing,
    grows=False,
)
"""`place_at` and `policy_at` are those of stored trees; children are not in memory, so
there is nothing to fetch."""


@for_rule
def make_rule_iterate(rule: Rule, sampled: Sampled, source: Source = PLAYED) -> Any:
    """Makes `iterate(frame, rules)` for one kind of sampling and one local rule.

    `rules` are those of `kernel.callable_rules`. It runs whole iterations until the
    job's limits and returns the statuses of `stored.make_iterate`'s loop. After GROW
    there must be room for one more infoset. BROKEN + a status of rules/kernel.py says
    that the game's rules are wrong where the path ends.

    Args:
        rule: the local rule.
        sampled: what a walk samples; not nothing, nor by the balanced strategy.
        source: PLAYED, or FACED where players follow policies.
    """
    go_on, start_tables = make_loop(sampled, rule, source), make_start(rule)

    @jit(views_only=True)
    def iterate(frame, rules):
        tree, tables = views(frame, TreeArrays), views(frame, Tables)
        game, known = views(frame, Game), views(frame, Known)
        path, walk = views(frame, Path), views(frame, Walk)
        task = views(frame, Task)
        start_new(tree, game, known, path, rules, tables, walk, start_tables, task)
        size = known.counts[INFOSETS]
        return go_on(task, tree, game, known, path, rules, tables, walk, size)

    return iterate


# --- walks in which players follow policies -------------------------------------------
#
# The move of a player who follows a policy is a move of chance there, with the
# probabilities that the policy gives. So a walk for the one player who follows none
# learns a response as it learns anything else, and where all follow policies each walk
# from the root to an end is a play. `Game` has what the policies say.


PLAY_LAYOUT = Layout(TreeArrays, Game, Known, Path)
"""What a frame of `play` holds."""

_play_views = PLAY_LAYOUT.viewer()


@inlined
def follow_acting(tree, game, known, path, rules, node):
    """Who acts: chance for a player who follows a policy."""
    acting = who_acts(rules, game, path)
    follows = acting >= 0 and acting != game.player[0]
    return np.int64(CHANCE_NODE if follows else acting)


@inlined
def ask_policy(
    rules: Any,
    game: Game,
    path: Path,
    tree: TreeArrays,
    acting: int,
    count: int,
    length: int,
    hashed: int,
) -> bool:
    """Writes as chance's distribution what the policy of the player who acts says. The
    information key of that player has been written.

    It is uniform at infosets that the policy does not know. The result is False where
    the policy has other actions, or no distribution.
    """
    if length == 0:
        return False
    if len(game.text) > 0:
        game.text[0] = acting
        spelled = game.settings, acting, path.key[1:], length - 1, game.text[1:]
        hashed = kernel.row_hash(game.text, 1 + call(rules, SPELL, spelled))
    number = np.int64(np.searchsorted(game.hashes, hashed))
    is_known = number < len(game.hashes) and game.hashes[number] == hashed
    if is_known and game.counts[number] != count:
        return False
    probs, first = tree.chance_probs, game.starts[number] if is_known else 0
    for k in range(count):
        probs[k] = game.probs[first + k] if is_known else 1.0 / count
        if is_known and game.actions[first + k] != path.moves[k]:
            return False
    return kernel.sum_up(probs, count, tree.chance_cdf)


@inlined
def list_chances(
    rules: Any,
    game: Game,
    path: Path,
    tree: TreeArrays,
    known: Known,
    acting: int,
    free: int,
) -> tuple[Any, Any]:
    """Writes the moves of chance, or of a player who follows a policy, and their
    distribution; returns a status and how many they are."""
    status, count, length, hashed = look_around(
        rules, game, path, tree, known, acting, free
    )
    asks = status == DONE and acting != CHANCE_NODE
    if asks and not ask_policy(rules, game, path, tree, acting, count, length, hashed):
        status = np.int64(BROKEN + kernel.OTHER_ACTIONS)
    return status, count


@inlined
def follow_arrive(tree, game, known, path, rules, node, acting, free):
    """As for any walk, unless chance acts or somebody who follows a policy."""
    mover = who_acts(rules, game, path)
    if mover == game.player[0]:
        return arrive(tree, game, known, path, rules, node, acting, free)
    status, count = list_chances(rules, game, path, tree, known, mover, free)
    first = np.int64(stacked(free_level(path)) + 1)
    return status, first, np.int64(0), count, np.int64(-1)


FACED: Source = PLAYED._replace(acting_at=follow_acting, arrive=follow_arrive)


@inlined
def play_one(rules, game, path, tree, known, draws, at, returns):
    """Makes one play by the draws from `at` on; returns a status and where the next
    play's begin."""
    go_to(tree, game, known, path, rules, stacked(0))
    acting = who_acts(rules, game, path)
    while acting != TERMINAL:
        status, count = list_chances(
            rules, game, path, tree, known, acting, MAX_CHILDREN
        )
        if status != DONE:
            return status, at
        chosen = draw_action(tree.chance_probs, 0, count, draws[at])
        move_on(rules, game, path, path.moves[chosen])
        at += 1
        acting = who_acts(rules, game, path)
    return np.int64(end_game(rules, game, path, returns)), at


@jit(views_only=True)
def play(frame, rules, draws, cursor, results):
    """Plays until all plays are done or draws are short.

    Args:
        frame: of PLAY_LAYOUT, of a game in which all players follow policies.
        rules: of `callable_rules`.
        draws: numbers in [0, 1), one for each move.
        cursor: `[2]` the plays done, and the draws used; changes.
        results: `[plays, P]`, gets the returns.

    Returns:
        DONE, GROW if draws are short, or what is wrong.
    """
    tree, game = _play_views(frame, TreeArrays), _play_views(frame, Game)
    known, path = _play_views(frame, Known), _play_views(frame, Path)
    while cursor[0] < len(results):
        if cursor[1] + len(path.history) > len(draws):
            return np.int64(GROW)
        returns = results[cursor[0] :]
        status, at = play_one(rules, game, path, tree, known, draws, cursor[1], returns)
        if status != DONE:
            return status
        cursor[0] += 1
        cursor[1] = at
    return np.int64(DONE)
