"""Builds the arenas that `choose_arena` has found suitable.

Each function raises ValueError, such as a TreeFullError, if the arena turns out not to
fit or not to suit. It then holds no memory.
"""

from mccfr_spiel.arenas.arena import Arena
from mccfr_spiel.arenas.hand_arena import HandArena
from mccfr_spiel.arenas.request import ArenaRequest
from mccfr_spiel.arenas.rule_arena import RuleArena
from mccfr_spiel.arenas.rules.bound_rules import (
    BoundRules,
)
from mccfr_spiel.arenas.rules.declarations import (
    GameError,
)
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.size_forecast import is_surely_larger
from mccfr_spiel.arenas.tree_arenas import GrowingTree, WholeTree
from mccfr_spiel.arenas.why_not import MAX_NODES_IN_ADVANCE, why_no_rules
from mccfr_spiel.arenas.world_arenas import find_arena
from mccfr_spiel.common.budget import (
    TreeFullError,
)
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.forecasts import exceeds

MAX_HISTORY_NODES = 10**11
"""Largest game for passes over histories; one pass takes about an hour."""

NODES_BEFORE_FORECAST = 1_000_000
"""Number of nodes to expand before forecasting the size of a tree. A forecast takes
half a second, more than the expansion of a smaller tree by compiled rules."""


class UnsuitableError(ValueError):
    """A game turned out not to suit an arena while the arena was built."""


def build_whole_tree(request: ArenaRequest) -> Arena:
    """Expands the whole tree; for walks, only if that takes a few seconds."""
    tree = request.tree
    if request.needs.all_infosets:
        try:
            tree.expand_all()
        except TreeFullError as error:
            error.add_note(f"{request.needs.algorithm} needs the whole tree.")
            raise
    elif not tree.is_complete:
        _expand_in_advance(tree)
    return WholeTree(tree)


def _expand_in_advance(tree: GameTree) -> None:
    """Expands a tree by compiled rules.

    Raises:
        TreeFullError: the tree has more than MAX_NODES_IN_ADVANCE nodes, or more than
            its own limits allow.
    """
    try:
        tree.expand_by_rules(NODES_BEFORE_FORECAST)
    except TreeFullError:
        if is_surely_larger(tree, MAX_NODES_IN_ADVANCE):
            raise
        tree.expand_by_rules(MAX_NODES_IN_ADVANCE)


def build_growing_tree(request: ArenaRequest) -> Arena:
    """Expands nothing yet."""
    return GrowingTree(request.tree)


def build_hands(request: ArenaRequest) -> Arena:
    """Lists the hands at every node of the public tree."""
    source, budget = request.tree.source, request.new_budget()
    try:
        return HandArena(source, budget, **request.settings)
    except (TreeFullError, GameError):
        raise
    except ValueError as error:  # for example, isomorphic suits that were merged
        raise UnsuitableError(str(error)) from error


def build_worlds(request: ArenaRequest) -> Arena:
    """Searches the game for its worlds."""
    source, budget = request.tree.source, request.new_budget()
    rules = _rules(request)
    return find_arena(rules, source, budget, has_worlds=True, **request.settings)


def build_histories(request: ArenaRequest) -> Arena:
    """Finds all infosets in one pass over the histories."""
    tree = request.tree
    estimate = tree.forecast(MAX_HISTORY_NODES)
    if exceeds(estimate.nodes, MAX_HISTORY_NODES):
        raise TreeFullError(
            f"{brief(tree.source)} has {estimate.in_words()}. store='none' visits "
            f"all of them in each pass, and more than {MAX_HISTORY_NODES:.0e} would "
            "take hours. Use external or outcome sampling."
        )
    rules, budget = _rules(request), request.new_budget()
    return find_arena(rules, tree.source, budget, has_worlds=False, **request.settings)


def build_rules(request: ArenaRequest) -> Arena:
    """Prepares walks over compiled rules; no infoset is met yet."""
    source, budget = request.tree.source, request.new_budget()
    return RuleArena(source, _rules(request), budget, **request.settings)


def _rules(request: ArenaRequest) -> BoundRules:
    rules = request.tree.rules_for("any")
    if rules is None:
        raise ValueError(why_no_rules(request, "any"))
    return rules
