"""Update rules for players whose actions have a least probability.

With trembles, every action of an infoset with n actions has at least the probability
f = min(eps, 1 / (2 n)). This is the behaviorally constrained game of Farina, Kroer and
Sandholm (2017). A policy b with this property is written as

    b(a) = f + (1 - n f) c(a),

with a policy c without constraints. A rule runs unchanged on c and on the gradient of
the value with respect to c, G'(a) = f sum_a' G(a') + (1 - n f) G(a). The value that the
rule passes up is <c, G'> = <b, G>.
"""

import functools
from typing import Any

from mccfr_spiel.kernels.jit import inlined


@inlined
def floor_of(parameters: Any, num_actions: int) -> float:
    """The least probability f of an action. The last parameter of the rule is eps."""
    return min(parameters[len(parameters) - 1], 0.5 / num_actions)


@inlined
def scale_gradient(gradient, start, stop, floor):
    """Replaces G by G' at the sequences `start .. stop - 1`."""
    total = 0.0
    for s in range(start, stop):
        total += gradient[s]
    shift, rest = floor * total, 1.0 - (stop - start) * floor
    for s in range(start, stop):
        gradient[s] = shift + rest * gradient[s]


@inlined
def mix_policy(policy, start, stop, floor):
    """Replaces c by b at the sequences `start .. stop - 1`."""
    rest = 1.0 - (stop - start) * floor
    for s in range(start, stop):
        policy[s] = floor + rest * policy[s]


@functools.cache
def trembling(rule: Any) -> Any:
    """A `Rule` with trembles, from a `Rule` without.

    Its functions receive the parameters of the rule, followed by eps.
    """
    update_base, start_base, looks_ahead = rule.update, rule.start, rule.looks_ahead

    @inlined
    def update(tables, infoset, parent, start, stop, parameters, rates):
        policy, gradient = tables.policy, tables.gradient
        floor, total = floor_of(parameters, stop - start), 0.0
        for s in range(start, stop):
            total += gradient[s]
        # The loop of `scale_gradient`, which also computes c.
        shift, rest = floor * total, 1.0 - (stop - start) * floor
        inverse = 1.0 / rest
        for s in range(start, stop):
            gradient[s] = shift + rest * gradient[s]
            # c is exactly 0 where b is the floor.
            policy[s] = max(policy[s] - floor, 0.0) * inverse
        if looks_ahead:
            scale_gradient(tables.ahead, start, stop, floor)
        own = parameters[: len(parameters) - 1]
        value = update_base(tables, infoset, parent, start, stop, own, rates)
        mix_policy(policy, start, stop, floor)
        return value

    @inlined
    def start_trembling(tables, infoset, start, stop, parameters, place, seed):
        own = parameters[: len(parameters) - 1]
        start_base(tables, infoset, start, stop, own, place, seed)
        mix_policy(tables.policy, start, stop, floor_of(parameters, stop - start))

    return rule._replace(update=update, start=start_trembling)
