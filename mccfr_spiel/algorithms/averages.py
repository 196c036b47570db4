"""Weights of the iterations in the average policy."""

import math
from dataclasses import dataclass

from mccfr_spiel.algorithms.part import Part, checked_horizon, name_in
from mccfr_spiel.common import refusals

MOST_WEIGHT = 1e290
"""Maximum sum of the weights of an average. Weighted sums of payoffs then fit a double.
"""

MOST_GAMMA = 100.0
"""Maximum gamma. With larger numbers, the average would almost be the last policy."""


@dataclass(frozen=True, repr=False)
class Averaging(Part):
    """Weights of the average policy: iteration t has the weight t ** gamma.

    Optionally, gamma changes linearly from iteration 1 to the horizon, and is constant
    from then on. Let gamma(t) be its value in iteration t. Before iteration t is added
    with weight 1, the sum so far is multiplied by ((t - 1) / t) ** gamma(t). For a
    constant gamma, this results in the same average as the weights t ** gamma.

    The sum of the weights must fit a double. With gamma above about 14, a solver
    therefore limits the number of iterations (`most_iterations`): to 485,000 for gamma
    50, and to 743 for gamma 100.

    Attributes:
        gamma: exponent in the first iteration.
        change: total change of gamma until the horizon; negative if it decreases.
        horizon: number of iterations in which gamma changes; 0 for no change.

    Raises:
        ValueError: gamma is outside [0, MOST_GAMMA] in some iteration, or it changes
            without a horizon.
    """

    gamma: float = 0.0
    change: float = 0.0
    horizon: int = 0

    def __post_init__(self) -> None:
        gamma = refusals.number(self.gamma, "gamma", 0, MOST_GAMMA)
        change = refusals.number(self.change, "change", -gamma, MOST_GAMMA - gamma)
        self.fill(gamma=gamma, change=change)
        self.fill(horizon=checked_horizon(self.horizon, change))

    def __repr__(self) -> str:
        if self.horizon:
            return self.spelled("Averaging")
        return name_in(globals(), self) or f"polynomial({self.gamma!r})"

    def __str__(self) -> str:
        name = name_in(globals(), self)
        if not name and self.change:
            end = f"t^{self.gamma + self.change:g} after {self.horizon:,} iterations"
            return f"t^{self.gamma:g} average that becomes {end}"
        return f"{name.lower() if name else f't^{self.gamma:g}'} average"


def polynomial(gamma: float) -> Averaging:
    """Weights t ** gamma of the iterations t in the average, for gamma in [0, 100].

    `Averaging` describes how gamma limits the number of iterations.
    """
    return Averaging(gamma)


def most_iterations(averaging: Averaging) -> int:
    """Returns a limit on iterations: the sum of their weights is at most MOST_WEIGHT.

    The result is at most 2 ** 62.
    """
    # The sum 1 + 2 ** gamma + ... + T ** gamma is at most T ** (gamma + 1).
    largest = averaging.gamma + max(averaging.change, 0.0)
    bits = math.log2(MOST_WEIGHT) / (largest + 1)
    return int(2.0 ** min(bits, 62.0))


UNIFORM = Averaging(0.0)
LINEAR = Averaging(1.0)
QUADRATIC = Averaging(2.0)
