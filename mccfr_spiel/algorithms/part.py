"""The base class of the parts of an algorithm.

Parts are frozen dataclasses that validate their fields. NamedTuples are unsuitable,
because two different rules with the same parameters would be equal.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mccfr_spiel.common import refusals


@dataclass(frozen=True)
class Part:
    """A part of an algorithm: a value whose fields are its parameters."""

    def _replace(self, **changes: Any) -> Self:
        """Returns a copy with other values of some fields, as for a NamedTuple."""
        return dataclasses.replace(self, **changes)

    def _asdict(self) -> dict[str, Any]:
        """Returns the fields by name, as for a NamedTuple."""
        return dataclasses.asdict(self)

    def fill(self, **values: Any) -> None:
        """Sets fields of a frozen instance; only for use in `__post_init__`."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def changed(self) -> dict[str, Any]:
        """Returns name -> value of the fields whose value is not their default.

        Fields without a default are included.
        """
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }

    def spelled(self, name: str) -> str:
        """Returns the text of a call `name(field=value, ...)` that creates the part.

        Fields that have their default value are left out.
        """
        fields = self.changed().items()
        values = [f"{key}={written(value)}" for key, value in fields]
        return f"{name}({', '.join(values)})"


def written(value: Any) -> str:
    """Returns the repr of a value; NumPy numbers are converted to Python's first."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def checked_horizon(value: Any, *changes: float) -> int:
    """Validates the horizon of parameters that change over time.

    Args:
        value: the horizon, a number of iterations; 0 for none.
        changes: total changes of the parameters. The horizon must be at least 1 if any
            change is not 0.

    Returns:
        The horizon as an int.

    Raises:
        ValueError: the horizon is not an integer, or not in its range.
    """
    horizon = refusals.integer(value, "horizon", 0)
    refusals.number(horizon, "horizon", 0, 2**62)
    if any(changes) and not horizon:
        raise ValueError(
            f"horizon={horizon} must be at least 1 if a parameter changes. Pass the "
            "number of iterations in which it changes."
        )
    return horizon


def name_in(constants: Mapping[str, Any], part: Part) -> str:
    """Returns the name of the constant that equals a part; "" if there is none.

    Args:
        constants: name -> value; only names in capitals are considered.
        part: the part.
    """
    names = (name for name in constants if name.isupper())
    return next((name for name in names if constants[name] == part), "")
