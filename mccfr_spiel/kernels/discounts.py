"""Discounts of regrets, exact also in sampled walks."""

import math

import numpy as np

from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.tables import LOG_NEGATIVE, LOG_POSITIVE, Tables

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


LEAST = float(np.finfo(np.float64).tiny)
"""The least double with all its digits."""


@pasted
def faded(regret: float, rate: float) -> float:
    """A regret times a discount.

    A positive regret stays positive: in exact arithmetic it never fades to 0, and where
    no other regret is positive, what it is makes no difference to the policy.
    """
    return max(regret * rate, LEAST) if regret > 0.0 else regret * rate
