"""Policies, values and updates at the decisions of a segment of hands.

`go_down` writes policies and reaches from a segment's first node to its leaves.
`go_up` combines the values of the leaves, and changes the tables.
"""

import numpy as np

from mccfr_spiel.kernels.hand_layout import (
    EDGE,
    FIRST_CHILD,
    KIND,
    NUM_CHILDREN,
    OWN_ROW,
    PLAYER,
    ROW,
)
from mccfr_spiel.kernels.jit import inlined, jit

ITERATE, CURRENT, AVERAGE, BEST, BEST_OF_CURRENT, GRADIENT = range(6)
"""Modes of a pass.

ITERATE: update of the tables.
CURRENT, AVERAGE: values under the current policy, and under the average policy.
BEST, BEST_OF_CURRENT: values of a best response to the average or current policy.
GRADIENT: the table holds the opponent's reach after each action; the sums of returns
    after each own action, up to the next own action, are written into it.
"""

(
    *(MODE, UPDATED, POSITIVE, NEGATIVE, DECAY, FLOORS, PREDICTS, OTHERS, TREMBLE),
    NUM_NUMBERS,
) = range(10)
"""Indices of the numbers of a pass.

MODE: the mode.
UPDATED: the updated player.
POSITIVE, NEGATIVE: factors of positive and of other regrets.
DECAY: factor of the sums of the average.
FLOORS: 1 if negative regrets are set to 0, as in regret matching+.
PREDICTS: weight of the last regrets in the current policy, as a prediction.
OTHERS: factor of the opponent's positive regrets in the current policy, if the rule
    predicts. It is that of the next iteration if the opponent has been updated already.
TREMBLE: least probability of an action in current policies, see trembles.py.
"""

DECISION, DEAL, FOLD = range(3)
"""Kinds of nodes, see `PublicTree.kind`."""

LEAST = float(np.finfo(np.float32).tiny)
"""Smallest positive normal number of the tables."""


@inlined
def _match(table, ahead, begin, count, n, up, predicts, out, at):
    """Writes a policy in proportion to positive entries of a table.

    Args:
        table: the table; if it holds regrets, positive ones are multiplied by `up`.
        ahead: the last regrets, used if `predicts` is not 0.
        begin: first entry of the decision.
        count: number of actions.
        n: number of hands.
        up, predicts: see POSITIVE and PREDICTS.
        out: rows `at ..` are written.
        at: local number of the first child.
    """
    even = 1.0 / count
    # The last row holds the sum, then its reciprocal, until its policy is written.
    last = out[at + count - 1]
    for k in range(n):
        last[k] = 0.0
    for a in range(count):
        r = table[begin + a * n : begin + (a + 1) * n]
        o = out[at + a]
        if predicts != 0:
            p = ahead[begin + a * n : begin + (a + 1) * n]
            for k in range(n):
                x = r[k] * up + p[k] * predicts
                x = x if x > 0.0 else 0.0
                if a < count - 1:
                    o[k] = x
                last[k] += x
        else:
            for k in range(n):
                x = r[k]
                last[k] += x if x > 0.0 else 0.0
    for k in range(n):
        last[k] = 1.0 / last[k] if last[k] > 0.0 else -1.0
    for a in range(count):
        r = table[begin + a * n : begin + (a + 1) * n]
        o = out[at + a]
        if predicts != 0:
            p = ahead[begin + a * n : begin + (a + 1) * n]
            for k in range(n):
                x, f = r[k] * up + p[k] * predicts, last[k]
                o[k] = (x if x > 0.0 else 0.0) * f if f > 0.0 else even
        else:
            for k in range(n):
                x, f = r[k], last[k]
                o[k] = (x if x > 0.0 else 0.0) * f if f > 0.0 else even


@jit(nogil=True, views_only=True)
def go_down(nodes, bases, sizes, tables, numbers, reach, own, policy):
    """Writes the reaches of all nodes of a segment, and the policies of the player.

    Row 0 of `reach` and `own` holds the reaches at the segment's first node.

    Args:
        nodes: the rows of `HandLayout.nodes` of the segment's template.
        bases: start of the updated player's and of the opponent's block.
        sizes: number of representatives of the updated player and of the opponent.
        tables, numbers: see `sweep`.
        reach, own, policy: `[M, H]` buffers.
    """
    mode, p = np.int64(numbers[MODE]), np.int64(numbers[UPDATED])
    n, m = sizes
    regret, average, ahead, _ = tables
    is_current = mode == ITERATE or mode == CURRENT or mode == BEST_OF_CURRENT
    table = regret if is_current else average
    up, others = numbers[POSITIVE], numbers[OTHERS]
    predicts = numbers[PREDICTS] if is_current else 0.0
    is_best = mode == BEST or mode == BEST_OF_CURRENT
    tremble = numbers[TREMBLE] if is_current else 0.0
    for node in range(len(nodes)):
        if nodes[node, KIND] != DECISION:
            continue
        first, edge = np.int64(nodes[node, FIRST_CHILD]), np.int64(nodes[node, EDGE])
        count = np.int64(nodes[node, NUM_CHILDREN])
        is_own = nodes[node, PLAYER] == p
        if is_own and (is_best or mode == GRADIENT):
            continue
        size = n if is_own else m
        begin = (bases[0] if is_own else bases[1]) + edge * size
        if mode == GRADIENT:
            for a in range(count):
                r, o = average[begin + a * m : begin + (a + 1) * m], reach[first + a]
                for k in range(m):
                    o[k] = r[k]
            continue
        out = policy if is_own else reach
        rate = up if is_own else others
        _match(table, ahead, begin, count, size, rate, predicts, out, first)
        if tremble > 0.0:
            least = min(tremble, 0.5 / count)
            for a in range(count):
                o = out[first + a]
                for k in range(size):
                    o[k] = least + (1.0 - count * least) * o[k]
        if not is_own:
            before = reach[nodes[node, ROW + p]]
            for a in range(count):
                o = reach[first + a]
                for k in range(m):
                    o[k] *= before[k]
        elif mode == ITERATE:
            before = own[nodes[node, OWN_ROW + p]]
            for a in range(count):
                s, o = policy[first + a], own[first + a]
                for k in range(n):
                    o[k] = before[k] * s[k]


@inlined
def _learn(tables, numbers, begin, first, count, n, own, value, policy, v):
    """Changes the regrets and the average of a decision.

    The regret of an action is its value minus the value `v` of the decision. With
    trembles, `_free` has changed both.
    """
    regret, average, ahead, fixed = tables
    up, down, decay = numbers[POSITIVE], numbers[NEGATIVE], numbers[DECAY]
    floors, keeps, fades = numbers[FLOORS] != 0, numbers[PREDICTS] != 0, up != 1.0
    for a in range(count):
        w, o = value[first + a], own[first + a]
        r = regret[begin + a * n : begin + (a + 1) * n]
        g = average[begin + a * n : begin + (a + 1) * n]
        if len(fixed) > 0:  # the policies are not needed any more
            before = policy[first + a]
            for j in range(n):
                before[j] = r[j]
        if floors and not fades:
            for j in range(n):
                x = r[j] + (w[j] - v[j])
                r[j] = x if x > 0.0 else 0.0
        elif floors:
            for j in range(n):
                x = r[j]
                y = x * up
                y = (y if y > LEAST else LEAST) if x > 0.0 else 0.0
                x = y + (w[j] - v[j])
                r[j] = x if x > 0.0 else 0.0
        elif fades or down != 1.0:
            # A positive regret stays positive, as in exact arithmetic. Otherwise the
            # only action with positive regret could lose its probability.
            for j in range(n):
                x = r[j]
                y = x * up
                y = (y if y > LEAST else LEAST) if x > 0.0 else x * down
                r[j] = y + (w[j] - v[j])
        else:
            for j in range(n):
                r[j] += w[j] - v[j]
        e = ahead[begin * keeps : (begin + n) * keeps]
        if keeps:
            e = ahead[begin + a * n : begin + (a + 1) * n]
            for j in range(n):
                e[j] = w[j] - v[j]
        for j in range(n):
            g[j] = g[j] * decay + o[j]
        if len(fixed) > 0:
            before, f = policy[first + a], fixed[begin + a * n : begin + (a + 1) * n]
            for j in range(n):
                if f[j] != 0:
                    r[j] = g[j] = before[j]
                    if keeps:
                        e[j] = 0.0


@inlined
def _free(value, first, count, n, least, fades, v, saved):
    """Changes the values of actions and `v` so that their differences are regrets with
    trembles, see trembles.py. The old `v` is written to `saved`.

    If `fades`, `saved` holds the largest value of a played action, which limits `v`.
    """
    rest = 1.0 - count * least
    for j in range(n):
        x, limit = v[j], rest * saved[j]
        saved[j] = x
        for a in range(count):
            x -= least * value[first + a, j]
            value[first + a, j] *= rest
        v[j] = limit if fades and limit < x else x


@jit(nogil=True, views_only=True)
def go_up(nodes, block, n, tables, numbers, reach, own, value, policy):
    """Combines the values of a segment from the leaves up, and changes the tables.

    `block` is the start of the updated player's block, and `n` the number of the
    player's representatives. The other arguments are those of `go_down`.
    """
    mode, p = np.int64(numbers[MODE]), np.int64(numbers[UPDATED])
    for k in range(len(nodes) - 1, -1, -1):
        if nodes[k, KIND] != DECISION:
            continue
        first, edge = np.int64(nodes[k, FIRST_CHILD]), np.int64(nodes[k, EDGE])
        count = np.int64(nodes[k, NUM_CHILDREN])
        v, w = value[k], value[first]
        if nodes[k, PLAYER] != p:
            for j in range(n):
                v[j] = w[j]
            for a in range(1, count):
                w = value[first + a]
                for j in range(n):
                    v[j] += w[j]
        elif mode == GRADIENT:
            begin = block + edge * n
            for a in range(count):
                g, u = tables[1][begin + a * n : begin + (a + 1) * n], value[first + a]
                for j in range(n):
                    g[j] = u[j]
            for j in range(n):
                v[j] = 0.0
        elif mode == BEST or mode == BEST_OF_CURRENT:
            for j in range(n):
                v[j] = w[j]
            for a in range(1, count):
                w = value[first + a]
                for j in range(n):
                    x, y = v[j], w[j]
                    v[j] = y if y > x else x
        else:
            # The mean relative to the first action: equal values have exactly their
            # value as mean, so that rounding makes no regrets.
            for j in range(n):
                v[j] = 0.0
            for a in range(1, count):
                u, s = value[first + a], policy[first + a]
                for j in range(n):
                    v[j] += (u[j] - w[j]) * s[j]
            for j in range(n):
                v[j] += w[j]
            if mode != ITERATE:
                continue
            fades = numbers[POSITIVE] != 1.0
            least = min(numbers[TREMBLE], 0.5 / count)
            if fades:
                # A mean that is rounded up could make all regrets negative once
                # discounts have made them small. So the base of the regrets is limited
                # to the largest value of a played action. Rows of `reach` at own
                # actions are free.
                most = reach[first]
                for j in range(n):
                    most[j] = -np.inf
                for a in range(count):
                    w, s = value[first + a], policy[first + a]
                    for j in range(n):
                        x = w[j] if s[j] > least else -np.inf
                        most[j] = x if x > most[j] else most[j]
            if least > 0.0:
                _free(value, first, count, n, least, fades, v, reach[first])
            elif fades:
                most = reach[first]
                for j in range(n):
                    v[j] = v[j] if v[j] < most[j] else most[j]
            begin = block + edge * n
            _learn(tables, numbers, begin, first, count, n, own, value, policy, v)
            if least > 0.0:
                saved = reach[first]
                for j in range(n):
                    v[j] = saved[j]
