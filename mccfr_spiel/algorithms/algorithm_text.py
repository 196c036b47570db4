"""Converts the text that `repr` returns back to an algorithm."""

import ast
from collections.abc import Mapping
from typing import Any

from mccfr_spiel.algorithms import averages, rules, samplings
from mccfr_spiel.algorithms.algorithm import Algorithm
from mccfr_spiel.common import refusals

_CALLS: dict[str, Any] = {
    **{k: v for k, v in vars(samplings).items() if isinstance(v, samplings.Sampling)},
    **{k: v for k, v in vars(averages).items() if isinstance(v, averages.Averaging)},
    **rules.RULES,
    **{rule_class.__name__: rule_class for rule_class in rules.RULES.values()},
    **{
        cls.__name__: cls for cls in (Algorithm, averages.Averaging, samplings.Sampling)
    },
    **{
        make.__name__: make
        for make in (samplings.full, samplings.outcome, averages.polynomial)
    },
}
"""Name in a repr -> its value, or a function that makes the value. The functions have
no other effects, so the text of an untrusted file is harmless."""


def value_in(text: str, more_calls: Mapping[str, Any]) -> Any:
    """Evaluates the repr of a value, without executing other code.

    An example is `Algorithm(outcome(0.4), ftrl(step_size=0.5), LINEAR)`.

    Args:
        text: the repr.
        more_calls: additional names that the text may contain, such as names of a
            user's parts -> value or function.

    Raises:
        ValueError: the text contains anything but known names, calls and literals, or a
            function raises an error because of its arguments.
    """
    calls = _CALLS | {**more_calls}
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, calls)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"Cannot read algorithm={text!r}: {error}") from error


def _value(node: ast.expr, calls: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            if name in calls:
                return calls[name]
            hint = refusals.near(name, calls)
            raise ValueError(
                f"Unknown name {name!r}. Expected one of {', '.join(calls)}.{hint}"
            )
        case ast.Call(func=ast.Name() as make, args=args, keywords=keywords):
            named = {str(word.arg): _value(word.value, calls) for word in keywords}
            return _value(make, calls)(*(_value(arg, calls) for arg in args), **named)
        case _:
            return ast.literal_eval(node)
