"""Passes of counterfactual regret minimization over the segments of a public tree.

A pass updates or evaluates one player. It visits the segments depth first. In a
segment, `_go_down` writes the reaches of all nodes, `_pay_leaves` the values of folds
and showdowns, and, when the segments below are done, `_go_up` combines the values and
changes the tables. Nothing else is stored per infoset: policies are computed from the
tables when they are needed.

The first segment is processed by one thread. The segments below its deals are *tasks*,
which threads share. Their values are added in the order of the tasks, so that results
do not depend on the number of threads.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.atomics import load
from mccfr_spiel.kernels.hand_layout import (
    EDGE,
    FIRST_CHILD,
    KIND,
    NUM_CHILDREN,
    OWN_ROW,
    PLAYER,
    ROW,
)
from mccfr_spiel.kernels.hand_sums import (
    ALL,
    CANCELLED,
    UP_TO,
    WEAKER,
    add_again,
    least_of,
    sum_lanes,
)
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.tickets import FAILED, NOTES, add_one, share, take_pieces

ITERATE, CURRENT, AVERAGE, BEST, BEST_OF_CURRENT = range(5)
"""Modes of a pass.

ITERATE: update of the tables.
CURRENT, AVERAGE: values under the current policy, and under the average policy.
BEST, BEST_OF_CURRENT: values of a best response to the average or current policy.
"""

MODE, UPDATED, POSITIVE, NEGATIVE, DECAY, FLOORS, PREDICTS, NUM_NUMBERS = range(8)
"""Indices of the numbers of a pass.

MODE: the mode.
UPDATED: the updated player.
POSITIVE, NEGATIVE: factors of positive and of other regrets.
DECAY: factor of the sums of the average.
FLOORS: 1 if negative regrets are set to 0, as in regret matching+.
PREDICTS: weight of the last regrets in the current policy, as a prediction.
"""

PASS, NEXT_THREAD, NUM_NOTES = NOTES, NOTES + 8, 16
"""Notes on the desk: number of the pass, and number of the next thread; and the number
of notes."""

DECISION, DEAL, FOLD = range(3)

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
    zero, one = out.dtype.type(0), out.dtype.type(1)
    even = one / out.dtype.type(count)
    # The last row holds the sum, then its reciprocal, until its policy is written.
    last = out[at + count - 1]
    for k in range(n):
        last[k] = zero
    for a in range(count):
        r = table[begin + a * n : begin + (a + 1) * n]
        o = out[at + a]
        if predicts != 0:
            p = ahead[begin + a * n : begin + (a + 1) * n]
            for k in range(n):
                x = r[k] * up + p[k] * predicts
                x = x if x > zero else zero
                if a < count - 1:
                    o[k] = x
                last[k] += x
        else:
            for k in range(n):
                x = r[k]
                last[k] += x if x > zero else zero
    for k in range(n):
        last[k] = one / last[k] if last[k] > zero else -one
    for a in range(count):
        r = table[begin + a * n : begin + (a + 1) * n]
        o = out[at + a]
        if predicts != 0:
            p = ahead[begin + a * n : begin + (a + 1) * n]
            for k in range(n):
                x, f = r[k] * up + p[k] * predicts, last[k]
                o[k] = (x if x > zero else zero) * f if f > zero else even
        else:
            for k in range(n):
                x, f = r[k], last[k]
                o[k] = (x if x > zero else zero) * f if f > zero else even


@jit(nogil=True, views_only=True)
def _go_down(layout, tables, numbers, segment, reach, own, policy):
    """Writes the reaches of all nodes of a segment, and the policies of the player.

    Row 0 of `reach` and `own` holds the reaches at the segment's first node.
    """
    mode, p = np.int64(numbers[MODE]), np.int64(numbers[UPDATED])
    t, b, q = layout.template[segment], layout.board[segment], 1 - p
    rep_starts, nodes = layout.rep_starts, layout.nodes
    n = rep_starts[p, b + 1] - rep_starts[p, b]
    m = rep_starts[q, b + 1] - rep_starts[q, b]
    regret, average, ahead = tables
    is_current = mode == ITERATE or mode == CURRENT or mode == BEST_OF_CURRENT
    table = regret if is_current else average
    up = reach.dtype.type(numbers[POSITIVE])
    predicts = reach.dtype.type(numbers[PREDICTS] if is_current else 0.0)
    is_best = mode == BEST or mode == BEST_OF_CURRENT
    for node in range(layout.starts[t], layout.starts[t + 1]):
        if nodes[node, KIND] != DECISION:
            continue
        first, edge = np.int64(nodes[node, FIRST_CHILD]), np.int64(nodes[node, EDGE])
        count = np.int64(nodes[node, NUM_CHILDREN])
        if nodes[node, PLAYER] != p:
            begin = layout.base[segment, q] + edge * m
            _match(table, ahead, begin, count, m, up, predicts, reach, first)
            before = reach[nodes[node, ROW + p]]
            for a in range(count):
                o = reach[first + a]
                for k in range(m):
                    o[k] *= before[k]
        elif not is_best:
            begin = layout.base[segment, p] + edge * n
            _match(table, ahead, begin, count, n, up, predicts, policy, first)
            if mode == ITERATE:
                before = own[nodes[node, OWN_ROW + p]]
                for a in range(count):
                    s, o = policy[first + a], own[first + a]
                    for k in range(n):
                        o[k] = before[k] * s[k]


@jit(nogil=True, views_only=True)
def _pay_leaves(layout, p, segment, reach, value, reaches, seen, sums):
    """Writes the values of all folds and showdowns of a segment for player `p`."""
    t, b, q = layout.template[segment], layout.board[segment], 1 - p
    start, stop = layout.rep_starts[p, b], layout.rep_starts[p, b + 1]
    other, end = layout.hand_starts[q, b], layout.hand_starts[q, b + 1]
    n, m = stop - start, end - other
    cards, same = layout.rep_cards[p, start:stop], layout.same[p, start:stop]
    weaker, up_to = layout.weaker[p, start:stop], layout.up_to[p, start:stop]
    other_cards, rep = layout.hand_cards[q, other:end], layout.hand_rep[q, other:end]
    rows, first_node = layout.rows, layout.starts[t]
    for batch in range(layout.batch_starts[p, t], layout.batch_starts[p, t + 1]):
        first, last = layout.batches[batch, 0], layout.batches[batch, 1] - 1
        compares = layout.batches[batch, 2] != 0
        y0, y1 = reach[rows[first, 0]], reach[rows[min(first + 1, last), 0]]
        y2 = reach[rows[min(first + 2, last), 0]]
        y3 = reach[rows[min(first + 3, last), 0]]
        for k in range(m):
            j = np.uint64(rep[k])
            reaches[k, 0], reaches[k, 1] = y0[j], y1[j]
            reaches[k, 2], reaches[k, 3] = y2[j], y3[j]
        reaches[m, 0] = reaches[m, 1] = reaches[m, 2] = reaches[m, 3] = 0.0
        sum_lanes(
            cards, same, weaker, up_to, other_cards, reaches, compares, seen, sums
        )
        for row in range(first, last + 1):
            lane = row - first
            total = seen[len(seen) - 1, lane]
            if total > 0.0 and least_of(sums, n, lane) < CANCELLED * total:
                add_again(cards, weaker, up_to, other_cards, reaches, lane, total, sums)
            every, of_weaker, of_up_to = sums[ALL], sums[WEAKER], sums[UP_TO]
            for entry in range(rows[row, 1], rows[row, 2]):
                leaf = layout.leaves[entry]
                v, pay = value[leaf], layout.pays[first_node + leaf]
                if layout.nodes[first_node + leaf, KIND] == FOLD:
                    x = pay[0, p]
                    for k in range(n):
                        v[k] = x * every[k, lane]
                    continue
                win, tie, lose = pay[2 * p, p], pay[1, p], pay[2 - 2 * p, p]
                for k in range(n):
                    v[k] = (
                        lose * every[k, lane]
                        + (win - tie) * of_weaker[k, lane]
                        + (tie - lose) * of_up_to[k, lane]
                    )


@inlined
def _learn(layout, tables, numbers, begin, first, count, n, own, value, policy, v):
    """Changes the regrets and the average of a decision; `v` holds its values."""
    regret, average, ahead = tables
    kind = regret.dtype.type
    up, down = kind(numbers[POSITIVE]), kind(numbers[NEGATIVE])
    decay, zero = kind(numbers[DECAY]), kind(0)
    floors, keeps = numbers[FLOORS] != 0, numbers[PREDICTS] != 0
    least = kind(LEAST)
    fades = up != kind(1)
    for a in range(count):
        w, o = value[first + a], own[first + a]
        r = regret[begin + a * n : begin + (a + 1) * n]
        g = average[begin + a * n : begin + (a + 1) * n]
        if floors and not fades:
            for j in range(n):
                x = r[j] + (w[j] - v[j])
                r[j] = x if x > zero else zero
        elif floors:
            for j in range(n):
                x = r[j]
                y = x * up
                y = (y if y > least else least) if x > zero else zero
                x = y + (w[j] - v[j])
                r[j] = x if x > zero else zero
        elif fades or down != kind(1):
            # A positive regret stays positive, as in exact arithmetic. Otherwise the
            # only action with positive regret could lose its probability.
            for j in range(n):
                x = r[j]
                y = x * up
                y = (y if y > least else least) if x > zero else x * down
                r[j] = y + (w[j] - v[j])
        else:
            for j in range(n):
                r[j] += w[j] - v[j]
        if keeps:
            e = ahead[begin + a * n : begin + (a + 1) * n]
            for j in range(n):
                e[j] = w[j] - v[j]
        for j in range(n):
            g[j] = g[j] * decay + o[j]


@jit(nogil=True, views_only=True)
def _go_up(layout, tables, numbers, segment, reach, own, value, policy):
    """Combines the values of a segment from the leaves up, and changes the tables."""
    mode, p = np.int64(numbers[MODE]), np.int64(numbers[UPDATED])
    t, b, nodes = layout.template[segment], layout.board[segment], layout.nodes
    n = layout.rep_starts[p, b + 1] - layout.rep_starts[p, b]
    start = layout.starts[t]
    zero = value.dtype.type(0)
    for k in range(layout.starts[t + 1] - start - 1, -1, -1):
        node = start + k
        if nodes[node, KIND] != DECISION:
            continue
        first, edge = np.int64(nodes[node, FIRST_CHILD]), np.int64(nodes[node, EDGE])
        count = np.int64(nodes[node, NUM_CHILDREN])
        v, w = value[k], value[first]
        if nodes[node, PLAYER] != p:
            for j in range(n):
                v[j] = w[j]
            for a in range(1, count):
                w = value[first + a]
                for j in range(n):
                    v[j] += w[j]
        elif mode == BEST or mode == BEST_OF_CURRENT:
            for j in range(n):
                v[j] = w[j]
            for a in range(1, count):
                w = value[first + a]
                for j in range(n):
                    x, y = v[j], w[j]
                    v[j] = y if y > x else x
        else:
            s = policy[first]
            for j in range(n):
                v[j] = w[j] * s[j]
            for a in range(1, count):
                w, s = value[first + a], policy[first + a]
                for j in range(n):
                    v[j] += w[j] * s[j]
            if mode != ITERATE:
                continue
            if numbers[POSITIVE] != 1.0:
                # A mean that is rounded up could make all regrets negative once
                # discounts have made them small. So it is limited to the largest value
                # of a played action. Rows of `reach` at own actions are free.
                most = reach[first]
                for j in range(n):
                    most[j] = -np.inf
                for a in range(count):
                    w, s = value[first + a], policy[first + a]
                    for j in range(n):
                        x = w[j] if s[j] > zero else -np.inf
                        most[j] = x if x > most[j] else most[j]
                for j in range(n):
                    v[j] = v[j] if v[j] < most[j] else most[j]
            begin = layout.base[segment, p] + edge * n
            _learn(
                layout, tables, numbers, begin, first, count, n, own, value, policy, v
            )


@inlined
def _enter(layout, p, segment, parent, deal, reach, own, to_reach, to_own):
    """Writes row 0 of the reaches of a segment below a deal of its parent."""
    t, q, link = layout.template[parent], 1 - p, layout.link[segment]
    node = layout.starts[t] + deal
    source, start = reach[layout.nodes[node, ROW + p]], layout.link_starts[q, link]
    for j in range(layout.link_starts[q, link + 1] - start):
        to_reach[0, j] = source[np.uint64(layout.above[q, start + j])]
    source, start = own[layout.nodes[node, OWN_ROW + p]], layout.link_starts[p, link]
    for j in range(layout.link_starts[p, link + 1] - start):
        to_own[0, j] = source[np.uint64(layout.above[p, start + j])]


@inlined
def _leave(layout, p, segment, source, target):
    """Adds the values at a segment's first node to those of the deal above it."""
    link, f = layout.link[segment], layout.chance[segment]
    start = layout.link_starts[p, link]
    for j in range(layout.link_starts[p, link + 1] - start):
        part = f * layout.share[p, start + j]
        target[np.uint64(layout.above[p, start + j])] += part * source[j]


@jit(nogil=True, views_only=True)
def _run_below(layout, tables, numbers, first, buffers, thread):
    """Processes the subtree of a segment, whose reaches are in row 0 of level 1.

    Invariant: `position[level]` holds a segment on the path, its current deal, and the
    next child of this deal; -1 before the deal's first child.
    """
    p = np.int64(numbers[UPDATED])
    reach, own = buffers.reach[thread], buffers.own[thread]
    value, policy = buffers.value[thread], buffers.policy[thread]
    at, reaches = buffers.position[thread], buffers.reaches[thread]
    seen, sums = buffers.seen[thread], buffers.sums[thread]
    level, here, enters = 1, first, True
    # Each round either enters a segment, moves from a segment to one below, or
    # completes a segment. The loop ends when the first segment is complete.
    while True:
        if enters:
            _go_down(
                layout, tables, numbers, here, reach[level], own[level], policy[level]
            )
            _pay_leaves(layout, p, here, reach[level], value[level], reaches, seen, sums)
            at[level, 0], at[level, 1] = here, layout.segment_deals[here]
            at[level, 2] = -1
            enters = False
        here, d = at[level, 0], at[level, 1]
        t, b = layout.template[here], layout.board[here]
        if d < layout.segment_deals[here + 1]:
            deal = layout.deals[layout.deal_starts[t] + d - layout.segment_deals[here]]
            if at[level, 2] < 0:
                at[level, 2] = layout.child[d]
                for j in range(layout.rep_starts[p, b + 1] - layout.rep_starts[p, b]):
                    value[level, deal, j] = 0
            child = at[level, 2]
            if child == layout.child[d + 1]:
                at[level, 1] += 1
                at[level, 2] = -1
                continue
            _enter(
                layout,
                p,
                child,
                here,
                deal,
                reach[level],
                own[level],
                reach[level + 1],
                own[level + 1],
            )
            level, here, enters = level + 1, child, True
            continue
        _go_up(
            layout,
            tables,
            numbers,
            here,
            reach[level],
            own[level],
            value[level],
            policy[level],
        )
        if level == 1:
            return
        level -= 1
        above, d = at[level, 0], at[level, 1]
        t = layout.template[above]
        deal = layout.deals[layout.deal_starts[t] + d - layout.segment_deals[above]]
        _leave(layout, p, here, value[level + 1, 0], value[level, deal])
        at[level, 2] += 1


@jit(nogil=True, views_only=True)
def _do_task(layout, tables, numbers, first, task, buffers, thread):
    """Processes the subtree of one segment below the first one."""
    p = np.int64(numbers[UPDATED])
    t, deals = layout.template[first], layout.segment_deals
    segment = layout.child[deals[first]] + task
    d = deals[first]
    while layout.child[d + 1] <= segment:
        d += 1
    deal = layout.deals[layout.deal_starts[t] + d - deals[first]]
    # The leader's level 0 holds the reaches of the first segment.
    _enter(
        layout,
        p,
        segment,
        first,
        deal,
        buffers.reach[0, 0],
        buffers.own[0, 0],
        buffers.reach[thread, 1],
        buffers.own[thread, 1],
    )
    _run_below(layout, tables, numbers, segment, buffers, thread)
    b = layout.board[segment]
    values, below = buffers.value[thread, 1, 0], buffers.below[task]
    for j in range(layout.rep_starts[p, b + 1] - layout.rep_starts[p, b]):
        below[j] = values[j]


@inlined
def _piece(work, desk, task):
    layout, tables, passes, first, buffers, thread = work
    _do_task(layout, tables, passes[desk[PASS]], first, task, buffers, thread)


@jit(nogil=True, views_only=True)
def sweep(layout, tables, passes, first, buffers, desk, leads):
    """Makes passes over the subtree of a segment.

    Args:
        layout: HandLayout.
        tables: the tables of regrets, of the average, and of the last regrets; the last
            one is empty unless a pass predicts.
        passes: `[U, 7]` numbers of each pass, see MODE.
        first: the segment, 0 for the whole tree.
        buffers: HandBuffers. Afterwards `value[0, 0]` holds the values at all nodes of
            the segment for the last updated player.
        desk, leads: see `teams`; with NUM_NOTES notes.
    """
    if not leads:
        thread = np.int64(1) + add_one(desk, NEXT_THREAD)
        take_pieces(_piece, (layout, tables, passes, first, buffers, thread), desk, False)
        return 0
    reach, own = buffers.reach[0, 0], buffers.own[0, 0]
    value, policy = buffers.value[0, 0], buffers.policy[0, 0]
    deals, t, b = layout.segment_deals, layout.template[first], layout.board[first]
    for u in range(len(passes)):
        numbers = passes[u]
        p = np.int64(numbers[UPDATED])
        for j in range(buffers.start.shape[2]):
            reach[0, j], own[0, j] = buffers.start[p, 0, j], buffers.start[p, 1, j]
        _go_down(layout, tables, numbers, first, reach, own, policy)
        _pay_leaves(
            layout,
            p,
            first,
            reach,
            value,
            buffers.reaches[0],
            buffers.seen[0],
            buffers.sums[0],
        )
        begin, end = layout.child[deals[first]], layout.child[deals[first + 1]]
        if end > begin:
            desk[PASS] = u
            work = layout, tables, passes, first, buffers, np.int64(0)
            share(_piece, work, desk, 0, end - begin)
            if load(desk, FAILED) != 0:
                return -1
        task = 0
        for d in range(deals[first], deals[first + 1]):
            deal = layout.deals[layout.deal_starts[t] + d - deals[first]]
            for j in range(layout.rep_starts[p, b + 1] - layout.rep_starts[p, b]):
                value[deal, j] = 0
            for child in range(layout.child[d], layout.child[d + 1]):
                _leave(layout, p, child, buffers.below[task], value[deal])
                task += 1
        _go_up(layout, tables, numbers, first, reach, own, value, policy)
    return 0
