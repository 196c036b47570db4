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
    rates: the Rates, what the rule's parameters are in this iteration; see rates.py.
    place, seed: the infoset's place and the solver's seed, for a random start.

Rules that users write as functions of one infoset; see `algorithms.own_rule`.

A user's function becomes a row beside RULES, whose `update` hands it the slices of the
tables. The compiled loops need no change. What such a rule needs to know of time is
kept by the clock of discounted rules: with a factor of exp(-1) in each iteration the
sum of all logarithms is minus the iteration, exactly.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import objmode  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import types
from numba.core.errors import NumbaError
from numba.extending import overload

from mccfr_spiel.kernels import entropy_rules, rates, regret_rules
from mccfr_spiel.kernels.jit import (
    IS_COMPILED,
    PASTED,
    inlined,
    jit,
    made_with,
    uncached,
    why_not,
)
from mccfr_spiel.kernels.rates import AHEAD, Rates
from mccfr_spiel.kernels.tables import Tables, TreeArrays


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
    rates: Callable[..., Rates] = rates.constant
    discounts: bool = False
    looks_ahead: bool = False


RULES = {
    "regret_matching": Rule(regret_rules.match_regrets, regret_rules.start_regrets),
    "regret_matching_plus": Rule(
        regret_rules.match_regrets_plus, regret_rules.start_regrets
    ),
    "discounted_regret_matching": Rule(
        regret_rules.discount_regrets, rates=rates.of_two_powers, discounts=True
    ),
    "predictive_regret_matching_plus": Rule(
        regret_rules.predict_regrets, rates=rates.of_one_power, discounts=True
    ),
    "ftrl": Rule(entropy_rules.follow_leader, entropy_rules.start_sums),
    "omd": Rule(entropy_rules.descend_mirror, entropy_rules.start_logarithms),
    "optimistic_ftrl": Rule(
        entropy_rules.follow_leader_ahead, entropy_rules.start_sums, looks_ahead=True
    ),
    "optimistic_omd": Rule(
        entropy_rules.descend_mirror_ahead,
        entropy_rules.start_logarithms,
        looks_ahead=True,
    ),
    "mmd": Rule(
        entropy_rules.descend_to_magnet,
        entropy_rules.start_logarithms,
        rates.of_descent,
    ),
}
"""The rules by the names that their values in algorithms/ have."""

_ROWS = list(RULES.values())

_OWN = "own rule "


def number_of(name: str) -> int:
    """The number of a rule, by which kernels choose it: its place in RULES, or behind
    them for what `add_own` added."""
    if name.startswith(_OWN):
        return int(name.removeprefix(_OWN))
    return list(RULES).index(name)


def add_own(rule: Rule) -> str:
    """Adds a user's rule, which is in no file's tables; returns the name of it."""
    _ROWS.append(rule)
    return f"{_OWN}{len(_ROWS) - 1}"


def rule_of(number: int) -> Rule:
    """The rule of a number."""
    return _ROWS[number]


def update(
    rule: int,
    tables: Tables,
    infoset: Any,
    parent: Any,
    start: Any,
    stop: Any,
    parameters: np.ndarray,
    rates: Any,
) -> float:
    """Calls a rule's `update`, by its number.

    In compiled code the number must be a constant. The call is then that of the one
    function, and no other is compiled.
    """
    return _ROWS[rule].update(tables, infoset, parent, start, stop, parameters, rates)


@overload(update, prefer_literal=True, inline="always")
def _compiled_update(rule, tables, infoset, parent, start, stop, parameters, rates):
    chosen: Any = _ROWS[rule.literal_value].update

    def call(rule, tables, infoset, parent, start, stop, parameters, rates):
        return chosen(tables, infoset, parent, start, stop, parameters, rates)

    return call


def rates_at(rule: int, parameters: np.ndarray, iteration: Any) -> Rates:
    """Calls a rule's `rates`, as `update` calls its update."""
    return _ROWS[rule].rates(parameters, iteration)


@overload(rates_at, prefer_literal=True, jit_options=PASTED)
def _compiled_rates(rule, parameters, iteration):
    chosen: Any = _ROWS[rule.literal_value].rates

    def call(rule, parameters, iteration):
        return chosen(parameters, iteration)

    return call


def start_infoset(
    rule: int,
    tables: Tables,
    infoset: int,
    start: int,
    stop: int,
    parameters: np.ndarray,
    place: int,
    seed: int,
) -> None:
    """Calls a rule's `start`, as `update` calls its update."""
    _ROWS[rule].start(tables, infoset, start, stop, parameters, place, seed)


@overload(start_infoset, prefer_literal=True, jit_options=PASTED)
def _compiled_start(rule, tables, infoset, start, stop, parameters, place, seed):
    chosen: Any = _ROWS[rule.literal_value].start

    def call(rule, tables, infoset, start, stop, parameters, place, seed):
        chosen(tables, infoset, start, stop, parameters, place, seed)

    return call


@inlined
def start_tables(
    tree: TreeArrays,
    tables: Tables,
    known: np.ndarray,
    rule: int,
    seed: int,
    parameters: np.ndarray,
) -> None:
    """Starts the tables of the infosets that the tree has met since the last time.

    Policies start uniform, unless the rule says otherwise, and all else at 0. Tied
    infosets take the policy of their leader.

    Args:
        tree: the tree as it is now.
        tables: with room for all of it.
        known: `[1]`, of how many infosets the tables have been started; is set.
        rule: the number of the rule, a constant.
        seed: of the solver.
        parameters: of the rule.
    """
    infosets = tree.infosets
    for infoset in range(known[0], len(infosets)):
        record = infosets[infoset]
        start = record["first_sequence"]
        stop = start + record["num_actions"]
        for s in range(start, stop):
            tables.policy[s] = 1.0 / (stop - start)
        place = record["place"]
        start_infoset(rule, tables, infoset, start, stop, parameters, place, seed)
    known[0] = len(infosets)


@functools.cache
def make_start_tables(name: str) -> Any:
    """Makes the `start_tables` of one rule, to be called from Python."""
    rule = number_of(name)

    @jit
    def start(tree, tables, known, seed, parameters):
        start_tables(tree, tables, known, rule, seed, parameters)

    return start


# --- rules that users write as functions of one infoset; see `algorithms.own_rule` ----


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


@contextlib.contextmanager
def code_for(name: str) -> Iterator[int]:
    """Gives the number of a rule, for which code is made in the block, see `made_with`.

    Args:
        name: in RULES, or what `name_of_own` gave.
    """
    own = [function for (function, _), known in _NAMES.items() if known == name]
    with made_with(own[0]) if own else contextlib.nullcontext():
        yield number_of(name)


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
