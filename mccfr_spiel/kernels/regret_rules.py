"""The rules that play in proportion to cumulative regrets; see minimizers.py.

Below, r(a) = G(a) - <b, G> are an infoset's instantaneous regrets in this iteration and
[x]+ is max(x, 0).
"""

import numpy as np

from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.randomness import child_place, stream_key, uniform
from mccfr_spiel.kernels.rates import AHEAD, NEGATIVE, POSITIVE
from mccfr_spiel.kernels.tables import Tables

LEAST = float(np.finfo(np.float64).tiny)
"""The least double with all its digits."""


@pasted
def faded(regret: float, rate: float) -> float:
    """A regret times a discount.

    A positive regret stays positive: in exact arithmetic it never fades to 0, and where
    no other regret is positive, what it is makes no difference to the policy.
    """
    return max(regret * rate, LEAST) if regret > 0.0 else regret * rate


@pasted
def value_of(
    policy: np.ndarray, gradient: np.ndarray, start: int, stop: int, capped: bool
) -> float:
    """<b, G>, which rounding may take beyond the best G of an action that is played.

    Where regrets fade, the loss of all actions that are played, by a rounding, would
    outweigh what is left of their regrets, and the policy would become uniform. So
    there the value is capped: in exact arithmetic that changes nothing.
    """
    value, best = 0.0, -np.inf
    for s in range(start, stop):
        value += policy[s] * gradient[s]
        if policy[s] > 0.0:
            best = max(best, gradient[s])
    return min(value, best) if capped else value


@pasted
def play_positive(
    policy: np.ndarray, sums: np.ndarray, start: int, stop: int, total: float
) -> None:
    """Plays in proportion to the positive sums, whose total it is; uniformly if none
    is positive."""
    for s in range(start, stop):
        if total > 0.0:
            policy[s] = max(sums[s], 0.0) / total
        else:
            policy[s] = 1.0 / (stop - start)


@pasted
def match_regrets(tables, infoset, parent, start, stop, parameters, rates):
    """Regret matching; `memory` holds the cumulative regrets; returns <b, G>."""
    return add_regrets(tables, start, stop, False, False, 1.0, 1.0)


@pasted
def match_regrets_plus(tables, infoset, parent, start, stop, parameters, rates):
    """Regret matching+; `memory` holds the regrets, never below 0; returns <b, G>."""
    return add_regrets(tables, start, stop, True, False, 1.0, 1.0)


@pasted
def add_regrets(
    tables: Tables,
    start: int,
    stop: int,
    floored: bool,
    discounted: bool,
    positive: float,
    negative: float,
) -> float:
    """Adds the regrets to `memory` and plays in proportion to the positive ones.

    Args:
        tables: see above.
        start: the first sequence.
        stop: the end of the sequences.
        floored: whether sums of regrets below 0 become 0.
        discounted: whether regrets fade; a constant, because the sums of rules that
            discount nothing are to stay as they are to the last bit.
        positive: what a sum above 0 is multiplied by before the regret is added.
        negative: what any other sum is.

    Returns:
        <b, G>.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    value = value_of(policy, gradient, start, stop, discounted)
    total = 0.0
    for s in range(start, stop):
        rate = positive if memory[s] > 0.0 else negative
        if discounted:
            regret = faded(memory[s], rate) + (gradient[s] - value)
        else:
            regret = memory[s] * rate + gradient[s] - value
        gradient[s] = 0.0
        if floored and regret < 0.0:
            regret = 0.0
        memory[s] = regret
        if regret > 0.0:
            total += regret
    play_positive(policy, memory, start, stop, total)
    return value


@inlined
def start_regrets(tables, infoset, start, stop, parameters, place, seed):
    """Starts regrets at random in [0, parameters[0]), and the policy with them."""
    if parameters[0] == 0.0:  # nothing is drawn, and the place may not be known
        return
    policy, memory = tables.policy, tables.memory
    stream = stream_key(seed, 0, 0, 1)
    total = 0.0
    for s in range(start, stop):
        regret = parameters[0] * uniform(stream, child_place(place, s - start))
        memory[s] = regret
        total += regret
    play_positive(policy, memory, start, stop, total)


@pasted
def discount_regrets(tables, infoset, parent, start, stop, parameters, rates):
    """Discounted regret matching; `memory` holds the regrets; returns <b, G>.

    R = R * rates[POSITIVE] + r where R > 0, R * rates[NEGATIVE] + r elsewhere;
    b ~ [R]+.
    """
    positive, negative = rates[POSITIVE], rates[NEGATIVE]
    return add_regrets(tables, start, stop, False, True, positive, negative)


@pasted
def predict_regrets(tables, infoset, parent, start, stop, parameters, rates):
    """Predictive regret matching+; `memory` holds the regrets; returns <b, G>.

    R = [R * rates[POSITIVE] + r]+; b ~ [R * rates[AHEAD] + prediction * r]+. The first
    parameter is the weight of the prediction, which is that the same r comes again.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    prediction = parameters[0]
    value = value_of(policy, gradient, start, stop, rates[POSITIVE] < 1.0)
    total = 0.0
    for s in range(start, stop):
        now = gradient[s] - value
        gradient[s] = 0.0
        regret = max(faded(memory[s], rates[POSITIVE]) + now, 0.0)
        memory[s] = regret
        ahead = max(faded(regret, rates[AHEAD]) + prediction * now, 0.0)
        policy[s] = ahead
        total += ahead
    play_positive(policy, policy, start, stop, total)
    return value
