"""Discounts of regrets.

Discounted rules multiply all cumulative regrets, stored in `Tables.memory`, by a factor
in each iteration. A pass over the complete tree does so directly. A sampled walk visits
few infosets. When an infoset is updated, its regrets are therefore multiplied by the
product of all factors since its last update. The result is the same as if every factor
had been applied in its own iteration, because a factor depends only on the iteration
and on the sign of the regret, and a discount does not change the sign.

The product is computed as a difference of logarithms. `Walk.clock` holds the sums of
the logarithms of all factors so far. `Tables.log_positive` and `Tables.log_negative`
hold the values of these sums at the last update of each infoset.
"""

import math

import numpy as np

from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.tables import LOG_NEGATIVE, LOG_POSITIVE, Tables

Rates = tuple[float, float, float]
"""Three numbers that a rule uses in one iteration, for example discounts.

The function `Rule.rates` computes them. Their meaning depends on the rule.
"""

POSITIVE, NEGATIVE, AHEAD = range(3)
"""Indices of the `Rates` of discounted rules.

POSITIVE: factor of regrets above 0.
NEGATIVE: factor of other regrets.
AHEAD: factor of regrets above 0 in the next iteration.
"""

_NEAR_0 = -1e-3
"""For x between this number and 0, the first omitted term of the series of exp(x),
x ** 5 / 120, is smaller than half a rounding error.
"""

_LEAST = -708.0
"""For x above this number, exp(x) is a normal double, with all digits."""


@inlined
def constant(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns the `Rates` of rules without discounts, which are all 1."""
    return 1.0, 1.0, 1.0


@inlined
def kept(power: float, offset: float, iteration: int) -> float:
    """Returns the factor k ** power / (k ** power + offset) for iteration k.

    The factor is 1 if k is 0, when no regrets exist yet, or if the power is infinite.
    """
    if iteration == 0 or power == math.inf:
        return 1.0
    weight = float(iteration) ** power
    return weight / (weight + offset)


@inlined
def scheduled(first: float, change: float, horizon: float, iteration: int) -> float:
    """Returns the value at an iteration of a parameter that changes linearly.

    Args:
        first: value in iteration 1.
        change: total change, reached `horizon` iterations later. Then the value is
            constant.
        horizon: number of iterations during which the parameter changes; 0 for no
            change.
        iteration: the iteration, counted from 1.
    """
    if horizon == 0.0:
        return first
    return first + change * min((iteration - 1) / horizon, 1.0)


@inlined
def of_two_powers(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns the rates of discounted regret matching (Brown, Sandholm 2019).

    After iteration k, positive regrets are multiplied by k^alpha / (k^alpha + 1) and
    other regrets by k^beta / (k^beta + 1).

    Args:
        parameters: alpha and beta in iteration 1, the total changes of alpha and of
            beta, and the number of iterations during which they change (`scheduled`).
        iteration: the iteration, counted from 1.
    """
    # Brown and Sandholm discount at the end of iteration k. Here the discount happens
    # just before the regrets of iteration k + 1 are added.
    horizon = parameters[4]
    alpha = scheduled(parameters[0], parameters[2], horizon, iteration)
    beta = scheduled(parameters[1], parameters[3], horizon, iteration)
    return kept(alpha, 1.0, iteration - 1), kept(beta, 1.0, iteration - 1), 1.0


@inlined
def of_one_power(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns the rates of predictive regret matching+ with discounts (Xu et al. 2024).

    After iteration k, regrets are multiplied by k^alpha / (k^alpha + offset).

    Args:
        parameters: weight of the prediction (not used here), alpha, and the offset.
        iteration: the iteration, counted from 1.
    """
    alpha, offset = parameters[1], parameters[2]
    current = kept(alpha, offset, iteration - 1)
    return current, current, kept(alpha, offset, iteration)


@inlined
def advance(clock: np.ndarray, rates: Rates) -> None:
    """Adds the logarithms of an iteration's factors to `Walk.clock`."""
    clock[LOG_POSITIVE] += math.log(rates[POSITIVE])
    clock[LOG_NEGATIVE] += math.log(rates[NEGATIVE])


@inlined
def exp_down(x: float) -> float:
    """Returns exp(x) for x <= 0, with shortcuts for the most frequent arguments.

    Late in a run positive regrets hardly shrink from iteration to iteration, so x is
    close to 0. Negative regrets often shrink to 0 before the infoset is updated again,
    so x is very negative. There the exp of the C library is slow, because it reports
    underflow.
    """
    if x > _NEAR_0:  # Taylor series in Horner's form
        return 1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)))
    return math.exp(x) if x > _LEAST else 0.0


@inlined
def rates_since(tables: Tables, clock: np.ndarray, infoset: int) -> Rates:
    """Returns the products of all factors since the last update of an infoset.

    The present sums of logarithms are stored for the next update of the infoset.

    Returns:
        The product for positive regrets, the product for other regrets, and 1.
    """
    # All factors are at most 1, so the sums of logarithms decrease and the differences
    # are at most 0, as `exp_down` requires.
    positive = exp_down(clock[LOG_POSITIVE] - tables.log_positive[infoset])
    negative = exp_down(clock[LOG_NEGATIVE] - tables.log_negative[infoset])
    tables.log_positive[infoset] = clock[LOG_POSITIVE]
    tables.log_negative[infoset] = clock[LOG_NEGATIVE]
    return positive, negative, 1.0


LEAST = float(np.finfo(np.float64).tiny)
"""Smallest positive normal double."""


@pasted
def faded(regret: float, rate: float) -> float:
    """Returns a regret times a discount.

    A positive regret stays positive, as in exact arithmetic, even if the product rounds
    to 0. Otherwise the only action with positive regret could lose its probability.
    """
    return max(regret * rate, LEAST) if regret > 0.0 else regret * rate
