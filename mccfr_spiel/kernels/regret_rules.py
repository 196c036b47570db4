"""The compiled rules that play in proportion to positive regrets; see minimizers.py.

Notation: r(a) = G(a) - <b, G> are the instantaneous regrets of an infoset, [x]+ is
max(x, 0).

| function | rule | paper |
|---|---|---|
| match_regrets | regret matching | Hart, Mas-Colell 2000 |
| match_regrets_plus | regret matching+ | Tammelin 2014 |
| discount_regrets | discounted regret matching | Brown, Sandholm 2019 |
| predict_regrets | predictive regret matching+ | Farina, Kroer, Sandholm 2021 |
| match_kept | regret matching with skipped actions | Brown, Sandholm 2019 (Pluribus) |
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.discounts import AHEAD, NEGATIVE, POSITIVE, faded
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.randomness import child_place, stream_key, uniform
from mccfr_spiel.kernels.tables import Tables

SKIPPED = -float(np.finfo(np.float64).max)
"""Gradient of an action that a walk has skipped, see selection.py."""


@pasted
def value_of(
    policy: np.ndarray,
    gradient: np.ndarray,
    start: int,
    stop: int,
    skips: bool,
    capped: bool,
) -> float:
    """Returns <b, G>, at most the largest G among actions with positive probability.

    Args:
        policy: the policies b.
        gradient: the gradients G.
        start: first sequence.
        stop: end of the sequences.
        skips: whether actions whose gradient is SKIPPED are left out.
        capped: whether the value is limited as described. Discounted rules need this:
            their regrets may become so small that a rounding error of the value
            outweighs them, and the policy would become uniform. In exact arithmetic the
            limit has no effect.
    """
    # The weighted mean of G cannot exceed its maximum, except by rounding.
    value, best = 0.0, -np.inf
    for s in range(start, stop):
        if not (skips and gradient[s] == SKIPPED):
            value += policy[s] * gradient[s]
            if policy[s] > 0.0:
                best = max(best, gradient[s])
    return min(value, best) if capped else value


def plain_play_positive(
    policy: Any, sums: Any, start: int, stop: int, total: float
) -> None:
    """Sets a policy in proportion to positive sums (Hart, Mas-Colell 2000).

    All compiled rules based on regrets compute their policies here. The plain version
    for bots is `policies.online_bot.match_regrets`.

    Args:
        policy: the policies; entries `start .. stop - 1` change.
        sums: sums of regrets.
        start: first sequence.
        stop: end of the sequences.
        total: total of the positive sums. If it is 0 the policy is uniform.
    """
    for s in range(start, stop):
        if total > 0.0:
            policy[s] = max(sums[s], 0.0) / total
        else:
            policy[s] = 1.0 / (stop - start)


play_positive = pasted(plain_play_positive)


@inlined
def match_sums(tables: Tables, start: int, stop: int, floored: bool) -> None:
    """Sets the policy of an infoset from the sums of regrets in `memory`.

    Args:
        tables: the tables; `policy` changes, and `memory` if `floored`.
        start: first sequence.
        stop: end of the sequences.
        floored: whether negative sums become 0 first.
    """
    memory, total = tables.memory, 0.0
    for s in range(start, stop):
        if floored and memory[s] < 0.0:
            memory[s] = 0.0
        if memory[s] > 0.0:
            total += memory[s]
    play_positive(tables.policy, memory, start, stop, total)


@pasted
def match_regrets(tables, infoset, parent, start, stop, parameters, rates):
    """Regret matching. `memory` holds the cumulative regrets. Returns <b, G>."""
    return add_regrets(tables, start, stop, -np.inf, False, False, 1.0, 1.0)


@pasted
def match_regrets_plus(tables, infoset, parent, start, stop, parameters, rates):
    """Regret matching+ (Tammelin 2014). `memory` holds the nonnegative regrets.

    Returns <b, G>.
    """
    return add_regrets(tables, start, stop, 0.0, False, False, 1.0, 1.0)


@pasted
def match_kept(tables: Tables, start: int, stop: int, floor: float) -> float:
    """Regret matching where walks may have skipped actions; returns <b, G>.

    Args:
        tables: the tables.
        start: first sequence.
        stop: end of the sequences.
        floor: lower bound of cumulative regrets.
    """
    return add_regrets(tables, start, stop, floor, True, False, 1.0, 1.0)


@pasted
def add_regrets(
    tables: Tables,
    start: int,
    stop: int,
    floor: float,
    skips: bool,
    discounted: bool,
    positive: float,
    negative: float,
) -> float:
    """Adds the regrets to `memory` and plays in proportion to the positive sums.

    Args:
        tables: the tables.
        start: first sequence.
        stop: end of the sequences.
        floor: lower bound of the sums: 0 for regret matching+, -inf for no bound.
        skips: whether actions whose gradient is SKIPPED keep their sums. Their
            probability is 0.
        discounted: whether sums are discounted. Must be a compile-time constant,
            because the two branches round differently.
        positive: discount of positive sums.
        negative: discount of other sums.

    Returns:
        <b, G>.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    value = value_of(policy, gradient, start, stop, skips, discounted)
    total = 0.0
    for s in range(start, stop):
        if not (skips and gradient[s] == SKIPPED):
            # The order of the additions decides the last bits of all results.
            rate = positive if memory[s] > 0.0 else negative
            if discounted:
                regret = faded(memory[s], rate) + (gradient[s] - value)
            else:
                regret = memory[s] * rate + gradient[s] - value
            if regret < floor:
                regret = floor
            memory[s] = regret
            if regret > 0.0:
                total += regret
        gradient[s] = 0.0
    play_positive(policy, memory, start, stop, total)
    return value


@inlined
def start_regrets(tables, infoset, start, stop, parameters, place, seed):
    """Draws initial regrets from [0, parameters[0]) and sets the policy accordingly."""
    # Then the place may be unknown, and no draw is needed.
    if parameters[0] == 0.0:
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
    """Discounted regret matching (Brown, Sandholm 2019). `memory` holds the regrets.

    R = R rates[POSITIVE] + r where R > 0, R rates[NEGATIVE] + r elsewhere; b ~ [R]+.
    Returns <b, G>.
    """
    positive, negative = rates[POSITIVE], rates[NEGATIVE]
    return add_regrets(tables, start, stop, -np.inf, False, True, positive, negative)


@pasted
def predict_regrets(tables, infoset, parent, start, stop, parameters, rates):
    """Predictive regret matching+ (Farina, Kroer, Sandholm 2021).

    R = [R rates[POSITIVE] + r]+; b ~ [R rates[AHEAD] + prediction r]+. The first
    parameter is the weight of the prediction that the same r occurs again. `memory`
    holds R. Returns <b, G>.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    prediction = parameters[0]
    value = value_of(policy, gradient, start, stop, False, rates[POSITIVE] < 1.0)
    total = 0.0
    for s in range(start, stop):
        # The prediction enters the policy only, not the memory.
        now = gradient[s] - value
        gradient[s] = 0.0
        regret = max(faded(memory[s], rates[POSITIVE]) + now, 0.0)
        memory[s] = regret
        ahead = max(faded(regret, rates[AHEAD]) + prediction * now, 0.0)
        policy[s] = ahead
        total += ahead
    play_positive(policy, policy, start, stop, total)
    return value
