"""Discounts of regrets, which are exact in sampled walks too.

Discounted rules multiply the memory of every infoset by a factor in each iteration. A
pass visits all infosets and does so directly. A sampled walk does not meet most
infosets. When it meets one, it multiplies the memory by the product of all factors
since the last meeting. The result is exact, because a factor depends only on the
iteration and on the sign of the memory, and a discount does not change the sign.

The product is computed as a difference of logarithms: `Walk.clock` has the sum of the
logarithms of all factors, and `Tables.log_positive` and `Tables.log_negative` have that
sum at the last meeting.
"""

import math

import numpy as np

from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.tables import LOG_NEGATIVE, LOG_POSITIVE, Tables

Rates = tuple[float, float, float]
"""Three parameters of a rule in one iteration, returned by the function `rates`."""

POSITIVE, NEGATIVE, AHEAD = range(3)
"""The rates of discounted rules.

POSITIVE: factor of memories above 0.
NEGATIVE: factor of other memories.
AHEAD: factor of memories above 0 in the next iteration.
"""

_NEAR_0 = -1e-3
"""Smallest argument of the series for exp: the next term, x ** 5 / 120, is below half a
rounding error.
"""

_LEAST = -708.0
"""Smallest argument for which exp is a normal double with all digits."""


@inlined
def constant(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns the rates of rules without discounts."""
    return 1.0, 1.0, 1.0


@inlined
def kept(power: float, offset: float, iteration: int) -> float:
    """Returns the factor k ** power / (k ** power + offset) of iteration k.

    It is 1 if k is 0, when there is nothing to discount, or if the power is infinite.
    """
    if iteration == 0 or power == math.inf:
        return 1.0
    weight = float(iteration) ** power
    return weight / (weight + offset)


@inlined
def scheduled(first: float, change: float, horizon: float, iteration: int) -> float:
    """Returns a parameter that moves linearly from `first` in iteration 1 by `change`.

    It stays constant from the horizon on. A horizon of 0 means no change.
    """
    if horizon == 0.0:
        return first
    return first + change * min((iteration - 1) / horizon, 1.0)


@inlined
def of_two_powers(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns the rates of discounted regret matching (Brown, Sandholm 2019).

    `parameters` are alpha, beta, the change of each until the horizon, and the horizon.
    """
    horizon = parameters[4]
    alpha = scheduled(parameters[0], parameters[2], horizon, iteration)
    beta = scheduled(parameters[1], parameters[3], horizon, iteration)
    return kept(alpha, 1.0, iteration - 1), kept(beta, 1.0, iteration - 1), 1.0


@inlined
def of_one_power(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns the rates of predictive regret matching+ with discounts (Xu et al. 2024).

    `parameters` are the weight of the prediction, alpha and the offset.
    """
    alpha, offset = parameters[1], parameters[2]
    now = kept(alpha, offset, iteration - 1)
    return now, now, kept(alpha, offset, iteration)


@inlined
def advance(clock: np.ndarray, rates: Rates) -> None:
    """Adds the discounts of one iteration to the clock of a walk."""
    clock[LOG_POSITIVE] += math.log(rates[POSITIVE])
    clock[LOG_NEGATIVE] += math.log(rates[NEGATIVE])


@inlined
def exp_down(x: float) -> float:
    """Returns exp(x) for x <= 0, quickly for arguments that are frequent in long runs.

    Late in a run positive memories hardly shrink, so x is close to 0. Other memories
    have vanished when the infoset is met again; the C library is slow there, because it
    reports the underflow.
    """
    if x > _NEAR_0:  # Taylor series in Horner's form
        return 1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)))
    return math.exp(x) if x > _LEAST else 0.0


@inlined
def rates_since(tables: Tables, clock: np.ndarray, infoset: int) -> Rates:
    """Returns the products of all discounts since an infoset was last met.

    It also records that the infoset is met now.
    """
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

    A positive regret stays positive, as in exact arithmetic. Where no other regret is
    positive, its size does not affect the policy.
    """
    return max(regret * rate, LEAST) if regret > 0.0 else regret * rate
