"""Passes of counterfactual regret minimization over the segments of a public tree.

A pass updates or evaluates one player. It visits the segments depth first. In a
segment, `go_down` writes the reaches of all nodes, `_pay_leaves` the values of folds
and showdowns, and, when the segments below are done, `go_up` combines the values and
changes the tables. Nothing else is stored per infoset: policies are computed from the
tables when they are needed.

The first segment is processed by one thread. The segments below its deals are *tasks*,
which threads share. Their values are added in the order of the tasks, so that results
do not depend on the number of threads.
"""

import numpy as np

from mccfr_spiel.kernels.atomics import load
from mccfr_spiel.kernels.hand_decisions import FOLD, UPDATED, go_down, go_up
from mccfr_spiel.kernels.hand_layout import KIND, OWN_ROW, ROW
from mccfr_spiel.kernels.hand_sums import (
    ALL,
    CANCELLED,
    UP_TO,
    WEAKER,
    add_again,
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

PASS, NEXT_THREAD, NUM_NOTES = NOTES, NOTES + 8, 16
"""Notes on the desk: number of the pass, and number of the next thread; and the number
of notes."""


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
            least, total = seen[len(seen) - 2, lane], seen[len(seen) - 1, lane]
            if total > 0.0 and least < CANCELLED * total:
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
    go_down(
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
    go_up(
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
        passes: `[U, 9]` numbers of each pass, see MODE.
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
