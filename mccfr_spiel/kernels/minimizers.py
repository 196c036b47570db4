"""The local rules: how the policy at one infoset moves, and how its tables start.

A walk or a pass leaves the player's gradient in `Tables.gradient`. Infosets are then
updated from the bottom up. At each one a rule moves the policy, clears the gradient
that it has used, and returns a value, which is added to the gradient of the parent
sequence. Below, b is the policy before the update and G the gradient at the infoset's
sequences.

A rule is a row of RULES, whose functions are in regret_rules.py and entropy_rules.py.
What `Tables.memory` holds at a sequence is up to the rule. A kernel is compiled for one
rule, so the others cost it nothing. The functions share these arguments:

    tables: of which an update changes `policy` and `memory` and clears `gradient`, and
        a start sets what is not to be 0. The policy is uniform before the start.
    infoset: the infoset.
    parent: the player's sequence before it.
    start, stop: its sequences are start .. stop - 1.
    parameters: `[K]` the numbers of the rule's value in algorithms/, in the order in
        which its property `parameters` gives them.
    rates: the Rates, what the rule's parameters are in this iteration.
    place, seed: the infoset's place and the solver's seed, for a random start.

A rule that a user writes as a function of one infoset (`algorithms.own_rule`) becomes
one more row, whose `update` hands the slices of the tables to the function. The
compiled loops need no change. Such a rule learns the iteration from the clock of
discounted rules: with a factor of exp(-1) in each iteration, the sum of all logarithms
is exactly minus the iteration.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec

import numpy as np
from numba import objmode  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import types
from numba.core.errors import NumbaError

from mccfr_spiel.kernels import entropy_rules, regret_rules
from mccfr_spiel.kernels.jit import (
    IS_COMPILED,
    inlined,
    jit,
    made_with,
    uncached,
    why_not,
)
from mccfr_spiel.kernels.regret_rules import AHEAD, Rates
from mccfr_spiel.kernels.tables import SEED

_Others = ParamSpec("_Others")


@inlined
def start_uniform(tables, infoset, start, stop, parameters, place, seed):
    """Leaves the policy uniform and all else at 0."""


class Rule(NamedTuple):
    """The functions of a rule, with the arguments described above.

    Attributes:
        update: moves the policy at an infoset; returns what goes up to its parent.
        start: starts the tables at an infoset.
        rates: `rates(parameters, iteration)` gives the `Rates` of an iteration.
        discounts: whether `rates` are factors by which memories shrink, also those of
            infosets that a walk does not meet.
        looks_ahead: whether the rule uses `Tables.ahead`.
    """

    update: Callable[..., float]
    start: Callable[..., None] = start_uniform
    rates: Callable[..., Rates] = regret_rules.constant
    discounts: bool = False
    looks_ahead: bool = False


RULES = {
    "regret_matching": Rule(regret_rules.match_regrets, regret_rules.start_regrets),
    "regret_matching_plus": Rule(
        regret_rules.match_regrets_plus, regret_rules.start_regrets
    ),
    "discounted_regret_matching": Rule(
        regret_rules.discount_regrets, rates=regret_rules.of_two_powers, discounts=True
    ),
    "predictive_regret_matching_plus": Rule(
        regret_rules.predict_regrets, rates=regret_rules.of_one_power, discounts=True
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
"""The rules by the names that their values in algorithms/ have."""


@functools.cache
def make_start(rule: Rule) -> Any:
    """Makes `start_tables(task, infosets, tables, known)`, which starts the tables of
    the infosets that were added since the last call.

    Policies start uniform unless the rule defines another start. All other entries
    start at 0. `known` `[1]` is the number of infosets whose tables have been started.
    """
    start_infoset = rule.start

    @inlined
    def start_tables(task, infosets, tables, known):
        seed, parameters = task.job[SEED], task.parameters
        for infoset in range(known[0], len(infosets)):
            record = infosets[infoset]
            start = record["first_sequence"]
            stop = start + record["num_actions"]
            for s in range(start, stop):
                tables.policy[s] = 1.0 / (stop - start)
            place = record["place"]
            start_infoset(tables, infoset, start, stop, parameters, place, seed)
        known[0] = len(infosets)

    return start_tables


# --- rules that users write as functions of one infoset; see `algorithms.own_rule` ----


FAULT = 0
"""The entry of `Tables.memory` that says where a user's function has failed. (It is of
an empty sequence, which no infoset uses.) It is 0 if none has failed; i + 1 if one did
at infoset i, whose entries of `memory` then hold the policy that it wrote; and below 0
if an exception stopped it. Kernels never raise, so they go on without further
updates."""

_TOLERANCE = 1e-6
"""How far the sum of a policy may be from 1."""

_OWN: dict[str, tuple[Rule, Callable[..., float]]] = {}
"""The rules of users by the names that kernels know them by, and their functions."""


@inlined
def counting(parameters: np.ndarray, iteration: int) -> Rates:
    """Lets a walk's clock count iterations; a pass is told the iteration itself."""
    return 1.0, math.exp(-1.0), float(iteration)


@functools.cache
def name_of_own(function: Callable[..., float], compiled: bool) -> str:
    """The name by which kernels know a user's function."""
    if compiled:
        compiled_alone(function)
    called: Any = inlined(function) if compiled else _calling(function)
    name = f"own rule {len(_OWN)}"
    _OWN[name] = Rule(_update_of(called), rates=counting, discounts=True), function
    return name


def compiled_alone(function: Callable[..., float]) -> Any:
    """A user's function, compiled without a loop around it.

    Raises:
        ValueError: numba cannot compile it, or it returns no number.
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
        found = made.nopython_signatures[-1].return_type
        if not isinstance(found, types.Number | types.Boolean | types.Optional):
            raise ValueError(
                f"{function.__module__}:{function.__qualname__} returns {found}, which "
                "is no number. Is a return statement missing?"
            )
    return made


def for_rule(
    make: Callable[Concatenate[Rule, _Others], Any],
) -> Callable[Concatenate[str, _Others], Any]:
    """A factory of code for a rule, which is then told the rule's name and keeps what
    it has made.

    The name is one in RULES, or what `name_of_own` gave. Code for a user's function is
    made as `made_with` says.
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
    """Makes the `start_tables` of one rule, to be called from Python."""
    start_tables = make_start(rule)

    @jit
    def start(task, infosets, tables, known):
        start_tables(task, infosets, tables, known)

    return start


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
