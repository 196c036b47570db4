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

A user's function of one infoset becomes one more row, see own_rules.py.
"""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec

from mccfr_spiel.kernels import discounts, entropy_rules, regret_rules
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.own_rules import counting, make_update
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
        rates: `rates(parameters, iteration)` returns the rates of an iteration.
        discounts: whether the rates are discounts of memories, including memories of
            infosets that a walk does not meet.
        looks_ahead: whether the rule uses `Tables.ahead`.
    """

    update: Callable[..., float]
    start: Callable[..., None] = start_uniform
    rates: Callable[..., discounts.Rates] = discounts.constant
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
    `start`. `num_started` `[1]` is the number of infosets that are initialized.
    """
    start_infoset = rule.start

    @inlined
    def start_tables(task, infosets, tables, num_started):
        seed, parameters = task.job[SEED], task.parameters
        for infoset in range(num_started[0], len(infosets)):
            record = infosets[infoset]
            start = record["first_sequence"]
            stop = start + record["num_actions"]
            # All other tables are zero at new infosets.
            for s in range(start, stop):
                tables.policy[s] = 1.0 / (stop - start)
            place = record["place"]
            start_infoset(tables, infoset, start, stop, parameters, place, seed)
        num_started[0] = len(infosets)

    return start_tables


_OWN: dict[str, tuple[Rule, Callable[..., float]]] = {}
"""Rules and functions of users, by the names that `name_of_own` gave."""


@functools.cache
def name_of_own(function: Callable[..., float], compiled: bool) -> str:
    """Returns the name by which kernels know a user's function."""
    rule = Rule(make_update(function, compiled), rates=counting, discounts=True)
    name = f"own rule {len(_OWN)}"
    _OWN[name] = rule, function
    return name


def for_rule(
    make: Callable[Concatenate[Rule, _Others], Any],
) -> Callable[Concatenate[str, _Others], Any]:
    """Decorates a factory of kernels: callers pass a rule's name, results are cached.

    The name is a key of RULES, or comes from `name_of_own`. Code that calls a user's
    function is compiled under `made_with`.
    """

    @functools.wraps(make)
    def make_named(name: str, *args: _Others.args, **kwargs: _Others.kwargs) -> Any:
        if name in RULES:
            return make(RULES[name], *args, **kwargs)
        rule, function = _OWN[name]
        with made_with(function):
            return make(rule, *args, **kwargs)

    cached: Any = functools.cache(make_named)
    return cached


@for_rule
def make_start_tables(rule: Rule) -> Any:
    """Makes the `start_tables` of a rule for calls from Python."""
    start_tables = make_start(rule)

    @jit
    def start(task, infosets, tables, num_started):
        start_tables(task, infosets, tables, num_started)

    return start
