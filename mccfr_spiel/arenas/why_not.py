"""Reasons why an arena cannot be used, as sentences for error messages.

    why_nowhere                   reason that excludes every arena
    why_not_whole_tree, ...       reason that excludes one arena; CANDIDATES in
                                  choosing.py refers to these functions
    why_whole_tree_is_too_large   error if a forecast shows that a tree is too large

No function expands a tree or builds an arena. The result is None, or for `why_nowhere`
an empty string, if there is no reason against the arena. The sentences that depend on
the algorithm alone are in needs.py.
"""

from mccfr_spiel.arenas.arena import ArenaTable
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.request import ArenaRequest
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.size_forecast import refuse_larger_tree
from mccfr_spiel.arenas.tree.twin_choice import Use, known_twin
from mccfr_spiel.arenas.worlds import finding
from mccfr_spiel.arenas.worlds.public_tree_reader import (
    has_public_tree,
    needs_public_tree,
)
from mccfr_spiel.common.budget import (
    TreeFullError,
)
from mccfr_spiel.common.display import brief

MAX_NODES_IN_ADVANCE = 20_000_000
"""Maximum number of nodes of a tree that compiled rules expand completely before walks
begin, which takes a few seconds."""


def why_nowhere(request: ArenaRequest) -> str:
    """Returns the reason why the algorithm cannot run in any arena of the game; an
    empty string if there is none."""
    table, needs = request.tree, request.needs
    if table.abstraction is not None and needs.no_abstraction:
        return needs.no_abstraction
    if table.abstraction is not None and table.num_players < 2:
        return (
            f"{brief(table.source)} has one player. An abstraction requires at least "
            "two players, because the average policy of each player is updated in the "
            "walks of the other players."
        )
    if needs.leaf_rows and table.num_players != 2:
        return (
            f'prune="regret" requires two players; {brief(table.source)} has '
            f"{table.num_players} players. Use ms.algorithms.PRUNED_CFR or ms.CFR."
        )
    if needs.locks and needs.no_locks:
        return needs.no_locks
    return _why_no_cluster(request) if needs.cluster else ""


def _why_no_cluster(request: ArenaRequest) -> str:
    table, needs = request.tree, request.needs
    if needs.no_cluster:
        return needs.no_cluster
    if table.abstraction is not None:
        return (
            "A cluster cannot split a game with an abstraction, in which infosets "
            "share policies; drop cluster or the abstraction."
        )
    if request.store == "none":
        return (
            "store='none' keeps no tree, but cluster= splits walks over a whole tree; "
            "drop store or cluster."
        )
    try:
        load_game(str(table.source))
    except ValueError as error:
        return (
            "Workers of a cluster load the game from a string, but "
            f"{brief(table.source)} cannot be loaded from a string. {error}"
        )
    return ""


def why_not_given(arena: ArenaTable, request: ArenaRequest) -> str | None:
    """Returns the reason why an algorithm cannot run in the arena that the user passed
    as `game`; None if it can."""
    needs, store = request.needs, request.store
    if store not in ("auto", arena.store):
        return (
            f"This arena of {brief(arena.source)} keeps no nodes, but store={store!r} "
            "requires them. Pass the game instead."
        )
    if arena.has_gradients and not needs.can_do_without_nodes:
        return (
            f"This arena of {brief(arena.source)} keeps worlds or infosets only, for "
            "algorithms that sample and prune nothing, and cannot run "
            f"{needs.algorithm}. Pass the game instead."
        )
    if not arena.has_gradients and needs.all_infosets:
        return (
            f"This arena of {brief(arena.source)} walks over compiled rules and keeps "
            f"no nodes, but {needs.algorithm} needs all of them. Pass the game instead."
        )
    return None


# --- trees ----------------------------------------------------------------------------


def why_not_whole_tree(request: ArenaRequest) -> str | None:
    """Returns the reason why the whole tree should not be expanded; None if it may be.

    The size of the tree is checked later, by `why_whole_tree_is_too_large`.
    """
    tree, needs = request.tree, request.needs
    if tree.is_complete and tree.num_infosets:
        return None
    if needs.all_infosets:
        is_free = request.asks_for("auto") and needs.can_do_without_nodes
        has_hands = is_free and tree.is_new and _has_hands(tree)
        if has_hands and needs_public_tree(tree.game):
            return "The game is always solved by hands of cards."
        return None
    if not tree.is_new:
        return "The tree grows with the walks."
    if tree.rules_for("walking") is None:
        return "No compiled rules expand the tree in advance."
    return None


def why_whole_tree_is_too_large(request: ArenaRequest) -> TreeFullError | None:
    """Forecasts the size of the whole tree, which takes about half a second.

    Returns:
        The error to raise if the tree is surely too large; None if it may fit.
    """
    tree, limit = request.tree, request.tree.max_nodes
    if not request.needs.all_infosets:
        limit = min(limit, MAX_NODES_IN_ADVANCE)
    if tree.is_complete:
        return None
    try:
        refuse_larger_tree(tree, limit)
    except TreeFullError as error:
        return error
    return None


def why_not_growing_tree(request: ArenaRequest) -> str | None:
    """Returns the reason why a tree that is only expanded where walks go cannot be
    used; None if it can."""
    if request.needs.all_infosets:
        return f"{request.needs.algorithm} needs the whole tree."
    return None


# --- arenas without nodes -------------------------------------------------------------


def why_not_hands(request: ArenaRequest) -> str | None:
    """Returns the reason why the game cannot be solved by vectors of private hands on a
    public tree; None if it can."""
    if not _has_hands(request.tree):
        return f"{brief(request.tree.source)} is not a game of hands of cards."
    return _why_not_without_nodes(request)


def why_not_blocks(request: ArenaRequest) -> str | None:
    """Returns the reason why the game cannot be solved with blocks of float32 tables
    per public decision; None if it can."""
    if not _has_hands(request.tree):
        return f"{brief(request.tree.source)} is not a game of hands of cards."
    if request.asks_for("auto") and not hasattr(request.tree.game, "subgame"):
        return "Tables of float32 are chosen for subgames of hold'em only."
    return _why_not_without_nodes(request) or request.needs.no_blocks or None


def why_not_worlds(request: ArenaRequest) -> str | None:
    """Returns the reason why the game cannot be solved by worlds (shared facts, see
    arenas/worlds/); None if it can."""
    tree = request.tree
    if _has_hands(tree):
        return "The game is solved by hands of cards instead of worlds."
    rules = tree.rules
    if rules is None and tree.twin is not False and tree.abstraction is None:
        rules = known_twin(tree.game)
    if reason := finding.why_no_worlds(rules):
        return (
            f"store='worlds' needs a game with worlds, but {brief(tree.source)} "
            f"{reason}. Use store='tree', or an algorithm that samples."
        )
    return _why_not_without_nodes(request)


def why_not_histories(request: ArenaRequest) -> str | None:
    """Returns the reason why passes cannot follow all histories by compiled rules; None
    if they can."""
    if not request.needs.all_infosets:
        return f"{request.needs.algorithm} walks over the rules instead."
    if not request.needs.can_do_without_nodes:
        return _no_tree_is_kept(request)
    return why_no_rules(request, "any") or _why_not_unexpanded(request.tree)


def why_not_rules(request: ArenaRequest) -> str | None:
    """Returns the reason why walks cannot use compiled rules without stored nodes; None
    if they can."""
    if request.needs.all_infosets:
        return _no_tree_is_kept(request)
    use: Use = "walking" if request.asks_for("auto") else "any"
    return why_no_rules(request, use) or _why_not_unexpanded(request.tree)


def why_no_rules(request: ArenaRequest, use: Use) -> str | None:
    """Returns the reason why there are no compiled rules for a purpose, neither of the
    game nor a twin; None if there are."""
    tree = request.tree
    if tree.rules_for(use) is not None:
        return None
    problem = "an abstraction" if tree.abstraction else "no compiled rules"
    if tree.abstraction is None and known_twin(tree.game) is not None:
        problem = "a compiled twin that differs from the game"
        if tree.twin is False:
            problem = "no compiled rules except a twin, and twin=False refuses it"
    return (
        f"store='none' walks over compiled rules, but {brief(tree.source)} has "
        f"{problem}. Use store='tree' or 'auto'. docs/own_game.md explains how to "
        "write compiled rules."
    )


def _why_not_without_nodes(request: ArenaRequest) -> str | None:
    if not request.needs.can_do_without_nodes:
        return (
            "store='worlds' is for algorithms that sample and prune nothing, but "
            f"{request.needs.algorithm} does; use ms.CFR or ms.CFR_PLUS, or "
            "store='none'."
        )
    return _why_not_unexpanded(request.tree)


def _why_not_unexpanded(tree: GameTree) -> str | None:
    if tree.is_new:
        return None
    return (
        f"The tree of {brief(tree.source)} has {tree.num_nodes} nodes and "
        f"{tree.num_infosets} infosets already, and other solvers or policies may "
        "depend on the numbering; pass the game instead."
    )


def _no_tree_is_kept(request: ArenaRequest) -> str:
    return (
        f"store='none' keeps no tree, and {request.needs.algorithm} needs a whole "
        "tree. Use store='tree', or external or outcome sampling."
    )


def _has_hands(tree: GameTree) -> bool:
    return tree.abstraction is None and has_public_tree(tree.game)


def never_too_large(request: ArenaRequest) -> TreeFullError | None:
    """Returns None for arenas whose size is known only after building."""
    return None
