"""Steps of compiled loops over a game with compiled rules.

Walks (walks.py), the expansion of a whole tree (rule_expansion.py), plays of fixed
policies (following.py) and passes over histories use these steps. No row is stored for
a node. A loop changes one state vector in place and finds the infoset of a decision by
the information key.

Before a loop visits the first of several children, it saves the state of their parent
at a *level* of the path. The root has level 0, the first saved node below it level 1,
and so on. A child is identified by its parent's level and its index, see `stacked`.
Because children are visited depth first, a level can be overwritten as soon as the loop
saves another node there. A walk that must stop saves the present state as a node
without moves.

Faults of the rules are detected before anything is written, so the loop can stop at the
faulty state.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules import rule_faults
from mccfr_spiel.arenas.rules.rule_calls import (
    ACTING,
    APPLY_ACTION,
    CHANCE_PROBS,
    LEGAL_ACTIONS,
    RETURNS,
    call,
)
from mccfr_spiel.arenas.rules.rule_infosets import find_infoset, write_key
from mccfr_spiel.arenas.rules.rule_records import (
    BROKEN,
    HIGH,
    LEVEL,
    LEVEL_BITS,
    LOW,
    MOVES,
    NUM_MOVES,
    START,
    SUM,
    TOLERANCE,
    WHO,
    GameArrays,
    Path,
    RuleNodes,
)
from mccfr_spiel.common.arrays import CHANCE_NODE, MAX_CHILDREN
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.randomness import ROOT_PLACE
from mccfr_spiel.kernels.stack import Moves
from mccfr_spiel.kernels.tables import DONE, STACK_FULL


@inlined
def stacked(level: int) -> int:
    """The stack entry of the node saved at a level; that of child k is 1 + k larger."""
    return level << LEVEL_BITS


@inlined
def free_level(path: Path) -> int:
    """The level at which the present state may be saved.

    A state that has been saved already, because the walk stopped there, keeps its
    level. Hence the number of levels never exceeds the number of moves in a history.
    """
    level = path.position[LEVEL]
    is_saved = path.position[NUM_MOVES] == path.branches[level, MOVES]
    return level if is_saved else level + 1


@inlined
def save(path: Path, level: int, acting: int, start: int, count: int) -> None:
    """Saves the present state at a level.

    Args:
        path: present state; changes.
        level: level to overwrite.
        acting: acting player.
        start: sequence of the first action; unused for chance.
        count: number of moves to save.
    """
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
def who_acts(rules: Any, game: GameArrays, path: Path) -> int:
    """The acting player, CHANCE_NODE or TERMINAL."""
    return call(rules, ACTING, (game.settings, path.state))


@inlined
def move_on(rules: Any, game: GameArrays, path: Path, action: int) -> None:
    """Applies an action or chance outcome to the present state."""
    num_moves = path.position[NUM_MOVES]
    path.history[num_moves] = action
    path.position[NUM_MOVES] = num_moves + 1
    call(rules, APPLY_ACTION, (game.settings, path.state, action))


@inlined
def go_to(rules: Any, game: GameArrays, path: Path, node: int) -> None:
    """Restores a node of the stack: a saved state, or a child of one."""
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
def end_game(rules: Any, game: GameArrays, path: Path, utilities: np.ndarray) -> int:
    """Writes the returns to `utilities[0]`; returns DONE or BROKEN + a fault."""
    returns = utilities[0]
    low, high = game.returns[LOW], game.returns[HIGH]
    for p in range(len(path.last)):
        returns[p] = 0.0
    call(rules, RETURNS, (game.settings, path.state, returns))
    total = 0.0
    for p in range(len(path.last)):
        returns[p] += 0.0  # -0.0 becomes 0.0
        if not low <= returns[p] <= high:
            return BROKEN + rule_faults.BAD_RETURNS
        total += returns[p]
    if abs(total - game.returns[SUM]) > game.returns[TOLERANCE]:  # not if SUM is NaN
        return BROKEN + rule_faults.BAD_RETURNS
    return DONE


@inlined
def list_moves(rules: Any, game: GameArrays, path: Path, acting: int) -> int:
    """Writes the legal moves to `path.moves`.

    Returns their number, or -1 - a fault.
    """
    if acting != CHANCE_NODE and (acting < 0 or acting >= len(path.last)):
        return -1 - rule_faults.BAD_PLAYER
    arguments = game.settings, path.state, path.moves
    count = call(rules, LEGAL_ACTIONS, arguments)
    if count < 1:
        return -1 - rule_faults.NO_ACTIONS
    if count > len(path.moves):
        return -1 - rule_faults.OVERRUN
    if count > MAX_CHILDREN:
        return -1 - rule_faults.TOO_MANY_CHILDREN
    if path.position[NUM_MOVES] >= len(path.history) - 2:
        return -1 - rule_faults.TOO_LONG
    return count


@inlined
def list_outcomes(nodes: RuleNodes, count: int) -> int:
    """Writes the chance distribution; returns DONE or BROKEN + a fault."""
    game, path, probs = nodes.game, nodes.path, nodes.chance_probs
    if not rule_faults.differ(path.moves, count, game.stops[1]):
        return BROKEN + rule_faults.BAD_ACTIONS
    for k in range(count):
        probs[k] = 1.0 / count
    call(nodes.rules, CHANCE_PROBS, (game.settings, path.state, probs))
    for k in range(count):
        probs[k] += 0.0  # -0.0 becomes 0.0
    if not rule_faults.sum_up(probs, count, nodes.chance_cdf):
        return BROKEN + rule_faults.BAD_CHANCE
    return DONE


@inlined
def look_around(nodes: RuleNodes, acting: int, room: int) -> tuple[Any, Any, Any, Any]:
    """Lists the moves of a nonterminal node, and writes the key of its infoset.

    At a chance node it writes the chance distribution instead of a key.

    Args:
        nodes: the record of nodes.
        acting: acting player, or CHANCE_NODE.
        room: largest number of moves that the caller can store.

    Returns:
        A status, the number of moves, and the two results of `write_key` (at a chance
        node 0 and an unused hash). The status is DONE, STACK_FULL if there are more
        than `room` moves, or BROKEN + a fault.
    """
    rules, game, path = nodes.rules, nodes.game, nodes.path
    length, hashed = np.int64(0), ROOT_PLACE
    if 0 <= acting < len(path.last):
        length, hashed = write_key(rules, game, path, nodes.known, acting)
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
    """The record `Moves` of the present node."""
    first = np.int64(stacked(free_level(path)) + 1)
    return Moves(
        np.int64(acting), np.int64(infoset), first, start, np.int64(count), start
    )


@inlined
def arrive(nodes, node, acting, room):
    """Lists the moves of the present node, and finds or adds its infoset.

    At a chance node it writes `chance_probs` and `chance_cdf` instead.

    Args:
        nodes: the record of nodes.
        node: unused; other sources identify the node by it.
        acting: acting player, or CHANCE_NODE.
        room: largest number of moves that the caller can store.

    Returns:
        A status and the `Moves` of the node.
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
    """Saves the present state, from which later children are reached."""
    path = nodes.path
    level = free_level(path)
    save(path, level, moves.acting, moves.start, moves.count)
    path.position[LEVEL] = level
