"""Names and texts of methods: name or repr -> method -> name or repr.

A *method* solves a game. It is an `Algorithm`, which `Solver` runs, or an
`OfflineMethod`. Equal methods have equal names.
Files store the name in METHODS or the repr.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from mccfr_spiel.algorithms import (
    ALGORITHMS,
    OWN_KINDS,
    SCHEDULES,
    Algorithm,
    Minimizer,
    OwnPart,
    Part,
    Sampling,
    check_algorithm,
    near_algorithms,
    polynomial,
    schedule_of,
    value_in,
)
from mccfr_spiel.experiments.algorithm_parts import (
    AVERAGINGS,
    MINIMIZERS,
    PARTS,
    PROGRAM_SETTINGS,
    SAMPLINGS,
    SETTING_OF_FIELD,
)
from mccfr_spiel.experiments.importing import import_object
from mccfr_spiel.offline import OFFLINE_METHODS, OfflineMethod

Method = Algorithm | OfflineMethod

T = TypeVar("T")

METHODS: dict[str, Method] = {**ALGORITHMS, **OFFLINE_METHODS}
"""All named methods."""


def make_method(given: Mapping[str, Any]) -> Method:
    """Makes the method named `given["algorithm"]` and replaces its parts.

    Args:
        given: "algorithm" and names in PARTS -> values; None means "not given".

    Raises:
        ValueError: a name is unknown, or the method has no such part.
    """
    parts = {name: given[name] for name in PARTS if given.get(name) is not None}
    text = given.get("algorithm") or "external_sampling"
    if text in SCHEDULES:
        use_gamma = "averaging" not in parts and "gamma" in parts
        options = {"gamma": parts.pop("gamma")} if use_gamma else {}
        method = SCHEDULES[text](parts.pop("horizon"), **options)
    else:
        method = read_method(text)
    allowed = PARTS.keys() - {*PROGRAM_SETTINGS, "horizon"}
    if isinstance(method, OfflineMethod):
        allowed = {field.name for field in dataclasses.fields(method)}
    for name in parts.keys() - allowed:
        advice = f"Choose {_choices('algorithm', SCHEDULES)}, or drop it."
        raise ValueError(
            f"{name}={parts[name]} is given, but {text} does not support {name}. "
            f"{advice if name == 'horizon' else 'Drop it.'}"
        )
    if isinstance(method, OfflineMethod):
        return method._replace(**parts)
    return _with_parts(method, parts)


def _with_parts(base: Algorithm, parts: dict[str, Any]) -> Algorithm:
    """Replaces parts of an algorithm; raises ValueError."""
    tables = {"sampling": SAMPLINGS, "minimizer": MINIMIZERS, "averaging": AVERAGINGS}
    changes: dict[str, Any] = {
        name: part_named(name, parts[name], values)
        for name, values in tables.items()
        if name in parts
    }
    changes |= {name: parts[name] for name in ("alternating", "batch") if name in parts}
    if "gamma" in parts:
        if "averaging" in parts:
            raise ValueError(
                f"averaging={parts['averaging']} and gamma={parts['gamma']} both set "
                "the weights of the average. Drop one."
            )
        changes["averaging"] = polynomial(parts["gamma"])
    algorithm = base._replace(**changes)
    for kind in ("sampling", "minimizer"):
        fields = {
            PARTS[name].path.removeprefix(f"{kind}."): value
            for name, value in parts.items()
            if PARTS[name].path.startswith(f"{kind}.")
        }
        _check_has(getattr(algorithm, kind), fields)
        try:
            part = getattr(algorithm, kind)._replace(**fields)
        except ValueError as error:
            if "initial_regret" in fields:
                error.add_note("The setting random_initial_regrets sets it.")
            raise
        algorithm = algorithm._replace(**{kind: part})
    check_algorithm(algorithm)
    return algorithm


def _check_has(part: Sampling | Minimizer, fields: Mapping[str, Any]) -> None:
    """Raises ValueError unless a part uses all of these parameters."""
    explores = isinstance(part, Sampling) and part.player in ("epsilon", "average")
    if isinstance(part, Sampling) and "epsilon" in fields and not explores:
        raise ValueError(
            f"epsilon={fields['epsilon']} is given, but only outcome sampling and "
            "average-strategy sampling have an epsilon. Use sampling=outcome or "
            "sampling=average_strategy, or drop epsilon."
        )
    for name in fields.keys() - part._asdict().keys():
        rules = [rule for rule, part in MINIMIZERS.items() if name in part._asdict()]
        setting = SETTING_OF_FIELD[name]
        raise ValueError(
            f"{setting}={fields[name]} is given, but {part} does not support "
            f"{setting}. Choose {_choices('minimizer', rules)}, or drop it."
        )


def _choices(flag: str, names: Iterable[str]) -> str:
    """Formats alternatives as "flag=a, flag=b or flag=c"."""
    words = [f"{flag}={name}" for name in names]
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def part_named(kind: str, name: str, values: Mapping[str, T]) -> T:
    """Returns the part of that name, or imports a user's part MODULE:NAME.

    Args:
        kind: "sampling", "minimizer" or "averaging".
        name: a key of `values`, or MODULE:NAME of a part or of a function.
        values: the named parts of that kind.
    """
    if ":" in name and kind in OWN_KINDS:
        imported, own = import_object(name), OWN_KINDS[kind]
        part: Any = (
            imported if isinstance(imported, Part) else own(**{own.key: imported})
        )
        return part
    return values[name]


def checked(method: object) -> Method:
    """Returns a method, or reads it if it is given as text.

    Raises:
        ValueError: it is not a method, or cannot be run.
    """
    if isinstance(method, str):
        return read_method(method)
    if isinstance(method, OfflineMethod):
        return method
    check_algorithm(method)
    assert isinstance(method, Algorithm)
    return method


# --- method <-> text -----------------------------------------------------------


def written(method: Method) -> str:
    """The text of a method in files, which `read_method` reads."""
    return key_of(method, METHODS) or repr(method)


def _read_own(
    kind: type[OwnPart], function: str, source: str = "", **options: Any
) -> OwnPart:
    """Makes the part of a user's function that a file names.

    Args:
        kind: the class of the part.
        function: MODULE:NAME.
        source: digest of the function's source when the file was written, or "".
        options: the other fields of the part.

    Raises:
        ValueError: the function is missing, or the source has changed.
    """
    part = kind(**{kind.key: import_object(function)}, **options)
    if source and source != part.digest:
        raise ValueError(
            f"the source of {function} has changed since the file was written; undo "
            "the change, or start a new run in a different folder"
        )
    return part


_ADDED_CALLS: dict[str, Any] = {
    **{kind.maker: functools.partial(_read_own, kind) for kind in OWN_KINDS.values()},
    **{type(method).__name__: type(method) for method in OFFLINE_METHODS.values()},
}
"""Calls allowed in a method's repr, in addition to those that make algorithms."""


def read_method(text: str) -> Method:
    """Reads a method from a name in METHODS, from MODULE:NAME, or from a repr such as
    `Algorithm(outcome(0.4), ftrl(step_size=0.5), LINEAR)`.

    Raises:
        ValueError: the text is none of these.
    """
    if (name := text.lower()) in METHODS:
        return METHODS[name]
    if "(" not in text and ":" in text:
        return checked(import_object(text))
    if "(" not in text:
        names = [*METHODS, *SCHEDULES]
        hint = near_algorithms(text, names) or f" Expected {', '.join(names)}."
        raise ValueError(f"Unknown algorithm={text!r}.{hint}")
    return checked(value_in(text, _ADDED_CALLS))


def name_of(method: Method) -> str:
    """The name of a method for readers: its name in METHODS, a schedule with its
    numbers, or a description in the terms of the papers."""
    name = key_of(method, METHODS)
    if name is not None or not isinstance(method, Algorithm):
        return name or repr(method)
    schedule = schedule_of(method)
    if schedule is None or (method.alternating, method.batch) != (True, 1):
        return str(method)
    name, horizon, gamma = schedule
    return f"{name} (horizon {horizon}, gamma {gamma:g})"


def key_of(value: object, values: Mapping[str, object]) -> str | None:
    """The first key whose value equals `value`, or None."""
    return next((name for name, other in values.items() if other == value), None)
