"""The numbers of an update of blocks: discounts and weights of the average.

Which algorithms can keep their tables in blocks is decided by
`arenas.needs.why_no_blocks`.
"""

import numpy as np

from mccfr_spiel.algorithms import (
    Algorithm,
    Averaging,
    DiscountedRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatchingPlus,
)
from mccfr_spiel.arenas.hand_sweeps import numbers_of
from mccfr_spiel.kernels.hand_decisions import TREMBLE


def numbers_at(algorithm: Algorithm, iteration: int) -> np.ndarray:
    """`[9]` the numbers of an iteration, with player 0, see `hand_decisions.MODE`.

    Args:
        algorithm: an algorithm that keeps its tables in blocks.
        iteration: the iteration, counted from 1.
    """
    numbers = _rates_at(algorithm, iteration)
    numbers[TREMBLE] = algorithm.minimizer.tremble
    return numbers


def _rates_at(algorithm: Algorithm, iteration: int) -> np.ndarray:
    """The result of `numbers_at` without trembles."""
    rule, decay = algorithm.minimizer, _decay(algorithm.averaging, iteration)
    positive = negative = 1.0
    # As in kernels/discounts.py, the discount of iteration k is applied just before
    # the regrets of iteration k + 1 are added.
    if isinstance(rule, DiscountedRegretMatching):
        change = _progress(rule.horizon, iteration)
        alpha = rule.alpha + change * rule.alpha_change
        beta = rule.beta + change * rule.beta_change
        positive = _kept(alpha, 1.0, iteration - 1)
        negative = _kept(beta, 1.0, iteration - 1)
        return numbers_of(positive, negative, decay)
    if isinstance(rule, PredictiveRegretMatchingPlus):
        if rule.alpha is not None:
            positive = _kept(rule.alpha, rule.offset, iteration - 1)
        weight = rule.prediction
        return numbers_of(positive, 1.0, decay, floors=True, predicts=weight)
    floors = isinstance(rule, RegretMatchingPlus)
    return numbers_of(1.0, 1.0, decay, floors=floors)


def _kept(power: float, offset: float, iteration: int) -> float:
    """The factor k ** power / (k ** power + offset); 1 for k = 0."""
    if iteration == 0:
        return 1.0
    weight = float(iteration) ** power
    return weight / (weight + offset)


def _progress(horizon: int, iteration: int) -> float:
    """The part of a scheduled change that has happened by an iteration."""
    return min((iteration - 1) / horizon, 1.0) if horizon else 0.0


def _decay(averaging: Averaging, iteration: int) -> float:
    """The factor of the average before an iteration is added with weight 1."""
    if iteration == 1:
        return 0.0
    gamma = averaging.gamma + averaging.change * _progress(averaging.horizon, iteration)
    return ((iteration - 1) / iteration) ** gamma
