"""The compiled local rules that play in proportion to positive regrets.

minimizers.py describes the arguments and results of rules. Notation at one infoset, for
actions a:

- b(a): policy before the update;
- G(a): gradient, including the values of infosets below;
- <b, G>: value of the infoset, the sum of b(a) G(a);
- r(a) = G(a) - <b, G>: instantaneous regret;
- R(a): cumulative regret, stored in `Tables.memory`;
- [x]+ = max(x, 0).

With trembles, r is the regret of c for G', see trembles.py.

| function | rule | paper |
|---|---|---|
| match_regrets | regret matching | Hart, Mas-Colell 2000 |
| match_regrets_plus | regret matching+ | Tammelin 2014 |
| discount_regrets | discounted regret matching | Brown, Sandholm 2019 |
| predict_regrets | predictive regret matching+ | Farina, Kroer, Sandholm 2021 |
| match_kept | regret matching with skipped actions | Brown, Sandholm 2019 (Pluribus) |
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.discounts import AHEAD, LEAST, NEGATIVE, POSITIVE, faded
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.randomness import child_place, stream_key, uniform
from mccfr_spiel.kernels.tables import Tables
from mccfr_spiel.kernels.trembles import rest_of

SKIPPED = -float(np.finfo(np.float64).max)
"""Value in `Tables.gradient` that marks an action that a walk has skipped, see
selection.py."""


@pasted
def value_of(
    policy: np.ndarray,
    gradient: np.ndarray,
    start: int,
    stop: int,
    least: float,
    skips: bool,
    capped: bool,
) -> tuple[float, float]:
    """Returns the value <b, G>, and the base <b, G> of regrets, which may be limited.

    With trembles, the base is rest <c, G> = <b - f, G>, see trembles.py.

    Args:
        policy: the policies b.
        gradient: the gradients G.
        start: first sequence.
        stop: end of the sequences.
        least: least probability f of an action.
        skips: whether actions whose gradient is SKIPPED are left out.
        capped: whether the base is limited to the largest rest G(a) with c(a) > 0. In
            exact arithmetic the limit has no effect. Discounted rules need it: their
            cumulative regrets may become so small that a base that is rounded up makes
            all of them negative, and the policy would become uniform.
    """
    # A weighted mean can exceed the maximum only by rounding.
    value, base, best = 0.0, 0.0, -np.inf
    for s in range(start, stop):
        if not (skips and gradient[s] == SKIPPED):
            value += policy[s] * gradient[s]
            base += (policy[s] - least) * gradient[s]
            if policy[s] > least:
                best = max(best, gradient[s])
    if least > 0.0:
        best *= rest_of(least, stop - start)
        return value, min(base, best) if capped else base
    value = min(value, best) if capped else value
    return value, value


def plain_play_positive(
    policy: Any, sums: Any, start: int, stop: int, total: float, least: float
) -> None:
    """Sets a policy in proportion to positive regrets (Hart, Mas-Colell 2000).

    All compiled rules of this file compute their policies here. This function is not
    compiled; `play_positive` is the compiled version for kernels.

    Args:
        policy: the policies; entries `start .. stop - 1` change.
        sums: cumulative regrets.
        start: first sequence.
        stop: end of the sequences.
        total: total of the positive entries of `sums`. If it is 0, or below LEAST with
            trembles, the policy becomes uniform.
        least: least probability of an action.
    """
    if least > 0.0:
        # One division instead of one per action. With a total below LEAST the scale
        # could be infinite.
        if total >= LEAST:
            lowest, scale = least, (1.0 - (stop - start) * least) / total
        else:
            lowest, scale = 1.0 / (stop - start), 0.0
        for s in range(start, stop):
            policy[s] = lowest + scale * max(sums[s], 0.0)
        return
    for s in range(start, stop):
        if total > 0.0:
            policy[s] = max(sums[s], 0.0) / total
        else:
            policy[s] = 1.0 / (stop - start)


play_positive = pasted(plain_play_positive)


@inlined
def match_sums(tables: Tables, start: int, stop: int, floored: bool) -> None:
    """Sets the policy of an infoset from the cumulative regrets in `memory`.

    Args:
        tables: the tables; `policy` changes, and `memory` if `floored`.
        start: first sequence.
        stop: end of the sequences.
        floored: whether negative regrets are set to 0 first.
    """
    memory, total = tables.memory, 0.0
    for s in range(start, stop):
        if floored and memory[s] < 0.0:
            memory[s] = 0.0
        if memory[s] > 0.0:
            total += memory[s]
    play_positive(tables.policy, memory, start, stop, total, 0.0)


@pasted
def match_regrets(tables, infoset, parent, start, stop, parameters, rates, least):
    """Regret matching: R + r replaces R, and the new policy is proportional to [R]+.

    `memory` holds R. Returns <b, G> with the old policy b.
    """
    return add_regrets(tables, start, stop, -np.inf, least, False, False, 1.0, 1.0)


@pasted
def match_regrets_plus(tables, infoset, parent, start, stop, parameters, rates, least):
    """Regret matching+ (Tammelin 2014): [R + r]+ replaces R.

    The new policy is proportional to the new R. `memory` holds R. Returns <b, G> with
    the old policy b.
    """
    return add_regrets(tables, start, stop, 0.0, least, False, False, 1.0, 1.0)


@pasted
def match_kept(tables: Tables, start: int, stop: int, floor: float) -> float:
    """Regret matching where walks may have skipped actions; returns <b, G>.

    A skipped action is marked by the gradient SKIPPED. Its cumulative regret does not
    change.

    Args:
        tables: the tables.
        start: first sequence.
        stop: end of the sequences.
        floor: lower bound of cumulative regrets.
    """
    return add_regrets(tables, start, stop, floor, 0.0, True, False, 1.0, 1.0)


@pasted
def add_regrets(
    tables: Tables,
    start: int,
    stop: int,
    floor: float,
    least: float,
    skips: bool,
    discounted: bool,
    positive: float,
    negative: float,
) -> float:
    """Adds instantaneous to cumulative regrets in `memory` and updates the policy.

    The new policy is proportional to the positive cumulative regrets.

    Args:
        tables: the tables.
        start: first sequence.
        stop: end of the sequences.
        floor: lower bound of cumulative regrets: 0 for regret matching+, -inf for no
            bound.
        least: least probability of an action.
        skips: whether actions whose gradient is SKIPPED keep their cumulative regrets.
            The policy must play such actions with probability 0.
        discounted: whether cumulative regrets are discounted. Callers must pass a
            compile-time constant.
        positive: factor of positive cumulative regrets.
        negative: factor of other cumulative regrets.

    Returns:
        <b, G>.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    value, base = value_of(policy, gradient, start, stop, least, skips, discounted)
    rest, total = rest_of(least, stop - start), 0.0
    for s in range(start, stop):
        if not (skips and gradient[s] == SKIPPED):
            # The two branches add in different orders, so they round differently.
            rate = positive if memory[s] > 0.0 else negative
            if discounted:
                regret = faded(memory[s], rate) + (rest * gradient[s] - base)
            else:
                regret = memory[s] * rate + rest * gradient[s] - base
            if regret < floor:
                regret = floor
            memory[s] = regret
            if regret > 0.0:
                total += regret
        gradient[s] = 0.0
    # If no regret is positive, the policy is uniform, including skipped actions.
    play_positive(policy, memory, start, stop, total, least)
    return value


@inlined
def start_regrets(tables, infoset, start, stop, parameters, place, seed):
    """Draws initial regrets from [0, parameters[0]) and sets the policy accordingly."""
    # Callers need not know the place (hash of the infoset) if nothing is drawn.
    if parameters[0] == 0.0:
        return
    policy, memory = tables.policy, tables.memory
    # Walks use the streams of iterations from 1 on, so iteration 0 is free.
    stream = stream_key(seed, 0, 0, 1)
    total = 0.0
    for s in range(start, stop):
        regret = parameters[0] * uniform(stream, child_place(place, s - start))
        memory[s] = regret
        total += regret
    play_positive(policy, memory, start, stop, total, 0.0)


@pasted
def discount_regrets(tables, infoset, parent, start, stop, parameters, rates, least):
    """Discounted regret matching (Brown, Sandholm 2019). `memory` holds the regrets.

    Where R > 0, R rates[POSITIVE] + r replaces R; elsewhere R rates[NEGATIVE] + r
    replaces R. Then b is proportional to [R]+. Returns <b, G>.
    """
    positive, negative = rates[POSITIVE], rates[NEGATIVE]
    return add_regrets(
        tables, start, stop, -np.inf, least, False, True, positive, negative
    )


@pasted
def predict_regrets(tables, infoset, parent, start, stop, parameters, rates, least):
    """Predictive regret matching+ (Farina, Kroer, Sandholm 2021).

    [R rates[POSITIVE] + r]+ replaces R. Then b is proportional to
    [R rates[AHEAD] + v r]+, the regrets that would result if r occurred again with the
    weight v = parameters[0]. `memory` holds R. Returns <b, G>.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    prediction = parameters[0]
    capped = rates[POSITIVE] < 1.0
    value, base = value_of(policy, gradient, start, stop, least, False, capped)
    rest, total = rest_of(least, stop - start), 0.0
    for s in range(start, stop):
        # The prediction affects only the policy, not the regrets in `memory`.
        instant = rest * gradient[s] - base
        gradient[s] = 0.0
        regret = max(faded(memory[s], rates[POSITIVE]) + instant, 0.0)
        memory[s] = regret
        ahead = max(faded(regret, rates[AHEAD]) + prediction * instant, 0.0)
        policy[s] = ahead
        total += ahead
    play_positive(policy, policy, start, stop, total, least)
    return value
