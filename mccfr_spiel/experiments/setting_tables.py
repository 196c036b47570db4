"""Tables of settings, from which flags, help texts and checks of values are made.

A `Setting` is one row. The settings of an algorithm's parts and the flags of commands
are listed as rows. `Settings` is a dataclass, where the metadata of a field describe
it:

    iterations: int = field(
        default=1000,
        metadata={"kind": int, "help": "Number of iterations.", "least": 1},
    )
"""

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from mccfr_spiel.algorithms import OWN_KINDS
from mccfr_spiel.common import refusals


class Setting(NamedTuple):
    """One setting.

    Attributes:
        name: name of the setting and of its flag.
        kind: type of its values. None is always allowed and means "not given".
        default: value if the setting is not given.
        help: description.
        least: smallest number allowed, or None.
        choices: allowed words; empty if any word is allowed.
        path: the algorithm's field that the setting replaces, as `part.field`, or "".
        check: function of a number and its name that returns the number or raises
            ValueError; None if `least` is the only condition.
    """

    name: str
    kind: Any
    default: Any
    help: str
    least: int | None = None
    choices: Collection[str] = ()
    path: str = ""
    check: Callable[[Any, str], float] | None = None

    def checked(self, value: Any) -> Any:
        """Returns the value, whole numbers as int; raises ValueError if it is wrong."""
        name = self.name
        if value is None and self.default is None:
            return None
        if self.kind is bool:
            return refusals.flag(value, name)
        if isinstance(value, bool) or (self.kind is str and not isinstance(value, str)):
            expected = "string" if self.kind is str else "number"
            raise ValueError(f"{name}={value!r} must be a {expected}.")
        if self.kind is int:
            return refusals.integer(value, name, self.least)
        if self.check is not None:
            return self.check(value, name)
        if self.kind is float:
            least = -math.inf if self.least is None else self.least
            return refusals.number(value, name, least, math.inf)
        is_own = name in OWN_KINDS and ":" in str(value)
        if self.choices and not is_own:
            refusals.choice(value, name, self.choices)
        return value


def table_of(settings: Iterable[Setting]) -> dict[str, Setting]:
    """Returns the settings by name, in order."""
    return {setting.name: setting for setting in settings}


def fields_of(settings: Any) -> dict[str, Setting]:
    """Returns the settings that are fields of a dataclass, by name."""
    return table_of(
        Setting(field.name, default=field.default, **field.metadata)
        for field in dataclasses.fields(settings)
    )
