"""Values, regrets and best responses of a policy, at every infoset of a whole tree, and
other policies: fixed at some infosets, and solved on in the rest of the game.

All values are *counterfactual* here: summed over the histories of an infoset, each
weighted by how the others and chance play to it. Divided by the sum of these weights
(`Numbers.reach`) they are what the player gets on average once it is there.

An infoset where the policy is fixed is a move of chance in the *restricted* game.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_spiel.algorithms import CFR_PLUS, Algorithm
from mccfr_spiel.kernels.evaluation import pass_up
from mccfr_spiel.kernels.passes import add_reaches
from mccfr_spiel.policies.names import uniform_vector
from mccfr_spiel.solving.solver import Solver
from mccfr_spiel.tree.full_pass import FullPass, full_pass
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.infosets import HandNames


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


# --- fixing a policy at some infosets, and solving the rest of the game ---------------


def with_row(
    tree: GameTree, policy: np.ndarray, infosets: Sequence[int], row: list[float]
) -> np.ndarray:
    """A copy of a policy with other probabilities at infosets of the same actions.

    Raises:
        ValueError: they are no distribution over the actions.
    """
    _, _, _, size, _ = tree.infosets[infosets[0]].item()
    found = np.array(row, np.float64)
    if found.shape != (size,):
        raise ValueError(f"{len(row)} probabilities are given for {size} actions.")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise ValueError(f"{row} are no probabilities: they must be 0 or more.")
    changed = policy.copy()
    starts = tree.infosets["first_sequence"][infosets]
    changed[starts[:, None] + np.arange(size)] = found / found.sum()
    return changed


def beside(tree: GameTree, infoset: int) -> Sequence[int]:
    """The infosets of all hands at the decision of one, in a tree of hands."""
    names = tree.infoset_names
    if not isinstance(names, HandNames):
        raise ValueError("Only a tree of hands knows which decisions are one to see.")
    node, _ = names.found.node_and_hand(infoset)
    first, hands = names.found.first[node], names.found.members[names.found.rows[node]]
    return range(first, first + len(hands))


def restricted_best_returns(
    tree: GameTree, policy: np.ndarray, fixed: frozenset[int]
) -> np.ndarray:
    """`[P]` what best responses get that keep to the policy where it is fixed."""
    passes, players = full_pass(tree), range(tree.num_players)
    plan, is_fixed = passes.plan(policy), np.zeros(tree.num_infosets, np.bool_)
    is_fixed[list(fixed)] = True
    values = sum((passes.gradient(plan, p) for p in players), np.zeros_like(plan))
    pass_up(tree.infosets, policy, is_fixed, values)
    return values[: tree.num_players].copy()


def restricted_solver(
    tree: GameTree, policy: np.ndarray, fixed: frozenset[int]
) -> Solver:
    """A solver of the restricted game by CFR+.

    Args:
        tree: the whole tree.
        policy: `[S]` to keep to at the fixed infosets.
        fixed: the infosets where it is fixed.

    Raises:
        ValueError: both players have the string of a fixed infoset.
    """
    locked = {}
    for infoset in fixed:
        _, start, _, size, _ = tree.infosets[infoset].item()
        locked[tree.info_state(infoset)] = policy[start : start + size]
    return Solver(tree, CFR_PLUS, store=tree.store, locked=locked)
