"""Functions from which compiled loops over a game with compiled rules are assembled.

Walks (walks.py), the expansion of a whole tree (rule_expansion.py), plays of fixed
policies (following.py) and passes over histories (worlds/histories.py) use them. No row
is stored for a node. A loop changes one state vector (`Path.state`, the *present
state*) in place, and finds the infoset of a decision by the information key.

Before a loop visits the first of several children, it saves the state of their parent
at a *level* of the path. The root has level 0, the first saved node below it level 1,
and so on. A child is identified by its parent's level and its index, see `stacked`.
Children are visited depth first, so a level can be overwritten by the next node that is
saved there. A walk that must stop saves the present state as a node without moves.

Errors in the rules (*faults*, rule_faults.py) are detected before a node or infoset is
added, so the loop can stop at the state where the error occurs.
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
    """Returns the node number of the node saved at a level.

    Walks store node numbers on their stacks. Child k of the saved node has this number
    plus 1 + k.
    """
    return level << LEVEL_BITS


@inlined
def free_level(path: Path) -> int:
    """Returns the level at which the present state is to be saved.

    If the state is already saved, because the walk has stopped there, it keeps its
    level. So the number of levels never exceeds the number of moves in a history.
    """
    level = path.position[LEVEL]
    is_saved = path.position[NUM_MOVES] == path.branches[level, MOVES]
    return level if is_saved else level + 1


@inlined
def save(path: Path, level: int, acting: int, start: int, count: int) -> None:
    """Saves the present state at a level.

    Args:
        path: the path, whose saved state at this level is overwritten.
        level: the level.
        acting: acting player, or CHANCE_NODE.
        start: sequence that ends with the first action; unused at chance nodes.
        count: number of moves in `path.moves` to save.
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
    """Returns the acting player at the present state, CHANCE_NODE or TERMINAL."""
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
    """Moves the path to a node with a given number: a saved state, or a child of a
    saved state.
    """
    # MAX_CHILDREN is also the mask of the low bits of a node number. The difference
    # `child` is -1 for the saved state itself.
    level, child = node >> LEVEL_BITS, (node & MAX_CHILDREN) - 1
    for k in range(len(path.state)):
        path.state[k] = path.states[level, k]
    for p in range(len(path.last)):
        path.last[p] = path.lasts[level, p]
    path.position[LEVEL] = level
    path.position[NUM_MOVES] = path.branches[level, MOVES]
    if child >= 0:
        acting = path.branches[level, WHO]
        # Chance has no sequences.
        if acting >= 0:
            path.last[acting] = path.branches[level, START] + child
        move_on(rules, game, path, path.choices[level, child])


@inlined
def end_game(rules: Any, game: GameArrays, path: Path, utilities: np.ndarray) -> int:
    """Writes the returns of a terminal state to `utilities[0]`, and checks them.

    Returns:
        DONE, or BROKEN + BAD_RETURNS if the returns contradict the declarations.
    """
    returns = utilities[0]
    low, high = game.returns[LOW], game.returns[HIGH]
    for p in range(len(path.last)):
        returns[p] = 0.0
    call(rules, RETURNS, (game.settings, path.state, returns))
    total = 0.0
    for p in range(len(path.last)):
        returns[p] += 0.0  # turns -0.0 into 0.0
        # The negation also rejects NaN.
        if not low <= returns[p] <= high:
            return BROKEN + rule_faults.BAD_RETURNS
        total += returns[p]
    # A SUM of NaN, for a varying sum, makes the comparison false.
    if abs(total - game.returns[SUM]) > game.returns[TOLERANCE]:
        return BROKEN + rule_faults.BAD_RETURNS
    return DONE


@inlined
def list_moves(rules: Any, game: GameArrays, path: Path, acting: int) -> int:
    """Writes the legal actions or chance outcomes of the present state to `path.moves`.

    Returns:
        The number of moves; -1 - a status of rules/rule_faults.py for an error.
    """
    if acting != CHANCE_NODE and (acting < 0 or acting >= len(path.last)):
        return -1 - rule_faults.BAD_PLAYER
    arguments = game.settings, path.state, path.moves
    count = call(rules, LEGAL_ACTIONS, arguments)
    if count < 1:
        return -1 - rule_faults.NO_ACTIONS
    # The SPARE unused elements after the buffer have absorbed a few moves too many.
    if count > len(path.moves):
        return -1 - rule_faults.OVERRUN
    if count > MAX_CHILDREN:
        return -1 - rule_faults.TOO_MANY_CHILDREN
    # len(path.history) - 2 is the declared length of the longest history.
    if path.position[NUM_MOVES] >= len(path.history) - 2:
        return -1 - rule_faults.TOO_LONG
    return count


@inlined
def list_outcomes(nodes: RuleNodes, count: int) -> int:
    """Writes the chance distribution to `chance_probs` and `chance_cdf`, and checks it.

    Args:
        nodes: the record of nodes, with the outcomes in `path.moves`.
        count: number of outcomes.

    Returns:
        DONE, or BROKEN + a status of rules/rule_faults.py.
    """
    game, path, probs = nodes.game, nodes.path, nodes.chance_probs
    if not rule_faults.differ(path.moves, count, game.stops[1]):
        return BROKEN + rule_faults.BAD_ACTIONS
    for k in range(count):
        probs[k] = 1.0 / count
    call(nodes.rules, CHANCE_PROBS, (game.settings, path.state, probs))
    for k in range(count):
        probs[k] += 0.0  # turns -0.0 into 0.0
    if not rule_faults.sum_up(probs, count, nodes.chance_cdf):
        return BROKEN + rule_faults.BAD_CHANCE
    return DONE


@inlined
def look_around(nodes: RuleNodes, acting: int, room: int) -> tuple[Any, Any, Any, Any]:
    """Lists the moves at the present state, and writes the key of its infoset to
    `path.key`.

    The state must not be terminal. At a chance node, the chance distribution is written
    instead of a key.

    Args:
        nodes: the record of nodes.
        acting: acting player, or CHANCE_NODE.
        room: largest number of moves that the caller can store.

    Returns:
        A status, the number of moves, and the two results of `write_key` (at a chance
        node 0 and an unused hash). The status is DONE, STACK_FULL if there are more
        than `room` moves, or BROKEN + a status of rules/rule_faults.py.
    """
    rules, game, path = nodes.rules, nodes.game, nodes.path
    length, hashed = np.int64(0), ROOT_PLACE
    # The key is written first, because `write_key` prefetches its slot of the hash
    # table, which then arrives from memory while the moves are listed.
    if 0 <= acting < len(path.last):
        length, hashed = write_key(rules, game, path, nodes.known, acting)
    count = list_moves(rules, game, path, acting)
    status = np.int64(DONE)
    if count < 0:
        status = np.int64(BROKEN - 1 - count)  # `count` is -1 - fault
    elif count > room:
        status = np.int64(STACK_FULL)
    elif acting == CHANCE_NODE:
        status = np.int64(list_outcomes(nodes, count))
    return status, count, length, hashed


@inlined
def moves_at(path: Path, acting: int, infoset: int, start: int, count: int) -> Moves:
    """Returns the record `Moves` of the present node.

    Args:
        path: the path.
        acting: acting player, or CHANCE_NODE.
        infoset: number of the infoset; -1 at a chance node.
        start: sequence that ends with the first action; 0 at a chance node.
        count: number of moves.
    """
    first = np.int64(stacked(free_level(path)) + 1)
    return Moves(
        np.int64(acting), np.int64(infoset), first, start, np.int64(count), start
    )


@inlined
def arrive(nodes, node, acting, room):
    """Lists the moves of the present node, and finds or adds its infoset.

    At a chance node, the distribution is written to `chance_probs` and `chance_cdf`
    instead.

    Args:
        nodes: the record of nodes.
        node: unused, because the path is already at the node; other sources need it.
        acting: acting player, or CHANCE_NODE.
        room: largest number of moves that the caller can store.

    Returns:
        A status, and the record `Moves` of the node.
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
    """Saves the present state and its moves, so that `go_to` can reach the children."""
    path = nodes.path
    level = free_level(path)
    save(path, level, moves.acting, moves.start, moves.count)
    path.position[LEVEL] = level
