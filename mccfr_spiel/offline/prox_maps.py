"""Prox."""

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
    """One player's arrays as the compiled loops read them: n infosets, m sequences.

    Attributes:
        infosets: `[n]` as in the player's Treeplex.
        weight: `[n]` the weights beta of the dilated entropy.
        uniform: `[m]` the logarithm of the uniform policy.
        starts, columns, values: B_p in csr form, one row for each of the player's
            sequences.
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
    for i in range(len(side.infosets) - 1, -1, -1):
        start = side.infosets[i]["first_sequence"]
        stop = start + side.infosets[i]["num_actions"]
        step = scale * side.weight[i]
        most = -np.inf
        for s in range(start, stop):
            log_policy[s] = center[s] + gradient[s] / step
            most = max(most, log_policy[s])
        total = 0.0
        for s in range(start, stop):
            total += math.exp(log_policy[s] - most)
        rest = math.log(total)  # which `most` + `rest` would round away
        for s in range(start, stop):
            log_policy[s] = log_policy[s] - most - rest
        gradient[side.infosets[i]["parent"]] += step * (most + rest)
    plan[0] = 1.0
    for i in range(len(side.infosets)):
        mass = plan[side.infosets[i]["parent"]]
        start = side.infosets[i]["first_sequence"]
        for s in range(start, start + side.infosets[i]["num_actions"]):
            plan[s] = mass * math.exp(log_policy[s])
    return gradient[0]


@jit
def respond(side, gradient, scale, log_policy, plan):
    """The prox map from the uniform policy, which is the smoothed best response."""
    return prox(side, gradient, side.uniform, scale, log_policy, plan)


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
    """The largest value of the dilated entropy d on the treeplex; its least is 0."""
    values = np.zeros(plex.num_sequences)
    np.add.at(values, plex.parent, side.weight * np.log(plex.num_actions))
    return best_response_value(plex, values)
