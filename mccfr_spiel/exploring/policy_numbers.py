"""Values, reach probabilities and best responses of a policy at all infosets of a tree.

All values are *counterfactual*: sums over the histories of an infoset, weighted by the
probability that chance and the other players play to each history. Dividing by the sum
of these weights (`Numbers.reach`) gives the player's expected return at the infoset.
"""

import threading
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.evaluating import (
    full_pass,
)
from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.hand_arena import HandArena
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.evaluation.conditional_gaps import ConditionalGaps
from mccfr_spiel.exploring.background import Work
from mccfr_spiel.exploring.shown_policies import ShownPolicy
from mccfr_spiel.poker.study import Study
from mccfr_spiel.policies.block_policy import BlockPolicy
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.vectors import (
    uniform_vector,
)


class Numbers(NamedTuple):
    """A policy and its values. Shapes: S sequences, I infosets, P players.

    Attributes:
        policy: `[S]` the policy.
        plan: `[S]` realization plans of all players.
        reach: `[I]` probability that chance and the other players play to each infoset.
        gap: `[I]` conditional gap of each infoset; NaN without beliefs.
        values: `[S]` counterfactual value of each sequence to the player.
        best: `[S]` the same if the player plays a best response after the sequence.
        returns: `[P]` expected returns.
        best_returns: `[P]` expected returns of a best response to the others.
        gains: `[I]` gain of a best response from the action at the infoset. A player's
            gains add up to the whole gain.
        visits: `[I]` estimated number of walks to each infoset, see `visits_of`; None
            if unknown.
    """

    policy: np.ndarray
    plan: np.ndarray
    reach: np.ndarray
    gap: np.ndarray
    values: np.ndarray
    best: np.ndarray
    returns: np.ndarray
    best_returns: np.ndarray
    gains: np.ndarray
    visits: np.ndarray | None = None


def visits_of(
    passes: FullPass, numbers: Numbers, candidate: ShownPolicy
) -> np.ndarray | None:
    """Estimates how many walks updated each infoset, `[I]`.

    Solvers do not count these walks. The estimate multiplies the number of walks by the
    probability that a walk reaches the infoset under the average policy, because
    solvers do not store earlier policies.

    Returns:
        None if the solver is unknown or the algorithm samples nothing.
    """
    if candidate.solver is None:
        return None
    tree, sampling = passes.table, candidate.solver.algorithm.sampling
    reach = numbers.reach
    if not sampling.is_sampled:
        return None
    if not sampling.opponents:
        reach = passes.reaches(np.ones_like(numbers.plan))
    own = np.ones_like(reach)
    if sampling.player != "all":
        share = {"epsilon": sampling.epsilon, "balanced": 1.0}.get(sampling.player, 0.0)
        mixed = (1 - share) * numbers.policy + share * uniform_vector(tree)
        own = passes.plan(mixed)[tree.infosets["parent"]]
    return candidate.walks * np.minimum(reach, 1.0) * own


def numbers_of(tree: GameTree, policy: np.ndarray, candidate: ShownPolicy) -> Numbers:
    """Computes all numbers of a policy vector `[S]` in a few passes over the tree.

    The gain of a best response is split by the performance difference lemma (Kakade,
    Langford 2002): the player's probability of reaching the infoset under the policy,
    times the advantage of the best action there if a best response is played
    afterwards.

    Raises:
        ValueError: the tree is incomplete, or a pass does not fit into the tree's
        budget.
    """
    passes = full_pass(tree)
    plan, infosets = passes.plan(policy), tree.infosets
    values, best = passes.after_sequences(policy)
    conditional = ConditionalGaps(passes, policy)
    reach, gap = conditional.others_reach, conditional.gap
    starts = infosets["first_sequence"]
    played = np.add.reduceat(policy * best, starts)
    gaps = np.maximum(np.maximum.reduceat(best, starts) - played, 0.0)
    gains = plan[infosets["parent"]] * gaps
    returns, best_returns = (v[: tree.num_players].copy() for v in (values, best))
    vectors = policy, plan, reach, gap, values, best
    numbers = Numbers(*vectors, returns, best_returns, gains)
    return numbers._replace(visits=visits_of(passes, numbers, candidate))


_one_at_a_time = threading.Lock()
"""Held while numbers are computed: two concurrent passes would only slow each other
down."""


class PolicyEvaluation:
    """A policy vector and its numbers, computed in threads at the first request.

    Attributes:
        vector: `Work.result` of the policy vector `[S]`.
        numbers: `Work.result` of the `Numbers`, or of the `Study` of a hold'em subgame.
        is_wanted: False once the cache has dropped this evaluation.
    """

    def __init__(self, tree: GameTree, candidate: ShownPolicy) -> None:
        """Stores the tree and the policy; nothing is read yet."""
        self.is_wanted, policy = True, candidate.policy

        def compute() -> Any:
            with _one_at_a_time:
                if not self.is_wanted:  # a slider has moved past this policy
                    raise ValueError("These values were requested too long ago.")
                if isinstance(policy, BlockPolicy):  # a study needs no vector
                    return Study(tree.source, policy)
                vector = self.vector(None)
                if isinstance(tree, HandArena):
                    return Study(tree.source, SequencePolicy(tree, vector))
                return numbers_of(tree, vector, candidate)

        message = "The policy is still being read; try again in a moment."
        self.vector = Work(lambda: policy_vector(tree, policy), message).result
        self.numbers = Work(
            compute, f"The numbers of {candidate.label} took long."
        ).result
