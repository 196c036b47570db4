"""The table of compiled local rules, and the initialization of their tables.

A walk or a pass estimates a gradient in `Tables.gradient`. Then infosets are updated
bottom-up. At each, a rule moves the policy, clears the gradient, and returns a value,
which is added to the gradient of the parent sequence. Notation: b is the policy before
the update, G the gradient at the sequences of the infoset.

A rule is a row of RULES, with functions from regret_rules.py or entropy_rules.py. The
rule defines the meaning of `Tables.memory`. Kernels are compiled per rule, so a rule
costs other rules nothing. The functions share these arguments:

    tables: the tables. An update changes `policy` and `memory` and clears `gradient`.
        An initialization starts from the uniform policy and zeros.
    infoset: the infoset.
    parent: the player's sequence before it.
    start, stop: its sequences are `start .. stop - 1`.
    parameters: `[K]` the property `parameters` of the rule's value in algorithms/.
    rates: the rates of this iteration, such as discounts.
    place, seed: place of the infoset and seed of the solver, for random regrets.

A user's function of one infoset (`algorithms.own_rule`) becomes one more row. The
`update` of the row passes slices of the tables to the function. The row learns the
iteration from the clock of discounted rules: with a factor of exp(-1) per iteration,
the sum of all logarithms is minus the iteration, exactly.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec

import numpy as np
from numba import objmode  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import types
from numba.core.errors import NumbaError

from mccfr_spiel.kernels import discounts, entropy_rules, regret_rules
from mccfr_spiel.kernels.discounts import AHEAD, Rates
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit, uncached, why_not
from mccfr_spiel.kernels.sources import made_with
from mccfr_spiel.kernels.tables import SEED

_Others = ParamSpec("_Others")


@inlined
def start_uniform(tables, infoset, start, stop, parameters, place, seed):
    """Keeps the uniform policy and zeros."""


class Rule(NamedTuple):
    """The functions of a rule, with the arguments listed above.

    Attributes:
        update: moves the policy of an infoset; returns the value for its parent.
        start: initializes the tables of an infoset.
        rates: `rates(parameters, iteration)` returns the `Rates` of an iteration.
        discounts: whether the rates are discounts of memories, including memories of
            infosets that a walk does not meet.
        looks_ahead: whether the rule uses `Tables.ahead`.
    """

    update: Callable[..., float]
    start: Callable[..., None] = start_uniform
    rates: Callable[..., Rates] = discounts.constant
    discounts: bool = False
    looks_ahead: bool = False


RULES = {
    "regret_matching": Rule(regret_rules.match_regrets, regret_rules.start_regrets),
    "regret_matching_plus": Rule(
        regret_rules.match_regrets_plus, regret_rules.start_regrets
    ),
    "discounted_regret_matching": Rule(
        regret_rules.discount_regrets, rates=discounts.of_two_powers, discounts=True
    ),
    "predictive_regret_matching_plus": Rule(
        regret_rules.predict_regrets, rates=discounts.of_one_power, discounts=True
    ),
    "ftrl": Rule(entropy_rules.follow_leader, entropy_rules.start_sums),
    "omd": Rule(entropy_rules.descend_mirror, entropy_rules.start_logarithms),
    "optimistic_ftrl": Rule(
        entropy_rules.follow_leader, entropy_rules.start_sums, looks_ahead=True
    ),
    "optimistic_omd": Rule(
        entropy_rules.descend_mirror, entropy_rules.start_logarithms, looks_ahead=True
    ),
    "mmd": Rule(
        entropy_rules.descend_to_magnet,
        entropy_rules.start_logarithms,
        entropy_rules.of_descent,
    ),
}
"""The rules by the names of their values in algorithms/."""


@functools.cache
def make_start(rule: Rule) -> Any:
    """Makes `start_tables(task, infosets, tables, known)` for new infosets.

    Policies start uniform and all other entries at 0, unless the rule has another
    `start`. `known` `[1]` is the number of infosets that are initialized.
    """
    start_infoset = rule.start

    @inlined
    def start_tables(task, infosets, tables, known):
        seed, parameters = task.job[SEED], task.parameters
        for infoset in range(known[0], len(infosets)):
            record = infosets[infoset]
            start = record["first_sequence"]
            stop = start + record["num_actions"]
            # All other tables are zero at new infosets.
            for s in range(start, stop):
                tables.policy[s] = 1.0 / (stop - start)
            place = record["place"]
            start_infoset(tables, infoset, start, stop, parameters, place, seed)
        known[0] = len(infosets)

    return start_tables


FAULT = 0
"""Index of the error flag of a user's function in `Tables.memory`.

It belongs to an empty sequence, which no infoset uses. The flag is 0 without an error.
It is i + 1 if the function wrote an invalid policy at infoset i, which is then stored
in the memory of i. It is negative if the function raised an exception. Kernels never
raise: they continue without updates, and Python raises later.
"""

_TOLERANCE = 1e-6
"""Maximum distance of the sum of a policy from 1."""

_OWN: dict[str, tuple[Rule, Callable[..., float]]] = {}
"""Rules and functions of users, by the names that `name_of_own` gave."""


@inlined
def counting(parameters: np.ndarray, iteration: int) -> Rates:
    """Returns rates from which an update can compute the iteration."""
    return 1.0, math.exp(-1.0), float(iteration)


@functools.cache
def name_of_own(function: Callable[..., float], compiled: bool) -> str:
    """Returns the name by which kernels know a user's function."""
    if compiled:
        compiled_alone(function)
    called: Any = inlined(function) if compiled else _calling(function)
    name = f"own rule {len(_OWN)}"
    _OWN[name] = Rule(_update_of(called), rates=counting, discounts=True), function
    return name


def compiled_alone(function: Callable[..., float]) -> Any:
    """Compiles a user's function by itself.

    Raises:
        ValueError: numba cannot compile it, or it does not return a number.
    """
    made = jit(function)
    if IS_COMPILED:
        array = types.float64[::1]
        try:
            made.compile((array, array, array, array, types.int64))
        except NumbaError as error:
            raise ValueError(
                f"numba cannot compile {function.__module__}:{function.__qualname__}: "
                f"{why_not(error, function)}. Use only features that numba.njit "
                "supports, or pass compiled=False to own_rule, which is far slower."
            ) from error
        returned = made.nopython_signatures[-1].return_type
        if not isinstance(returned, types.Number | types.Boolean | types.Optional):
            raise ValueError(
                f"{function.__module__}:{function.__qualname__} must return a number, "
                f"not {returned}. Is a return statement missing?"
            )
    return made


def for_rule(
    make: Callable[Concatenate[Rule, _Others], Any],
) -> Callable[Concatenate[str, _Others], Any]:
    """Decorates a factory of kernels: callers pass a rule's name, results are cached.

    The name is a key of RULES, or comes from `name_of_own`. Code that calls a user's
    function is compiled under `made_with`.
    """

    @functools.wraps(make)
    def made(name: str, *args: _Others.args, **kwargs: _Others.kwargs) -> Any:
        if name in RULES:
            return make(RULES[name], *args, **kwargs)
        rule, function = _OWN[name]
        with made_with(function):
            return make(rule, *args, **kwargs)

    kept: Any = functools.cache(made)
    return kept


@for_rule
def make_start_tables(rule: Rule) -> Any:
    """Makes the `start_tables` of a rule for calls from Python."""
    start_tables = make_start(rule)

    @jit
    def start(task, infosets, tables, known):
        start_tables(task, infosets, tables, known)

    return start


def _update_of(called: Any) -> Any:
    """Makes the `update` of a rule that passes slices of an infoset to a function."""

    @inlined
    def update(tables, infoset, parent, start, stop, parameters, rates):
        if tables.memory[FAULT] != 0.0:
            return 0.0
        # `counting` gives the iteration to passes as rates[AHEAD]. In walks that rate
        # is 1, and the clock has minus the iteration; in passes the clock is 0.
        t = max(rates[AHEAD], -tables.log_negative[infoset])
        gradient = tables.gradient[start:stop]
        policy, memory = tables.policy[start:stop], tables.memory[start:stop]
        value = called(policy, memory, gradient, parameters, np.int64(t))
        total = 0.0
        for k in range(stop - start):
            tables.gradient[start + k] = 0.0
            # NaN makes the test below fail.
            total += policy[k] if policy[k] >= 0.0 else np.nan
        if not (abs(total - 1.0) <= _TOLERANCE and math.isfinite(value)):
            tables.memory[FAULT] = infoset + 1.0
            # Walks may still draw from this policy, so it must be valid.
            for k in range(stop - start):
                memory[k], policy[k] = policy[k], 1.0 / (stop - start)
            return 0.0
        return value

    return update


def _calling(function: Callable[..., float]) -> Any:
    """Makes a compiled function that calls a Python function."""
    if not IS_COMPILED:
        return function

    def call(policy, memory, gradient, parameters, t):
        with objmode(value="float64"):
            value = float(function(policy, memory, gradient, parameters, t))
        return value  # noqa: RET504  objmode only returns named variables

    return uncached(call)
