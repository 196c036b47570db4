"""The compiled local rules, and the initialization of their tables.

A *local rule*, such as regret matching, updates the policy of one infoset. A walk or a
pass first estimates a gradient in `Tables.gradient`. Then the infosets are updated
bottom-up. At each infoset, the rule changes the policy, clears the gradient, and
returns the value of the infoset, which is added to the gradient of the parent sequence.
Notation: b is the policy before the update, G the gradient at the sequences of the
infoset, <b, G> the sum of b(a) G(a) over the actions a.

RULES lists the functions of each rule, from regret_rules.py or entropy_rules.py. The
rule decides what it stores in `Tables.memory`, for example cumulative regrets. Each
kernel is compiled separately for each rule. The functions share these arguments:

    tables: the tables. An update changes `policy` and `memory` and clears `gradient`.
        An initialization finds the uniform policy and zeros.
    infoset: the infoset.
    parent: the player's last sequence before the infoset.
    start, stop: the sequences of the infoset are `start .. stop - 1`.
    parameters: `[K]` the property `parameters` of the rule in algorithms/.
    rates: three numbers for this iteration, such as discounts (`discounts.Rates`).
    least: least probability of an action (trembles.py); the constant 0 if none.
    place, seed: hash of the infoset and seed of the solver, for random initial regrets.

A user's function that updates one infoset is another rule, see own_rules.py.
"""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec

from mccfr_spiel.kernels import discounts, entropy_rules, regret_rules
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.own_rules import counting, make_update
from mccfr_spiel.kernels.sources import made_with
from mccfr_spiel.kernels.tables import SEED
from mccfr_spiel.kernels.trembles import free, least_of, mix_policy

_Others = ParamSpec("_Others")


@inlined
def start_uniform(tables, infoset, start, stop, parameters, place, seed):
    """Does nothing: the tables keep the uniform policy and zeros."""


class Rule(NamedTuple):
    """The functions of a rule, with the arguments listed above.

    Attributes:
        update: changes the policy of an infoset; returns the value of the infoset.
        start: initializes the tables of an infoset.
        rates: `rates(parameters, iteration)` returns the `discounts.Rates` of an
            iteration.
        discounts: whether the rates are discounts of `Tables.memory` at all infosets,
            including infosets that a walk does not visit.
        looks_ahead: whether the rule predicts the next gradient in `Tables.ahead`.
        trembles: whether actions have a least probability (trembles.py).
    """

    update: Callable[..., float]
    start: Callable[..., None] = start_uniform
    rates: Callable[..., discounts.Rates] = discounts.constant
    discounts: bool = False
    looks_ahead: bool = False
    trembles: bool = False


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
    "ftrl": Rule(free(entropy_rules.follow_leader), entropy_rules.start_sums),
    "omd": Rule(free(entropy_rules.descend_mirror), entropy_rules.start_logarithms),
    "optimistic_ftrl": Rule(
        free(entropy_rules.follow_leader), entropy_rules.start_sums, looks_ahead=True
    ),
    "optimistic_omd": Rule(
        free(entropy_rules.descend_mirror),
        entropy_rules.start_logarithms,
        looks_ahead=True,
    ),
    "mmd": Rule(
        free(entropy_rules.descend_to_magnet),
        entropy_rules.start_logarithms,
        entropy_rules.of_descent,
    ),
}
"""The rules, by the names that the classes in algorithms/ use."""


@functools.cache
def make_start(rule: Rule) -> Any:
    """Makes `start_tables(task, infosets, tables, num_started)`.

    `start_tables` initializes the tables of new infosets: a uniform policy and zeros,
    then the function `start` of the rule. The array `num_started`, `[1]`, holds the
    number of infosets that are initialized already; `start_tables` updates it.
    """
    start_infoset, trembles = rule.start, rule.trembles

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
            if trembles:
                least = least_of(task.settings, stop - start)
                mix_policy(tables.policy, start, stop, least)
        num_started[0] = len(infosets)

    return start_tables


TREMBLING = " with trembles"
"""Ending of the name of a rule with trembles."""

_OWN: dict[str, tuple[Rule, Callable[..., float]]] = {}
"""Users' rules with their functions, by the names that `name_of_own` returned."""


@functools.cache
def name_of_own(function: Callable[..., float], compiled: bool) -> str:
    """Registers a user's function as a rule; returns a new name for `for_rule`."""
    update = free(make_update(function, compiled))
    rule = Rule(update, rates=counting, discounts=True)
    name = f"own rule {len(_OWN)}"
    _OWN[name] = rule, function
    return name


def for_rule(
    make: Callable[Concatenate[Rule, _Others], Any],
) -> Callable[Concatenate[str, _Others], Any]:
    """Decorates a function that makes kernels for a rule.

    Callers of the decorated function pass the name of the rule instead of the rule. The
    name is a key of RULES, or comes from `name_of_own`; with the ending TREMBLING it
    means the rule with trembles (trembles.py). The kernel is made only once
    for each name and other arguments. If it calls a user's function, `made_with` tells
    the disk cache on which source file the kernel depends.
    """

    @functools.wraps(make)
    def make_named(name: str, *args: _Others.args, **kwargs: _Others.kwargs) -> Any:
        base = name.removesuffix(TREMBLING)
        rule, function = (RULES[base], None) if base in RULES else _OWN[base]
        if name.endswith(TREMBLING):
            rule = rule._replace(trembles=True)
        if function is None:
            return make(rule, *args, **kwargs)
        with made_with(function):
            return make(rule, *args, **kwargs)

    cached: Any = functools.cache(make_named)
    return cached


@for_rule
def make_start_tables(rule: Rule) -> Any:
    """Makes the `start_tables` of a rule (see `make_start`) for calls from Python."""
    start_tables = make_start(rule)

    @jit
    def start(task, infosets, tables, num_started):
        start_tables(task, infosets, tables, num_started)

    return start
