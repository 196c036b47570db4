"""Expands the nodes of a tree through pyspiel.

    expand               one node: reads its state and writes its record
    expand_below         a node and all descendants that a walk surely visits
    expand_depth_first   the whole tree

rules/rule_expansion.py expands games with compiled rules without calling Python at
each node.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.state_checks import (
    check_actions,
    check_outcomes,
    no_such_player,
    returns_of,
    tell_history,
)
from mccfr_spiel.arenas.tree.nodes import UNCOUNTED
from mccfr_spiel.arenas.tree.size_forecast import refuse_larger_tree
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.common.budget import TreeFullError, too_many_nodes
from mccfr_spiel.common.memory import resident

_FIRST_CHILD = operator.itemgetter(0)
_CHECKED = 1024
"""Number of nodes between two measurements of the process's memory."""

Place = tuple[pyspiel.State, list[int]]
"""The state of a node, and each player's last sequence before the node."""

Opened = list[Any]
"""An expanded node whose children are still to be visited. It is a list with the items:

0. number of the first child;
1. index, among the siblings, of the child to visit next;
2. moves: legal actions, or pairs (outcome, probability) at a chance node;
3. acting player, or CHANCE_NODE;
4. first sequence of the infoset, or first entry of the chance distribution;
5. state of the node;
6. each player's last sequence before the node.
"""


def child_of(opened: Opened, child: int, *, is_last: bool) -> Place:
    """The state of a child, and each player's last sequence before the child.

    Args:
        opened: the parent.
        child: index of the child among its siblings.
        is_last: whether no other child of the parent follows. Then the parent's state
            is modified instead of copied.

    Raises:
        Exception: any exception of the game's own methods, with the history as a note.
    """
    _, _, moves, acting, start, state, sequences = opened
    move, before = moves[child] if acting >= 0 else moves[child][0], state
    try:
        if is_last:
            state.apply_action(move)
        else:
            state, sequences = state.child(move), sequences.copy()
    except Exception as error:
        tell_history(error, before, move)
        raise
    if acting >= 0:
        sequences[acting] = start + child
    return state, sequences


def expand_depth_first(tree: Any, max_nodes: int, most_memory: int | None) -> None:
    """Expands every unexpanded node of a tree.

    Every `_CHECKED` nodes, the memory of the process and the length of the current
    history are checked. The first check also forecasts the size of the tree.

    Args:
        tree: the GameTree.
        max_nodes: maximum number of nodes.
        most_memory: maximum number of bytes for the expansion; the limit of the budget
            if None.

    Raises:
        TreeFullError: the tree has more than `max_nodes` nodes, or surely will
            according to the forecast.
        MemoryBudgetError: the process has grown by more than `most_memory`, or by more
            than the budget has left.
        ValueError: a history is endless, or `expand` refuses a state.
    """
    nodes, budget, is_forecast = tree.node_store, tree.budget, False
    most_memory = budget.limit if most_memory is None else most_memory
    process, taken = resident(), budget.taken

    def look(state: pyspiel.State) -> int:
        nonlocal is_forecast
        budget.check_time()
        if nodes.count > max_nodes:
            raise too_many_nodes(tree.game, max_nodes)
        tree.check_length(state)
        if not is_forecast:
            is_forecast = True
            refuse_larger_tree(tree, max_nodes)
        counted = budget.taken - budget.held[UNCOUNTED] - taken
        budget.record(UNCOUNTED, max(resident() - process - counted, 0))
        if budget.left < 0 or budget.taken - taken > most_memory:
            raise nodes.full(", with the states on the way,")
        return min(max_nodes, nodes.count + _CHECKED)

    root = tree.new_state(), list(range(tree.num_players))
    follows_all = [False] * (tree.num_players + 1)
    first_look = min(max_nodes, nodes.count + _CHECKED)
    expand_below(tree, 0, root, follows_all, first_look, look, [])


def expand_below(
    tree: Any,
    node: int,
    place: Place,
    draws: Sequence[bool],
    look_at: int,
    look: Callable[[pyspiel.State], int],
    opens: list[Opened],
) -> None:
    """Expands a node and all unexpanded descendants that a walk surely visits.

    Descendants of a node where the walk samples one move are not expanded, because the
    sampled move is not known here.

    The caller has the tree's lock and is in a step, see infosets/lock.py.

    Args:
        tree: the GameTree.
        node: the node to expand first.
        place: state of this node, and each player's last sequence before it.
        draws: for each acting player, and last for chance, whether the walk samples a
            single move.
        look_at: number of nodes in the tree from which on to call `look`.
        look: function that is called with the state of the current node. It returns the
            next value of `look_at`, or -1 to stop the expansion after this node.
        opens: output, to which expanded nodes are appended whose children may have to
            be expanded later; always sorted by first child.
    """
    nodes, (state, sequences) = tree.node_store, place
    old, stack = nodes.count, []  # nodes from `old` on are new, hence unexpanded
    # This is a depth-first search. Each pass visits one node. It expands the node if
    # necessary, pushes the node onto `stack` if the walk visits all children, and
    # descends to an unvisited child of the topmost node on the stack. A node is popped
    # when only one child is left, which reuses the state of the node. The loop ends
    # when the stack is empty, or when `look` returns -1. In the latter case the nodes
    # on the stack are appended to `opens`.
    while True:
        if node >= old or nodes.record(node)[4] == UNEXPANDED:
            moves, acting, first, start, _ = expand(tree, node, state, sequences)
        else:
            first, start, _, _, acting = nodes.record(node)
            if acting == CHANCE_NODE:
                moves = state.chance_outcomes()
            else:
                moves = state.legal_actions()
        if moves:
            opened = [first, 0, moves, acting, start, state, sequences]
            (opens if draws[acting] else stack).append(opened)
        if nodes.count > look_at:
            look_at = look(state)
        if look_at < 0:
            opens += stack
            opens.sort(key=_FIRST_CHILD)
        if look_at < 0 or not stack:
            return
        opened = stack[-1]
        child = opened[1]
        opened[1] = child + 1
        is_last = child + 1 == len(opened[2])
        if is_last:
            stack.pop()
        state, sequences = child_of(opened, child, is_last=is_last)
        node = opened[0] + child


def expand(
    tree: Any, node: int, state: pyspiel.State, sequences: Sequence[int]
) -> tuple[Sequence[Any], int, int, int, int]:
    """Writes the record of one node and adds its children as unexpanded nodes.

    The caller has the tree's lock and is in a step, see infosets/lock.py.

    Args:
        tree: the GameTree.
        node: the unexpanded node.
        state: state of the node.
        sequences: `[P]` each player's last sequence before the node.

    Returns:
        Five values: the moves (legal actions; pairs of outcome and probability at a
        chance node; empty at a terminal node), the acting player, the first child, and
        the fields `start` and `infoset` of the node's record.

    Raises:
        TreeFullError: the nodes or infosets exceed the limits of the tree.
        GameError: the state violates perfect recall or a declaration of the game.
        Exception: any exception of the game's own methods, with the history as a note.
    """
    player = 0
    try:
        player = state.current_player()
        if player >= 0:
            met, parent = tree.met, sequences[player]
            if tree.abstraction is None:
                info_state = state.information_state_string(player)
            else:
                info_state = tree.string_of(state, player)
            actions = state.legal_actions()
            # Most states belong to an infoset that the tree already has, with the same
            # parent and the same actions. All other states need the slower `_meet`.
            infoset = met.number_of(info_state, -1)
            if (
                infoset < 0
                or met.parents[infoset] != parent  # the parent determines the player
                or met.legal_actions[infoset] != actions
            ):
                infoset = _meet(tree, node, info_state, state, parent, actions)
            start = met.starts[infoset]
        elif player == CHANCE_NODE:
            infoset = -1
            actions = state.chance_outcomes()
            if tree.is_of_user:
                check_outcomes(tree.declared.name, actions)
            # Equal distributions are stored once, and so are equal returns below.
            probs = tuple([prob for _, prob in actions])
            tree.node_store.keep_outcomes(node, actions)
            start = tree.distributions.starts.get(probs, -1)
            if start < 0:
                start = tree.distributions.add(probs)
        elif player == TERMINAL:
            returns = returns_of(state)
            row = tree.payoffs.rows.get(returns, -1)
            if row < 0:
                row = tree.payoffs.add(returns, state)
            tree.node_store.end(node, row, TERMINAL)
            return (), TERMINAL, 0, row, -1
        else:
            raise no_such_player(tree.declared, player)
        first = tree.node_store.branch(node, start, infoset, len(actions), player)
    except TreeFullError:
        raise
    except Exception as error:
        if not isinstance(player, int) or player >= tree.num_players:
            refusal = no_such_player(tree.declared, player)
            tell_history(refusal, state)
            raise refusal from error
        tell_history(error, state)
        raise
    return actions, player, first, start, infoset


def _meet(
    tree: Any,
    node: int,
    info_state: str,
    state: pyspiel.State,
    parent: int,
    actions: list[int],
) -> int:
    """Finds or adds the infoset of a decision node in the general case.

    The string of the state may be new to the tree, or only new for this player. If the
    infoset exists, the parent or the actions differ from its record, which may be an
    error of the game.

    Args:
        tree: the GameTree.
        node: the node.
        info_state: information-state string of the acting player.
        state: state of the node.
        parent: the acting player's last sequence before the node.
        actions: legal actions.

    Returns:
        The number of the infoset.

    Raises:
        GameError: see `Infosets.meet_again` and `_check_decision`.
    """
    player = state.current_player()
    infoset = tree.met.names.find(info_state, player)
    if infoset >= 0:
        above = functools.partial(tree.node_store.infosets_above, node)
        tree.met.meet_again(infoset, info_state, parent, actions, above)
        return infoset
    if tree.is_of_user or not actions:
        _check_decision(tree, info_state, player, state, actions)
    place = tree.place(info_state, player, state)
    return tree.met.add(info_state, player, parent, actions, place)


def _check_decision(
    tree: Any, info_state: str, player: int, state: pyspiel.State, actions: list[int]
) -> None:
    """Checks the first state of an infoset.

    The caller omits the check for OpenSpiel's own games, which saves time.

    Raises:
        GameError: the string is not a string, the state is terminal, or the actions
            contradict the declarations of the game.
    """
    name = tree.declared.name
    if not isinstance(info_state, str):
        raise GameError(
            f"{name} gives player {player} the information state {info_state!r}, which "
            "must be a string."
        )
    if state.is_terminal():
        raise GameError(
            f"{name} has a terminal state (is_terminal()) in which player {player} "
            "acts (current_player()). The two methods must agree."
        )
    check_actions(tree.declared, player, info_state, actions)
