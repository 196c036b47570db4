"""Games that compiled loops play: states, moves and information sets.

Walks over compiled rules (walks.py), the expansion of a whole tree
(rule_expansion.py), plays (following.py) and passes over histories use these steps. No
row is stored for a node.
A loop carries a state, which the rules change, and finds the infoset of a decision by
its key in a hash table.

A loop that visits some children later saves the state of their parent at a *level* of
the path: 1 for the first such parent on the way from the root, and so on. A child is
identified by the level of its parent and its index, see `stacked`. Children are visited
depth first, so a saved state is no longer needed when its level is saved again. A walk
that has to stop saves its state as a node without moves.

Wrong rules are detected before anything is written, so the walk stays where it is.
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
def who_acts(rules: Any, game: GameArrays, path: Path) -> int:
    """The player who acts, or CHANCE_NODE or TERMINAL."""
    return call(rules, ACTING, (game.settings, path.state))


@inlined
def move_on(rules: Any, game: GameArrays, path: Path, action: int) -> None:
    """Makes a move."""
    num_moves = path.position[NUM_MOVES]
    path.history[num_moves] = action
    path.position[NUM_MOVES] = num_moves + 1
    call(rules, APPLY_ACTION, (game.settings, path.state, action))


@inlined
def go_to(rules: Any, game: GameArrays, path: Path, node: int) -> None:
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
def end_game(rules: Any, game: GameArrays, path: Path, utilities: np.ndarray) -> int:
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
            return BROKEN + rule_faults.BAD_RETURNS
        total += returns[p]
    if abs(total - game.returns[SUM]) > game.returns[TOLERANCE]:  # not if SUM is NaN
        return BROKEN + rule_faults.BAD_RETURNS
    return DONE


@inlined
def list_moves(rules: Any, game: GameArrays, path: Path, acting: int) -> int:
    """Writes the moves; returns how many there are, or -1 - what is wrong."""
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
    """Writes the chance distribution; returns DONE or a status from BROKEN on."""
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
    """Lists the moves at a node that is not terminal, and the key of its infoset.

    Args:
        nodes: the record of nodes; `path` has the state, and a chance distribution is
            written.
        acting: the acting player.
        room: largest number of moves.

    Returns:
        A status, the number of moves, and the two results of `write_key`.
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
