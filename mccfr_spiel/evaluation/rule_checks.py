"""`check_rule`: tests a local rule that a user has written, without a game."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.algorithms import OwnRule
from mccfr_spiel.common import refusals
from mccfr_spiel.kernels.own_rules import (
    compiled_alone,
)

Textbook = Callable[
    [list[float], list[float], list[float], tuple[float, ...], int],
    tuple[Sequence[float], Sequence[float], float],
]
"""The type of a rule in plain Python, which uses lists: a function (policy, memory,
gradient, parameters, t) that returns (next policy, next memory, value)."""

_TOLERANCE = 1e-9
"""Largest allowed difference between the results of two implementations of a rule."""


class RuleReport(NamedTuple):
    """The result of `check_rule`.

    Attributes:
        num_updates: number of updates for each number of actions.
        average_regrets: for 2, 3, ... actions, the largest regret for not having played
            a fixed action, divided by the number of updates. Gradients are random
            numbers in [-1, 1], and 0.1 larger for the first action. If a rule minimizes
            regret, these numbers fall as the number of updates rises.
    """

    num_updates: int
    average_regrets: tuple[float, ...]


def check_rule(
    rule: OwnRule,
    textbook: Textbook | None = None,
    *,
    num_updates: int = 1000,
    most_actions: int = 4,
    seed: int = 0,
) -> RuleReport:
    """Runs a rule of `algorithms.own_rule` on random gradients and validates its
    updates.

    After each update, the policy must be a distribution, the value and the memory must
    be finite, and the gradient and the parameters must be unchanged. The results of the
    compiled function, of the same function in plain Python, and of `textbook` must
    agree to 1e-9. The rule is not tested in games, because the loop over a tree is the
    same for all rules.

    Args:
        rule: the rule.
        textbook: an independent implementation of the rule, see `Textbook`; None to
            skip this comparison.
        num_updates: number of successive updates.
        most_actions: the largest number of actions to test.
        seed: seed of the gradients.

    Raises:
        ValueError: the rule violates a condition (the message names the update), an
            argument is out of range, or `rule` is not a result of `own_rule`.
    """
    if not isinstance(rule, OwnRule):
        raise ValueError(f"rule={rule!r}: expected a value of own_rule(function).")
    num_updates = refusals.integer(num_updates, "num_updates", 1)
    most_actions = refusals.integer(most_actions, "most_actions", 1)
    seed = refusals.integer(seed, "seed", 0)
    function: Any = compiled_alone(rule.update) if rule.compiled else rule.update
    regrets = []
    for count in range(1, most_actions + 1):
        generator = np.random.default_rng([seed, count])
        ours, plain = _start(count), _start(count)
        policy, memory = [1.0 / count] * count, [0.0] * count
        gained = np.zeros(count)
        for t in range(1, num_updates + 1):
            gradient = generator.uniform(-1.0, 0.9, count)
            gradient[0] += 0.1
            gained += gradient - ours[0] @ gradient
            value = _update(rule, function, ours, gradient, t)
            if rule.compiled:
                other = _update(rule, rule.update, plain, gradient, t)
                _check_same("as plain Python", (*ours, value), (*plain, other), t)
            if textbook is not None:
                policy, memory, theirs = textbook(
                    list(policy), list(memory), gradient.tolist(), rule.numbers, t
                )
                _check_same(
                    "by the textbook", (*ours, value), (policy, memory, theirs), t
                )
        regrets.append(float(gained.max()) / num_updates)
    return RuleReport(num_updates, tuple(regrets[1:]))


def _start(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(count, 1.0 / count), np.zeros(count)


def _update(
    rule: OwnRule,
    function: Callable[..., float],
    tables: tuple[np.ndarray, np.ndarray],
    gradient: np.ndarray,
    t: int,
) -> float:
    """Applies one update to a policy and a memory in place, and validates the result.

    Args:
        rule: the rule, for messages and parameters.
        function: the function of the rule, compiled or not.
        tables: (policy, memory), both updated.
        gradient: the gradient.
        t: the number of the update, from 1 on.

    Returns:
        The value that the function returned.
    """
    policy, memory = tables
    given, numbers = gradient.copy(), np.array(rule.numbers, np.float64)
    value = function(policy, memory, given, numbers, t)
    where = f"{rule.name} with {len(policy)} actions, update {t}"
    if not isinstance(value, int | float | np.floating) or not np.isfinite(value):
        raise ValueError(f"{where} returns {value!r}: expected a finite number.")
    sums = abs(policy.sum() - 1.0)
    if not (np.isfinite(memory).all() and policy.min() >= 0.0 and sums < _TOLERANCE):
        raise ValueError(
            f"{where} leaves the policy {policy.tolist()} and the memory "
            f"{memory.tolist()}: expected probabilities with sum 1 and finite memory."
        )
    if (given != gradient).any() or numbers.tolist() != list(rule.numbers):
        raise ValueError(
            f"{where} changes the gradient or the parameters, which are read-only."
        )
    return float(value)


def _check_same(
    how: str, ours: tuple[Any, ...], theirs: tuple[Any, ...], t: int
) -> None:
    for name, own, other in zip(
        ("policy", "memory", "value"), ours, theirs, strict=True
    ):
        if not np.allclose(own, other, rtol=_TOLERANCE, atol=_TOLERANCE):
            raise ValueError(f"Update {t}: the {name} is {own}, but {how} {other}.")
