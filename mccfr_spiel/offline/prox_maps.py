"""The dilated entropy of a treeplex and its prox map, in compiled loops.

The dilated entropy (Kroer, Waugh, Kilinc-Karzan, Sandholm 2020) of a player's plan x
with the policy b is

    d(x) = sum_I beta_I x[p(I)] (log |A(I)| + sum_a b(a|I) log b(a|I)),
    beta_I = 2 + 2 max_a sum of beta_K over the infosets K right below (I, a).

The sums are over the player's infosets I and the actions a at I. A(I) is the set of
these actions, p(I) the sequence that leads to I, and beta_I the weight of I. The
dilated entropy is smallest, namely 0, at the uniform policy. For a gradient g, a policy
c (the center) and a number mu (the scale), the *prox map* computes

    max over x of <g, x> - mu D(x || c),   D(x || c) = sum_I beta_I x[p(I)] KL(b || c),

where KL is the Kullback-Leibler divergence of the policies at I. The computation needs
one softmax per infoset, bottom-up, and then the plan of the new policy, top-down. With
the uniform policy as center, the maximizer is called the *smoothed best response*,
because d(x) = D(x || uniform).

A center is stored as the logarithms of a policy, which cannot underflow. The elements
of a plan can underflow, because they are products of probabilities along a history.
"""

import math
from typing import NamedTuple

import numpy as np

from mccfr_spiel.kernels.entropy_rules import dilate
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.offline.factorization import Csr, csr
from mccfr_spiel.offline.sequence_forms import (
    SequenceForm,
    Treeplex,
    best_response_value,
)


class Side(NamedTuple):
    """The arrays of a player with n infosets and m sequences, for compiled loops.

    Attributes:
        infosets: `[n]` of dtype INFOSET, numbered within the player.
        weight: `[n]` weights beta of the dilated entropy.
        uniform: `[m]` logarithm of the uniform policy.
        starts, columns, values: the matrix B_p in csr form, with one row per sequence
            of the player. The player's gradient is B_p times the other player's plan.
    """

    infosets: np.ndarray
    weight: np.ndarray
    uniform: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray


@jit
def prox(side, gradient, center, scale, log_policy, plan):
    """Maximizes <gradient, x> - scale D(x || center) and returns the maximum.

    Args:
        side: the player's Side.
        gradient: `[m]` the gradient. It is overwritten: the value of all infosets below
            a sequence is added to the gradient at the sequence.
        center: `[m]` logarithms of the center's probabilities. Actions with -inf keep
            the probability 0; every infoset needs an action with a finite element.
        scale: the number mu, above 0.
        log_policy: `[m]` output: logarithms of the maximizer's policy. The array may be
            the same as `center`.
        plan: `[m]` output: the maximizer x.
    """
    # Bottom-up: when the loop reaches infoset i, `gradient` at the infoset's sequences
    # already includes the values of all infosets below. The iteration writes the
    # infoset's policy, a softmax, and adds its value to the parent sequence.
    for i in range(len(side.infosets) - 1, -1, -1):
        start = side.infosets[i]["first_sequence"]
        stop = start + side.infosets[i]["num_actions"]
        step = scale * side.weight[i]
        largest = -np.inf
        for s in range(start, stop):
            log_policy[s] = center[s] + gradient[s] / step
            largest = max(largest, log_policy[s])
        total = 0.0
        for s in range(start, stop):
            total += math.exp(log_policy[s] - largest)
        # `largest` and `rest` are subtracted one after the other. In the sum of both, a
        # small `rest` could be lost by rounding.
        rest = math.log(total)
        for s in range(start, stop):
            log_policy[s] = log_policy[s] - largest - rest
        gradient[side.infosets[i]["parent"]] += step * (largest + rest)
    # Top-down: each element of the plan is the parent sequence's element times the
    # probability of the action.
    plan[0] = 1.0
    for i in range(len(side.infosets)):
        mass = plan[side.infosets[i]["parent"]]
        start = side.infosets[i]["first_sequence"]
        for s in range(start, start + side.infosets[i]["num_actions"]):
            plan[s] = mass * math.exp(log_policy[s])
    return gradient[0]


@jit
def respond(side, gradient, scale, log_policy, plan):
    """Computes the smoothed best response: `prox` with the uniform policy as center."""
    return prox(side, gradient, side.uniform, scale, log_policy, plan)


@jit
def evaluate_gradient(side, plan, gradient):
    """Computes the gradient of a player p, which is B_p times the other player's plan.

    Args:
        side: the arrays of player p.
        plan: the other player's plan.
        gradient: `[m]` output: the gradient.
    """
    for row in range(len(gradient)):
        total = 0.0
        for entry in range(side.starts[row], side.starts[row + 1]):
            total += side.values[entry] * plan[side.columns[entry]]
        gradient[row] = total


@jit
def mix_into(first, second, weight, result):
    """Writes (1 - weight) first + weight second into `result`.

    The array `result` may be the same as `first` or `second`.
    """
    for s in range(len(result)):
        result[s] = (1.0 - weight) * first[s] + weight * second[s]


def make_sides(form: SequenceForm) -> tuple[Side, Side]:
    """Makes the Side of each player."""

    def side(plex: Treeplex, rows: Csr) -> Side:
        infosets, weight = plex.records, np.empty(plex.num_infosets)
        dilate(infosets, np.zeros(plex.num_sequences), weight)
        uniform = np.zeros(plex.num_sequences)
        uniform[1:] = -np.log(np.repeat(plex.num_actions, plex.num_actions))
        starts, columns = (a.astype(np.int64) for a in (rows.indptr, rows.indices))
        return Side(infosets, weight, uniform, starts, columns, rows.data)

    first, second = form.treeplexes
    return side(first, form.payoffs), side(second, csr(-form.payoffs.T))


def regularizer_range(plex: Treeplex, side: Side) -> float:
    """Returns the maximum of the dilated entropy over a player's plans.

    The minimum is 0.
    """
    values = np.zeros(plex.num_sequences)
    np.add.at(values, plex.parent, side.weight * np.log(plex.num_actions))
    return best_response_value(plex, values)
