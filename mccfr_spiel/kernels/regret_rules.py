"""The rules that play in proportion to cumulative regrets; see minimizers.py.

Below, r(a) = G(a) - <b, G> are an infoset's instantaneous regrets in this iteration and
[x]+ is max(x, 0).

Discounted rules multiply all that an infoset remembers by a factor in each iteration. A
pass visits every infoset in every iteration, so it can simply do that. A sampled walk
does not meet most infosets. When it meets one at last, their memory is multiplied by
the product of all factors since it was last met. That is exact, because a factor
depends on the iteration and on the sign of the memory only, and what is not met keeps
its sign. The product is a difference of logarithms: `Walk.clock` has the sum of all
logarithms so far, and `Tables.log_positive` and `log_negative` have what that sum was
when the infoset was last met.
"""

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
    """<b, G>, where rounding must not exceed the best G of an action that is played.

    Where regrets fade, a rounding error in the value could outweigh the small regrets
    that are left, and the policy would become uniform. The cap prevents this. In exact
    arithmetic it changes nothing.

    Args:
        policy: the policies b.
        gradient: the gradients G.
        start: the first sequence.
        stop: the end of the sequences.
        skips: whether actions whose gradient is SKIPPED are left out.
        capped: whether regrets fade.
    """
    value, best = 0.0, -np.inf
    for s in range(start, stop):
        if not (skips and gradient[s] == SKIPPED):
            value += policy[s] * gradient[s]
            if policy[s] > 0.0:
                best = max(best, gradient[s])
    return min(value, best) if capped else value


@pasted
def play_positive(
    policy: np.ndarray, sums: np.ndarray, start: int, stop: int, total: float
) -> None:
    """Regret matching (Hart, Mas-Colell 2000): plays in proportion to positive sums.

    Every compiled rule based on regrets computes its policy here. The plain version for
    bots is `policies.online_bot.match_regrets`.

    Args:
        policy: the policies; entries `start .. stop - 1` change.
        sums: the sums of regrets.
        start: the first sequence.
        stop: the end of the sequences.
        total: the sum of the positive sums. If it is 0 the policy is uniform.
    """
    for s in range(start, stop):
        if total > 0.0:
            policy[s] = max(sums[s], 0.0) / total
        else:
            policy[s] = 1.0 / (stop - start)


@inlined
def match_sums(tables: Tables, start: int, stop: int, floored: bool) -> None:
    """Sets the policy of an infoset by its sums of regrets, which are in `memory`.

    Args:
        tables: the tables.
        start: the first sequence.
        stop: the end of the sequences.
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
    """Regret matching; `memory` holds the cumulative regrets; returns <b, G>."""
    return add_regrets(tables, start, stop, -np.inf, False, False, 1.0, 1.0)


@pasted
def match_regrets_plus(tables, infoset, parent, start, stop, parameters, rates):
    """Regret matching+ (Tammelin 2014); `memory` holds the regrets, never below 0;
    returns <b, G>."""
    return add_regrets(tables, start, stop, 0.0, False, False, 1.0, 1.0)


@pasted
def match_kept(tables: Tables, start: int, stop: int, floor: float) -> float:
    """Regret matching where walks may have skipped actions; returns <b, G>.

    Args:
        tables: the tables.
        start: the first sequence.
        stop: the end of the sequences.
        floor: the smallest cumulative regret.
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
        start: the first sequence.
        stop: the end of the sequences.
        floor: the smallest sum of regrets: 0 for regret matching+, else -inf.
        skips: whether actions whose gradient is SKIPPED keep their sums. Their
            probability is 0.
        discounted: whether sums are discounted. It is a constant, because rules without
            discounts must round as before.
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
    return add_regrets(tables, start, stop, -np.inf, False, True, positive, negative)


@pasted
def predict_regrets(tables, infoset, parent, start, stop, parameters, rates):
    """Predictive regret matching+; `memory` holds the regrets; returns <b, G>.

    R = [R * rates[POSITIVE] + r]+; b ~ [R * rates[AHEAD] + prediction * r]+. The first
    parameter is the weight of the prediction, which is that the same r comes again.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    prediction = parameters[0]
    value = value_of(policy, gradient, start, stop, False, rates[POSITIVE] < 1.0)
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
