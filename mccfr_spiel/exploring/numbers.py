"""Values, regrets and best responses of a policy, at every infoset of a whole tree.

All of them are *counterfactual* here: summed over the histories of an infoset, each
weighted by how the others and chance play to it. Divided by the sum of these weights
(`Numbers.reach`) they are what the player gets on average once it is there.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.kernels.passes import add_reaches
from mccfr_spiel.policies.names import uniform_vector
from mccfr_spiel.tree.full_pass import FullPass, full_pass
from mccfr_spiel.tree.game_tree import GameTree


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
        visits: `[I]` about how many walks came to the infoset to update it; None if it
            is not known how the policy was found.
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


class Origin(NamedTuple):
    """How a policy was found.

    Attributes:
        algorithm: of the solver.
        iterations: that it has made.
    """

    algorithm: Algorithm
    iterations: int

    @property
    def walks(self) -> int:
        """For each player; of batches that grow, at least so many."""
        batch = self.algorithm.batch
        return self.iterations * (batch if isinstance(batch, int) else 1)


def visits_of(passes: FullPass, numbers: Numbers, origin: Origin) -> np.ndarray:
    """`[I]` about how many walks came to each infoset in its player's updates.

    Nothing counts them. A walk comes there with the probability that what it samples
    leads there, which is taken for the average policy: what the current policies were
    at each time is not kept.
    """
    tree, sampling = passes.tree, origin.algorithm.sampling
    reach = numbers.reach
    if not sampling.is_sampled:
        return np.full(tree.num_infosets, float(origin.walks))
    if not sampling.opponents:
        reach = np.zeros_like(reach)
        add_reaches(tree.arrays, np.ones_like(numbers.plan), reach)
    own = np.ones_like(reach)
    if sampling.player != "all":
        share = {"epsilon": sampling.epsilon, "balanced": 1.0}.get(sampling.player, 0.0)
        mixed = (1 - share) * numbers.policy + share * uniform_vector(tree)
        own = passes.plan(mixed)[tree.infosets["parent"]]
    return origin.walks * np.minimum(reach, 1.0) * own


def numbers_of(
    tree: GameTree, policy: np.ndarray, origin: Origin | None = None
) -> Numbers:
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
    reach = np.zeros(tree.num_infosets)
    add_reaches(tree.arrays, plan, reach)
    starts = infosets["first_sequence"]
    played = np.add.reduceat(policy * best, starts)
    gaps = np.maximum(np.maximum.reduceat(best, starts) - played, 0.0)
    gains = plan[infosets["parent"]] * gaps
    returns, best_returns = (one[: tree.num_players].copy() for one in (values, best))
    found = Numbers(policy, plan, reach, values, best, returns, best_returns, gains)
    if origin is None:
        return found
    return found._replace(visits=visits_of(passes, found, origin))
