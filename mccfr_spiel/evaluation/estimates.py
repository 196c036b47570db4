"""Means over independent plays, with confidence intervals.

The intervals are computed from the central limit theorem. They are reliable for many
plays, unless the mean depends mostly on rare, large payoffs.
"""

import math
import statistics
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import line, never_raises, plus_minus

CONFIDENCE = 0.95
"""Default probability that a confidence interval contains the true value."""


class Estimate(NamedTuple):
    """The mean of a quantity over many plays, with a confidence interval.

    Attributes:
        mean: mean over the plays.
        half_width: half the width of the confidence interval around the mean.
        plays: number of plays.
    """

    mean: float
    half_width: float
    plays: int

    @property
    def low(self) -> float:
        """The lower end of the confidence interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the confidence interval."""
        return self.mean + self.half_width

    def __str__(self) -> str:
        return plus_minus(self.mean, self.half_width)

    @never_raises
    def __repr__(self) -> str:
        return line(self, str(self), f"{self.plays:,} plays")


def check_confidence(confidence: Any) -> None:
    """Raises ValueError unless `confidence` is between 0 and 1."""
    refusals.number(confidence, "confidence", 0, 1, open_low=True)
    if confidence == 1:
        raise ValueError(f"confidence={confidence} must be below 1.")


def estimate_of(values: np.ndarray, confidence: float) -> Estimate:
    """Computes the estimate of a mean.

    Args:
        values: `[plays]` independent values, at least two.
        confidence: probability that the interval contains the true mean.
    """
    quantile = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    deviation = values.std(ddof=1) / math.sqrt(len(values))
    return Estimate(float(values.mean()), float(quantile * deviation), len(values))
