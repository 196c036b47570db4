"""The rules with dilated entropy; see minimizers.py.

Each infoset has a weight w in the dilated entropy (`Tables.weight`). The step size
divided by it is the infoset's `scale`. What goes up to the parent sequence is the
largest value that the infoset's local problem can reach, which is a log sum exp.

The optimistic rules choose the policy as if the last gradient came a second time. Then
what an infoset passes up differs from what it passes up for the gradients that did
come, so there are two channels: `gradient` for these, and `Tables.ahead`, in which the
pass has put the last payoffs of the leaves and the infosets below their own values.
Other rules have no such table.
"""

import math

import numpy as np

from mccfr_spiel.kernels.discounts import Rates
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.tables import Tables


@inlined
def log_sum_exp(
    vector: np.ndarray, start: int, stop: int, scale: float
) -> tuple[float, float]:
    """log sum exp(scale * vector[s]) over start <= s < stop, in two parts: the largest
    scale * vector[s], and what is to be added, which their sum may round away."""
    most = scale * vector[start]
    for s in range(start + 1, stop):
        most = max(most, scale * vector[s])
    total = 0.0
    for s in range(start, stop):
        total += math.exp(scale * vector[s] - most)
    return most, math.log(total)


@inlined
def follow_leader(tables, infoset, parent, start, stop, parameters, rates):
    """FTRL; `memory` holds the cumulative gradients; the parameter is the step size.

    Returns:
        (weight / step size) log sum b exp(step size G / weight), which is how much the
        log sum exp of the memory grows.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = parameters[0] / tables.weight[infoset]
    before, more = log_sum_exp(memory, start, stop, scale)
    before += more
    for s in range(start, stop):
        memory[s] += gradient[s]
        gradient[s] = 0.0
    most, rest = log_sum_exp(memory, start, stop, scale)
    after = most + rest
    if len(tables.ahead) > 0:
        for s in range(start, stop):
            tables.ahead[s] += memory[s]
        play_ahead(tables, parent, start, stop, scale, scale, after)
    else:
        for s in range(start, stop):
            policy[s] = math.exp(scale * memory[s] - most - rest)
    return (after - before) / scale


@inlined
def descend_mirror(tables, infoset, parent, start, stop, parameters, rates):
    """OMD; `memory` holds the policy's logarithm, or that of the policy from which an
    optimistic one is one more step; the parameter is the step size.

    Returns:
        The same as `follow_leader`.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = parameters[0] / tables.weight[infoset]
    for s in range(start, stop):
        memory[s] += scale * gradient[s]
        gradient[s] = 0.0
    most, rest = log_sum_exp(memory, start, stop, 1.0)
    total = most + rest
    for s in range(start, stop):
        memory[s] = memory[s] - most - rest
    if len(tables.ahead) > 0:
        for s in range(start, stop):
            tables.ahead[s] = memory[s] + scale * tables.ahead[s]
        play_ahead(tables, parent, start, stop, 1.0, scale, 0.0)
    else:
        for s in range(start, stop):
            policy[s] = math.exp(memory[s])
    return total / scale


@inlined
def play_ahead(
    tables: Tables,
    parent: int,
    start: int,
    stop: int,
    factor: float,
    scale: float,
    now: float,
) -> None:
    """Plays softmax(factor * ahead), where `Tables.ahead` has what the memory would be
    if the last gradient came again, and passes its value up in `ahead`.

    Args:
        tables: of which `policy` and `ahead` change.
        parent, start, stop: as of the rule.
        factor: of `ahead`.
        scale: the infoset's.
        now: the log sum exp of the memory as it is.
    """
    policy, ahead = tables.policy, tables.ahead
    most, rest = log_sum_exp(ahead, start, stop, factor)
    for s in range(start, stop):
        policy[s] = math.exp(factor * ahead[s] - most - rest)
        ahead[s] = 0.0
    ahead[parent] += (most + rest - now) / scale


@inlined
def start_sums(tables, infoset, start, stop, parameters, place, seed):
    """Starts FTRL: an infoset without a weight gets 1."""
    if tables.weight[infoset] == 0.0:
        tables.weight[infoset] = 1.0


@inlined
def start_logarithms(tables, infoset, start, stop, parameters, place, seed):
    """Starts OMD: as FTRL, with the logarithms of the uniform policy."""
    start_sums(tables, infoset, start, stop, parameters, place, seed)
    for s in range(start, stop):
        tables.memory[s] = math.log(tables.policy[s])


STEP, TEMPERATURE = range(2)
"""The rates of magnetic mirror descent."""


@inlined
def of_descent(parameters: np.ndarray, iteration: int) -> Rates:
    """The rates of magnetic mirror descent, whose parameters are the step size, the
    temperature, and the powers of the iteration by which each is divided."""
    step = parameters[0] * iteration ** (-parameters[2])
    temperature = parameters[1] * iteration ** (-parameters[3])
    return step, temperature, 1.0


@inlined
def descend_to_magnet(tables, infoset, parent, start, stop, parameters, rates):
    """Magnetic mirror descent; `memory` holds the policy's logarithm.

    With the step size eta and the temperature alpha of this iteration and the uniform
    policy rho as the magnet, b ~ (b rho^(eta alpha) exp(eta G / w))^(1 / (1 + eta
    alpha)).

    Returns:
        max over b' of <b', G> - (w / eta) KL(b', b) - alpha w KL(b', rho).
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = rates[STEP] / tables.weight[infoset]
    pull = rates[STEP] * rates[TEMPERATURE]
    magnet = -pull * math.log(stop - start)
    for s in range(start, stop):
        memory[s] = (memory[s] + magnet + scale * gradient[s]) / (1.0 + pull)
        gradient[s] = 0.0
    most, rest = log_sum_exp(memory, start, stop, 1.0)
    total = most + rest
    for s in range(start, stop):
        memory[s] = memory[s] - most - rest
        policy[s] = math.exp(memory[s])
    return (1.0 + pull) * total / scale


@jit
def dilate(infosets: np.ndarray, below: np.ndarray, weight: np.ndarray) -> None:
    """Sets each infoset's weight to 2 + 2 max over actions of the weights below.

    Kroer, Waugh, Kilinc-Karzan, Sandholm 2020. Infosets are taken from the last one up,
    so that all below a sequence have added their weights to `below` before they are
    read.

    Args:
        infosets: of a whole tree.
        below: `[S]`, zeros at first.
        weight: `[I]`, is set.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        most = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            most = max(most, below[s])
        weight[infoset] = 2.0 + 2.0 * most
        below[infosets[infoset]["parent"]] += weight[infoset]
