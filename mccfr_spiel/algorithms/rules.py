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

Symbols in the formulas of this module; all of them are vectors over the actions of an
infoset unless they are called numbers:

- `b`: the policy at the infoset;
- `G`: the gradient, that is, the counterfactual values of the actions;
- `<b, G>`: the scalar product, that is, the value of the infoset (a number);
- `R`: the cumulative regrets;
- `t`: the iteration, from 1 on (a number);
- `b ~ x`: b is x divided by the sum of x.
"""

from dataclasses import dataclass
from typing import ClassVar

from mccfr_spiel.algorithms.minimizer import Minimizer, Ranges
from mccfr_spiel.algorithms.part import checked_horizon

_POWERS = -20, 20
"""Minimum and maximum exponent of a discount. The effect of exponents outside this
range is below the precision of a double."""


@dataclass(frozen=True, repr=False)
class RegretMinimizer(Minimizer):
    """Base class of regret matching and regret matching+.

    Attributes:
        initial_regret: initial regrets are drawn from the interval from 0 to this
            number.

    Raises:
        ValueError: `initial_regret` is not a number in [0, 1e100].
    """

    initial_regret: float = 0.0
    ranges: ClassVar[Ranges] = {"initial_regret": (0, 1e100)}
    allows_abstraction: ClassVar[bool] = True
    keeps_regrets: ClassVar[bool] = True


@dataclass(frozen=True, repr=False)
class RegretMatching(RegretMinimizer):
    """Regret matching (Hart, Mas-Colell 2000).

    `R += G - <b, G>`; then `b ~ max(R, 0)`, or uniform if no regret is positive. R are
    the cumulative regrets, G the gradient and b the policy at an infoset.
    """

    rule: ClassVar[str] = "regret_matching"


@dataclass(frozen=True, repr=False)
class RegretMatchingPlus(RegretMinimizer):
    """Regret matching+ (Tammelin 2014).

    `R = max(R + G - <b, G>, 0)`; then `b ~ R`, or uniform if all regrets are 0. R are
    the cumulative regrets, G the gradient and b the policy at an infoset.
    """

    rule: ClassVar[str] = "regret_matching_plus"


@dataclass(frozen=True)
class DiscountedRegretMatching(Minimizer):
    """Discounted regret matching (Brown, Sandholm 2019).

    `R = R d(t) + G - <b, G>`; then `b ~ max(R, 0)`. R are the cumulative regrets, G the
    gradient and b the policy at an infoset. In iteration t, with k = t - 1, the
    discount d(t) of a positive regret is k ** alpha / (k ** alpha + 1). For other
    regrets, beta replaces alpha. With alpha = beta = 1, the policies are those of
    regret matching if the regrets of iteration t are weighted by t, as in linear CFR.
    Optionally, alpha and beta change linearly from iteration 1 to the horizon, and are
    constant from then on (Zhang, McAleer, Sandholm 2024).

    With sampling, regrets are discounted when a walk visits the infoset, by the product
    of the discounts of all iterations since the last visit. The result is the same as
    if all infosets were discounted in every iteration.

    Attributes:
        alpha: exponent for positive regrets.
        beta: exponent for other regrets.
        alpha_change: total change of alpha until the horizon.
        beta_change: total change of beta until the horizon.
        horizon: number of iterations in which alpha and beta change; 0 for no change.

    Raises:
        ValueError: a field is out of range, or an exponent changes without a horizon.
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
    """Predictive regret matching+ (Farina, Kroer, Sandholm 2021).

    `R = max(R d(t) + r, 0)`; then `b ~ max(R d(t + 1) + prediction r, 0)`. R are the
    cumulative regrets, b is the policy, and `r = G - <b, G>` are the regrets of
    iteration t for the gradient G. The rule predicts that the next iteration has the
    same regrets r. (In another variant in the paper, the prediction at an infoset is
    the last gradient, with the values of child infosets under their new policies. This
    variant is not implemented.)

    If alpha is given, past regrets are discounted by `d(t) = k ** alpha / (k ** alpha +
    offset)`, with k = t - 1 (Xu et al. 2024). Otherwise d(t) is 1.

    Attributes:
        prediction: weight of the prediction: 1 in the paper, 1/3 in Meng et al. 2025, 0
            for no prediction.
        alpha: exponent of the discount; None for no discount.
        offset: number in the denominator of the discount.

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
        """True if there is a prediction. It becomes 0 where the gradient is 0, and this
        changes the policy."""
        return self.prediction > 0


# The names by which users create rules.
regret_matching = RegretMatching
regret_matching_plus = RegretMatchingPlus
discounted_regret_matching = DiscountedRegretMatching
predictive_regret_matching_plus = PredictiveRegretMatchingPlus


STEP_SIZES = 1e-100, 1e100
"""Minimum and maximum step size. Products and quotients of step sizes and payoffs then
fit a double."""

_ENTROPIES = ("constant", "kroer")


@dataclass(frozen=True, repr=False)
class EntropyMinimizer(Minimizer):
    """Base class of rules with the dilated entropy as regularizer.

    The dilated entropy is a weighted sum of the entropies at all infosets. In formulas,
    beta is the weight of the infoset and eta the step size.

    Attributes:
        step_size: the step size eta.
        weights: the weights beta: "constant" for 1 everywhere, or "kroer" for weights
            with which the dilated entropy is strongly convex (Kroer et al. 2020).

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
        """True for the weights "kroer", which depend on descendants of an infoset."""
        return self.weights == "kroer"


@dataclass(frozen=True, repr=False)
class FTRL(EntropyMinimizer):
    """Follow the regularized leader (Farina, Kroer, Sandholm 2020).

    `L += G`; then `b = softmax(eta L / beta)`. L is the sum of all gradients G, b the
    policy, eta the step size, and beta the weight of the infoset in the entropy.
    """

    rule: ClassVar[str] = "ftrl"


@dataclass(frozen=True, repr=False)
class OMD(EntropyMinimizer):
    """Online mirror descent (Farina, Kroer, Sandholm 2020).

    `b ~ b exp(eta G / beta)`. b is the policy, G the gradient, eta the step size, and
    beta the weight of the infoset in the entropy.
    """

    rule: ClassVar[str] = "omd"


@dataclass(frozen=True)
class _Optimistic(EntropyMinimizer):
    tables: ClassVar[tuple[str, ...]] = ("weight", "ahead")

    @property
    def moves_everywhere(self) -> bool:
        """True, because the prediction becomes 0 where the gradient is 0, and this
        changes the policy."""
        return True


@dataclass(frozen=True)
class OptimisticFTRL(_Optimistic):
    """FTRL with the prediction that the last gradient occurs again (Farina, Kroer,
    Sandholm 2019).

    `L += G`; then `b = softmax(eta (L + G) / beta)`. `FTRL` explains the symbols.
    """

    rule: ClassVar[str] = "optimistic_ftrl"


@dataclass(frozen=True)
class OptimisticOMD(_Optimistic):
    """OMD with the prediction that the last gradient occurs again (Farina, Kroer,
    Sandholm 2019).

    `z ~ z exp(eta G / beta)`; then `b ~ z exp(eta G / beta)`. z is the policy of OMD
    without prediction, which the rule stores. `OMD` explains the other symbols.
    """

    rule: ClassVar[str] = "optimistic_omd"


@dataclass(frozen=True)
class MagneticMirrorDescent(EntropyMinimizer):
    """Magnetic mirror descent with the uniform policy as magnet (Sokota et al. 2023).

    `b ~ (b rho^(eta alpha) exp(eta G / beta)) ^ (1 / (1 + eta alpha))`

    b is the policy, rho the uniform policy, G the gradient, eta the step size, alpha
    the temperature, and beta the weight of the infoset in the entropy.

    The current policy converges, not only the average policy. With a constant
    temperature, the limit is the equilibrium of the game in which each decision costs
    alpha times the divergence from the uniform policy. (OpenSpiel's `mmd_dilated`
    regularizes by the entropy and converges to another policy.) With a decreasing
    temperature, the limit is an equilibrium of the game.

    Attributes:
        step_size: the step size eta in the first iteration.
        weights: as in `EntropyMinimizer`.
        temperature: the temperature alpha in the first iteration.
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
        """True, because the magnet changes the policy even if the gradient is 0."""
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
        step_size: the step size eta in the first iteration.
        temperature: the temperature alpha in the first iteration.
        weights: "constant" or "kroer", see `EntropyMinimizer`.
        step_power: eta is divided by t ** step_power in iteration t.
        temperature_power: alpha is divided by t ** temperature_power in iteration t.
    """
    return MagneticMirrorDescent(
        step_size, weights, temperature, step_power, temperature_power
    )


RULES: dict[str, type[Minimizer]] = {
    rule_class.rule: rule_class
    for rule_class in [*globals().values()]
    if isinstance(rule_class, type) and "rule" in vars(rule_class)
}
"""Name of a rule -> class, in the order of definition."""
