"""Policy numbers."""

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
from mccfr_spiel.exploring.background import Work
from mccfr_spiel.exploring.shown_policies import ShownPolicy
from mccfr_spiel.poker.study import Study
from mccfr_spiel.policies.names import uniform_vector
from mccfr_spiel.policies.policy import SequencePolicy


class Numbers(NamedTuple):
    """What a policy is worth.

    Attributes:
        policy: `[S]` the policy.
        plan: `[S]` the players' realization plans.
        reach: `[I]` how the others and chance play to the infosets.
        values: `[S]` what its player gets after a sequence, counterfactually.
        best: `[S]` the same if the player plays a best response from then on.
        returns: `[P]` the players' expected returns.
        best_returns: `[P]` those of best responses to the others.
        gains: `[I]` how much of a player's gain by a best response comes from moving
            otherwise at the infoset. Those of a player add up to the whole gain.
        visits: `[I]` see `visits_of`.
    """

    policy: np.ndarray
    plan: np.ndarray
    reach: np.ndarray
    values: np.ndarray
    best: np.ndarray
    returns: np.ndarray
    best_returns: np.ndarray
    gains: np.ndarray
    visits: np.ndarray | None = None


def visits_of(
    passes: FullPass, numbers: Numbers, candidate: ShownPolicy
) -> np.ndarray | None:
    """`[I]` estimated number of walks that updated each infoset; None if the solver is
    unknown, or if its algorithm samples nothing.

    Solvers do not count these walks. The estimate multiplies the number of walks by the
    probability that a walk reaches the infoset under the average policy, because the
    policies of earlier iterations are not kept.
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
    """All numbers of a policy vector, in a few passes over the leaves and the nodes.

    The gain of a best response is split by the performance difference lemma (Kakade,
    Langford 2002): the player's own reach of an infoset under the policy, times what
    the best move there is better than the policy's if a best response follows both.

    Raises:
        ValueError: the tree is not complete, or its leaves do not fit its budget.
    """
    passes = full_pass(tree)
    plan, infosets = passes.plan(policy), tree.infosets
    values, best = passes.after_sequences(policy)
    reach = passes.reaches(plan)
    starts = infosets["first_sequence"]
    played = np.add.reduceat(policy * best, starts)
    gaps = np.maximum(np.maximum.reduceat(best, starts) - played, 0.0)
    gains = plan[infosets["parent"]] * gaps
    returns, best_returns = (one[: tree.num_players].copy() for one in (values, best))
    found = Numbers(policy, plan, reach, values, best, returns, best_returns, gains)
    return found._replace(visits=visits_of(passes, found, candidate))


_one_at_a_time = threading.Lock()
"""Whose numbers are being computed: two passes at once would only take turns."""


class PolicyEvaluation:
    """A policy over a whole tree, computed in threads when it is first asked for.

    Attributes:
        vector: gives `[S]` the policy, see `Work.result`.
        numbers: gives its Numbers, or its Study in a subgame of hold'em.
        is_wanted: whether an answer may still be asked for.
    """

    def __init__(self, tree: GameTree, candidate: ShownPolicy) -> None:
        """Reads nothing yet."""
        self.is_wanted, policy = True, candidate.policy

        def compute() -> Any:
            with _one_at_a_time:
                if not self.is_wanted:  # a slider has passed it by
                    raise ValueError("Nobody has asked for these values lately.")
                vector = self.vector(None)
                if isinstance(tree, HandArena):
                    return Study(tree.source, SequencePolicy(tree, vector))
                return numbers_of(tree, vector, candidate)

        words = "The policy is still being read; try again in a moment."
        self.vector = Work(lambda: policy_vector(tree, policy), words).result
        self.numbers = Work(
            compute, f"The numbers of {candidate.label} took long."
        ).result
