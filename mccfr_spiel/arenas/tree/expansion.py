"""Expands the nodes of a tree through pyspiel.

`expand` writes one node: it reads a state and records all that solvers need of it.
`expand_below` expands a node and what surely comes below it. `expand_depth_first`
expands the whole tree. Compiled rules have an expansion of their own, without Python
at any node (rules/store.py).
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules import description
from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.arenas.tree.nodes import UNCOUNTED
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.common.limits import TreeFullError, resident, too_many_nodes

_FIRST_CHILD = operator.itemgetter(0)
_CHECKED = 1024
"""The number of nodes between two measurements of memory that cannot be counted."""

Place = tuple[pyspiel.State, list[int]]
"""A node's state, and each player's last sequence before it."""

Opened = list[Any]
"""A node that was expanded: its first child, the number of its next one, its moves, who
acts, where the moves begin, its state, and each player's last sequence before it."""


def child_of(opened: Opened, child: int, *, is_last: bool) -> Place:
    """The place of a child.

    Args:
        opened: the parent.
        child: which one.
        is_last: whether nobody needs the parent's any more, which then becomes this.
    """
    _, _, moves, acting, start, state, sequences = opened
    move, before = moves[child] if acting >= 0 else moves[child][0], state
    try:
        if is_last:
            state.apply_action(move)
        else:
            state, sequences = state.child(move), sequences.copy()
    except Exception as error:
        description.tell_history(error, before, move)
        raise
    if acting >= 0:
        sequences[acting] = start + child
    return state, sequences


def expand_depth_first(tree: Any, most: int, most_memory: int | None) -> None:
    """Expands every unexpanded node, and looks at times for what no count shows.

    Raises:
        TreeFullError, MemoryBudgetError: there are more nodes than `most`, or the
            tree is by far too large, or the process has grown by more than
            `most_memory` or the budget.
        ValueError: a history is endless; or see `expand`.
    """
    nodes, budget, is_forecast = tree.node_store, tree.budget, False
    most_memory = budget.limit if most_memory is None else most_memory
    process, taken = resident(), budget.taken

    def look(state: pyspiel.State) -> int:
        nonlocal is_forecast
        if nodes.count > most:
            raise too_many_nodes(tree.game, most)
        tree.check_length(state)
        if not is_forecast:
            is_forecast = True
            tree.refuse_if_larger(most)
        counted = budget.taken - budget.held(UNCOUNTED) - taken
        budget.measured(UNCOUNTED, max(resident() - process - counted, 0))
        if budget.left < 0 or budget.taken - taken > most_memory:
            raise nodes.full(", with the states on the way,")
        return min(most, nodes.count + _CHECKED)

    root = tree.new_state(), list(range(tree.num_players))
    follows_all = [False] * (tree.num_players + 1)
    first_look = min(most, nodes.count + _CHECKED)
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
    """Expands a node and all below it that is unexpanded and surely visited, for a
    caller in the middle of a step under the lock.

    Args:
        node: where to begin.
        place: of that node.
        draws: by who acts, chance last, whether only one child is visited, which
            nobody knows yet.
        look_at: how many nodes there may be before the first look.
        look: is asked for the next such number at a node's state; -1 to stop there.
        opens: takes, by the numbers of their children, the nodes that have children
            to come.
    """
    nodes, (state, sequences) = tree.node_store, place
    old, way = nodes.count, []  # some of the old nodes are expanded
    # One pass visits one node: it expands the node if need be, puts it on the way
    # if its children follow, and goes on to the next child of the lowest node on
    # the way. A node's last child takes over its state, since nobody else needs
    # that any more.
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
            (opens if draws[acting] else way).append(opened)
        if nodes.count > look_at:
            look_at = look(state)
        if look_at < 0:
            opens += way
            opens.sort(key=_FIRST_CHILD)
        if look_at < 0 or not way:
            return
        opened = way[-1]
        child = opened[1]
        opened[1] = child + 1
        is_last = child + 1 == len(opened[2])
        if is_last:
            way.pop()
        state, sequences = child_of(opened, child, is_last=is_last)
        node = opened[0] + child


def expand(
    tree: Any, node: int, state: pyspiel.State, sequences: Sequence[int]
) -> tuple[Sequence[Any], int, int, int, int]:
    """Writes the record of one node and reserves its children, for a caller in the
    middle of a step under the lock.

    Args:
        node: an unexpanded node.
        state: its state, which is only read.
        sequences: `[P]` each player's last sequence before it.

    Returns:
        What leads to its children, in order: actions, or (action, probability)
        pairs at a chance node; and of its record `player`, `first_child`, `start`,
        `infoset`.

    Raises:
        TreeFullError: the tree is full.
        GameError: the state breaks perfect recall, or what the game declares.
        Exception: what the game's own methods raise, with the history as a note.
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
            # Most states have a string that was met before, after the same own
            # moves and with the same actions. Only others take the long way.
            infoset = met.number_of(info_state, -1)
            if (
                infoset < 0
                or met.parents[infoset] != parent  # which tells the player, too
                or met.legal_actions[infoset] != actions
            ):
                infoset = _meet(tree, node, info_state, state, parent, actions)
            start = met.starts[infoset]
        elif player == CHANCE_NODE:
            infoset = -1
            actions = state.chance_outcomes()
            if tree.is_of_user:
                description.check_outcomes(tree.declared.name, actions)
            # Equal distributions, like equal returns below, are stored once.
            probs = tuple([prob for _, prob in actions])
            tree.node_store.keep_outcomes(node, actions)
            start = tree.distributions.starts.get(probs, -1)
            if start < 0:
                start = tree.distributions.add(probs)
        elif player == TERMINAL:
            returns = description.returns_of(state)
            row = tree.payoffs.rows.get(returns, -1)
            if row < 0:
                row = tree.payoffs.add(returns, state)
            tree.node_store.end(node, row, TERMINAL)
            return (), TERMINAL, 0, row, -1
        else:
            raise description.no_such_player(tree.declared, player)
        first = tree.node_store.branch(node, start, infoset, len(actions), player)
    except TreeFullError:
        raise
    except Exception as error:
        if not isinstance(player, int) or player >= tree.num_players:
            refusal = description.no_such_player(tree.declared, player)
            description.tell_history(refusal, state)
            raise refusal from error
        description.tell_history(error, state)
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
    """The infoset of a state whose string, past or actions are new."""
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
    """Checks the first state of an infoset in a game whose author may be a user.

    OpenSpiel's own games pass, so they skip these checks.
    """
    name = tree.declared.name
    if not isinstance(info_state, str):
        raise GameError(
            f"{name} gives player {player} the information state {info_state!r}, "
            "which is no string."
        )
    if state.is_terminal():
        raise GameError(
            f"{name} has a state that is terminal (is_terminal()), but where "
            f"player {player} acts (current_player())."
        )
    description.check_actions(tree.declared, player, info_state, actions)
