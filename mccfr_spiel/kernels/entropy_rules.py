"""The compiled rules with dilated entropy; see minimizers.py.

Each infoset has a weight w in the dilated entropy (`Tables.weight`). The step size
divided by w is the *scale* of the infoset. An infoset passes up the optimal value of
its local problem, a log sum exp.

Optimistic rules choose the policy as if the last gradient occurred a second time
(Farina, Kroer, Sandholm 2019). The value for this prediction differs from the value for
the gradients so far, so there are two channels: `Tables.gradient` for the gradients so
far, and `Tables.ahead` for the prediction. Passes write the last payoffs of leaves into
both, and infosets pass up a value in each. For other rules `Tables.ahead` is empty.
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
        The largest scale * vector[s], and the rest of the result. Their sum may round
        the rest away.
    """
    # Subtracting the maximum prevents overflow.
    most = scale * vector[start]
    for s in range(start + 1, stop):
        most = max(most, scale * vector[s])
    total = 0.0
    for s in range(start, stop):
        total += math.exp(scale * vector[s] - most)
    return most, math.log(total)


@inlined
def follow_leader(tables, infoset, parent, start, stop, parameters, rates):
    """FTRL (Farina et al. 2020). `memory` holds the cumulative gradients.

    The parameter is the step size.

    Returns:
        (w / step size) log sum b exp(step size G / w), the increase of the log sum exp
        of the memory.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    # The conjugate of the dilated entropy decomposes into local log sum exps.
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
    """Online mirror descent (Farina et al. 2020). The parameter is the step size.

    `memory` holds the logarithm of the policy; for the optimistic rule, of the policy
    before the predicted step.

    Returns:
        The same as `follow_leader`.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = parameters[0] / tables.weight[infoset]
    # exp(memory) is a normalized policy, so its log sum exp is 0 before the step and
    # `total` after it.
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
    """Plays softmax(factor * ahead), and passes up the value of the prediction.

    Args:
        tables: the tables; `policy` and `ahead` change. `ahead` holds the memory after
            the predicted step.
        parent: sequence before the infoset.
        start: first sequence.
        stop: end of the sequences.
        factor: factor of `ahead`.
        scale: scale of the infoset.
        now: log sum exp of the memory before the predicted step.
    """
    policy, ahead = tables.policy, tables.ahead
    most, rest = log_sum_exp(ahead, start, stop, factor)
    for s in range(start, stop):
        policy[s] = math.exp(factor * ahead[s] - most - rest)
        ahead[s] = 0.0
    ahead[parent] += (most + rest - now) / scale


@inlined
def start_sums(tables, infoset, start, stop, parameters, place, seed):
    """Initializes FTRL: weights that are not set become 1."""
    if tables.weight[infoset] == 0.0:
        tables.weight[infoset] = 1.0


@inlined
def start_logarithms(tables, infoset, start, stop, parameters, place, seed):
    """Initializes OMD: as FTRL, and `memory` with the policy's logarithms."""
    start_sums(tables, infoset, start, stop, parameters, place, seed)
    for s in range(start, stop):
        tables.memory[s] = math.log(tables.policy[s])


STEP, TEMPERATURE = range(2)
"""The rates of magnetic mirror descent: step size and temperature."""


@inlined
def of_descent(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns the rates of magnetic mirror descent.

    `parameters` are the step size, the temperature, and for each the power of the
    iteration by which it is divided.
    """
    step = parameters[0] * iteration ** (-parameters[2])
    temperature = parameters[1] * iteration ** (-parameters[3])
    return step, temperature, 1.0


@inlined
def descend_to_magnet(tables, infoset, parent, start, stop, parameters, rates):
    """Magnetic mirror descent (Sokota et al. 2023); `memory` holds the log policy.

    With step size eta, temperature alpha and the uniform policy rho as magnet,
    b ~ (b rho^(eta alpha) exp(eta G / w))^(1 / (1 + eta alpha)).

    Returns:
        max over b' of <b', G> - (w / eta) KL(b', b) - alpha w KL(b', rho).
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = rates[STEP] / tables.weight[infoset]
    pull = rates[STEP] * rates[TEMPERATURE]
    # log rho = -log(number of actions), the same for all actions.
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
    """Sets each weight to 2 + 2 max over actions of the sum of the weights right below.

    Kroer, Waugh, Kilinc-Karzan, Sandholm 2020. Bottom-up, so that `below` is complete
    when an infoset is reached.

    Args:
        infosets: infosets of a complete tree.
        below: `[S]` scratch, zeros at first.
        weight: `[I]` output.
    """
    # When an infoset is reached, all infosets below it have added their weights.
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        most = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            most = max(most, below[s])
        weight[infoset] = 2.0 + 2.0 * most
        below[infosets[infoset]["parent"]] += weight[infoset]
