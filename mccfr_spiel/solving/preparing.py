"""What a solver needs before it can begin: a tree of the right kind, and its locks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.algorithms import Algorithm, Minimizer, OwnEstimator, OwnRule
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import TreeFullError
from mccfr_spiel.kernels.minimizers import name_of_own
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.whole import check_store

_MOST_NODES_AHEAD = 20_000_000
"""The most nodes that compiled rules expand in advance, which takes a few seconds."""

_FEW_NODES_AHEAD = 1_000_000
"""The nodes that are expanded before a forecast is made."""


def kernel_name(minimizer: Minimizer) -> str:
    """The name by which kernels know a rule."""
    if isinstance(minimizer, OwnRule):
        return name_of_own(minimizer.update, minimizer.compiled)
    return minimizer.rule


def sampled_by(algorithm: Algorithm) -> Sampled:
    """What the walks of an algorithm sample, as kernels are told."""
    sampling = algorithm.sampling
    return Sampled(
        chance=sampling.chance,
        opponents=sampling.opponents,
        player=sampling.player,
        prune=bool(sampling.prune),
        draws_one_action=sampling.draws_one_action,
        picks_actions=sampling.picks_actions,
        skips=sampling.prune_below is not None,
        baseline=sampling.baseline,
        batched=algorithm.batch != 1,
    )


def needs_whole_tree(algorithm: Algorithm) -> bool:
    """Whether an algorithm cannot run on a tree that grows with its walks."""
    sampling, minimizer, *_ = algorithm
    whole = not sampling.is_sampled or sampling.player == "balanced"
    return whole or minimizer.needs_whole_tree


def can_take_worlds(algorithm: Algorithm) -> bool:
    """Whether an algorithm can run on worlds, where no nodes are kept."""
    sampling = algorithm.sampling
    is_own = isinstance(sampling, OwnEstimator)
    return not (sampling.is_sampled or sampling.prune or is_own)


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
                f"{brief(tree.source)} has one player. With an abstraction the average "
                "is made in the walks for other players, so there must be two or more."
            )
    if algorithm.sampling.prunes_by_regret and tree.num_players != 2:
        raise ValueError(
            f'prune="regret" sums up what the other player has played, and '
            f"{brief(tree.source)} has {tree.num_players} players; use ms.PRUNED_CFR "
            "or ms.CFR."
        )
    check_store(store)
    takes_histories = store == "none" and needs_whole_tree(algorithm)
    if takes_histories and not can_take_worlds(algorithm):
        raise ValueError(
            f"store='none' keeps no tree, and {algorithm} needs a whole one. Use "
            "store='tree', or external or outcome sampling."
        )
    if splits:
        if store == "none":
            raise ValueError(
                "store='none' keeps no tree, and a cluster splits walks over a whole "
                "one; drop one of them."
            )
        tree.expand_all()
        store = "tree"
    if store == "worlds" or takes_histories or tree.worlds is not None:
        if tree.worlds is not None and store not in ("auto", tree.store):
            raise ValueError(
                f"This tree of {brief(tree.source)} keeps worlds or infosets only. "
                "Give the solver the game instead of the tree."
            )
        if not can_take_worlds(algorithm):
            raise ValueError(
                f"store='worlds' is for algorithms that sample and prune nothing, and "
                f"{algorithm} does; use ms.CFR or ms.CFR_PLUS, or store='none'."
            )
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


# --- policies that are given at some infosets and stay --------------------------------


Locks = Mapping[str, Mapping[int, float] | Sequence[float]]
"""For information-state strings the probabilities of legal actions: in their order, or
by OpenSpiel's actions, of which those left out have 0."""

_SUM = 1e-6
"""How far the sum of given probabilities may be from 1."""


def locked_rows(
    tree: GameTree, algorithm: Algorithm, locked: Locks
) -> tuple[np.ndarray, np.ndarray]:
    """`[L]` the infosets of a whole tree that are locked, and `[S]` a vector with their
    probabilities.

    Raises:
        ValueError: the algorithm cannot keep a policy; an information state is not the
            game's, or belongs to several players; or what is given is no distribution
            over its legal actions.
    """
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    is_sparse = sampling.is_sampled or sampling.prune
    if is_sparse or "ahead" in minimizer.tables or tree.abstraction is not None:
        raise ValueError(
            "locked= is for algorithms that sample and prune nothing and do not look "
            f"ahead, without an abstraction, and not for {algorithm} here; use ms.CFR, "
            "ms.CFR_PLUS or ms.DCFR."
        )
    if not isinstance(locked, Mapping):
        raise ValueError(
            f"locked={locked!r} is no dictionary: information state -> probabilities."
        )
    infosets, vector = [], np.ones(tree.num_sequences)
    for info_state, given in locked.items():
        found = [tree.find(info_state, player) for player in range(tree.num_players)]
        found = [infoset for infoset in found if infoset >= 0]
        if len(found) != 1:
            who = "no player has" if not found else "several players have"
            raise ValueError(
                f"locked: {who} the information state {info_state!r} in {tree.source}."
            )
        _, start, _, count, _ = tree.infosets[found[0]].item()
        actions = tree.actions[start : start + count].tolist()
        vector[start : start + count] = _row(info_state, given, actions)
        infosets.append(found[0])
    return np.array(infosets, np.int64), vector


def _row(info_state: str, given: Any, actions: list[int]) -> np.ndarray:
    """The probabilities of the actions, which sum to 1 to all digits."""
    if isinstance(given, Mapping):
        if given.keys() - {*actions}:
            raise ValueError(
                f"locked: {info_state!r} has the actions {actions}, and not "
                f"{sorted(given.keys() - {*actions})}."
            )
        given = [given.get(action, 0.0) for action in actions]
    row = refusals.numbers(given, f"locked: {info_state!r}")
    if row.shape != (len(actions),) or not (row >= 0).all():
        raise ValueError(
            f"locked: {given} are not the probabilities of the {len(actions)} actions "
            f"{actions} of {info_state!r}."
        )
    if not abs(row.sum() - 1) <= _SUM:
        raise ValueError(
            f"locked: the probabilities {given} of {info_state!r} sum to "
            f"{row.sum():.9g}, not to 1."
        )
    return row / row.sum()
