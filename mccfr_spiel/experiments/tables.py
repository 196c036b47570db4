"""Tables of settings: classes whose fields are read by programs, too.

A field says what may be said of a setting: its name, its type, its default, and in the
docstring of the class what it means. From that come the flags of the command line, the
checks of values from files, and the pages of the documentation.
"""

import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Collection
from typing import Annotated, Any, NamedTuple

Count = Annotated[int, 1]
"""A whole number from 1 on."""


class Setting(NamedTuple):
    """A line of a table.

    Attributes:
        name: of the setting and of its flag.
        kind: the type of its values. None is always allowed, and stands for "not
            given".
        default: when it is not given.
        help: what it means.
        least: the least number, or None.
        choices: the words that it may be; empty for any.
        path: which field of an algorithm it is, as `part.field`; else empty.
    """

    name: str
    kind: Any
    default: Any
    help: str
    least: int | None = None
    choices: Collection[str] = ()
    path: str = ""

    @property
    def words(self) -> str:
        """Which values there are, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return getattr(self.kind, "__name__", str(self.kind))

    def admits(self, value: Any) -> bool:
        """Whether a JSON value fits; floats may be whole, bools are no numbers."""
        if value is None or self.choices:
            return value is None or value in self.choices or ":" in str(value)
        kind = int | float if self.kind is float else self.kind
        is_bool = isinstance(value, bool)
        return isinstance(value, kind) and is_bool == (self.kind is bool)


def table_of(fields: type) -> dict[str, Setting]:
    """The annotated fields of a class: name -> line of the table.

    What follows a type in `Annotated` is the least value (an int), the path (a string)
    or the choices. A field without a value has None as its default.
    """
    helps = _attributes(fields)
    table = {}
    for name, hint in typing.get_type_hints(fields, include_extras=True).items():
        more: list[Any] = []
        kinds = [one for one in typing.get_args(hint) if one is not types.NoneType]
        if typing.get_origin(hint) in (typing.Union, types.UnionType):
            hint = functools.reduce(operator.or_, kinds)
        if typing.get_origin(hint) is Annotated:
            hint, *more = typing.get_args(hint)
        found = {_PLACES.get(type(one), "choices"): one for one in more}
        default, words = getattr(fields, name, None), helps.get(name, "")
        name = name.removesuffix("_")  # of a word that Python reserves
        table[name] = Setting(name, hint, default, words, **found)
    return table


_PLACES = {int: "least", str: "path"}


def _attributes(documented: type) -> dict[str, str]:
    """What the docstring of a class says of each attribute, in one line."""
    text = inspect.getdoc(documented) or ""
    _, _, section = text.partition("\nAttributes:\n")
    section, _, _ = section.partition("\n\n")
    found = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", section, re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in found}
