"""The base class of local rules."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mccfr_spiel.algorithms.part import Part
from mccfr_spiel.common import refusals

Ranges = Mapping[str, tuple[float, float]]
"""Minimum and maximum of numeric fields, by name."""

_PUBLISHED_NAMES = {
    "regret_matching_plus": "regret matching+",
    "ftrl": "FTRL",
    "omd": "OMD",
}
"""Names in papers that differ from the names of the rules."""


@dataclass(frozen=True, repr=False)
class Minimizer(Part):
    """A local rule (regret minimizer), which moves the policy at an infoset.

    Each rule is a subclass, and its fields are the parameters of the rule. In formulas,
    G is the gradient at an infoset, b the policy and eta the step size.
    `kernels.minimizers.RULES` has the compiled functions.

    Attributes:
        rule: name of the rule in kernels, files and settings.
        ranges: minimum and maximum of numeric fields.
        tables: names of the optional tables of `kernels.tables.Tables` that the rule
            needs.
        allows_abstraction: whether the rule supports players who forget.
        keeps_regrets: whether the memory of the rule holds cumulative regrets.
    """

    rule: ClassVar[str]
    ranges: ClassVar[Ranges] = {}
    tables: ClassVar[tuple[str, ...]] = ()
    allows_abstraction: ClassVar[bool] = False
    keeps_regrets: ClassVar[bool] = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuses to create instances of abstract classes."""
        if not hasattr(cls, "rule"):
            arguments = [repr(value) for value in args]
            arguments += [f"{name}={value!r}" for name, value in kwargs.items()]
            raise TypeError(
                f"{cls.__name__}({', '.join(arguments)}): {cls.__name__} is an "
                "abstract base class. Use a rule, such as ms.regret_matching(), "
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
        name = _PUBLISHED_NAMES.get(self.rule, self.rule.replace("_", " "))
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
        """The parameters in the order of the compiled rule.

        They are all fields that are not strings, with infinity for None.
        """
        values = self._asdict().values()
        numbers = (value for value in values if not isinstance(value, str))
        return tuple(math.inf if n is None else float(n) for n in numbers)

    @property
    def needs_whole_tree(self) -> bool:
        """Whether the tables of the rule depend on the whole tree."""
        return False

    @property
    def moves_everywhere(self) -> bool:
        """Whether an update also moves the policy at infosets with gradient 0.

        Such a rule must update every infoset in every iteration, so it requires FULL.
        """
        return False
