"""The base class of local rules."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mccfr_spiel.algorithms.part import Part
from mccfr_spiel.common import refusals

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
