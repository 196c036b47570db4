"""Builds the arenas that `choose_arena` has found suitable.

Each function raises a ValueError, such as TreeFullError, if the arena turns out to be
too large or unsuitable. After such an error no memory of the arena remains allocated.
"""

from mccfr_spiel.arenas.arena import Arena
from mccfr_spiel.arenas.hand_arena import BlockArena, HandArena
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
"""Maximum number of nodes of a game for passes over all histories. A pass over so many
nodes takes about an hour."""

NODES_BEFORE_FORECAST = 1_000_000
"""Number of nodes to expand before forecasting the size of a tree. A forecast takes
half a second, more than the expansion of a smaller tree by compiled rules."""


class UnsuitableError(ValueError):
    """Building an arena revealed that the game does not suit it."""


def build_whole_tree(request: ArenaRequest) -> Arena:
    """Expands the whole tree.

    If the algorithm runs walks, which do not need the whole tree, it is only expanded
    up to MAX_NODES_IN_ADVANCE nodes.

    Raises:
        TreeFullError: the tree is too large.
    """
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
    """Expands a tree by compiled rules before its first walk.

    Raises:
        TreeFullError: the tree has more than MAX_NODES_IN_ADVANCE nodes, or exceeds its
            own limits on nodes or memory.
    """
    try:
        tree.expand_by_rules(NODES_BEFORE_FORECAST)
    except TreeFullError:
        if is_surely_larger(tree, MAX_NODES_IN_ADVANCE):
            raise
        tree.expand_by_rules(MAX_NODES_IN_ADVANCE)


def build_growing_tree(request: ArenaRequest) -> Arena:
    """Wraps the tree of the request; walks expand its nodes later."""
    return GrowingTree(request.tree)


def build_blocks(request: ArenaRequest) -> Arena:
    """Lays out the blocks of the game's public tree."""
    return _build_hands(BlockArena, request)


def build_hands(request: ArenaRequest) -> Arena:
    """Lists the possible private hands at every node of the game's public tree."""
    return _build_hands(HandArena, request)


def _build_hands(kind: type[HandArena], request: ArenaRequest) -> Arena:
    source, budget = request.tree.source, request.new_budget()
    try:
        return kind(source, budget, **request.settings)
    except (TreeFullError, GameError):
        raise
    except ValueError as error:  # for example, the game has merged isomorphic suits
        raise UnsuitableError(str(error)) from error


def build_worlds(request: ArenaRequest) -> Arena:
    """Searches the game for its worlds (shared facts, see arenas/worlds/)."""
    source, budget = request.tree.source, request.new_budget()
    rules = _rules(request)
    return find_arena(rules, source, budget, has_worlds=True, **request.settings)


def build_histories(request: ArenaRequest) -> Arena:
    """Finds all infosets in one pass over the histories.

    Raises:
        TreeFullError: a forecast shows more than MAX_HISTORY_NODES nodes.
    """
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
    """Creates an arena of compiled rules, to which walks add infosets later."""
    source, budget = request.tree.source, request.new_budget()
    return RuleArena(source, _rules(request), budget, **request.settings)


def _rules(request: ArenaRequest) -> BoundRules:
    rules = request.tree.rules_for("any")
    if rules is None:
        raise ValueError(why_no_rules(request, "any"))
    return rules
