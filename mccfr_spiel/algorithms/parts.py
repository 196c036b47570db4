"""What the parts of an algorithm have in common: they are values that check themselves.

They are frozen dataclasses. (As NamedTuples, two rules with the same numbers would be
equal.)

Here are also what the local rules share (a rule is a value here, and a compiled
function of the same name in kernels/), and how policies are averaged.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mccfr_spiel.common import refusals


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
        values = [f"{key}={value!r}" for key, value in self.changed().items()]
        return f"{name}({', '.join(values)})"


def checked_horizon(value: Any, *changes: float) -> int:
    """The horizon of parameters that change by so much, which then is at least 1."""
    horizon = refusals.integer(value, "horizon", 0)
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


# --- what the local rules have in common ----------------------------------------------


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
        tables: the optional tables of `kernels.tables.Tables` that the rule needs.
        allows_abstraction: whether the rule makes sense for players who forget.
        keeps_regrets: whether what the rule remembers are cumulative regrets.
    """

    rule: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()
    allows_abstraction: ClassVar[bool] = False
    keeps_regrets: ClassVar[bool] = False

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
        if self.change:
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
