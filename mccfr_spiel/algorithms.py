"""Algorithms as values: what is sampled, the local rule, the average.

Any regret minimizer goes with any gradient estimator (Farina, Kroer, Sandholm 2020), so
an algorithm here names three parts and holds no code. The parts are frozen dataclasses,
which check their fields and raise ValueError when they are made. (As NamedTuples, two
rules with the same numbers would be equal.)
"""

import dataclasses
import math
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


# --- what is sampled -----------------------------------------------------------


@dataclass(frozen=True)
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
            Davis et al. 2020. "" for none. For outcome and balanced outcome sampling.
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
        follows_one = self.chance and self.opponents and self.draws_one_action
        if self.baseline and not follows_one:
            raise ValueError(
                f"baseline={self.baseline!r} is given, but only walks that follow one "
                "history have baselines; choose outcome(epsilon) or drop it."
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


@dataclass(frozen=True)
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

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers that the compiled rule reads, in the order in which it does."""
        return ()

    @property
    def needs_whole_tree(self) -> bool:
        """Whether the rule's tables depend on the whole tree."""
        return False


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class RegretMatching(RegretMinimizer):
    """R += G - <b, G>; b ~ max(R, 0), uniform if none is positive (Hart, Mas-Colell
    2000)."""

    rule: ClassVar[str] = "regret_matching"


@dataclass(frozen=True)
class RegretMatchingPlus(RegretMinimizer):
    """R = max(R + G - <b, G>, 0); b ~ R (Tammelin 2014)."""

    rule: ClassVar[str] = "regret_matching_plus"


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class FTRL(EntropyMinimizer):
    """Follow the regularized leader (Farina et al. 2020):
    L += G; b = softmax(eta L / beta)."""

    rule: ClassVar[str] = "ftrl"


@dataclass(frozen=True)
class OMD(EntropyMinimizer):
    """Online mirror descent (Farina et al. 2020): b ~ b exp(eta G / beta)."""

    rule: ClassVar[str] = "omd"


RULES: dict[str, type[Minimizer]] = {
    kind.rule: kind for kind in (RegretMatching, RegretMatchingPlus, FTRL, OMD)
}
"""The rules by their names."""


def regret_matching(*, initial_regret: float = 0.0) -> RegretMatching:
    """Regret matching, see `RegretMatching`."""
    return RegretMatching(initial_regret)


def regret_matching_plus(*, initial_regret: float = 0.0) -> RegretMatchingPlus:
    """Regret matching+, see `RegretMatchingPlus`."""
    return RegretMatchingPlus(initial_regret)


def ftrl(step_size: float, *, weights: str = "constant") -> FTRL:
    """Follow the regularized leader with dilated entropy, see `FTRL`."""
    return FTRL(step_size, weights)


def omd(step_size: float, *, weights: str = "constant") -> OMD:
    """Online mirror descent with dilated entropy, see `OMD`."""
    return OMD(step_size, weights)


# --- the average -----------------------------------------------------------------


@dataclass(frozen=True)
class Averaging(Part):
    """The policy of iteration t enters the average with weight t ** gamma.

    The weights must add up to a number that a double holds. So with a gamma above 14 a
    solver refuses to go on beyond a number of iterations (`most_iterations`): 485,000
    for gamma 50, 743 for gamma 100.

    Raises:
        ValueError: `gamma` is no number in [0, MOST_GAMMA].
    """

    gamma: float = 0.0

    def __post_init__(self) -> None:
        self._set(gamma=refusals.number(self.gamma, "gamma", 0, MOST_GAMMA))


def polynomial(gamma: float) -> Averaging:
    """Weights t ** gamma, for gamma in 0 .. 100; `Averaging` says how far they go."""
    return Averaging(gamma)


def most_iterations(averaging: Averaging) -> int:
    """A number of iterations T after which the weights of an average add up to no more
    than MOST_WEIGHT; at most 2 ** 62, which nobody reaches."""
    # 1 + 2 ** gamma + ... + T ** gamma <= T ** (gamma + 1)
    bits = math.log2(MOST_WEIGHT) / (averaging.gamma + 1)
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


CFR = Algorithm(FULL, regret_matching())
"""Zinkevich, Johanson, Bowling, Piccione 2007, alternating."""
PRUNED_CFR = Algorithm(full(prune=True), regret_matching())
"""CFR that does not follow an opponent's action of probability 0 (Lanctot et al. 2009,
section 5)."""
CFR_PLUS = Algorithm(FULL, regret_matching_plus(), LINEAR)
"""Tammelin 2014."""
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

ALGORITHMS = {
    "cfr": CFR,
    "pruned_cfr": PRUNED_CFR,
    "cfr_plus": CFR_PLUS,
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


def _constants() -> dict[str, Algorithm]:
    """The module's named algorithms."""
    found = globals().items()
    return {name: value for name, value in found if isinstance(value, Algorithm)}
