"""Weights of the iterations in the average policy."""

import math
from dataclasses import dataclass

from mccfr_spiel.algorithms.part import Part, checked_horizon, name_in
from mccfr_spiel.common import refusals

MOST_WEIGHT = 1e290
"""Maximum sum of the weights of an average, so that sums of payoffs fit a double."""

MOST_GAMMA = 100.0
"""Maximum gamma. With more, the average is almost the last policy."""


@dataclass(frozen=True, repr=False)
class Averaging(Part):
    """The policy of iteration t enters the average with weight t ** gamma.

    If gamma changes, it moves linearly from iteration 1 to the horizon and stays
    constant from then on. The average is then multiplied by ((t - 1) / t) ** gamma(t)
    before iteration t is added. For constant gamma this is the same as weights t **
    gamma.

    The sum of the weights must fit a double. With gamma above 14, a solver therefore
    limits the number of iterations (`most_iterations`): 485,000 for gamma 50, 743 for
    gamma 100.

    Attributes:
        gamma: exponent in the first iteration.
        change: total change of gamma until the horizon.
        horizon: number of iterations in which gamma changes; 0 for no change.

    Raises:
        ValueError: gamma is not a number in [0, MOST_GAMMA] at all times, or it changes
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
    """Weights t ** gamma, for gamma in [0, 100]; see `Averaging` for limits."""
    return Averaging(gamma)


def most_iterations(averaging: Averaging) -> int:
    """Returns a number of iterations whose weights add up to at most MOST_WEIGHT.

    The result is at most 2 ** 62.
    """
    # 1 + 2 ** gamma + ... + T ** gamma <= T ** (gamma + 1)
    most = averaging.gamma + max(averaging.change, 0.0)
    bits = math.log2(MOST_WEIGHT) / (most + 1)
    return int(2.0 ** min(bits, 62.0))


UNIFORM = Averaging(0.0)
LINEAR = Averaging(1.0)
QUADRATIC = Averaging(2.0)
