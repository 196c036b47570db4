"""Needs: the requirements of an algorithm, which determine the arenas it can use."""

from typing import NamedTuple

from mccfr_spiel.algorithms import (
    Algorithm,
    DiscountedRegretMatching,
    OwnAveraging,
    OwnEstimator,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.kernels.switches import Sampled


class Needs(NamedTuple):
    """Requirements of an algorithm.

    Attributes:
        algorithm: name of the algorithm in messages.
        gradients: whether iterations use gradients of the whole game; False for walks.
        all_infosets: whether every infoset must be known before the first iteration.
        nodes: whether a user-defined gradient estimator reads the nodes of a tree.
        leaf_rows: whether passes read the leaves of a tree, for regret-based pruning.
        abstraction: function that replaces the game's information-state strings; None
            without an abstraction.
        cluster: whether the processes of a cluster divide the walks of a batch.
        locks: whether the policy is fixed at some infosets.
        no_abstraction: reason why the algorithm cannot use an abstraction; empty if it
            can.
        no_cluster: reason why the algorithm cannot use a cluster; empty if it can.
        no_locks: reason why the algorithm cannot keep policies fixed; empty if it can.
        no_blocks: reason why the algorithm cannot keep its tables in blocks of float32;
            empty if it can.
    """

    algorithm: str
    gradients: bool = True
    all_infosets: bool = True
    nodes: bool = False
    leaf_rows: bool = False
    abstraction: Abstraction | None = None
    cluster: bool = False
    locks: bool = False
    no_abstraction: str = ""
    no_cluster: str = ""
    no_locks: str = ""
    no_blocks: str = ""

    @property
    def can_do_without_nodes(self) -> bool:
        """Whether the algorithm only needs gradients, which arenas without stored nodes
        provide."""
        return self.gradients and not (self.nodes or self.leaf_rows)


EVALUATION = Needs("an exact evaluation")
"""Requirements of exact returns, best responses and NashConv."""

WALKS = Needs("walks", gradients=False, all_infosets=False)
"""Requirements of walks that add infosets on their first visits."""


def needs_of(
    algorithm: Algorithm,
    *,
    abstraction: Abstraction | None = None,
    cluster: bool = False,
    locks: bool = False,
) -> Needs:
    """The requirements of an algorithm.

    Args:
        algorithm: the algorithm.
        abstraction, cluster, locks: see the fields of `Needs`.
    """
    sampling = algorithm.sampling
    walks = sampling.is_sampled or sampling.prune is True or abstraction is not None
    return Needs(
        algorithm=str(algorithm),
        gradients=not walks,
        all_infosets=cluster or needs_all_infosets(algorithm),
        nodes=isinstance(sampling, OwnEstimator),
        leaf_rows=sampling.prunes_by_regret,
        abstraction=abstraction,
        cluster=cluster,
        locks=locks,
        no_abstraction=_why_no_abstraction(algorithm),
        no_cluster=_why_no_cluster(algorithm),
        no_locks=_why_no_locks(algorithm, abstraction),
        no_blocks=why_no_blocks(algorithm),
    )


def needs_all_infosets(algorithm: Algorithm) -> bool:
    """Whether an algorithm cannot begin before every infoset of the game is known."""
    sampling, minimizer, *_ = algorithm
    is_full = not sampling.is_sampled or sampling.player == "balanced"
    return is_full or minimizer.needs_whole_tree


def sampled_by(algorithm: Algorithm) -> Sampled:
    """The sampling scheme of an algorithm as a key for compiling kernels."""
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
        correlates=sampling.correlates_chance,
    )


_NEEDS_RECALL = {
    "balanced": 'player="balanced" counts sequences, which requires perfect recall',
    "average": 'player="average" needs the reach of an infoset, which is unknown under '
    "imperfect recall",
}
"""Schemes for sampling the updated player's actions that require perfect recall, each
with the reason."""


def _why_no_abstraction(algorithm: Algorithm) -> str:
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    if isinstance(sampling, OwnEstimator):
        return (
            f"{sampling.name} returns gradients over sequences, which requires perfect "
            "recall; drop it or the abstraction."
        )
    if not minimizer.allows_abstraction:
        return (
            f"{minimizer.rule} requires perfect recall; with an abstraction use "
            "regret_matching or regret_matching_plus."
        )
    if minimizer.tremble:
        return (
            f"tremble={minimizer.tremble:g} requires perfect recall; drop it or the "
            "abstraction."
        )
    if sampling.player in _NEEDS_RECALL:
        reason = _NEEDS_RECALL[sampling.player]
        return f"{reason}; with an abstraction use outcome(epsilon)."
    prunes_below = sampling.prune_below is not None
    if prunes_below or sampling.prunes_by_regret:
        argument = "prune_below" if prunes_below else 'prune="regret"'
        return (
            f"{argument} prunes by regrets under perfect recall; drop it or the "
            "abstraction."
        )
    return ""


def _why_no_cluster(algorithm: Algorithm) -> str:
    if not algorithm.sampling.is_sampled:
        return (
            f"A cluster splits batches of walks; {algorithm} samples nothing. Use "
            "threads=..., or an algorithm that samples, with a batch."
        )
    if isinstance(algorithm.averaging, OwnAveraging):
        return (
            f"{algorithm.averaging.name} can only run in this process; drop cluster or "
            "use an average of the package."
        )
    if algorithm.batch == 1:
        return (
            f"A cluster splits batches of walks; {algorithm} has batch=1. Use a "
            "larger batch, such as algorithm._replace(batch=512)."
        )
    if not sampled_by(algorithm).can_be_shared:
        return (
            f"A cluster cannot split batches of {algorithm.sampling}, because each "
            "walk depends on the previous walk. Use external or outcome sampling "
            "without a baseline."
        )
    if not getattr(algorithm.minimizer, "compiled", True):
        return (
            f"A cluster requires a compiled update rule; {algorithm.minimizer} is "
            "plain Python; use own_rule with compiled=True."
        )
    return ""


def _why_no_locks(algorithm: Algorithm, abstraction: Abstraction | None) -> str:
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    is_sparse = sampling.is_sampled or sampling.prune
    if is_sparse or "ahead" in minimizer.tables or abstraction is not None:
        return (
            "locked= is only for algorithms that sample and prune nothing and do not "
            "look ahead, without an abstraction. Use ms.CFR, ms.CFR_PLUS or ms.DCFR "
            f"instead of {algorithm}."
        )
    return ""


_BLOCK_RULES = (
    RegretMatching,
    RegretMatchingPlus,
    DiscountedRegretMatching,
    PredictiveRegretMatchingPlus,
)
"""The rules that keep regrets only, and at most the last regrets as a prediction."""


def why_no_blocks(algorithm: Algorithm) -> str:
    """Returns the reason why an algorithm cannot keep its tables in blocks of float32;
    empty if it can."""
    sampling, rule = algorithm.sampling, algorithm.minimizer
    reason = ""
    if sampling.is_sampled or sampling.prune or isinstance(sampling, OwnEstimator):
        return f"store='blocks' is for passes over all hands, but {algorithm} samples."
    if not isinstance(rule, _BLOCK_RULES):
        reason = f"{rule} keeps other tables"
    elif getattr(rule, "initial_regret", 0.0):
        reason = "initial regrets need rows of float64"
    elif not algorithm.alternating:
        reason = "simultaneous updates need a stored policy"
    elif isinstance(algorithm.averaging, OwnAveraging):
        reason = f"{algorithm.averaging} is your own function"
    if not reason:
        return ""
    return (
        f"store='blocks' keeps regrets and averages of hands only, but {reason}; use "
        "store='worlds'."
    )
