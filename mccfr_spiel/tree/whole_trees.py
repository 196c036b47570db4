"""Whole trees to evaluate policies on, beside the trees that solvers grow.

Evaluating a policy must not change the solver that it comes from, so a tree that a
solver has grown is never completed in place. Instead the whole tree of its game is made
once and kept for as long as the grown tree lives.
"""

import weakref

import pyspiel

from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.tree.game_tree import DEFAULT_MAX_NODES, GameTree
from mccfr_spiel.tree.loading import load_game, same_game

_kept: weakref.WeakKeyDictionary[GameTree, GameTree] = weakref.WeakKeyDictionary()
"""For each grown tree a whole tree."""


def complete_tree(
    game: pyspiel.Game | str | GameTree,
    max_memory: MaxMemory = None,
    *,
    twin: bool | None = None,
    store: str = "tree",
) -> GameTree:
    """The whole tree of a game.

    A GameTree that consists of its root only is completed in place, within its own
    `max_nodes`. One that a solver has grown is left as it is, and a whole tree is made
    beside it, once.

    Args:
        game: a game, its load string or its tree.
        max_memory: as in `GameTree`, for a tree that is made here. By default a tree
            beside another has the `max_memory` that the other was given.
        twin: likewise; by default a tree beside one that refuses its twin does, too.
        store: what the whole tree keeps, see `GameTree.make_whole`.

    Raises:
        TreeFullError, MemoryBudgetError: see `GameTree.make_whole`.
        ValueError: see `GameTree`, or the GameTree has an abstraction.
    """
    if not isinstance(game, GameTree):
        tree = GameTree(game, max_memory=max_memory, twin=twin)
        return tree.make_whole(store)
    if game.abstraction is not None:
        raise ValueError(
            f"This tree of {game.source} has an abstraction, in which players may "
            "forget: there are no plans to optimize. Give the game itself; a policy "
            "with an abstraction is evaluated in that."
        )
    is_new = game.num_nodes == 1 and not game.num_infosets
    if is_new and game.rule_store is None:
        return game.make_whole(store)
    return whole_tree_beside(game, game.source, max_memory, twin=twin, store=store)


def whole_tree_beside(
    grown: GameTree,
    game: pyspiel.Game | str,
    max_memory: MaxMemory = None,
    *,
    max_nodes: int | None = None,
    twin: bool | None = None,
    store: str = "tree",
) -> GameTree:
    """The whole tree of a game, which may be a policy's tree if that is of this game.

    Args:
        grown: the policy's tree, which is not changed.
        game: in which to evaluate the policy, be it the tree's game or another.
        max_memory, twin, store: see `complete_tree`.
        max_nodes: of a tree that is made here; by default as many as the policy's tree
            may have.

    Returns:
        `grown` itself if it is whole and surely of that game; else the tree that is
        kept with it, if that is surely of that game; else a new one.
    """
    source = load_game(game)
    if grown.abstraction is None and _is_of(grown, source) and _keeps(grown, store):
        return grown
    kept = _kept.get(grown)
    if kept is not None and _is_of(kept, source) and _keeps(kept, store):
        return kept
    most = max(DEFAULT_MAX_NODES, grown.max_nodes)
    if max_memory is None and not grown.budget.is_default:
        max_memory = grown.budget.limit
    whole = GameTree(
        source,
        max_nodes=most if max_nodes is None else max_nodes,
        max_memory=max_memory,
        twin=False if twin is None and grown.twin is False else twin,
    )
    _kept[grown] = whole.make_whole(store)
    return whole


def _keeps(tree: GameTree, store: str) -> bool:
    """Whether a tree is whole, and keeps what is wanted."""
    return tree.has_all_infosets and store in ("auto", tree.store)


def _is_of(tree: GameTree, game: pyspiel.Game) -> bool:
    return game is tree.game or same_game(game, tree.source)
