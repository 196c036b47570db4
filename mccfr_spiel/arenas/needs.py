"""What an algorithm needs of the arena in which it runs."""

from typing import NamedTuple

from mccfr_spiel.algorithms import Algorithm, OwnAveraging, OwnEstimator
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.kernels.switches import Sampled


class Needs(NamedTuple):
    """What an algorithm needs of its arena.

    The last three fields are sentences that say why the algorithm cannot have
    something; an empty sentence says that it can.

    Attributes:
        algorithm: its name, for messages.
        gradients: whether iterations need gradients of all of a plan. The others walk.
        all_infosets: whether every infoset must be known at the start.
        nodes: whether the user's own estimator may read nodes.
        leaf_rows: whether passes read the rows of leaves, to prune by regret.
        abstraction: in place of the game's information-state strings.
        cluster: whether processes of a cluster share the batches.
        locks: whether policies are locked.
        no_abstraction, no_cluster, no_locks: see above.
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

    @property
    def can_do_without_nodes(self) -> bool:
        """Whether gradients alone are enough."""
        return self.gradients and not (self.nodes or self.leaf_rows)


EVALUATION = Needs("an exact evaluation")
"""The needs of exact returns, best responses and NashConv."""

WALKS = Needs("walks", gradients=False, all_infosets=False)
"""The needs of walks that meet infosets on the way."""


def needs_of(
    algorithm: Algorithm,
    *,
    abstraction: Abstraction | None = None,
    cluster: bool = False,
    locks: bool = False,
) -> Needs:
    """The needs of an algorithm; the other arguments are fields of `Needs`."""
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
    )


def needs_all_infosets(algorithm: Algorithm) -> bool:
    """Whether an algorithm cannot run where infosets are met by its walks."""
    sampling, minimizer, *_ = algorithm
    is_full = not sampling.is_sampled or sampling.player == "balanced"
    return is_full or minimizer.needs_whole_tree


def sampled_by(algorithm: Algorithm) -> Sampled:
    """What the walks of an algorithm sample, as kernels read it."""
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


_NO_FORGETTING = {
    "balanced": "The balanced strategy counts the sequences of players who forget "
    "nothing",
    "average": "Average-strategy sampling asks how often an infoset has been played "
    "to, which is not known of players who forget",
}
"""For ways to sample the updated player's actions, why players must not forget."""


def _why_no_abstraction(algorithm: Algorithm) -> str:
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    if isinstance(sampling, OwnEstimator):
        return (
            f"{sampling.name} gives gradients by sequences of players who forget "
            "nothing; drop it or the abstraction."
        )
    if not minimizer.allows_abstraction:
        return (
            f"{minimizer.rule} is only for players who forget nothing; with an "
            "abstraction use regret_matching or regret_matching_plus."
        )
    if sampling.player in _NO_FORGETTING:
        reason = _NO_FORGETTING[sampling.player]
        return f"{reason}; with an abstraction use outcome(epsilon)."
    prunes_below = sampling.prune_below is not None
    if prunes_below or sampling.prunes_by_regret:
        argument = "prune_below" if prunes_below else 'prune="regret"'
        return (
            f"{argument} goes by the regrets of players who forget nothing; drop it or "
            "the abstraction."
        )
    return ""


def _why_no_cluster(algorithm: Algorithm) -> str:
    if not algorithm.sampling.is_sampled:
        return (
            f"A cluster splits batches of walks, and {algorithm} samples nothing. Use "
            "threads=..., or an algorithm that samples, with a batch."
        )
    if isinstance(algorithm.averaging, OwnAveraging):
        return (
            f"{algorithm.averaging.name} is called in this process only; drop the "
            "cluster, or use an average of the package."
        )
    if algorithm.batch == 1:
        return (
            f"A cluster splits batches of walks, and {algorithm} makes one walk at a "
            "time. Give it a batch, such as algorithm._replace(batch=512)."
        )
    if not sampled_by(algorithm).can_be_shared:
        return (
            f"In batches of {algorithm.sampling} each walk reads what the one before "
            "has written, so a cluster cannot split them. Use external or outcome "
            "sampling without a baseline."
        )
    if not getattr(algorithm.minimizer, "compiled", True):
        return (
            f"A cluster runs compiled rules, and {algorithm.minimizer} is plain Python."
        )
    return ""


def _why_no_locks(algorithm: Algorithm, abstraction: Abstraction | None) -> str:
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    is_sparse = sampling.is_sampled or sampling.prune
    if is_sparse or "ahead" in minimizer.tables or abstraction is not None:
        return (
            "locked= is for algorithms that sample and prune nothing and do not look "
            f"ahead, without an abstraction, and not for {algorithm} here; use ms.CFR, "
            "ms.CFR_PLUS or ms.DCFR."
        )
    return ""
