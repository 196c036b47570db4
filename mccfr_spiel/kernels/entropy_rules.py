"""The compiled local rules with dilated entropy; see minimizers.py.

Symbols, all at one infoset:

- G(a): gradient of action a in this iteration, including the values of infosets below;
- M(a): sum of the gradients of all iterations;
- eta: step size;
- w: weight of the infoset in the dilated entropy (`Tables.weight`);
- scale = eta / w;
- LSE(x) = log of the sum over a of exp(x(a)).

The dilated entropy of the whole strategy splits into one problem per infoset, whose
optimal value is a LSE. An update adds the *increase* of this value to the gradient of
the parent sequence.

Optimistic rules choose the policy as if G occurred once more in the next iteration
(Farina, Kroer, Sandholm 2019). The optimal value with the predicted G differs from the
value with the past gradients only. Therefore two values are passed to the parent
sequence: one in `Tables.gradient`, for past gradients, and one in `Tables.ahead`, for
the prediction. Both tables receive the same payoffs of leaves. For rules without
prediction `Tables.ahead` is empty.
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
    """Computes log sum exp(scale * vector[s]) over start <= s < stop.

    Returns:
        The largest scale * vector[s], and the remainder. The result is the sum of these
        two numbers. They are returned separately because the remainder may be lost by
        rounding in the sum.
    """
    # Subtracting the maximum prevents overflow.
    largest = scale * vector[start]
    for s in range(start + 1, stop):
        largest = max(largest, scale * vector[s])
    total = 0.0
    for s in range(start, stop):
        total += math.exp(scale * vector[s] - largest)
    return largest, math.log(total)


@inlined
def follow_leader(tables, infoset, parent, start, stop, parameters, rates):
    """Follow the regularized leader, FTRL (Farina et al. 2020).

    `memory` holds M, `parameters[0]` is eta. The new policy is proportional to
    exp(scale (M + G)). The optimistic rule, for which `Tables.ahead` is not empty,
    plays in proportion to exp(scale (M + G + P)), with the prediction P in `ahead`.

    Returns:
        (LSE(scale (M + G)) - LSE(scale M)) / scale, the increase of the optimal value.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = parameters[0] / tables.weight[infoset]
    before, correction = log_sum_exp(memory, start, stop, scale)
    before += correction
    for s in range(start, stop):
        memory[s] += gradient[s]
        gradient[s] = 0.0
    largest, rest = log_sum_exp(memory, start, stop, scale)
    after = largest + rest
    if len(tables.ahead) > 0:
        for s in range(start, stop):
            tables.ahead[s] += memory[s]
        play_ahead(tables, parent, start, stop, scale, scale, after)
    else:
        for s in range(start, stop):
            policy[s] = math.exp(scale * memory[s] - largest - rest)
    return (after - before) / scale


@inlined
def descend_mirror(tables, infoset, parent, start, stop, parameters, rates):
    """Online mirror descent, OMD (Farina et al. 2020).

    `memory` holds log b, where b is the policy; `parameters[0]` is eta. The new b is
    proportional to b exp(scale G). The optimistic rule, for which `Tables.ahead` is not
    empty, plays in proportion to b exp(scale P), with the new b and the prediction P in
    `ahead`. Here `memory` still holds log b, without the prediction.

    Returns:
        LSE(log b + scale G) / scale, with the old b.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = parameters[0] / tables.weight[infoset]
    # The LSE of a log policy is 0, so `total` is the increase of the LSE by the step.
    for s in range(start, stop):
        memory[s] += scale * gradient[s]
        gradient[s] = 0.0
    largest, rest = log_sum_exp(memory, start, stop, 1.0)
    total = largest + rest
    for s in range(start, stop):
        memory[s] = memory[s] - largest - rest
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
    log_sum: float,
) -> None:
    """Sets the policy of an optimistic rule and adds a predicted value at the parent.

    The policy becomes proportional to exp(factor * ahead). The value is the increase of
    the optimal value by the prediction, (LSE(factor * ahead) - log_sum) / scale. It is
    added to `ahead` at the parent sequence.

    Args:
        tables: the tables; `policy` and `ahead` change. At the infoset, `ahead` holds
            the memory that would result if the predicted gradient P came true: M + P
            for FTRL and log b + scale P for OMD, with the new M and b. The function
            sets these entries to 0.
        parent: the player's sequence before the infoset.
        start: first sequence of the infoset.
        stop: end of its sequences.
        factor: factor that converts `ahead` to logarithms of probabilities: the scale
            for FTRL, 1 for OMD.
        scale: scale of the infoset, eta / w.
        log_sum: LSE of `factor` times the memory without the prediction.
    """
    policy, ahead = tables.policy, tables.ahead
    largest, rest = log_sum_exp(ahead, start, stop, factor)
    for s in range(start, stop):
        policy[s] = math.exp(factor * ahead[s] - largest - rest)
        ahead[s] = 0.0
    # The same formula as for `gradient` in `follow_leader`.
    ahead[parent] += (largest + rest - log_sum) / scale


@inlined
def start_sums(tables, infoset, start, stop, parameters, place, seed):
    """Initializes an infoset for FTRL: sets its weight w to 1 if no weight is set."""
    if tables.weight[infoset] == 0.0:
        tables.weight[infoset] = 1.0


@inlined
def start_logarithms(tables, infoset, start, stop, parameters, place, seed):
    """Initializes an infoset for OMD: the weight w, and log b in `memory`."""
    start_sums(tables, infoset, start, stop, parameters, place, seed)
    for s in range(start, stop):
        tables.memory[s] = math.log(tables.policy[s])


STEP, TEMPERATURE = range(2)
"""Indices of the `Rates` of magnetic mirror descent: step size and temperature."""


@inlined
def of_descent(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns the rates of magnetic mirror descent in iteration t.

    Args:
        parameters: step size eta, temperature alpha, and their exponents p and q. The
            rates are eta / t^p and alpha / t^q.
        iteration: t, counted from 1.
    """
    step = parameters[0] * iteration ** (-parameters[2])
    temperature = parameters[1] * iteration ** (-parameters[3])
    return step, temperature, 1.0


@inlined
def descend_to_magnet(tables, infoset, parent, start, stop, parameters, rates):
    """Magnetic mirror descent (Sokota et al. 2023).

    `memory` holds log b, where b is the policy. `rates` are the step size eta and the
    temperature alpha. The magnet, towards which the policy is drawn, is the uniform
    policy rho. The new policy is proportional to
    (b rho^(eta alpha) exp(eta G / w))^(1 / (1 + eta alpha)).

    Returns:
        The maximum over policies b' of
        <b', G> - (w / eta) KL(b', b) - alpha w KL(b', rho), where <b', G> is the sum of
        b'(a) G(a) and KL the Kullback-Leibler divergence. The new policy attains it.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = rates[STEP] / tables.weight[infoset]
    pull = rates[STEP] * rates[TEMPERATURE]
    # log rho = -log(number of actions), the same for all actions.
    magnet = -pull * math.log(stop - start)
    for s in range(start, stop):
        memory[s] = (memory[s] + magnet + scale * gradient[s]) / (1.0 + pull)
        gradient[s] = 0.0
    largest, rest = log_sum_exp(memory, start, stop, 1.0)
    total = largest + rest
    for s in range(start, stop):
        memory[s] = memory[s] - largest - rest
        policy[s] = math.exp(memory[s])
    return (1.0 + pull) * total / scale


@jit
def dilate(infosets: np.ndarray, below: np.ndarray, weight: np.ndarray) -> None:
    """Computes the weights w of the dilated entropy (Kroer et al. 2020).

    The weight of an infoset is 2 + 2 max over its actions a of W(a), where W(a) is the
    sum of the weights of the player's next infosets after a.

    Args:
        infosets: infosets of a complete tree.
        below: `[S]` zeros; receives W.
        weight: `[I]` output.
    """
    # Bottom-up, so that `below` is complete when it is read.
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        largest = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            largest = max(largest, below[s])
        weight[infoset] = 2.0 + 2.0 * largest
        below[infosets[infoset]["parent"]] += weight[infoset]
