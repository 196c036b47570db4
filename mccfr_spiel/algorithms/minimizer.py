"""The base class of local rules."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from mccfr_spiel.algorithms.part import Part
from mccfr_spiel.common import refusals

Ranges = Mapping[str, tuple[float, float]]
"""Name of a numeric field -> (minimum, maximum)."""

_PUBLISHED_NAMES = {
    "regret_matching_plus": "regret matching+",
    "ftrl": "FTRL",
    "omd": "OMD",
}
"""Name of a rule -> name in papers, where the two differ."""


@dataclass(frozen=True, repr=False)
class Minimizer(Part):
    """Base class of local rules. A local rule updates the policy at an infoset.

    Each rule is a subclass, whose fields are the parameters of the rule. The compiled
    function of a rule is in `kernels.minimizers.RULES`.

    Attributes:
        tremble: least probability of an action, see `trembling`; 0 for no trembles.
        rule: name of the rule in kernels, files and settings.
        ranges: name of a numeric field -> (minimum, maximum).
        tables: names of the optional fields of `kernels.tables.Tables` that the rule
            needs.
        allows_abstraction: whether the rule supports players with imperfect recall.
        keeps_regrets: whether the memory of the rule holds cumulative regrets.
    """

    tremble: float = field(default=0.0, kw_only=True)
    rule: ClassVar[str]
    ranges: ClassVar[Ranges] = {}
    tables: ClassVar[tuple[str, ...]] = ()
    allows_abstraction: ClassVar[bool] = False
    keeps_regrets: ClassVar[bool] = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Creates a rule; raises TypeError for classes without the attribute `rule`."""
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

        self.fill(tremble=refusals.tremble(self.tremble))

    def __repr__(self) -> str:
        return self.spelled(self.rule)

    def trembling(self, tremble: float) -> Self:
        """The rule for players who play every action with a least probability.

            ms.CFR_PLUS._replace(minimizer=ms.regret_matching_plus().trembling(0.01))

        At an infoset with n actions, each action has at least the probability
        min(tremble, 1 / (2 n)). The equilibria of this game approach an extensive-form
        perfect equilibrium as the trembles approach 0 (Farina, Kroer, Sandholm 2017).

        NashConv does not converge to 0, but `nash_conv` with the same `tremble` does.
        Locked infosets keep their policies. Abstractions, regret-based pruning and the
        bounds of `ms.theory` refuse trembles.

        Args:
            tremble: a number in [0, 0.5); 0 for no trembles.

        Raises:
            ValueError: `tremble` is out of range.
        """
        return self._replace(tremble=tremble)

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
        """The values of the rule's own numeric fields, for the compiled function.

        They are in the order of the fields. Infinity replaces None.
        """
        fields = self._asdict()
        del fields["tremble"]
        numbers = (value for value in fields.values() if not isinstance(value, str))
        return tuple(math.inf if n is None else float(n) for n in numbers)

    @property
    def needs_whole_tree(self) -> bool:
        """Whether the tables of the rule depend on the whole tree."""
        return False

    @property
    def moves_everywhere(self) -> bool:
        """Whether an update also changes the policy at infosets whose gradient is 0.

        Such a rule must update every infoset in every iteration, so it requires the
        sampling FULL.
        """
        return False
