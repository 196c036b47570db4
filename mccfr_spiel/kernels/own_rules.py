"""Local rules from users' functions; see `algorithms.own_rule`.

The `update` of such a rule passes slices of the tables to the user's function, and the
number of the iteration. An update does not receive this number directly, but it
receives the sum of the logarithms of all discounts (discounts.py). Therefore these
rules have a discount of exp(-1) per iteration, which they do not apply: the sum of its
logarithms is exactly minus the number of the iteration.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import objmode  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import types
from numba.core.errors import NumbaError

from mccfr_spiel.kernels.discounts import AHEAD, Rates
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit, uncached, why_not

FAULT = 0
"""Index in `Tables.memory` of a flag for errors of a user's function.

The index is an empty sequence, which belongs to no infoset. Values of the flag:

- 0: no error.
- i + 1: the function wrote an invalid policy or returned an invalid value at infoset i.
  The policy that it wrote is stored in `memory` at the sequences of i.
- negative: the function raised an exception.

Kernels never raise. They continue without updates, and Python raises later.
"""

_TOLERANCE = 1e-6
"""Maximum difference between 1 and the sum of a user's policy."""


@inlined
def counting(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns `Rates` from which `update` computes the number of the iteration."""
    # In walks, `discounts.advance` adds log(exp(-1)) = -1 to the clock per iteration.
    return 1.0, math.exp(-1.0), float(iteration)


def compiled_alone(function: Callable[..., float]) -> Any:
    """Compiles a user's function without a kernel around it.

    Raises:
        ValueError: numba cannot compile the function, or it does not return a number.
    """
    compiled = jit(function)
    if IS_COMPILED:
        array = types.float64[::1]
        try:
            compiled.compile((array, array, array, array, types.int64))
        except NumbaError as error:
            raise ValueError(
                f"numba cannot compile {function.__module__}:{function.__qualname__}: "
                f"{why_not(error, function)}. Use only features that numba.njit "
                "supports, or pass compiled=False to own_rule, which is far slower."
            ) from error
        returned = compiled.nopython_signatures[-1].return_type
        if not isinstance(returned, types.Number | types.Boolean | types.Optional):
            raise ValueError(
                f"{function.__module__}:{function.__qualname__} must return a number, "
                f"not {returned}. Is a return statement missing?"
            )
    return compiled


def make_update(function: Callable[..., float], compiled: bool) -> Any:
    """Makes the `update` of a rule from a user's function.

    Args:
        function: the function, see `algorithms.own_rule`.
        compiled: whether numba compiles it.

    Raises:
        ValueError: see `compiled_alone`.
    """
    # Raises a readable error here instead of inside the compilation of a loop.
    if compiled:
        compiled_alone(function)
    called: Any = inlined(function) if compiled else _calling(function)
    return _update_of(called)


def _update_of(called: Any) -> Any:
    """Makes an `update` that passes slices of the tables to the function `called`."""

    @inlined
    def update(tables, infoset, parent, start, stop, parameters, rates):
        if tables.memory[FAULT] != 0.0:
            return 0.0
        # In passes, `counting` returns the iteration as rates[AHEAD], and
        # `log_negative` is 0. In walks, rates[AHEAD] is 1, and `log_negative` is minus
        # the iteration.
        t = max(rates[AHEAD], -tables.log_negative[infoset])
        gradient = tables.gradient[start:stop]
        policy, memory = tables.policy[start:stop], tables.memory[start:stop]
        value = called(policy, memory, gradient, parameters, np.int64(t))
        total = 0.0
        for k in range(stop - start):
            tables.gradient[start + k] = 0.0
            # NaN fails the following test.
            total += policy[k] if policy[k] >= 0.0 else np.nan
        if not (abs(total - 1.0) <= _TOLERANCE and math.isfinite(value)):
            tables.memory[FAULT] = infoset + 1.0
            # Walks draw from this policy until the loop ends, so it must be valid.
            for k in range(stop - start):
                memory[k], policy[k] = policy[k], 1.0 / (stop - start)
            return 0.0
        return value

    return update


def _calling(function: Callable[..., float]) -> Any:
    """Makes a compiled function that calls a Python function by numba's object mode."""
    if not IS_COMPILED:
        return function

    def call(policy, memory, gradient, parameters, t):
        # Object mode acquires Python's global lock (GIL) for the call.
        with objmode(value="float64"):
            value = float(function(policy, memory, gradient, parameters, t))
        return value  # noqa: RET504  objmode only returns named variables

    return uncached(call)
