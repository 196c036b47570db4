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
from mccfr_spiel.kernels.tickets import (
    FAILED,
    FINISHED,
    FIRST,
    NOTES,
    add_one,
    next_ticket,
    open_tickets,
)

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
def _go_down(nodes, bases, sizes, tables, numbers, reach, own, policy):
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
    up = reach.dtype.type(numbers[POSITIVE])
    predicts = reach.dtype.type(numbers[PREDICTS] if is_current else 0.0)
    is_best = mode == BEST or mode == BEST_OF_CURRENT
    for node in range(len(nodes)):
        if nodes[node, KIND] != DECISION:
            continue
        first, edge = np.int64(nodes[node, FIRST_CHILD]), np.int64(nodes[node, EDGE])
        count = np.int64(nodes[node, NUM_CHILDREN])
        is_own = nodes[node, PLAYER] == p
        if is_own and is_best:
            continue
        size = n if is_own else m
        begin = (bases[0] if is_own else bases[1]) + edge * size
        out = policy if is_own else reach
        _match(table, ahead, begin, count, size, up, predicts, out, first)
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


@jit(nogil=True, views_only=True)
def _pay_leaves(
    nodes, pays, batches, rows, leaves, hands, other_cards, rep, p, reach, value, room
):
    """Writes the values of all folds and showdowns of a segment for player `p`.

    Args:
        nodes, pays: the segment's rows of `HandLayout.nodes` and `pays`.
        batches: the batches of the segment's template and the player.
        rows, leaves: see HandLayout.
        hands: cards, `same`, `weaker` and `up_to` of the player's representatives.
        other_cards, rep: cards of the opponent's hands, and their representatives.
        p: the player.
        reach, value: `[M, H]` buffers.
        room: the thread's buffers `reaches`, `seen` and `sums`.
    """
    (cards, same, weaker, up_to), (reaches, seen, sums) = hands, room
    n, m = len(cards), len(other_cards)
    for batch in range(len(batches)):
        first, last = batches[batch, 0], batches[batch, 1] - 1
        compares = batches[batch, 2] != 0
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
                leaf = leaves[entry]
                v, pay = value[leaf], pays[leaf]
                if nodes[leaf, KIND] == FOLD:
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
def _learn(tables, numbers, begin, first, count, n, own, value, policy, v):
    """Changes the regrets and the average of a decision; `v` holds its values."""
    regret, average, ahead, fixed = tables
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
        if len(fixed) > 0:  # the policies are not needed any more
            before = policy[first + a]
            for j in range(n):
                before[j] = r[j]
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
                        e[j] = zero


@jit(nogil=True, views_only=True)
def _go_up(nodes, base, n, tables, numbers, reach, own, value, policy):
    """Combines the values of a segment from the leaves up, and changes the tables.

    `base` is the start of the updated player's block, and `n` the number of the
    player's representatives. The other arguments are those of `_go_down`.
    """
    mode, p = np.int64(numbers[MODE]), np.int64(numbers[UPDATED])
    zero = value.dtype.type(0)
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
                v[j] = zero
            for a in range(1, count):
                u, s = value[first + a], policy[first + a]
                for j in range(n):
                    v[j] += (u[j] - w[j]) * s[j]
            for j in range(n):
                v[j] += w[j]
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
            begin = base + edge * n
            _learn(tables, numbers, begin, first, count, n, own, value, policy, v)


@jit(nogil=True, views_only=True)
def _descend(layout, tables, numbers, segment, buffers, thread, level):
    """Goes down through a segment, and pays its leaves."""
    p = np.int64(numbers[UPDATED])
    q, t, b = 1 - p, layout.template[segment], layout.board[segment]
    nodes = layout.nodes[layout.starts[t] : layout.starts[t + 1]]
    pays = layout.pays[layout.starts[t] : layout.starts[t + 1]]
    start, stop = layout.rep_starts[p, b], layout.rep_starts[p, b + 1]
    other, end = layout.hand_starts[q, b], layout.hand_starts[q, b + 1]
    sizes = stop - start, layout.rep_starts[q, b + 1] - layout.rep_starts[q, b]
    reach, value = buffers.reach[thread, level], buffers.value[thread, level]
    _go_down(
        nodes,
        (layout.base[segment, p], layout.base[segment, q]),
        sizes,
        tables,
        numbers,
        reach,
        buffers.own[thread, level],
        buffers.policy[thread, level],
    )
    batches = layout.batches[layout.batch_starts[p, t] : layout.batch_starts[p, t + 1]]
    hands = (
        layout.rep_cards[p, start:stop],
        layout.same[p, start:stop],
        layout.weaker[p, start:stop],
        layout.up_to[p, start:stop],
    )
    cards, rep = layout.hand_cards[q, other:end], layout.hand_rep[q, other:end]
    room = buffers.reaches[thread], buffers.seen[thread], buffers.sums[thread]
    rows, leaves = layout.rows, layout.leaves
    _pay_leaves(
        nodes, pays, batches, rows, leaves, hands, cards, rep, p, reach, value, room
    )


@jit(nogil=True, views_only=True)
def _ascend(layout, tables, numbers, segment, buffers, thread, level):
    """Goes up through a segment, when the segments below it are done."""
    p = np.int64(numbers[UPDATED])
    t, b = layout.template[segment], layout.board[segment]
    _go_up(
        layout.nodes[layout.starts[t] : layout.starts[t + 1]],
        layout.base[segment, p],
        layout.rep_starts[p, b + 1] - layout.rep_starts[p, b],
        tables,
        numbers,
        buffers.reach[thread, level],
        buffers.own[thread, level],
        buffers.value[thread, level],
        buffers.policy[thread, level],
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
def _do_task(layout, tables, numbers, first, task, buffers, thread):
    """Processes the subtree of a task, a segment below the first one.

    Invariant: `position[level]` holds a segment on the path, its current deal, and the
    next child of this deal. Level 0 is that of the first segment; the leader's buffers
    hold its reaches.
    """
    p, deals = np.int64(numbers[UPDATED]), layout.segment_deals
    at = buffers.position[thread]
    target = layout.child[deals[first]] + task
    d = deals[first]
    while layout.child[d + 1] <= target:
        d += 1
    at[0, 0], at[0, 1], at[0, 2] = first, d, target
    level, source, child = 0, 0, target
    # Each round enters a segment below the present one, or completes the present one
    # and returns to its parent. The loop ends when the task is complete.
    while True:
        if child >= 0:
            here = at[level, 0]
            t = layout.template[here]
            deal = layout.deals[layout.deal_starts[t] + at[level, 1] - deals[here]]
            _enter(
                layout,
                p,
                child,
                here,
                deal,
                buffers.reach[source, level],
                buffers.own[source, level],
                buffers.reach[thread, level + 1],
                buffers.own[thread, level + 1],
            )
            level, source = level + 1, thread
            _descend(layout, tables, numbers, child, buffers, thread, level)
            at[level, 0], at[level, 1] = child, deals[child]
            at[level, 2] = layout.child[deals[child]]
            t, b = layout.template[child], layout.board[child]
            for k in range(layout.deal_starts[t], layout.deal_starts[t + 1]):
                deal = layout.deals[k]
                for j in range(layout.rep_starts[p, b + 1] - layout.rep_starts[p, b]):
                    buffers.value[thread, level, deal, j] = 0
        here = at[level, 0]
        # Find the next child: of the present deal, or of a later one.
        while at[level, 1] < deals[here + 1]:
            if at[level, 2] < layout.child[at[level, 1] + 1]:
                break
            at[level, 1] += 1
        if at[level, 1] < deals[here + 1]:
            child = at[level, 2]
            at[level, 2] += 1
            continue
        _ascend(layout, tables, numbers, here, buffers, thread, level)
        if level == 1:
            break
        above, child = at[level - 1, 0], -1
        t = layout.template[above]
        deal = layout.deals[layout.deal_starts[t] + at[level - 1, 1] - deals[above]]
        target_row = buffers.value[thread, level - 1, deal]
        _leave(layout, p, here, buffers.value[thread, level, 0], target_row)
        level -= 1
    b = layout.board[target]
    values, below = buffers.value[thread, 1, 0], buffers.below[task]
    for j in range(layout.rep_starts[p, b + 1] - layout.rep_starts[p, b]):
        below[j] = values[j]


@jit(nogil=True, views_only=True)
def sweep(layout, tables, passes, first, buffers, desk, leads):
    """Makes passes over the subtree of a segment.

    Args:
        layout: HandLayout.
        tables: the tables, see `BlockTables`.
        passes: `[U, 7]` numbers of each pass, see MODE.
        first: the segment, 0 for the whole tree.
        buffers: HandBuffers. Afterwards `value[0, 0]` holds the values at all nodes of
            the segment for the last updated player.
        desk, leads: see `teams`; with NUM_NOTES notes.
    """
    thread = np.int64(0)
    if not leads:
        thread = np.int64(1) + add_one(desk, NEXT_THREAD)
    deals, t, b = layout.segment_deals, layout.template[first], layout.board[first]
    begin, end = layout.child[deals[first]], layout.child[deals[first + 1]]
    # Each round makes one pass. The reaches of the first segment are complete before
    # its tasks are opened, and all tasks are finished before their values are added.
    # Threads other than the leader process tasks until the leader has returned.
    for u in range(len(passes)):
        if leads:
            numbers = passes[u]
            p = np.int64(numbers[UPDATED])
            for j in range(buffers.start.shape[2]):
                buffers.reach[0, 0, 0, j] = buffers.start[p, 0, j]
                buffers.own[0, 0, 0, j] = buffers.start[p, 1, j]
            _descend(layout, tables, numbers, first, buffers, np.int64(0), np.int64(0))
            if end > begin:
                desk[PASS] = u
                open_tickets(desk, 0, end - begin)
        # Claims open tickets and processes their tasks, as `tickets.take_pieces`.
        while end > begin:
            ticket = next_ticket(desk, leads)
            if ticket < 0:
                break
            task, numbers = ticket + desk[FIRST], passes[desk[PASS]]
            _do_task(layout, tables, numbers, first, task, buffers, thread)
            add_one(desk, FINISHED)
        if not leads or load(desk, FAILED) != 0:
            return 0
        numbers = passes[u]
        p = np.int64(numbers[UPDATED])
        for d in range(deals[first], deals[first + 1]):
            deal = layout.deals[layout.deal_starts[t] + d - deals[first]]
            target = buffers.value[0, 0, deal]
            for j in range(layout.rep_starts[p, b + 1] - layout.rep_starts[p, b]):
                target[j] = 0
            for child in range(layout.child[d], layout.child[d + 1]):
                _leave(layout, p, child, buffers.below[child - begin], target)
        _ascend(layout, tables, numbers, first, buffers, np.int64(0), np.int64(0))
    return 0
