"""The local rules as values, and by their names.

Some play by regrets: regret matching, its discounted and predictive forms. The others
have a dilated entropy: FTRL, online mirror descent, and their relatives.
"""

from dataclasses import dataclass
from typing import ClassVar

from mccfr_spiel.algorithms.parts import Minimizer, Ranges, checked_horizon

# --- rules that play by regrets -------------------------------------------------------


_POWERS = -20, 20
"""Of discounts. Beyond them k ** 20 would discount by less than a double can hold."""


@dataclass(frozen=True, repr=False)
class RegretMinimizer(Minimizer):
    """Rules that play by cumulative regrets R.

    Attributes:
        initial_regret: the regrets start uniform in [0, initial_regret).

    Raises:
        ValueError: `initial_regret` is no number in [0, 1e100].
    """

    initial_regret: float = 0.0
    ranges: ClassVar[Ranges] = {"initial_regret": (0, 1e100)}
    allows_abstraction: ClassVar[bool] = True
    keeps_regrets: ClassVar[bool] = True


@dataclass(frozen=True, repr=False)
class RegretMatching(RegretMinimizer):
    """`R += G - <b, G>`; `b ~ max(R, 0)`, uniform if none is positive (Hart, Mas-Colell
    2000)."""

    rule: ClassVar[str] = "regret_matching"


@dataclass(frozen=True, repr=False)
class RegretMatchingPlus(RegretMinimizer):
    """`R = max(R + G - <b, G>, 0)`; `b ~ R` (Tammelin 2014)."""

    rule: ClassVar[str] = "regret_matching_plus"


@dataclass(frozen=True)
class DiscountedRegretMatching(Minimizer):
    """`R = R d(t) + r`, `r = G - <b, G>`; `b ~ max(R, 0)` (Brown, Sandholm 2019).

    In iteration t, d = k ** alpha / (k ** alpha + 1) with k = t - 1 where R > 0, and
    the same with beta elsewhere. With alpha = beta = 1 that is the policy of regrets
    weighted by t, which is linear CFR. A schedule of hyperparameters (Zhang, McAleer,
    Sandholm 2024) moves alpha and beta in a straight line, by their changes, from
    iteration 1 to `horizon` iterations later, where they stay.

    In a sampled walk an infoset that is met late gets the product of all discounts
    since it was last met, so the result is that of discounting all in every iteration.

    Attributes:
        alpha: of positive regrets.
        beta: of the others.
        alpha_change, beta_change: what is added to each in the course of the horizon.
        horizon: in iterations; 0 for no change.

    Raises:
        ValueError: a field is out of its range, or a change has no horizon.
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

    Here `r = G - <b, G>`. The prediction is that the regrets r of the last iteration
    come again (Farina, Kroer, Sandholm 2021, who also predict that the last gradient
    comes again, passed up through the new policies). With `d(t) = k ** alpha /
    (k ** alpha + offset)`, where k is t - 1, past regrets are discounted, too (Xu et
    al. 2024); without alpha d is 1.

    Attributes:
        prediction: its weight: 1 as published, 0 for none, 1/3 for the one of Meng et
            al. 2025.
        alpha: of the discount, or None.
        offset: of the discount.

    Raises:
        ValueError: a field is out of its range.
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
        """A prediction of 0 at an infoset differs from the one before."""
        return self.prediction > 0


# The names by which rules are made.
regret_matching = RegretMatching
regret_matching_plus = RegretMatchingPlus
discounted_regret_matching = DiscountedRegretMatching
predictive_regret_matching_plus = PredictiveRegretMatchingPlus


# --- rules with dilated entropy: FTRL, online mirror descent, and their relatives -----


STEP_SIZES = 1e-100, 1e100
"""Products of these with payoffs, and quotients, still fit a double."""

_ENTROPIES = ("constant", "kroer")


@dataclass(frozen=True, repr=False)
class EntropyMinimizer(Minimizer):
    """Rules with dilated entropy, which has a weight beta at each infoset.

    Attributes:
        step_size: eta.
        weights: "constant" (1 everywhere) or "kroer" (the strongly convex ones of Kroer
            et al. 2020).

    Raises:
        ValueError: `step_size` is not in STEP_SIZES, or `weights` is another word.
    """

    step_size: float
    weights: str = "constant"
    ranges: ClassVar[Ranges] = {"step_size": STEP_SIZES}
    tables: ClassVar[tuple[str, ...]] = ("weight",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights not in _ENTROPIES:
            raise ValueError(
                f'weights={self.weights!r} is neither "constant" nor "kroer".'
            )

    @property
    def needs_whole_tree(self) -> bool:
        """Kroer's weights count what is below an infoset."""
        return self.weights == "kroer"


@dataclass(frozen=True, repr=False)
class FTRL(EntropyMinimizer):
    """Follow the regularized leader (Farina et al. 2020):
    L += G; b = softmax(eta L / beta)."""

    rule: ClassVar[str] = "ftrl"


@dataclass(frozen=True, repr=False)
class OMD(EntropyMinimizer):
    """Online mirror descent (Farina et al. 2020): b ~ b exp(eta G / beta)."""

    rule: ClassVar[str] = "omd"


@dataclass(frozen=True)
class _Optimistic(EntropyMinimizer):
    tables: ClassVar[tuple[str, ...]] = ("weight", "ahead")

    @property
    def moves_everywhere(self) -> bool:
        """A prediction of 0 at an infoset differs from the one before."""
        return True


@dataclass(frozen=True)
class OptimisticFTRL(_Optimistic):
    """FTRL that plays as if the last gradient came again: L += G;
    b = softmax(eta (L + G) / beta) (Farina, Kroer, Sandholm 2019)."""

    rule: ClassVar[str] = "optimistic_ftrl"


@dataclass(frozen=True)
class OptimisticOMD(_Optimistic):
    """OMD that plays as if the last gradient came again: z ~ z exp(eta G / beta);
    b ~ z exp(eta G / beta) (Farina, Kroer, Sandholm 2019)."""

    rule: ClassVar[str] = "optimistic_omd"


@dataclass(frozen=True)
class MagneticMirrorDescent(EntropyMinimizer):
    """b ~ (b rho^(eta alpha) exp(eta G / beta)) ^ (1 / (1 + eta alpha)), with the
    uniform policy rho as the magnet (Sokota et al. 2023).

    Its last iterate converges, so look at the current policy, too. With a constant
    temperature that is the equilibrium of the game in which each decision costs alpha
    times its divergence from the uniform policy (OpenSpiel's `mmd_dilated` pays for its
    entropy, and ends elsewhere); with one that falls, of the game itself.

    Attributes:
        step_size: eta in the first iteration.
        weights: as of other rules with dilated entropy.
        temperature: alpha in the first iteration.
        step_power, temperature_power: in iteration t each is divided by t to this
            power.
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
        """The magnet pulls everywhere."""
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
    """Magnetic mirror descent, see `MagneticMirrorDescent`."""
    return MagneticMirrorDescent(
        step_size, weights, temperature, step_power, temperature_power
    )


# --- the rules by their names ---------------------------------------------------------


RULES: dict[str, type[Minimizer]] = {
    kind.rule: kind
    for kind in [*globals().values()]
    if isinstance(kind, type) and "rule" in vars(kind)
}
"""The rules by their names, in the order in which this file defines them."""
