"""The parts of an algorithm: what is sampled, what local rules share, the average.

Parts are values that check themselves: frozen dataclasses. (As NamedTuples, two rules
with the same numbers would be equal.) A rule is a value here and in rules.py, and a
compiled function of the same name in kernels/. A part may also be a user's function.
"""

import dataclasses
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from mccfr_spiel.common import refusals
from mccfr_spiel.common.checkpoint import digest_of, name_of


@dataclass(frozen=True)
class Part:
    """What all parts of an algorithm have in common."""

    def _replace(self, **changes: Any) -> Self:
        """The same part with other values of some fields, as for a NamedTuple."""
        return dataclasses.replace(self, **changes)

    def _asdict(self) -> dict[str, Any]:
        """The fields by their names, as for a NamedTuple."""
        return dataclasses.asdict(self)

    def fill(self, **values: Any) -> None:
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

    def spelled(self, name: str) -> str:
        """The call that makes the part, with the fields that differ from default."""
        fields = self.changed().items()
        values = [f"{key}={written(value)}" for key, value in fields]
        return f"{name}({', '.join(values)})"


def written(value: Any) -> str:
    """The repr of a value as files have it: with NumPy's scalars as Python's own."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def checked_horizon(value: Any, *changes: float) -> int:
    """The horizon of parameters that change by so much, which then is at least 1."""
    horizon = refusals.integer(value, "horizon", 0)
    refusals.number(horizon, "horizon", 0, 2**62)
    if any(changes) and not horizon:
        raise ValueError(
            f"horizon={horizon} is not at least 1. A parameter that changes needs a "
            "horizon: the number of iterations in the course of which it does."
        )
    return horizon


def name_in(constants: Mapping[str, Any], part: Part) -> str:
    """The name of the constant of a module that is equal to a part; "" if none is."""
    found = constants.items()
    return next((name for name, value in found if name.isupper() and value == part), "")


# --- what a walk samples: the gradient estimators, each with its paper ---------------


_PLAYER_SAMPLINGS = ("all", "epsilon", "balanced", "average")
_BY_REGRET = "regret"
_BASELINES = ("", "learned", "predictive")

_SAMPLING_WORDS = {
    "FULL": "CFR",
    "BALANCED_OUTCOME": "balanced outcome sampling",
    "AVERAGE_STRATEGY": "average-strategy sampling",
}
"""What papers call constants whose names do not say it already."""


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
        prune: True: do not follow an opponent's action of probability 0. "regret",
            where nothing is sampled: do not follow an action of the updating player as
            long as its regret stays below 0 whatever the opponent plays (Brown,
            Sandholm 2015), and later make good what is below it by the best response
            (Brown, Sandholm 2017). For regret matching and two players.
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
    prune: bool | str = False
    threshold: float = 0.0
    bonus: float = 0.0
    prune_below: float | None = None
    baseline: str = ""
    baseline_rate: float = 0.5

    def __post_init__(self) -> None:
        for name in ("chance", "opponents", "prune"):
            value = getattr(self, name)
            if name == "prune" and isinstance(value, str) and value == _BY_REGRET:
                self.fill(prune=_BY_REGRET)
                continue
            more = f', nor "{_BY_REGRET}"' if name == "prune" else ""
            self.fill(**{name: refusals.flag(value, f"Sampling: {name}", more)})
        if self.player not in _PLAYER_SAMPLINGS:
            raise ValueError(
                f"Sampling: player={self.player!r} is none of {_PLAYER_SAMPLINGS}."
            )
        self.fill(epsilon=_epsilon(self.epsilon, self.player))
        for name in ("threshold", "bonus"):
            value = refusals.number(getattr(self, name), name, 0, 1e100)
            if value and self.player != "average":
                raise ValueError(
                    f"{name}={value:g} is given, but only average-strategy sampling "
                    "has one; choose it or drop it."
                )
            self.fill(**{name: value})
        if self.prune_below is not None:
            self._check_prunes()
        self._check_baseline()
        if self.prunes_by_regret and self.is_sampled:
            raise ValueError(
                'prune="regret" is given, but it takes the exact regrets of passes '
                "over the whole tree; sample nothing, or choose prune_below with "
                "external sampling."
            )

    def _check_baseline(self) -> None:
        rate = refusals.number(self.baseline_rate, "baseline_rate", 0, 1, open_low=True)
        self.fill(baseline_rate=rate)
        if self.baseline not in _BASELINES:
            raise ValueError(f"baseline={self.baseline!r} is none of {_BASELINES}.")
        if not self.baseline and rate != 0.5:
            raise ValueError(
                f"baseline_rate={rate:g} is given, but no baseline; choose "
                'baseline="learned" or "predictive", or drop it.'
            )
        draws = self.chance and self.opponents and not self.picks_actions
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
        self.fill(prune_below=value)

    @property
    def prunes_by_regret(self) -> bool:
        """Whether `prune` is "regret"."""
        return self.prune == _BY_REGRET

    @property
    def is_sampled(self) -> bool:
        """Whether anything is sampled at all."""
        return self.chance or self.opponents or self.player != "all"

    @property
    def draws_one_action(self) -> bool:
        """Whether one action of the updated player is followed at each infoset."""
        return self.player in ("epsilon", "balanced")

    @property
    def picks_actions(self) -> bool:
        """Whether some of them are, see kernels/sampling.py."""
        return self.player == "average"

    def __repr__(self) -> str:
        if self.prune and self == full(prune=self.prune):
            return f"full(prune={self.prune!r})"
        if self == outcome(self.epsilon or 1.0):
            return f"outcome({self.epsilon!r})"
        return name_in(globals(), self) or self.spelled("Sampling")

    def __str__(self) -> str:
        name = name_in(globals(), self)
        if name:
            return _SAMPLING_WORDS.get(name, f"{name.lower()} sampling")
        if self == full(prune=self.prune):
            return "CFR pruned by regret" if self.prunes_by_regret else "pruned CFR"
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
        return f"{'pruned ' if self.prune else ''}sampling of {sampled or 'nothing'}"


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


def full(*, prune: bool | str = False) -> Sampling:
    """Nothing sampled (Zinkevich et al. 2007), optionally with pruning, see
    `Sampling`."""
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


# --- what the local rules have in common ----------------------------------------------


Ranges = Mapping[str, tuple[float, float]]
"""The least and the greatest value of numbers, by their names."""

_RULE_WORDS = {"regret_matching_plus": "regret matching+", "ftrl": "FTRL", "omd": "OMD"}
"""What papers call rules whose names do not say it already."""


@dataclass(frozen=True, repr=False)
class Minimizer(Part):
    """The local rule by which the policy at an infoset moves.

    Each rule is a subclass, whose fields are its own parameters and nothing else. The
    formulas use the gradient G at an infoset, the policy b and the step size eta. What
    a rule computes is in kernels/minimizers.py, a function for each.

    Attributes:
        rule: the name by which kernels, files and settings know the rule.
        ranges: the least and the greatest value of fields that are numbers.
        tables: the optional tables of `kernels.tables.Tables` that the rule needs.
        allows_abstraction: whether the rule makes sense for players who forget.
        keeps_regrets: whether what the rule remembers are cumulative regrets.
    """

    rule: ClassVar[str]
    ranges: ClassVar[Ranges] = {}
    tables: ClassVar[tuple[str, ...]] = ()
    allows_abstraction: ClassVar[bool] = False
    keeps_regrets: ClassVar[bool] = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuses to make a value of a class that only rules have in common."""
        if not hasattr(cls, "rule"):
            given = [repr(value) for value in args]
            given += [f"{name}={value!r}" for name, value in kwargs.items()]
            raise TypeError(
                f"{cls.__name__}({', '.join(given)}): a {cls.__name__} is only what "
                "several rules have in common. Make one of them: ms.regret_matching(), "
                "ms.regret_matching_plus(), ms.ftrl(step_size) or ms.omd(step_size)."
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, (low, high) in self.ranges.items():
            value = getattr(self, name)
            if value is not None or getattr(type(self), name, 0) is not None:
                self.fill(**{name: refusals.number(value, name, low, high)})

    def __repr__(self) -> str:
        return self.spelled(self.rule)

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
        """The numbers that the compiled rule reads, in the order in which it does: the
        fields, with infinity for None."""
        values = self._asdict().values()
        numbers = (value for value in values if not isinstance(value, str))
        return tuple(math.inf if one is None else float(one) for one in numbers)

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


# --- how the policies of all iterations are averaged ----------------------------------


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


# --- a user's own rule, estimator or average, written as a function ------------------


MOST_OWN_WEIGHT = 1e270
"""Of an iteration in an average; so 1e20 of them add up to a double."""

Estimate = Callable[[Any, np.ndarray, int, np.random.Generator], tuple[Any, int]]
"""What `own_estimator` takes."""


class OwnPart(Part):
    """What parts that are functions of a user's have in common.

    Attributes:
        key: the field that holds the function, and its name in files.
        maker: what makes the part of the function.
        arguments: of the function.
        digest: see `digest_of`.
    """

    digest: str
    key: ClassVar[str] = ""
    maker: ClassVar[str] = ""
    arguments: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        given, arguments = getattr(self, self.key), self.arguments
        function = getattr(given, "py_func", given)
        if not isinstance(function, types.FunctionType):
            raise ValueError(f"{self.key}={given!r} is not a function.")
        count = function.__code__.co_argcount
        if count != len(arguments):
            name = f"{function.__module__}.{function.__qualname__}"
            raise ValueError(
                f"{self.key}={name} takes {count} arguments, not the {len(arguments)} "
                f"{', '.join(arguments)}."
            )
        # Another process that gets the function by value does not have its source.
        self.fill(**{self.key: function}, digest=digest_of(function))

    def __repr__(self) -> str:
        """The call by which files name the part."""
        fields = {k: v for k, v in self.changed().items() if k != self.key}
        more = (fields | {"source": self.digest}).items()
        values = [repr(self.name), *(f"{key}={value!r}" for key, value in more)]
        return f"{self.maker}({', '.join(values)})"

    @property
    def function(self) -> types.FunctionType:
        """The user's function."""
        return getattr(self, self.key)

    @property
    def name(self) -> str:
        """The function's name with that of its module, `module:name`."""
        return name_of(self.function)


_TRIED_ACTIONS = 1, 2, 3
"""Sizes of the information sets at which a rule is tried before it is compiled."""


@dataclass(frozen=True, repr=False)
class OwnRule(OwnPart, Minimizer):
    """A rule that a user has written as a function; `own_rule` makes it.

    Attributes:
        update: the function, see `own_rule`.
        numbers: what it gets as `parameters`.
        compiled: whether numba compiles it.
        everywhere: whether it moves the policy where the gradient is 0, too.

    Raises:
        ValueError: `update` is no function of five arguments, or it uses an index
            outside an array, or a number is not finite.
    """

    update: Callable[..., float]
    numbers: tuple[float, ...] = ()
    compiled: bool = True
    everywhere: bool = False
    key: ClassVar[str] = "update"
    maker: ClassVar[str] = "own_rule"
    arguments = "policy", "memory", "gradient", "parameters", "t"
    rule: ClassVar[str] = "own_rule"
    tables: ClassVar[tuple[str, ...]] = ("log_positive", "log_negative")

    def __post_init__(self) -> None:
        numbers = tuple(
            refusals.number(number, "parameters", -1e300, 1e300)
            for number in self.numbers
        )
        super().__post_init__()
        self.fill(numbers=numbers)
        if self.compiled:
            self._check_bounds()

    def _check_bounds(self) -> None:
        """Calls the function once in plain Python for each of several array sizes.

        Compiled code checks no index, so a rule that reads beyond `parameters` would
        read foreign memory without an error. Other exceptions are left to updates.

        Raises:
            ValueError: the function uses an index outside an array.
        """
        for count in _TRIED_ACTIONS:
            policy, memory = np.full(count, 1 / count), np.zeros(count)
            gradient, numbers = np.linspace(0.5, -0.5, count), np.array(self.numbers)
            try:
                with np.errstate(all="ignore"):
                    self.update(policy, memory, gradient, numbers, 1)
            except IndexError as error:
                name = self.function.__name__
                raise ValueError(
                    f"{self.name} uses an index outside an array, at an information "
                    f"set of {count} actions and with parameters={self.numbers}: "
                    f"{error}. Pass the parameters: own_rule({name}, "
                    "parameters=(...,)). A command takes such an object as "
                    "--minimizer=MODULE:NAME."
                ) from error
            except Exception:  # rules raise what they like
                return

    def __str__(self) -> str:
        numbers = ", ".join(f"{number:g}" for number in self.numbers)
        name = self.function.__name__
        return f"{name} ({numbers})" if numbers else name

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers."""
        return self.numbers

    @property
    def moves_everywhere(self) -> bool:
        """As the user says."""
        return self.everywhere


@dataclass(frozen=True, repr=False)
class OwnEstimator(OwnPart, Sampling):
    """An estimator that a user has written; `own_estimator` makes it.

    Attributes:
        estimate: the function, see `own_estimator`.

    Raises:
        ValueError: `estimate` is no function of four arguments.
    """

    chance: bool = False
    opponents: bool = False
    estimate: Any = None
    key: ClassVar[str] = "estimate"
    maker: ClassVar[str] = "own_estimator"
    arguments = "tree", "policy", "player", "rng"

    def __str__(self) -> str:
        return self.function.__name__


@dataclass(frozen=True, repr=False)
class OwnAveraging(OwnPart, Averaging):
    """Weights of an average that a user has written; `own_averaging` makes it.

    Attributes:
        weight: the function, see `own_averaging`.

    Raises:
        ValueError: `weight` is no function of one argument.
    """

    weight: Any = None
    key: ClassVar[str] = "weight"
    maker: ClassVar[str] = "own_averaging"
    arguments = ("t",)

    def __str__(self) -> str:
        return f"{self.function.__name__} average"

    def weights(self, first: int, count: int) -> np.ndarray:
        """`[count]` the weights of the iterations from `first` on.

        Raises:
            ValueError: one of them is no number in [0, MOST_OWN_WEIGHT].
        """
        found = np.zeros(count)
        for k in range(count):
            name = f"{self.name}({first + k})"
            weight = self.function(first + k)
            found[k] = refusals.number(weight, name, 0, MOST_OWN_WEIGHT)
        return found


OWN_KINDS: dict[str, type[OwnPart]] = {
    "minimizer": OwnRule,
    "sampling": OwnEstimator,
    "averaging": OwnAveraging,
}
"""The parts of an algorithm, and their kinds if they are functions of a user's."""


def own_parts_of(algorithm: Any) -> dict[str, OwnPart]:
    """The parts that are a user's functions, which files do not hold, by the names of
    the parts."""
    parts = algorithm._asdict()
    return {name: one for name, one in parts.items() if isinstance(one, OwnPart)}


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
    that led there: for regret minimizers, `<policy before, gradient>`. `evaluation.
    check_rule` tries it out.

    Such a rule goes with every sampling. Abstractions are refused, and a saved solver
    is loaded with `Solver.load(path, minimizer=...)`, since no file holds a function.
    If the function raises an exception, writes probabilities that are below 0 or do not
    sum to 1 within 1e-6, or returns no finite number, `iterate` raises, and the solver
    can do nothing more: make it anew, or load a checkpoint.

    Args:
        update: the function. It is compiled by numba, so it must be of the kind that
            `numba.njit` takes. The code is kept on disk until the function's file
            changes, unless it has variables of an outer function or was typed into a
            prompt.
        parameters: numbers that it gets as an array `parameters`.
        compiled: False calls `update` as plain Python, with NumPy or anything else.
            That is some hundred times slower.
        everywhere: whether the rule moves the policy where the gradient is 0, too; it
            then needs FULL.
    """
    if isinstance(parameters, str) or not isinstance(parameters, Iterable):
        raise ValueError(f"parameters={parameters!r} is no list, such as (0.5,).")
    numbers = refusals.numbers(tuple(parameters), "parameters")
    return OwnRule(update, tuple(numbers.tolist()), compiled, everywhere)


def own_estimator(estimate: Estimate) -> OwnEstimator:
    """An estimator of your own, in the place of a sampling.

        def estimate(tree, policy, player, rng):
            gradient = np.zeros(tree.num_sequences)
            ...
            return gradient, nodes_touched

        ms.Solver("leduc_poker", ms.Algorithm(own_estimator(estimate), rule))

    The function is called before each update of a player. It is plain Python, so an
    iteration takes as long as it does. Any rule and any average go with it; batches,
    abstractions and clusters do not. A saved solver is loaded with
    `Solver.load(path, sampling=...)`, since no file holds a function.

    Args:
        estimate: the function. `tree` is the complete GameTree, and `policy` `[S]` the
            probabilities of all players' sequences, which it must not change; `rng` is
            a NumPy generator made of the seed, the iteration and the player. It returns
            the gradient `[S]`, and how many nodes it has touched. The gradient has, at
            each of the player's sequences, the weighted utility of the leaves that
            follow it directly, on average that of the policies, and is 0 elsewhere. If
            it has another shape, is not finite or is not 0 at another's sequence,
            `iterate` raises ValueError, and the solver stands before that update.
    """
    return OwnEstimator(estimate=estimate)


def own_averaging(weight: Callable[[int], float]) -> OwnAveraging:
    """An average of your own: iteration t enters it with weight `weight(t)`.

        average = ms.algorithms.own_averaging(lambda t: t - t % 2)
        ms.Solver("leduc_poker", ms.CFR_PLUS._replace(averaging=average))

    The function is plain Python, called once for each iteration from 1 on, and some
    iterations ahead. A saved solver is loaded with `Solver.load(path, averaging=...)`,
    since no file holds a function. Clusters are refused, and so are bounds of theory.

    Args:
        weight: gives a number in [0, 1e270]. Until one is above 0, the average policy
            is uniform.
    """
    return OwnAveraging(weight=weight)
