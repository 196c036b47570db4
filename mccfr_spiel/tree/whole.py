"""The expansion of a whole tree through pyspiel, and the watch over it.

Compiled rules do not come here: rules/expansion.py expands them with no Python per
node.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pyspiel

from mccfr_spiel.arrays import UNEXPANDED
from mccfr_spiel.display.lines import brief
from mccfr_spiel.limits.budget import TreeFullError, resident
from mccfr_spiel.limits.forecast import refusal
from mccfr_spiel.rules.declared import tell_history
from mccfr_spiel.tree.readable import ReadableTree
from mccfr_spiel.tree.sizes import UNCOUNTED

_CHECKED = 1024
"""The expansion looks every so many nodes at what cannot be counted."""


class _Watch:
    """Looks at an expansion every now and then, for what counting does not show."""

    def __init__(self, tree: ReadableTree, most: int, most_memory: int | None) -> None:
        self._tree, self._most = tree, most
        self._most_memory = tree.budget.limit if most_memory is None else most_memory
        self._resident, self._taken = resident(), tree.budget.taken
        self._is_forecast = False

    def look(self, state: pyspiel.State) -> None:
        """Checks a history's length, the size of the tree to come, and the process.

        Raises:
            ValueError: the history is endless.
            TreeFullError: the tree is by far too large.
            MemoryBudgetError: the process has grown by more than the budget.
        """
        self._tree.check_length(state)
        if not self._is_forecast:
            self._is_forecast = True
            self._check_forecast()
        budget = self._tree.budget
        uncounted = budget.held(UNCOUNTED)
        counted = budget.taken - uncounted - self._taken
        grown = resident() - self._resident
        budget.measured(UNCOUNTED, max(grown - counted, 0))
        if budget.left < 0 or budget.taken - self._taken > self._most_memory:
            raise self._tree.node_store.full(", with the states on the way,")

    def _check_forecast(self) -> None:
        tree, most = self._tree, self._most
        found = tree.forecast(most)
        if found.endless is not None:
            tree.check_length(found.endless)
        error = refusal(found, str(tree.source), most, tree.budget)
        if error is not None:
            raise error


def expand_depth_first(
    tree: ReadableTree,
    expand: Callable[..., tuple[Sequence[Any], int, int, int, int]],
    most: int,
    most_memory: int | None,
) -> None:
    """Expands every node of a tree that is unexpanded, under the tree's lock.

    Args:
        tree: the tree.
        expand: its `GameTree.expand_held`.
        most: how many nodes there may be.
        most_memory: how many bytes the expansion may take, all of the budget by
            default.

    Raises:
        TreeFullError, MemoryBudgetError: there are more.
        ValueError: see `GameTree.expand`.
    """
    nodes = tree.node_store
    record = nodes.record
    node, state, sequences = 0, tree.new_state(), list(range(tree.num_players))
    stack: list[list[Any]] = []  # the next child, the moves, and the node's record
    check_at = min(most, nodes.count + _CHECKED)
    watch = _Watch(tree, most, most_memory)
    # One pass visits one node: it expands the node if need be, puts it on the stack if
    # it has children, and goes on to the next child of the node on top. `state` and
    # `sequences` are those of `node`. The stack holds the nodes above it that have
    # children to come, each with its own copy of them; a node's last child takes the
    # copies over, since nobody else needs them any more.
    while True:
        first, start, _, _, player = record(node)
        if player == UNEXPANDED:
            moves, player, first, start, _ = expand(node, state, sequences)
            if nodes.count > check_at:
                if nodes.count > most:
                    raise TreeFullError(
                        f"{brief(tree.game)} has more than {most} nodes."
                    )
                watch.look(state)
                check_at = min(most, nodes.count + _CHECKED)
        else:
            moves = _moves(state)
        if moves:
            stack.append([0, moves, player, first, start, state, sequences])
        if not stack:
            return
        child, moves, player, first, start, state, sequences = stack[-1]
        move = moves[child] if player >= 0 else moves[child][0]
        try:
            if child + 1 == len(moves):
                stack.pop()
                state.apply_action(move)
            else:
                stack[-1][0] = child + 1
                state = state.child(move)
                sequences = sequences.copy()
        except Exception as error:
            tell_history(error, state, move)
            raise
        if player >= 0:
            sequences[player] = start + child
        node = first + child


def _moves(state: pyspiel.State) -> Sequence[Any]:
    """What leads from a state, as `GameTree.expand` returns it."""
    return state.chance_outcomes() if state.is_chance_node() else state.legal_actions()
