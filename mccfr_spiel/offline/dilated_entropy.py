"""The dilated entropy of a treeplex and its prox map, the step of first-order methods.

The dilated entropy of a plan x with the policy b is

    d(x) = sum_I beta_I x[p(I)] (log |A(I)| + sum_a b(a|I) log b(a|I)),
    beta_I = 2 + 2 max_a sum of beta_K over the infosets K right below (I, a)

(Kroer, Waugh, Kilinc-Karzan, Sandholm 2020). It is 0 at its minimizer, the uniform
policy. For a gradient g, a center c and a scale mu, the *prox map* computes

    max over x of <g, x> - mu D(x || c),   D(x || c) = sum_I beta_I x[p(I)] KL(b || c).

This takes one softmax at every infoset, bottom up, and then the plan of the new policy,
top down. With the uniform policy as its center the prox map is the *smoothed best
response*, because d(x) = D(x || uniform).

A center is stored as the logarithm of a policy. That never underflows, whereas the
entries of a plan are products along a history and may do so.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse

from mccfr_spiel.kernels.entropy_rules import dilate
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.offline.sequence_form import SequenceForm, maximize


class Side(NamedTuple):
    """One player's arrays as the compiled loops read them: n infosets, m sequences.

    Attributes:
        first_sequence, num_actions, parent: `[n]` as in the player's Treeplex.
        weight: `[n]` the weights beta of the dilated entropy.
        uniform: `[m]` the logarithm of the uniform policy.
        starts, columns, values: B_p in csr form, one row for each of the player's
            sequences.
    """

    first_sequence: np.ndarray
    num_actions: np.ndarray
    parent: np.ndarray
    weight: np.ndarray
    uniform: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray


@jit
def prox(side, gradient, center, scale, log_policy, plan):
    """Maximizes <gradient, x> - scale D(x || center) and returns the maximum.

    The first loop goes over the infosets bottom up. When it reaches an infoset, the
    gradient at each of its sequences already includes the value of everything below.
    The loop writes the softmax policy of the infoset and adds the infoset's value to
    the gradient at the parent sequence. The second loop goes top down and multiplies
    the policy along the sequences, which gives the plan.

    Args:
        side: the player's Side.
        gradient: `[m]`, overwritten by the values of the sequences.
        center: `[m]` the logarithm of the center's policy. Actions at -inf are never
            played, but every infoset must have an action that is finite.
        scale: mu, above 0.
        log_policy, plan: `[m]` receive the maximizer. `log_policy` may be `center`.
    """
    for i in range(len(side.parent) - 1, -1, -1):
        start = side.first_sequence[i]
        stop = start + side.num_actions[i]
        step = scale * side.weight[i]
        most = -np.inf
        for s in range(start, stop):
            log_policy[s] = center[s] + gradient[s] / step
            most = max(most, log_policy[s])
        total = 0.0
        for s in range(start, stop):
            total += math.exp(log_policy[s] - most)
        most += math.log(total)
        for s in range(start, stop):
            log_policy[s] -= most
        gradient[side.parent[i]] += step * most
    plan[0] = 1.0
    for i in range(len(side.parent)):
        mass = plan[side.parent[i]]
        start = side.first_sequence[i]
        for s in range(start, start + side.num_actions[i]):
            plan[s] = mass * math.exp(log_policy[s])
    return gradient[0]


@jit
def evaluate_gradient(side, plan, gradient):
    """Writes B_p times the other player's plan into `gradient` `[m]`."""
    for row in range(len(gradient)):
        total = 0.0
        for entry in range(side.starts[row], side.starts[row + 1]):
            total += side.values[entry] * plan[side.columns[entry]]
        gradient[row] = total


@jit
def mix_into(first, second, weight, result):
    """Writes (1 - weight) first + weight second into `result`, which may be either."""
    for s in range(len(result)):
        result[s] = (1.0 - weight) * first[s] + weight * second[s]


def make_sides(form: SequenceForm) -> tuple[Side, Side]:
    """Makes both players' Sides."""
    tree = form.tree
    weight = np.empty(tree.num_infosets)
    dilate(tree.infosets, np.zeros(tree.num_sequences), weight)
    sides = []
    for plex, matrix in zip(
        form.treeplexes, (form.payoffs, -form.payoffs.T), strict=True
    ):
        rows = scipy.sparse.csr_array(matrix)
        uniform = np.zeros(plex.num_sequences)
        uniform[1:] = -np.log(np.repeat(plex.num_actions, plex.num_actions))
        sides.append(
            Side(
                plex.first_sequence,
                plex.num_actions,
                plex.parent,
                weight[plex.infosets],
                uniform,
                rows.indptr.astype(np.int64),
                rows.indices.astype(np.int64),
                rows.data,
            )
        )
    return sides[0], sides[1]


def regularizer_range(side: Side) -> float:
    """The largest value of the dilated entropy d on the treeplex; its least is 0."""
    values = np.zeros(len(side.uniform))
    np.add.at(values, side.parent, side.weight * np.log(side.num_actions))
    return float(maximize(side.first_sequence, side.num_actions, side.parent, values))
