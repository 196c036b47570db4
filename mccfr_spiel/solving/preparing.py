"""What a solver needs before it can begin: a tree of the right kind, and its kernel."""

from typing import Any

from mccfr_spiel.algorithms import Algorithm, OwnEstimator
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import TreeFullError
from mccfr_spiel.kernels.passes import make_passes
from mccfr_spiel.kernels.regret_pruning import iterate_pruned
from mccfr_spiel.kernels.stored import make_iterate
from mccfr_spiel.rules.faced import FACED
from mccfr_spiel.rules.played import PLAYED, make_rule_iterate
from mccfr_spiel.solving.state import (
    can_take_worlds,
    kernel_name,
    needs_whole_tree,
    sampled_by,
)
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.worlds.passes import make_world_iterate

STORES = "auto", "tree", "none", "worlds"
"""What `store` may be."""

_MOST_NODES_AHEAD = 20_000_000
"""Compiled rules expand so many nodes in a few seconds, so they do it in advance."""

_FEW_NODES_AHEAD = 1_000_000


def prepare_tree(
    tree: GameTree, algorithm: Algorithm, store: str, *, splits: bool
) -> None:
    """Makes a tree whole, or one without nodes, if it is to be so.

    Args:
        tree: what the algorithm runs on.
        algorithm: what is run.
        store: as in `Solver`.
        splits: whether processes of a cluster share its batches.

    Raises:
        ValueError: the tree is of another kind, or the algorithm cannot take it.
    """
    if tree.abstraction is not None:
        _check_supports_abstraction(algorithm)
        if tree.num_players < 2:
            raise ValueError(
                f"{brief(tree.game)} has one player. With an abstraction the average "
                "is made in the walks for other players, so there must be two or more."
            )
    if algorithm.sampling.prunes_by_regret and tree.num_players != 2:
        raise ValueError(
            f'prune="regret" sums up what the other player has played, and '
            f"{brief(tree.game)} has {tree.num_players} players; use ms.PRUNED_CFR or "
            "ms.CFR."
        )
    _check_store(store, algorithm)
    if splits:
        if store == "none":
            raise ValueError(
                "store='none' keeps no tree, and a cluster splits walks over a whole "
                "one; drop one of them."
            )
        tree.expand_all()
        store = "tree"
    takes_histories = store == "none" and needs_whole_tree(algorithm)
    if store == "worlds" or takes_histories or tree.worlds is not None:
        if tree.worlds is not None and store not in ("auto", tree.store):
            raise ValueError(
                f"This tree of {brief(tree.source)} keeps worlds or infosets only. "
                "Give the solver the game instead of the tree."
            )
        _check_takes_worlds(algorithm)
        tree.find_worlds(store)
    elif store == "none":
        tree.walk_rules()
    elif tree.rule_store is not None:
        if store == "tree" or needs_whole_tree(algorithm):
            raise ValueError(
                f"This tree of {brief(tree.source)} is that of walks over compiled "
                "rules, which keep no nodes. Give the solver the game instead of "
                "the tree."
            )
    elif needs_whole_tree(algorithm):
        is_auto = store == "auto" and can_take_worlds(algorithm)
        try:
            tree.make_whole("auto" if is_auto else "tree")
        except TreeFullError as error:
            error.add_note(f"{algorithm} needs the whole tree.")
            raise
    elif not tree.num_infosets and tree.rules_for_walks() is not None:
        # A forecast takes half a second, in which small trees have long been made.
        for most in (_FEW_NODES_AHEAD, _MOST_NODES_AHEAD):
            try:
                tree.expand_by_rules(most)
                break
            except TreeFullError:
                if tree.is_surely_larger_than(_MOST_NODES_AHEAD):
                    break
        if store == "auto" and not tree.is_complete:  # else it grows with the walks
            tree.walk_rules()


def kernel_on(tree: GameTree, algorithm: Algorithm) -> Any:
    """The compiled function that runs iterations on a tree that is prepared."""
    sampling, rule = algorithm.sampling, kernel_name(algorithm.minimizer)
    if sampling.prunes_by_regret:
        return iterate_pruned
    if isinstance(sampling, OwnEstimator) or tree.start_pass is not None:
        return make_passes(rule, estimated=True)
    if tree.worlds is not None:
        return make_world_iterate(rule, type(tree.worlds))
    if tree.rule_store is not None:
        source = FACED if tree.rule_store.rules.faced else PLAYED
        return make_rule_iterate(rule, sampled_by(algorithm), source)
    forgets = tree.abstraction is not None
    if forgets or sampling.is_sampled or sampling.prune:
        return make_iterate(rule, sampled_by(algorithm), forgets)
    return make_passes(rule)


def _check_store(store: Any, algorithm: Algorithm) -> None:
    """Raises ValueError if what `store` asks for cannot be had."""
    if store not in STORES:
        raise ValueError(f"store={store!r} is not one of {', '.join(STORES)}.")
    takes_histories = can_take_worlds(algorithm)
    if store == "none" and needs_whole_tree(algorithm) and not takes_histories:
        raise ValueError(
            f"store='none' keeps no tree, and {algorithm} needs a whole one. Use "
            "store='tree', or external or outcome sampling."
        )


def _check_takes_worlds(algorithm: Algorithm) -> None:
    if not can_take_worlds(algorithm):
        raise ValueError(
            f"store='worlds' is for algorithms that sample and prune nothing, and "
            f"{algorithm} does; use ms.CFR or ms.CFR_PLUS, or store='none'."
        )


def _check_supports_abstraction(algorithm: Algorithm) -> None:
    if isinstance(algorithm.sampling, OwnEstimator):
        raise ValueError(
            f"{algorithm.sampling.name} gives gradients by sequences of players who "
            "forget nothing; drop it or the abstraction."
        )
    if not algorithm.minimizer.allows_abstraction:
        raise ValueError(
            f"{algorithm.minimizer.rule} is only for players who forget nothing; with "
            "an abstraction use regret_matching or regret_matching_plus."
        )
    if algorithm.sampling.player == "balanced":
        raise ValueError(
            "The balanced strategy counts the sequences of players who forget nothing; "
            "with an abstraction use outcome(epsilon)."
        )
    if algorithm.sampling.player == "average":
        raise ValueError(
            "Average-strategy sampling asks how often an infoset has been played to, "
            "which is not known of players who forget; with an abstraction use "
            "outcome(epsilon)."
        )
    for given, is_given in (
        ("prune_below", algorithm.sampling.prune_below is not None),
        ('prune="regret"', algorithm.sampling.prunes_by_regret),
    ):
        if is_given:
            raise ValueError(
                f"{given} goes by the regrets of players who forget nothing; drop it "
                "or the abstraction."
            )
