"""Forecasts the size of a whole tree from random histories, in about half a second."""

from typing import Any

from mccfr_spiel.arenas.rules.state_checks import (
    tell_history,
)
from mccfr_spiel.common.budget import TreeFullError
from mccfr_spiel.common.forecasts import NODE_BYTES, Forecast, forecast, refusal


def forecast_size(tree: Any, max_nodes: float | None = None) -> Forecast:
    """Estimates the number of nodes and the bytes of a whole tree, see
    `common.forecasts.forecast`.

    Args:
        tree: a GameTree.
        max_nodes: largest acceptable number of nodes; the tree's limits on nodes and
            memory if None. The forecast stops early if the tree is clearly smaller or
            larger.

    Raises:
        ValueError: a history is far longer than the game declares.
    """
    fit: float = min(tree.max_nodes, tree.budget.limit / NODE_BYTES)
    estimate = forecast(
        tree.new_state,
        tree.string_of,
        tell_history,
        longest=tree.longest_history,
        per_infoset=tree.budget.per_infoset,
        most_nodes=fit if max_nodes is None else max_nodes,
    )
    if estimate.endless is not None:
        tree.check_length(estimate.endless)
    return estimate


def refuse_larger_tree(tree: Any, limit: int) -> None:
    """Raises an error if a whole tree is surely too large, according to a forecast.

    The probability of refusing a tree that fits is at most 10^-7.

    Args:
        tree: a GameTree.
        limit: maximum number of nodes; not larger than the tree's `max_nodes`.

    Raises:
        TreeFullError: the tree has more than `limit` nodes.
        MemoryBudgetError: the nodes do not fit into the tree's `max_memory`.
        ValueError: a history is far longer than the game declares.
    """
    fit = min(limit, tree.max_nodes, tree.budget.limit / NODE_BYTES)
    estimate = forecast_size(tree, fit)
    error = refusal(estimate, str(tree.source), limit, tree.budget)
    if error is not None:
        raise error


def is_surely_larger(tree: Any, limit: int) -> bool:
    """Whether a whole tree surely has more than `limit` nodes, or surely does not fit
    into its `max_memory`; see `refuse_larger_tree`."""
    try:
        refuse_larger_tree(tree, limit)
    except TreeFullError:
        return True
    return False
