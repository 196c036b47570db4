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

import math

import numpy as np

from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.randomness import child_place, stream_key, uniform
from mccfr_spiel.kernels.tables import LOG_NEGATIVE, LOG_POSITIVE, Tables

# --- how parameters change, and exact discounts in sampled walks ----------------------


Rates = tuple[float, float, float]
"""Three numbers that a rule's `rates` gives for an iteration."""

POSITIVE, NEGATIVE, AHEAD = range(3)
"""The rates of discounted rules: the factors of memories above 0 and of others, and the
factor that memories above 0 will have in the next iteration."""

_NEAR_0 = -1e-3
"""The next term of the series for exp, x ** 5 / 120, is below a rounding from here on.
"""

_LEAST = -708.0
"""Below this argument exp is denormal, so it has lost digits."""


@inlined
def constant(parameters: np.ndarray, iteration: int) -> Rates:
    """The rates of rules whose parameters do not change: memories keep their weight."""
    return 1.0, 1.0, 1.0


@inlined
def kept(power: float, offset: float, iteration: int) -> float:
    """k ** power / (k ** power + offset) for the iteration k; 1 if k is 0, when there
    is nothing to be discounted, or the power is infinite."""
    if iteration == 0 or power == math.inf:
        return 1.0
    weight = float(iteration) ** power
    return weight / (weight + offset)


@inlined
def scheduled(first: float, change: float, horizon: float, iteration: int) -> float:
    """A number that goes from `first`, in iteration 1, by `change` in a straight line
    until the horizon, and no further; without a horizon (0) it stays."""
    if horizon == 0.0:
        return first
    return first + change * min((iteration - 1) / horizon, 1.0)


@inlined
def of_two_powers(parameters: np.ndarray, iteration: int) -> Rates:
    """The rates of discounted regret matching, whose parameters are alpha, beta, how
    much each changes until the horizon, and the horizon."""
    horizon = parameters[4]
    alpha = scheduled(parameters[0], parameters[2], horizon, iteration)
    beta = scheduled(parameters[1], parameters[3], horizon, iteration)
    return kept(alpha, 1.0, iteration - 1), kept(beta, 1.0, iteration - 1), 1.0


@inlined
def of_one_power(parameters: np.ndarray, iteration: int) -> Rates:
    """The rates of predictive regret matching+, whose parameters are the weight of the
    prediction, alpha and the offset."""
    alpha, offset = parameters[1], parameters[2]
    now = kept(alpha, offset, iteration - 1)
    return now, now, kept(alpha, offset, iteration)


@inlined
def advance(clock: np.ndarray, rates: Rates) -> None:
    """Moves a walk's clock on by the discounts of one iteration."""
    clock[LOG_POSITIVE] += math.log(rates[POSITIVE])
    clock[LOG_NEGATIVE] += math.log(rates[NEGATIVE])


@inlined
def exp_down(x: float) -> float:
    """exp(x) for x <= 0, fast for the discounts that are frequent in a long run.

    Late in a run positive memories hardly shrink, so x is near 0. Others have vanished
    by the time an infoset is met again; the C library is slow there, since it reports
    the underflow.
    """
    if x > _NEAR_0:
        return 1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)))
    return math.exp(x) if x > _LEAST else 0.0


@inlined
def rates_since(tables: Tables, clock: np.ndarray, infoset: int) -> Rates:
    """The products of all discounts since an infoset was last met, which is now."""
    positive = exp_down(clock[LOG_POSITIVE] - tables.log_positive[infoset])
    negative = exp_down(clock[LOG_NEGATIVE] - tables.log_negative[infoset])
    tables.log_positive[infoset] = clock[LOG_POSITIVE]
    tables.log_negative[infoset] = clock[LOG_NEGATIVE]
    return positive, negative, 1.0


# --- the rules ------------------------------------------------------------------------


LEAST = float(np.finfo(np.float64).tiny)
"""The least double with all its digits."""


@pasted
def faded(regret: float, rate: float) -> float:
    """A regret times a discount.

    A positive regret stays positive: in exact arithmetic it never fades to 0, and where
    no other regret is positive, what it is makes no difference to the policy.
    """
    return max(regret * rate, LEAST) if regret > 0.0 else regret * rate


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
