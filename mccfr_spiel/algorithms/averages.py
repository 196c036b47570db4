"""Weights of the average policy."""

import math
from dataclasses import dataclass

from mccfr_spiel.algorithms.part import Part, checked_horizon, name_in
from mccfr_spiel.common import refusals

MOST_WEIGHT = 1e290
"""What the weights of an average may add up to, so that sums of them fit a double."""

MOST_GAMMA = 100.0
"""Beyond it an average is hardly more than the last policy."""


@dataclass(frozen=True, repr=False)
class Averaging(Part):
    """The policy of iteration t enters the average with weight t ** gamma.

    With a change, gamma moves in a straight line, by that much, from iteration 1 to
    `horizon` iterations later, where it stays; before iteration t all that is in the
    average is multiplied by ((t - 1) / t) ** gamma. Without one that is the same.

    The weights must add up to a number that a double holds. So with a gamma above 14 a
    solver refuses to go on beyond a number of iterations (`most_iterations`): 485,000
    for gamma 50, 743 for gamma 100.

    Attributes:
        gamma: in the first iteration.
        change: what is added to gamma in the course of the horizon.
        horizon: in iterations; 0 for no change.

    Raises:
        ValueError: `gamma` is, or becomes, no number in [0, MOST_GAMMA], or changes
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
    """Weights t ** gamma, for gamma in 0 .. 100; `Averaging` says how far they go."""
    return Averaging(gamma)


def most_iterations(averaging: Averaging) -> int:
    """A number of iterations T after which the weights of an average add up to no more
    than MOST_WEIGHT; at most 2 ** 62, which nobody reaches."""
    # 1 + 2 ** gamma + ... + T ** gamma <= T ** (gamma + 1)
    most = averaging.gamma + max(averaging.change, 0.0)
    bits = math.log2(MOST_WEIGHT) / (most + 1)
    return int(2.0 ** min(bits, 62.0))


UNIFORM = Averaging(0.0)
LINEAR = Averaging(1.0)
QUADRATIC = Averaging(2.0)
