"""Algorithms from the text that `repr` gives."""

import ast
from collections.abc import Mapping
from typing import Any

from mccfr_spiel.algorithms import averages, rules, samplings
from mccfr_spiel.algorithms.algorithm import Algorithm
from mccfr_spiel.algorithms.averages import Averaging
from mccfr_spiel.algorithms.samplings import Sampling
from mccfr_spiel.common import refusals

_CALLS: dict[str, Any] = {
    **{k: v for k, v in vars(samplings).items() if isinstance(v, Sampling)},
    **{k: v for k, v in vars(averages).items() if isinstance(v, Averaging)},
    **rules.RULES,
    **{kind.__name__: kind for kind in rules.RULES.values()},
    **{one.__name__: one for one in (Algorithm, Averaging, Sampling)},
    **{
        one.__name__: one
        for one in (samplings.full, samplings.outcome, averages.polynomial)
    },
}
"""The names that a repr may have in it. All of them make values and do nothing else."""


def value_in(text: str, more_calls: Mapping[str, Any]) -> Any:
    """The value whose repr a text is, such as
    `Algorithm(outcome(0.4), ftrl(step_size=0.5), LINEAR)`.

    Args:
        text: the repr.
        more_calls: name -> what makes a value, such as the part of a user's function.

    Raises:
        ValueError: the text has something else in it than calls of known names with
            names, calls and literals; or what is called refuses its arguments.
    """
    calls = _CALLS | {**more_calls}
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, calls)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"algorithm={text!r} cannot be read: {error}") from error


def _value(node: ast.expr, calls: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            if name in calls:
                return calls[name]
            hint = refusals.near(name, calls)
            raise ValueError(f"algorithm={name!r} is none of {', '.join(calls)}.{hint}")
        case ast.Call(func=ast.Name() as make, args=args, keywords=keywords):
            more = {str(one.arg): _value(one.value, calls) for one in keywords}
            return _value(make, calls)(*(_value(one, calls) for one in args), **more)
        case _:
            return ast.literal_eval(node)
