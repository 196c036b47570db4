"""Algorithms as values: what is sampled, the local rule, the average.

Any regret minimizer goes with any gradient estimator (Farina, Kroer, Sandholm 2020), so
an algorithm here names three parts and holds no code. The parts are frozen dataclasses,
which check their fields and raise ValueError when they are made. (As NamedTuples, two
rules with the same numbers would be equal.) The repr of an algorithm or a part is the
code that makes it; `str` of an algorithm is what papers call it.
"""

import dataclasses
import math
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mccfr_spiel import refusals

STEP_SIZES = 1e-100, 1e100
"""Products of these with payoffs, and quotients, still fit a double."""

MOST_WEIGHT = 1e290
"""What the weights of an average may add up to, so that sums of them fit a double."""

MOST_GAMMA = 100.0
"""Beyond it an average is hardly more than the last policy."""

MOST_BATCH = 2**31
"""That many walks take minutes."""

_POWERS = -20, 20
"""Of discounts. Beyond them k ** 20 would discount by less than a double can hold."""

_PLAYER_SAMPLINGS = ("all", "epsilon", "balanced", "average")
_BASELINES = ("", "learned", "predictive")
_ENTROPIES = ("constant", "kroer")


@dataclass(frozen=True)
class Part:
    """What all parts of an algorithm have in common."""

    def _replace(self, **changes: Any) -> Self:
        """The same part with other values of some fields, as for a NamedTuple."""
        return dataclasses.replace(self, **changes)

    def _asdict(self) -> dict[str, Any]:
        """The fields by their names, as for a NamedTuple."""
        return dataclasses.asdict(self)

    def _set(self, **values: Any) -> None:
        """Sets fields while the part is being made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def changed(self) -> dict[str, Any]:
        """The fields that have no default, and those with another value than that."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }

    def _call(self, name: str) -> str:
        """The call that makes the part, with the fields that differ from default."""
        values = [f"{key}={value!r}" for key, value in self.changed().items()]
        return f"{name}({', '.join(values)})"


# --- what is sampled -----------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Sampling(Part):
    """What one walk over the tree samples; what is not sampled is followed whole.

    Attributes:
        chance: whether chance is sampled, by its probabilities.
        opponents: whether the other players are, by their policies.
        player: how the updating player is: "all" (not at all), "epsilon" (by its policy
            mixed with the uniform one), "balanced" (by the strategy that spreads over
            its sequences evenly), or "average" (each action is followed with the
            probability (bonus + threshold S(a)) / (bonus + sum S), within [epsilon, 1],
            where S is the weighted sum of its plans, the average's numerator).
        epsilon: share of the uniform policy in "epsilon", the least probability in
            "average".
        prune: do not follow an opponent's action of probability 0.
        threshold, bonus: of "average".
        prune_below: a regret below 0; in 95 % of walks an action of the updated player
            whose cumulative regret is below it, and whose probability is 0, is not
            followed unless it ends the game. Regrets are then kept above a floor of
            31/30 of it. None for no such pruning. For external sampling with regret
            matching.
        baseline: "learned" (Schmid et al. 2019): the estimates are corrected by what
            earlier walks found at each infoset and action; or "predictive", where what
            a walk found is weighed by the policy after its update, in the spirit of
            Davis et al. 2020. "" for none. For outcome, balanced outcome and external
            sampling; draws of chance are not corrected.
        baseline_rate: the share of the way to what a walk found that a baseline moves.

    Raises:
        ValueError: a field is of the wrong kind, or out of range.
    """

    chance: bool
    opponents: bool
    player: str = "all"
    epsilon: float = 0.0
    prune: bool = False
    threshold: float = 0.0
    bonus: float = 0.0
    prune_below: float | None = None
    baseline: str = ""
    baseline_rate: float = 0.5

    def __post_init__(self) -> None:
        for name in ("chance", "opponents", "prune"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise ValueError(f"Sampling: {name}={value!r} is not True or False.")
            self._set(**{name: bool(value)})
        if self.player not in _PLAYER_SAMPLINGS:
            raise ValueError(
                f"Sampling: player={self.player!r} is none of {_PLAYER_SAMPLINGS}."
            )
        self._set(epsilon=_epsilon(self.epsilon, self.player))
        for name in ("threshold", "bonus"):
            value = refusals.number(getattr(self, name), name, 0, 1e100)
            if value and self.player != "average":
                raise ValueError(
                    f"{name}={value:g} is given, but only average-strategy sampling "
                    "has one; choose it or drop it."
                )
            self._set(**{name: value})
        if self.prune_below is not None:
            self._check_prunes()
        self._check_baseline()

    def _check_baseline(self) -> None:
        rate = refusals.number(self.baseline_rate, "baseline_rate", 0, 1, open_low=True)
        self._set(baseline_rate=rate)
        if self.baseline not in _BASELINES:
            raise ValueError(f"baseline={self.baseline!r} is none of {_BASELINES}.")
        if not self.baseline and rate != 0.5:
            raise ValueError(
                f"baseline_rate={rate:g} is given, but no baseline; choose "
                'baseline="learned" or "predictive", or drop it.'
            )
        draws = self.chance and self.opponents and self.player != "average"
        if self.baseline and not draws:
            raise ValueError(
                f"baseline={self.baseline!r} is given, but only outcome and external "
                "sampling have baselines; choose one of them, or drop it."
            )
        if self.baseline and self.prune_below is not None:
            raise ValueError(
                f"baseline={self.baseline!r} is given, but walks that leave out "
                f"actions (prune_below={self.prune_below:g}) do not find the value of "
                "an infoset; drop one of them."
            )

    def _check_prunes(self) -> None:
        value = refusals.number(self.prune_below, "prune_below", -1e100, 0)
        if value == 0:
            raise ValueError(
                f"prune_below={value:g} is not below 0; Pluribus took -300,000,000, in "
                "a game of stacks of 10,000 chips."
            )
        if not (self.chance and self.opponents and self.player == "all"):
            raise ValueError(
                f"prune_below={value:g} is given, but only external sampling leaves "
                "out actions by their regret; choose it or drop it."
            )
        self._set(prune_below=value)

    @property
    def is_sampled(self) -> bool:
        """Whether anything is sampled at all."""
        return self.chance or self.opponents or self.player != "all"

    @property
    def draws_one_action(self) -> bool:
        """Whether one action of the updated player is followed at each infoset."""
        return self.player in ("epsilon", "balanced")

    def __repr__(self) -> str:
        if self == full(prune=True):
            return "full(prune=True)"
        if self == outcome(self.epsilon or 1.0):
            return f"outcome({self.epsilon!r})"
        return _name_in_module(self) or self._call("Sampling")

    def __str__(self) -> str:
        for value, words in (
            (full(), "CFR"),
            (full(prune=True), "pruned CFR"),
            (BALANCED_OUTCOME, "balanced outcome sampling"),
            (OUTCOME, "outcome sampling"),
            (CHANCE, "chance sampling"),
            (OPPONENT, "opponent sampling"),
            (EXTERNAL, "external sampling"),
            (AVERAGE_STRATEGY, "average-strategy sampling"),
        ):
            if self == value:
                return words
        if self == outcome(self.epsilon or 1.0):
            return f"outcome sampling (epsilon {self.epsilon:g})"
        if self.prune_below is not None:
            return f"external sampling, pruned below {self.prune_below:g}"
        if self.baseline:
            plain = self._replace(baseline="", baseline_rate=0.5)
            rate = f" at {self.baseline_rate:g}" * (self.baseline_rate != 0.5)
            return f"{plain} with {self.baseline} baselines{rate}"
        if self.player == "average" and self.chance and self.opponents:
            numbers = f"{self.epsilon:g}, {self.threshold:g}, {self.bonus:g}"
            return f"average-strategy sampling ({numbers})"
        who = {"chance": self.chance, "opponents": self.opponents}
        who[f"the player ({self.player})"] = self.player != "all"
        sampled = " and ".join(name for name, is_so in who.items() if is_so)
        return f"{'pruned ' * self.prune}sampling of {sampled or 'nothing'}"


def _epsilon(value: Any, player: str) -> float:
    if player not in ("epsilon", "average"):
        return refusals.number(value, "epsilon", 0, 1)
    try:
        return refusals.number(value, "epsilon", 0, 1, open_low=True)
    except ValueError as error:
        raise ValueError(
            f"{error} At 0 an action of probability 0 is never sampled and the "
            "estimate is biased. Lanctot et al. use 0.6 in outcome sampling, Gibson et "
            "al. 0.05 in average-strategy sampling."
        ) from None


def full(*, prune: bool = False) -> Sampling:
    """Nothing sampled (Zinkevich et al. 2007), optionally with pruning."""
    return Sampling(chance=False, opponents=False, prune=prune)


def outcome(epsilon: float, *, baseline: str = "") -> Sampling:
    """One history a walk; the player explores with `epsilon` (Lanctot et al. 2009), on
    request with baselines, see `Sampling`."""
    return Sampling(True, True, "epsilon", epsilon, baseline=baseline)


def external(*, baseline: str = "") -> Sampling:
    """Chance and the opponents sampled, all of the player's actions followed (Lanctot
    et al. 2009), on request with baselines, see `Sampling`."""
    return Sampling(True, True, baseline=baseline)


def average_strategy(
    epsilon: float = 0.05, threshold: float = 1000.0, bonus: float = 1e6
) -> Sampling:
    """Actions followed the more often, the more of them is in the average (Gibson et
    al. 2012, whose numbers for poker are the defaults); chance and the opponents are
    sampled."""
    return Sampling(True, True, "average", epsilon, threshold=threshold, bonus=bonus)


FULL = full()
CHANCE = Sampling(chance=True, opponents=False)
OPPONENT = Sampling(chance=False, opponents=True)
EXTERNAL = Sampling(chance=True, opponents=True)
OUTCOME = outcome(0.6)
BALANCED_OUTCOME = Sampling(chance=True, opponents=True, player="balanced")
AVERAGE_STRATEGY = average_strategy()


# --- the local rules -------------------------------------------------------------

_RULE_WORDS = {
    "regret_matching_plus": "regret matching+",
    "ftrl": "FTRL",
    "omd": "OMD",
}
"""What papers call rules whose names do not say it already."""


@dataclass(frozen=True, repr=False)
class Minimizer(Part):
    """The local rule by which the policy at an infoset moves.

    Each rule is a subclass, whose fields are its own parameters and nothing else. The
    formulas use the gradient G at an infoset, the policy b and the step size eta. What
    a rule computes is in kernels/minimizers.py, a function for each.

    Attributes:
        rule: the name by which kernels, files and settings know the rule.
        tables: the optional tables of `kernels.Tables` that the rule needs.
        allows_abstraction: whether the rule makes sense for players who forget.
    """

    rule: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()
    allows_abstraction: ClassVar[bool] = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuses to make a rule without a name, as `Minimizer("ftrl")` once did."""
        if not hasattr(cls, "rule"):
            given = [repr(value) for value in args]
            given += [f"{name}={value!r}" for name, value in kwargs.items()]
            raise TypeError(
                f"{cls.__name__}({', '.join(given)}): a {cls.__name__} is only what "
                "several rules have in common. Make one of them: ms.regret_matching(), "
                "ms.regret_matching_plus(), ms.ftrl(step_size) or ms.omd(step_size)."
            )
        return super().__new__(cls)

    def __repr__(self) -> str:
        return self._call(self.rule)

    def __str__(self) -> str:
        name = _RULE_WORDS.get(self.rule, self.rule.replace("_", " "))
        values = [
            f"{value} {key}"
            if isinstance(value, str)
            else f"{key.replace('_', ' ')} {value:g}"
            for key, value in self.changed().items()
            if value is not None
        ]
        return f"{name} ({', '.join(values)})" if values else name

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers that the compiled rule reads, in the order in which it does."""
        return ()

    @property
    def needs_whole_tree(self) -> bool:
        """Whether the rule's tables depend on the whole tree."""
        return False

    @property
    def moves_everywhere(self) -> bool:
        """Whether an update moves the policy at infosets where the gradient is 0, too.

        Such a rule must update every infoset in every iteration, so it goes with FULL
        sampling only.
        """
        return False


@dataclass(frozen=True, repr=False)
class RegretMinimizer(Minimizer):
    """Rules that play by cumulative regrets R.

    Attributes:
        initial_regret: the regrets start uniform in [0, initial_regret).

    Raises:
        ValueError: `initial_regret` is no number in [0, 1e100].
    """

    initial_regret: float = 0.0
    allows_abstraction: ClassVar[bool] = True

    def __post_init__(self) -> None:
        regret = refusals.number(self.initial_regret, "initial_regret", 0, 1e100)
        self._set(initial_regret=regret)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The initial regret."""
        return (self.initial_regret,)


@dataclass(frozen=True, repr=False)
class RegretMatching(RegretMinimizer):
    """R += G - <b, G>; b ~ max(R, 0), uniform if none is positive (Hart, Mas-Colell
    2000)."""

    rule: ClassVar[str] = "regret_matching"


@dataclass(frozen=True, repr=False)
class RegretMatchingPlus(RegretMinimizer):
    """R = max(R + G - <b, G>, 0); b ~ R (Tammelin 2014)."""

    rule: ClassVar[str] = "regret_matching_plus"


@dataclass(frozen=True)
class DiscountedRegretMatching(Minimizer):
    """R = R d(t) + r, with r = G - <b, G>; b ~ max(R, 0) (Brown, Sandholm 2019).

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
    tables: ClassVar[tuple[str, ...]] = ("log_positive", "log_negative")

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "alpha_change", "beta_change"):
            value = refusals.number(getattr(self, name), name, *_POWERS)
            self._set(**{name: value})
        self._set(horizon=_horizon(self.horizon, self.alpha_change, self.beta_change))

    @property
    def parameters(self) -> tuple[float, ...]:
        """Alpha, beta, their changes, the horizon."""
        changes = self.alpha_change, self.beta_change
        return self.alpha, self.beta, *changes, float(self.horizon)


@dataclass(frozen=True)
class PredictiveRegretMatchingPlus(Minimizer):
    """R = max(R d(t) + r, 0); b ~ max(R d(t + 1) + prediction r, 0), r = G - <b, G>.

    The prediction is that the regrets r of the last iteration come again (Farina,
    Kroer, Sandholm 2021, who also have another one: the last gradient, passed up
    through the new policies). With d(t) = k ** alpha / (k ** alpha + offset), where k
    is t - 1, past regrets are discounted, too (Xu et al. 2024); without alpha d is 1.

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
    tables: ClassVar[tuple[str, ...]] = ("log_positive", "log_negative")

    def __post_init__(self) -> None:
        self._set(prediction=refusals.number(self.prediction, "prediction", 0, 1e10))
        if self.alpha is not None:
            self._set(alpha=refusals.number(self.alpha, "alpha", *_POWERS))
        self._set(offset=refusals.number(self.offset, "offset", 0, 1e10))

    @property
    def parameters(self) -> tuple[float, ...]:
        """The prediction's weight, alpha (infinite for None), the offset."""
        alpha = math.inf if self.alpha is None else self.alpha
        return self.prediction, alpha, self.offset

    @property
    def moves_everywhere(self) -> bool:
        """A prediction of 0 at an infoset differs from the one before."""
        return self.prediction > 0


@dataclass(frozen=True, repr=False)
class OwnRule(Minimizer):
    """A rule that a user has written as a function; `own_rule` makes it.

    Attributes:
        update: the function, see `own_rule`.
        numbers: what it gets as `parameters`.
        compiled: whether numba compiles it.
        everywhere: whether it moves the policy where the gradient is 0, too.

    Raises:
        ValueError: `update` is no function of five arguments, or a number is not
            finite.
    """

    update: Callable[..., float]
    numbers: tuple[float, ...] = ()
    compiled: bool = True
    everywhere: bool = False
    rule: ClassVar[str] = "own_rule"
    tables: ClassVar[tuple[str, ...]] = ("log_positive", "log_negative")

    def __post_init__(self) -> None:
        function: Any = getattr(self.update, "py_func", self.update)
        if not isinstance(function, types.FunctionType):
            raise ValueError(f"update={self.update!r} is not a function.")
        count = function.__code__.co_argcount
        if count != 5:
            raise ValueError(
                f"update={self.name} takes {count} arguments, not the five policy, "
                "memory, gradient, parameters, t."
            )
        numbers = tuple(
            refusals.number(number, "parameters", -1e300, 1e300)
            for number in self.numbers
        )
        self._set(update=function, numbers=numbers)

    @property
    def name(self) -> str:
        """The function's name with that of its module."""
        function: Any = getattr(self.update, "py_func", self.update)
        return f"{function.__module__}.{function.__qualname__}"

    def __repr__(self) -> str:
        return self._call(self.rule).replace(repr(self.update), self.name)

    def __str__(self) -> str:
        numbers = ", ".join(f"{number:g}" for number in self.numbers)
        return (
            f"{self.update.__name__} ({numbers})" if numbers else self.update.__name__
        )

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers."""
        return self.numbers

    @property
    def moves_everywhere(self) -> bool:
        """As the user says."""
        return self.everywhere


def own_rule(
    update: Callable[..., float],
    parameters: Sequence[float] = (),
    *,
    compiled: bool = True,
    everywhere: bool = False,
) -> OwnRule:
    """A rule of your own as a function of one infoset.

        def update(policy, memory, gradient, parameters, t):
            value = np.dot(policy, gradient)
            memory += gradient - value
            ...  # writes the next policy into `policy`
            return value

    The function is called where an infoset is updated. All arrays are float64 with a
    number for each action of the infoset; it writes the next policy, whose sum must be
    1, into `policy[:]`, and may keep what it likes in `memory`, which is 0 at first. It
    returns the value of the infoset, which is added to the gradient of the sequence
    that led there: for regret minimizers, <policy before, gradient>. `evaluation.
    check_rule` tries it out.

    Such a rule goes with every sampling. Abstractions are refused, and a saved solver
    is loaded with `Solver.load(path, minimizer=...)`, since no file holds a function.

    Args:
        update: the function. It is compiled by numba, so it must be of the kind that
            `numba.njit` takes. The code is kept on disk until the function's file
            changes, unless it has variables of an outer function or was typed into a
            prompt.
        parameters: numbers that it gets as an array `parameters`.
        compiled: False calls `update` as plain Python, with NumPy or anything else.
            That is some hundred times slower. An error in it leaves the solver in the
            middle of an update: make a new one.
        everywhere: whether the rule moves the policy where the gradient is 0, too; it
            then needs FULL.
    """
    return OwnRule(update, tuple(parameters), compiled, everywhere)


def _horizon(value: Any, *changes: float) -> int:
    horizon = refusals.integer(value, "horizon", 0)
    if any(changes) and not horizon:
        raise ValueError(
            f"horizon={horizon} is not at least 1. A parameter that changes needs a "
            "horizon: the number of iterations in the course of which it does."
        )
    return horizon


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
    tables: ClassVar[tuple[str, ...]] = ("weight",)

    def __post_init__(self) -> None:
        self._set(step_size=refusals.number(self.step_size, "step_size", *STEP_SIZES))
        if self.weights not in _ENTROPIES:
            raise ValueError(
                f'weights={self.weights!r} is neither "constant" nor "kroer".'
            )

    @property
    def parameters(self) -> tuple[float, ...]:
        """The step size."""
        return (self.step_size,)

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
    temperature that is the equilibrium of the game with entropy as a part of the
    payoffs; with one that falls, of the game itself.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(temperature=refusals.number(self.temperature, "temperature", 0, 1e10))
        for name in ("step_power", "temperature_power"):
            self._set(**{name: refusals.number(getattr(self, name), name, 0, 1)})

    @property
    def parameters(self) -> tuple[float, ...]:
        """The step size, the temperature, the powers."""
        powers = self.step_power, self.temperature_power
        return self.step_size, self.temperature, *powers

    @property
    def moves_everywhere(self) -> bool:
        """The magnet pulls everywhere."""
        return True


RULES: dict[str, type[Minimizer]] = {
    kind.rule: kind
    for kind in (
        RegretMatching,
        RegretMatchingPlus,
        DiscountedRegretMatching,
        PredictiveRegretMatchingPlus,
        FTRL,
        OMD,
        OptimisticFTRL,
        OptimisticOMD,
        MagneticMirrorDescent,
    )
}
"""The rules by their names."""


def regret_matching(*, initial_regret: float = 0.0) -> RegretMatching:
    """Regret matching, see `RegretMatching`."""
    return RegretMatching(initial_regret)


def regret_matching_plus(*, initial_regret: float = 0.0) -> RegretMatchingPlus:
    """Regret matching+, see `RegretMatchingPlus`."""
    return RegretMatchingPlus(initial_regret)


def discounted_regret_matching(
    alpha: float = 1.5,
    beta: float = 0.0,
    *,
    alpha_change: float = 0.0,
    beta_change: float = 0.0,
    horizon: int = 0,
) -> DiscountedRegretMatching:
    """Discounted regret matching, see `DiscountedRegretMatching`."""
    return DiscountedRegretMatching(alpha, beta, alpha_change, beta_change, horizon)


def predictive_regret_matching_plus(
    prediction: float = 1.0, *, alpha: float | None = None, offset: float = 1.0
) -> PredictiveRegretMatchingPlus:
    """Predictive regret matching+, see `PredictiveRegretMatchingPlus`."""
    return PredictiveRegretMatchingPlus(prediction, alpha, offset)


def ftrl(step_size: float, *, weights: str = "constant") -> FTRL:
    """Follow the regularized leader with dilated entropy, see `FTRL`."""
    return FTRL(step_size, weights)


def omd(step_size: float, *, weights: str = "constant") -> OMD:
    """Online mirror descent with dilated entropy, see `OMD`."""
    return OMD(step_size, weights)


def optimistic_ftrl(step_size: float, *, weights: str = "constant") -> OptimisticFTRL:
    """Optimistic FTRL with dilated entropy, see `OptimisticFTRL`."""
    return OptimisticFTRL(step_size, weights)


def optimistic_omd(step_size: float, *, weights: str = "constant") -> OptimisticOMD:
    """Optimistic OMD with dilated entropy, see `OptimisticOMD`."""
    return OptimisticOMD(step_size, weights)


def magnetic_mirror_descent(
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


# --- the average -----------------------------------------------------------------


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
        self._set(gamma=gamma, change=change)
        self._set(horizon=_horizon(self.horizon, change))

    def __repr__(self) -> str:
        if self.change:
            return self._call("Averaging")
        return _name_in_module(self) or f"polynomial({self.gamma!r})"

    def __str__(self) -> str:
        name = _name_in_module(self)
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


class Algorithm(NamedTuple):
    """A solver's three parts, whether players move one after the other, and the batch.

    Attributes:
        sampling: the gradient estimator.
        minimizer: the local rule.
        averaging: the weights of the average.
        alternating: each player is updated against the others' newest policies; else
            all are updated at once from the same ones.
        batch: the walks for each player in an iteration, if anything is sampled. All of
            them meet the same policies; what they estimate is added up before the one
            update. The iteration enters the average once, whatever its batch.
    """

    sampling: Sampling
    minimizer: Minimizer
    averaging: Averaging = UNIFORM
    alternating: bool = True
    batch: int = 1

    def __repr__(self) -> str:
        parts = [repr(self.sampling), repr(self.minimizer)]
        if self.averaging != UNIFORM:
            parts.append(repr(self.averaging))
        if not self.alternating:
            parts.append("alternating=False")
        if self.batch != 1:
            parts.append(f"batch={self.batch}")
        return f"Algorithm({', '.join(parts)})"

    def __str__(self) -> str:
        """What papers call it: `CFR+`, `external sampling with FTRL (step size 1)`."""
        words = [str(self.sampling)]
        known = {
            name: value
            for name, value in _constants().items()
            if name.endswith(("CFR", "CFR_PLUS")) and value[:3] == self[:3]
        }
        if known and "PRUNED_CFR" not in known:
            words = [next(iter(known)).replace("_PLUS", "+")]
        else:
            if self.minimizer != RegretMatching():
                words[0] += f" with {self.minimizer}"
            if self.averaging != UNIFORM:
                words.append(str(self.averaging))
        if not self.alternating:
            words.append("simultaneous updates")
        if self.batch != 1:
            words.append(f"{self.batch} walks")
        return ", ".join(words)


CFR = Algorithm(FULL, regret_matching())
"""Zinkevich, Johanson, Bowling, Piccione 2007, alternating."""
PRUNED_CFR = Algorithm(full(prune=True), regret_matching())
"""CFR that does not follow an opponent's action of probability 0 (Lanctot et al. 2009,
section 5)."""
CFR_PLUS = Algorithm(FULL, regret_matching_plus(), LINEAR)
"""Tammelin 2014."""
LCFR = Algorithm(FULL, discounted_regret_matching(1.0, 1.0), LINEAR)
"""Linear CFR (Brown, Sandholm 2019)."""
DCFR = Algorithm(FULL, discounted_regret_matching(1.5, 0.0), QUADRATIC)
"""Discounted CFR with (alpha, beta, gamma) = (1.5, 0, 2) (Brown, Sandholm 2019)."""
PCFR_PLUS = Algorithm(FULL, predictive_regret_matching_plus(), QUADRATIC)
"""Predictive CFR+ (Farina, Kroer, Sandholm 2021)."""
DCFR_PLUS = Algorithm(
    FULL, predictive_regret_matching_plus(0.0, alpha=1.5, offset=1.5), polynomial(4.0)
)
"""DCFR+ (Xu et al. 2024)."""
PDCFR_PLUS = Algorithm(
    FULL, predictive_regret_matching_plus(alpha=2.3), polynomial(5.0)
)
"""PDCFR+ (Xu et al. 2024)."""
SAPCFR_PLUS = Algorithm(FULL, predictive_regret_matching_plus(1 / 3), QUADRATIC)
"""PCFR+ whose prediction has a third of the weight (Meng et al. 2025)."""
CHANCE_SAMPLING = Algorithm(CHANCE, regret_matching())
"""Zinkevich et al. 2007; Lanctot et al. 2009, section 3."""
OPPONENT_SAMPLING = Algorithm(OPPONENT, regret_matching())
"""Farina, Kroer, Sandholm 2020, with regret matching."""
EXTERNAL_SAMPLING = Algorithm(EXTERNAL, regret_matching())
"""Lanctot, Waugh, Zinkevich, Bowling 2009, section 3.2."""
OUTCOME_SAMPLING = Algorithm(OUTCOME, regret_matching())
"""Lanctot, Waugh, Zinkevich, Bowling 2009, section 3.1."""
BALANCED_OUTCOME_SAMPLING = Algorithm(BALANCED_OUTCOME, regret_matching())
"""Farina, Kroer, Sandholm 2020, section 4.2.1, with regret matching."""
AVERAGE_STRATEGY_SAMPLING = Algorithm(AVERAGE_STRATEGY, regret_matching())
"""Gibson, Burch, Lanctot, Szafron 2012."""


def hs_dcfr(horizon: int, *, gamma: float = 30.0) -> Algorithm:
    """DCFR with a schedule of its parameters (Zhang, McAleer, Sandholm 2024).

    Alpha goes from 1 to 4, beta from -1 to -3, and gamma falls by 5 (or to 0).

    Args:
        horizon: the number of iterations that are to be run, at least 1.
        gamma: of the average at first.
    """
    rule = discounted_regret_matching(
        1.0, -1.0, alpha_change=3.0, beta_change=-2.0, horizon=horizon
    )
    return Algorithm(FULL, rule, _falling(gamma, horizon))


def hs_pcfr_plus(horizon: int, *, gamma: float = 30.0) -> Algorithm:
    """PCFR+ with a schedule for its average (Zhang, McAleer, Sandholm 2024).

    Args:
        horizon: the number of iterations that are to be run, at least 1.
        gamma: of the average at first; falls by 5 (or to 0).
    """
    return Algorithm(FULL, predictive_regret_matching_plus(), _falling(gamma, horizon))


def _falling(gamma: float, horizon: int) -> Averaging:
    gamma = refusals.number(gamma, "gamma", 0, MOST_GAMMA)
    if refusals.integer(horizon, "horizon", 1) and not gamma:
        return UNIFORM
    return Averaging(gamma, -min(gamma, 5.0), horizon)


SCHEDULES: dict[str, Callable[..., Algorithm]] = {
    "hs_dcfr": hs_dcfr,
    "hs_pcfr_plus": hs_pcfr_plus,
}
"""The algorithms that depend on a horizon, as the command line calls them. They are
called with the horizon, and with `gamma` to change the average."""


def schedule_of(algorithm: Algorithm) -> tuple[str, int, float] | None:
    """The name in SCHEDULES, the horizon and the gamma that make an algorithm, except
    for whether players alternate; None if there are none."""
    averaging = algorithm.averaging
    horizon = averaging.horizon or getattr(algorithm.minimizer, "horizon", 0)
    for name, make in SCHEDULES.items():
        if horizon and make(horizon, gamma=averaging.gamma)[:3] == algorithm[:3]:
            return name, horizon, averaging.gamma
    return None


ALGORITHMS = {
    "cfr": CFR,
    "pruned_cfr": PRUNED_CFR,
    "cfr_plus": CFR_PLUS,
    "lcfr": LCFR,
    "dcfr": DCFR,
    "pcfr_plus": PCFR_PLUS,
    "dcfr_plus": DCFR_PLUS,
    "pdcfr_plus": PDCFR_PLUS,
    "sapcfr_plus": SAPCFR_PLUS,
    "chance_sampling": CHANCE_SAMPLING,
    "opponent_sampling": OPPONENT_SAMPLING,
    "external_sampling": EXTERNAL_SAMPLING,
    "outcome_sampling": OUTCOME_SAMPLING,
    "balanced_outcome_sampling": BALANCED_OUTCOME_SAMPLING,
    "average_strategy_sampling": AVERAGE_STRATEGY_SAMPLING,
    "ftrl": Algorithm(EXTERNAL, ftrl(1.0)),
    "omd": Algorithm(EXTERNAL, omd(1.0)),
}
"""The named algorithms, as the command line calls them."""


def check_algorithm(algorithm: Any) -> None:
    """Raises ValueError unless a value is an Algorithm of three parts.

    The parts have checked themselves when they were made.
    """
    if not isinstance(algorithm, Algorithm):
        raise ValueError(
            f"{algorithm!r} is not an Algorithm. {_hint(algorithm)}The named ones are "
            f"{', '.join(f'ms.{name}' for name in _constants())} (ms is mccfr_spiel)."
        )
    for part, kind in (
        (algorithm.sampling, Sampling),
        (algorithm.minimizer, Minimizer),
        (algorithm.averaging, Averaging),
    ):
        if not isinstance(part, kind):
            raise ValueError(f"{part!r} is not a value of {kind.__name__}.")
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    assert isinstance(sampling, Sampling)
    assert isinstance(minimizer, Minimizer)
    if minimizer.moves_everywhere and (sampling.is_sampled or sampling.prune):
        raise ValueError(
            f"{minimizer.rule} moves the policy everywhere in each iteration, and a "
            "walk that samples or prunes does not come everywhere. Use it with "
            f"ms.FULL, not with {sampling}."
        )
    batch = refusals.integer(algorithm.batch, "batch", 1)
    if batch > MOST_BATCH:
        raise ValueError(f"batch={batch} is above {MOST_BATCH}.")
    if batch > 1 and not algorithm.sampling.is_sampled:
        raise ValueError(
            f"batch={batch} is given, but nothing is sampled, so that all walks of a "
            "batch would be the same; drop it, or choose a sampling."
        )
    if algorithm.sampling.prune_below is not None:
        _check_can_prune(algorithm)
    if algorithm.sampling.baseline == "predictive" and not (
        batch == 1 and algorithm.alternating
    ):
        raise ValueError(
            'baseline="predictive" goes by the policy right after the update of the '
            "walk's player, which takes alternating updates and a batch of 1; choose "
            'baseline="learned".'
        )


def _check_can_prune(algorithm: Algorithm) -> None:
    given = f"prune_below={algorithm.sampling.prune_below:g} is given, but"
    if algorithm.minimizer.rule != RegretMatching.rule:
        raise ValueError(
            f"{given} {algorithm.minimizer.rule} keeps no regrets that become very "
            "negative; choose regret_matching or drop it."
        )
    if algorithm.batch > 1:
        raise ValueError(
            f"{given} the walks of a batch ({algorithm.batch}) may leave out different "
            "actions at an infoset, whose regrets then do not add up; drop one of them."
        )


def _hint(value: Any) -> str:
    if isinstance(value, str) and value.lower() in ALGORITHMS:
        name = value.lower()
        constants = [k for k, v in _constants().items() if v == ALGORITHMS[name]]
        words = [f"ms.{constant}" for constant in constants]
        return f"Did you mean {' or '.join([*words, f'ms.ALGORITHMS[{name!r}]'])}? "
    return ""


def _name_in_module(part: Part) -> str:
    """The name of the constant here that is equal to a part, "" if there is none."""
    found = globals().items()
    return next((k for k, v in found if k.isupper() and v == part), "")


def _constants() -> dict[str, Algorithm]:
    """The module's named algorithms."""
    found = globals().items()
    return {name: value for name, value in found if isinstance(value, Algorithm)}
