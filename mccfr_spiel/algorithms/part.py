"""The base class of the parts of an algorithm."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

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
