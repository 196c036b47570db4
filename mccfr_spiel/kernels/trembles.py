"""Least probabilities of actions (trembles).

With trembles, every action of an infoset with n actions has at least the probability
f = min(eps, 1 / (2 n)). This is the behaviorally constrained game of Farina, Kroer and
Sandholm (2017). A policy b with this property is written as

    b(a) = f + rest c(a),    rest = 1 - n f,

with a policy c without constraints. A rule plays c, and receives the gradient of the
value with respect to c, G'(a) = f sum_a' G(a') + rest G(a). The value that the rule
passes up is <c, G'> = <b, G>.

Rules that match regrets (regret_rules.py) need neither c nor G', because both cancel:

    r(a) = G'(a) - <c, G'> = rest (G(a) - <c, G>) = rest G(a) - <b - f, G>.

The loops over the actions that compute the value, the regrets and the policy therefore
also apply the trembles. For other rules, `free` computes c and G'.
"""

from typing import Any

from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.tables import TREMBLE


@pasted
def least_of(settings: Any, num_actions: int) -> float:
    """Returns the least probability f of an action, from `Task.settings`."""
    eps = settings[TREMBLE]
    # A comparison of products avoids a division where eps is small enough.
    return eps if num_actions * eps <= 0.5 else 0.5 / num_actions


@pasted
def rest_of(least: float, num_actions: int) -> float:
    """Returns 1 - n f. Compilers cannot simplify 1 - n 0.0, hence the comparison."""
    return 1.0 - num_actions * least if least > 0.0 else 1.0


@inlined
def scale_gradient(gradient, start, stop, least):
    """Replaces G by G' at the sequences `start .. stop - 1`."""
    total = 0.0
    for s in range(start, stop):
        total += gradient[s]
    shift, rest = least * total, rest_of(least, stop - start)
    for s in range(start, stop):
        gradient[s] = shift + rest * gradient[s]


@inlined
def mix_policy(policy, start, stop, least):
    """Replaces c by b at the sequences `start .. stop - 1`."""
    rest = rest_of(least, stop - start)
    for s in range(start, stop):
        policy[s] = least + rest * policy[s]


def free(update: Any) -> Any:
    """Returns the `update` of a rule with trembles, from a function of c and G'.

    Args:
        update: a function like `Rule.update`, but without the argument `least`.
    """

    @inlined
    def update_free(tables, infoset, parent, start, stop, parameters, rates, least):
        policy = tables.policy
        if least > 0.0:
            scale_gradient(tables.gradient, start, stop, least)
            if len(tables.ahead) > 0:
                scale_gradient(tables.ahead, start, stop, least)
            rest = rest_of(least, stop - start)
            for s in range(start, stop):
                # c is exactly 0 where b is the least probability.
                policy[s] = max(policy[s] - least, 0.0) / rest
        value = update(tables, infoset, parent, start, stop, parameters, rates)
        if least > 0.0:
            mix_policy(policy, start, stop, least)
        return value

    return update_free
