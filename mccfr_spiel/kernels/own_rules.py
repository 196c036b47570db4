"""Rules that users write as functions of one infoset; see `algorithms.own_rule`.

A user's function becomes a row beside RULES, whose `update` hands it the slices of the
tables. The compiled loops need no change. What such a rule needs to know of time is
kept by the clock of discounted rules: with a factor of exp(-1) in each iteration the
sum of all logarithms is minus the iteration, exactly.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import objmode  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import types
from numba.core.errors import NumbaError

from mccfr_spiel.compiled.jit import IS_COMPILED, inlined, jit, uncached, why_not
from mccfr_spiel.kernels.minimizers import Rule, add_own
from mccfr_spiel.kernels.rates import AHEAD, Rates

FAULT = 0
"""The entry of `Tables.memory`, of an empty sequence and so of no infoset, that says
where a user's function has failed: 0 nowhere, i + 1 at the infoset i, whose entries of
`memory` then are the policy that it wrote, and a number below 0 if it was stopped by an
exception. Kernels never raise: until they return nothing is updated any more."""

_TOLERANCE = 1e-6
"""How far the sum of a policy may be from 1."""

_NAMES: dict[tuple[Callable[..., float], bool], str] = {}


@inlined
def counting(parameters: np.ndarray, iteration: int) -> Rates:
    """Lets a walk's clock count iterations; a pass is told the iteration itself."""
    return 1.0, math.exp(-1.0), float(iteration)


def name_of_own(function: Callable[..., float], compiled: bool) -> str:
    """The name by which kernels know a user's function."""
    key = function, compiled
    if key not in _NAMES:
        if compiled:
            compiled_alone(function)
        called: Any = inlined(function) if compiled else _calling(function)
        row = Rule(_update_of(called), rates=counting, discounts=True)
        _NAMES[key] = add_own(row)
    return _NAMES[key]


def compiled_alone(function: Callable[..., float]) -> Any:
    """A user's function, compiled without a loop around it.

    Raises:
        ValueError: numba cannot compile it.
    """
    made = jit(function)
    if IS_COMPILED:
        array = types.float64[::1]
        try:
            made.compile((array, array, array, array, types.int64))
        except NumbaError as error:
            raise ValueError(
                f"numba cannot compile {function.__module__}:{function.__qualname__}: "
                f"{why_not(error, function)}. Use only what numba.njit takes, or "
                "own_rule(..., compiled=False), which is far slower."
            ) from error
    return made


def function_of(name: str) -> Callable[..., float] | None:
    """The user's function of a name; None if the name is that of a rule in RULES."""
    found = [function for (function, _), known in _NAMES.items() if known == name]
    return found[0] if found else None


def _update_of(called: Any) -> Any:
    """A rule's `update` that calls a function with an infoset's slices."""

    @inlined
    def update(tables, infoset, parent, start, stop, parameters, rates):
        if tables.memory[FAULT] != 0.0:
            return 0.0
        # In a walk the clock tells the iteration, in a pass the rates do.
        t = max(rates[AHEAD], -tables.log_negative[infoset])
        gradient = tables.gradient[start:stop]
        policy, memory = tables.policy[start:stop], tables.memory[start:stop]
        value = called(policy, memory, gradient, parameters, np.int64(t))
        total = 0.0
        for k in range(stop - start):
            tables.gradient[start + k] = 0.0
            total += policy[k] if policy[k] >= 0.0 else np.nan
        if not (abs(total - 1.0) <= _TOLERANCE and math.isfinite(value)):
            tables.memory[FAULT] = infoset + 1.0
            for k in range(stop - start):  # walks that go on draw from the policy
                memory[k], policy[k] = policy[k], 1.0 / (stop - start)
            return 0.0
        return value

    return update


def _calling(function: Callable[..., float]) -> Any:
    """A compiled function that calls one of plain Python."""
    if not IS_COMPILED:
        return function

    def call(policy, memory, gradient, parameters, t):
        with objmode(value="float64"):
            value = float(function(policy, memory, gradient, parameters, t))
        return value  # noqa: RET504  objmode has no other way out

    return uncached(call)
