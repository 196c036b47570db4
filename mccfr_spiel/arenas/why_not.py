"""Reasons why an arena does not suit an algorithm, as sentences for error messages.

    why_nowhere                   rules out every arena
    why_not_whole_tree, ...       rules out one arena; used by CANDIDATES in choosing.py
    why_whole_tree_is_too_large   error of a size forecast, before anything is expanded

The functions build nothing. They return None (`why_nowhere`: an empty string) if they
have no objection. needs.py has the sentences that depend on the algorithm alone.
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
"""Largest tree that compiled rules expand before walks begin; takes a few seconds."""


def why_nowhere(request: ArenaRequest) -> str:
    """Why the algorithm runs in no arena of the game; empty if it may run."""
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
            f'prune="regret" requires two players, but {brief(table.source)} has '
            f"{table.num_players} players; use ms.algorithms.PRUNED_CFR or ms.CFR."
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
            "Each worker of a cluster loads the game from its string, but "
            f"{brief(table.source)} cannot be loaded from its string. {error}"
        )
    return ""


def why_not_given(arena: ArenaTable, request: ArenaRequest) -> str | None:
    """Why an algorithm cannot run in an arena that the user passed as `game`."""
    needs, store = request.needs, request.store
    if store not in ("auto", arena.store):
        return (
            f"This arena of {brief(arena.source)} keeps no nodes, but store={store!r} "
            "was requested. Pass the game instead."
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
    """Reason against expanding the whole tree."""
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
    """Forecasts the size of the tree in about half a second."""
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
    """Reason against expanding nodes only where walks go."""
    if request.needs.all_infosets:
        return f"{request.needs.algorithm} needs the whole tree."
    return None


# --- arenas without nodes -------------------------------------------------------------


def why_not_hands(request: ArenaRequest) -> str | None:
    """Reason against passes over vectors of hands on a public tree."""
    if not _has_hands(request.tree):
        return f"{brief(request.tree.source)} is not a game of hands of cards."
    return _why_not_without_nodes(request)


def why_not_worlds(request: ArenaRequest) -> str | None:
    """Reason against passes over worlds."""
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
    """Reason against passes that follow all histories by compiled rules."""
    if not request.needs.all_infosets:
        return f"{request.needs.algorithm} walks over the rules instead."
    if not request.needs.can_do_without_nodes:
        return _no_tree_is_kept(request)
    return why_no_rules(request, "any") or _why_not_unexpanded(request.tree)


def why_not_rules(request: ArenaRequest) -> str | None:
    """Reason against walks over compiled rules that keep infosets only."""
    if request.needs.all_infosets:
        return _no_tree_is_kept(request)
    use: Use = "walking" if request.asks_for("auto") else "any"
    return why_no_rules(request, use) or _why_not_unexpanded(request.tree)


def why_no_rules(request: ArenaRequest, use: Use) -> str | None:
    """Reason if neither the game nor its twin has compiled rules for this use."""
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
        f"{tree.num_infosets} infosets already, and other solvers or policies may use "
        "their numbering; pass the game instead."
    )


def _no_tree_is_kept(request: ArenaRequest) -> str:
    return (
        f"store='none' keeps no tree, and {request.needs.algorithm} needs a whole "
        "tree. Use store='tree', or external or outcome sampling."
    )


def _has_hands(tree: GameTree) -> bool:
    return tree.abstraction is None and has_public_tree(tree.game)


def never_too_large(request: ArenaRequest) -> TreeFullError | None:
    """No forecast: the size is known only after building."""
    return None
