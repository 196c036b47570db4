"""The local rules as values.

| rule | class | based on |
|---|---|---|
| regret_matching | RegretMatching | regrets |
| regret_matching_plus | RegretMatchingPlus | regrets |
| discounted_regret_matching | DiscountedRegretMatching | regrets |
| predictive_regret_matching_plus | PredictiveRegretMatchingPlus | regrets |
| ftrl, optimistic_ftrl | FTRL, OptimisticFTRL | dilated entropy |
| omd, optimistic_omd | OMD, OptimisticOMD | dilated entropy |
| mmd | MagneticMirrorDescent | dilated entropy |
"""

from dataclasses import dataclass
from typing import ClassVar

from mccfr_spiel.algorithms.minimizer import Minimizer, Ranges
from mccfr_spiel.algorithms.part import checked_horizon

_POWERS = -20, 20
"""Range of the exponents of discounts. Larger ones exceed the precision of a double."""


@dataclass(frozen=True, repr=False)
class RegretMinimizer(Minimizer):
    """Rules that play by cumulative regrets R.

    Attributes:
        initial_regret: upper end of the interval from which initial regrets are drawn.

    Raises:
        ValueError: `initial_regret` is not a number in [0, 1e100].
    """

    initial_regret: float = 0.0
    ranges: ClassVar[Ranges] = {"initial_regret": (0, 1e100)}
    allows_abstraction: ClassVar[bool] = True
    keeps_regrets: ClassVar[bool] = True


@dataclass(frozen=True, repr=False)
class RegretMatching(RegretMinimizer):
    """`R += G - <b, G>`; `b ~ max(R, 0)`, uniform if no regret is positive.

    Hart, Mas-Colell 2000.
    """

    rule: ClassVar[str] = "regret_matching"


@dataclass(frozen=True, repr=False)
class RegretMatchingPlus(RegretMinimizer):
    """`R = max(R + G - <b, G>, 0)`; `b ~ R` (Tammelin 2014)."""

    rule: ClassVar[str] = "regret_matching_plus"


@dataclass(frozen=True)
class DiscountedRegretMatching(Minimizer):
    """`R = R d(t) + r`, `r = G - <b, G>`; `b ~ max(R, 0)` (Brown, Sandholm 2019).

    In iteration t, with k = t - 1, the discount d is k ** alpha / (k ** alpha + 1)
    where R > 0, and the same with beta elsewhere. With alpha = beta = 1 the policies
    are those of regrets weighted by t, as in linear CFR. Optionally alpha and beta
    change linearly from iteration 1 to the horizon, and stay constant from then on
    (Zhang, McAleer, Sandholm 2024).

    In a sampled walk, an infoset gets the product of all discounts since it was last
    met. The result is the same as if all infosets were discounted in every iteration.

    Attributes:
        alpha: exponent for positive regrets.
        beta: exponent for other regrets.
        alpha_change: total change of alpha until the horizon.
        beta_change: total change of beta until the horizon.
        horizon: number of iterations in which they change; 0 for no change.

    Raises:
        ValueError: a field is out of range, or a change has no horizon.
    """

    alpha: float = 1.5
    beta: float = 0.0
    alpha_change: float = 0.0
    beta_change: float = 0.0
    horizon: int = 0
    rule: ClassVar[str] = "discounted_regret_matching"
    ranges: ClassVar[Ranges] = dict.fromkeys(
        ("alpha", "beta", "alpha_change", "beta_change"), _POWERS
    )
    tables: ClassVar[tuple[str, ...]] = ("log_positive", "log_negative")
    keeps_regrets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        changes = self.alpha_change, self.beta_change
        self.fill(horizon=checked_horizon(self.horizon, *changes))


@dataclass(frozen=True)
class PredictiveRegretMatchingPlus(Minimizer):
    """`R = max(R d(t) + r, 0)`; `b ~ max(R d(t + 1) + prediction r, 0)`.

    Here `r = G - <b, G>`. The rule predicts that the regrets r of the last iteration
    occur again (Farina, Kroer, Sandholm 2021). The variant of the paper that predicts
    the last gradient, passed up through the new policies, is not implemented. With
    alpha, past regrets are discounted by `d(t) = k ** alpha / (k ** alpha + offset)`,
    with k = t - 1 (Xu et al. 2024). Otherwise d is 1.

    Attributes:
        prediction: weight of the prediction: 1 as published, 0 for none, 1/3 as in Meng
            et al. 2025.
        alpha: exponent of the discount, or None.
        offset: offset of the discount.

    Raises:
        ValueError: a field is out of range.
    """

    prediction: float = 1.0
    alpha: float | None = None
    offset: float = 1.0
    rule: ClassVar[str] = "predictive_regret_matching_plus"
    ranges: ClassVar[Ranges] = {
        "prediction": (0, 1e10),
        "alpha": _POWERS,
        "offset": (0, 1e10),
    }
    tables: ClassVar[tuple[str, ...]] = ("log_positive", "log_negative")
    keeps_regrets: ClassVar[bool] = True

    @property
    def moves_everywhere(self) -> bool:
        """True with a prediction, because it becomes 0 where the gradient is 0."""
        return self.prediction > 0


# Functions that create rules, as users call them.
regret_matching = RegretMatching
regret_matching_plus = RegretMatchingPlus
discounted_regret_matching = DiscountedRegretMatching
predictive_regret_matching_plus = PredictiveRegretMatchingPlus


STEP_SIZES = 1e-100, 1e100
"""Range of step sizes. Products and quotients with payoffs still fit a double."""

_ENTROPIES = ("constant", "kroer")


@dataclass(frozen=True, repr=False)
class EntropyMinimizer(Minimizer):
    """Rules with dilated entropy, which has a weight beta at each infoset.

    Attributes:
        step_size: step size eta.
        weights: "constant" (1 everywhere) or "kroer" (weights for which the dilated
            entropy is strongly convex, Kroer et al. 2020).

    Raises:
        ValueError: `step_size` is not in STEP_SIZES, or `weights` is unknown.
    """

    step_size: float
    weights: str = "constant"
    ranges: ClassVar[Ranges] = {"step_size": STEP_SIZES}
    tables: ClassVar[tuple[str, ...]] = ("weight",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights not in _ENTROPIES:
            raise ValueError(f'weights={self.weights!r} must be "constant" or "kroer".')

    @property
    def needs_whole_tree(self) -> bool:
        """True for Kroer's weights, which depend on all infosets below."""
        return self.weights == "kroer"


@dataclass(frozen=True, repr=False)
class FTRL(EntropyMinimizer):
    """Follow the regularized leader: `L += G`; `b = softmax(eta L / beta)`.

    Farina, Kroer, Sandholm 2020.
    """

    rule: ClassVar[str] = "ftrl"


@dataclass(frozen=True, repr=False)
class OMD(EntropyMinimizer):
    """Online mirror descent: `b ~ b exp(eta G / beta)`.

    Farina, Kroer, Sandholm 2020.
    """

    rule: ClassVar[str] = "omd"


@dataclass(frozen=True)
class _Optimistic(EntropyMinimizer):
    tables: ClassVar[tuple[str, ...]] = ("weight", "ahead")

    @property
    def moves_everywhere(self) -> bool:
        """True, because the prediction becomes 0 where the gradient is 0."""
        return True


@dataclass(frozen=True)
class OptimisticFTRL(_Optimistic):
    """FTRL with the prediction that the last gradient occurs again.

    `L += G`; `b = softmax(eta (L + G) / beta)` (Farina, Kroer, Sandholm 2019).
    """

    rule: ClassVar[str] = "optimistic_ftrl"


@dataclass(frozen=True)
class OptimisticOMD(_Optimistic):
    """OMD with the prediction that the last gradient occurs again.

    `z ~ z exp(eta G / beta)`; `b ~ z exp(eta G / beta)` (Farina, Kroer, Sandholm 2019).
    """

    rule: ClassVar[str] = "optimistic_omd"


@dataclass(frozen=True)
class MagneticMirrorDescent(EntropyMinimizer):
    """Magnetic mirror descent with the uniform policy rho as magnet.

    Sokota et al. 2023:

    `b ~ (b rho^(eta alpha) exp(eta G / beta)) ^ (1 / (1 + eta alpha))`

    The last iterate converges, so evaluate the current policy, too. With a constant
    temperature, the limit is the equilibrium of the game in which each decision costs
    alpha times the divergence from the uniform policy. (OpenSpiel's `mmd_dilated`
    regularizes by the entropy and converges to another policy.) With a decreasing
    temperature, the limit is an equilibrium of the game.

    Attributes:
        step_size: eta in the first iteration.
        weights: as in `EntropyMinimizer`.
        temperature: alpha in the first iteration.
        step_power: eta is divided by t ** step_power in iteration t.
        temperature_power: alpha is divided by t ** temperature_power in iteration t.
    """

    temperature: float = 1.0
    step_power: float = 0.0
    temperature_power: float = 0.0
    rule: ClassVar[str] = "mmd"
    ranges: ClassVar[Ranges] = {
        **EntropyMinimizer.ranges,
        "temperature": (0, 1e10),
        "step_power": (0, 1),
        "temperature_power": (0, 1),
    }

    @property
    def moves_everywhere(self) -> bool:
        """True, because the magnet moves every policy."""
        return True


ftrl = FTRL
omd = OMD
optimistic_ftrl = OptimisticFTRL
optimistic_omd = OptimisticOMD


def mmd(
    step_size: float,
    temperature: float,
    *,
    weights: str = "constant",
    step_power: float = 0.0,
    temperature_power: float = 0.0,
) -> MagneticMirrorDescent:
    """Creates the rule `MagneticMirrorDescent`.

    Args:
        step_size: eta in the first iteration.
        temperature: alpha in the first iteration.
        weights: "constant" or "kroer".
        step_power: eta is divided by t ** step_power in iteration t.
        temperature_power: alpha is divided by t ** temperature_power in iteration t.
    """
    return MagneticMirrorDescent(
        step_size, weights, temperature, step_power, temperature_power
    )


RULES: dict[str, type[Minimizer]] = {
    kind.rule: kind
    for kind in [*globals().values()]
    if isinstance(kind, type) and "rule" in vars(kind)
}
"""The rules by name, in the order of definition."""
