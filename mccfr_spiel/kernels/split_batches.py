"""Batches of walks that several processes split, with the bits of one thread.

Every process has the same tree and the same tables. A segment of a batch has tickets,
as in `logged_walks.py`; each process makes the walks of some of them into logs,
`make_split_walks`. When a process has the logs of all tickets in its slots, whoever
made them, it adds them up and moves the policies, `make_split_sums`. That is the work
of the threads of one process, in the same order, and so it gives the same bits.

A log that comes from another process tells of each visit the infoset, and of each leaf
the sequence, the payoff and the visits before it. The rest follows from the tree.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Any

import numpy as np

from mccfr_spiel.compiled.atomics import (
    CLOSED,
    FAILED,
    FINISHED,
    add_one,
    is_over,
    load,
    next_ticket,
    open_tickets,
    store,
)
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.batch_logs import (
    BLOCKS_OF_TICKET,
    END_BLOCK,
    FIRST_BLOCK,
    FIRST_TICKET,
    IS_BEGUN,
    ITERATION_NOW,
    NTH_NOW,
    NUM_EVENTS,
    NUM_LEAVES,
    NUM_RUNS,
    NUM_VISITS,
    PLAYER_NOW,
    SEGMENT_END,
    STAGE,
    WALKING,
    WALKS_OF_TICKET,
    Cut,
    Log,
    Slots,
    hand_over,
    log_of,
    sort_runs,
    stack_of,
    take_over,
    views,
)
from mccfr_spiel.kernels.logged_walks import (
    add_block,
    begin_player,
    end_adding,
    make_walk_ticket,
    num_tickets,
    open_blocks,
)
from mccfr_spiel.kernels.minimizers import rule_of
from mccfr_spiel.kernels.tables import (
    DONE,
    THREAD_FAILED,
    Tables,
    Task,
    TreeArrays,
    Walk,
    tree_in,
)
from mccfr_spiel.kernels.walks import Sampled

(
    AT_ITERATION,
    AT_PLAYER,
    AT_WALK,
    END_WALK,
    WALKS_EACH,
    FIRST_SLOT,
    END_SLOT,
) = range(7)
"""The entries of a segment, int64: the iteration and the player, the first walk of the
batch and the one behind the last, how many walks a ticket has, and the tickets to walk:
the first and the one behind the last."""


@inlined
def list_runs(tree: TreeArrays, cut: Cut, log: Log, player: Any) -> None:
    """Completes a log that came from another process: the first sequences of the
    infosets visited, the runs of its leaves, and their order by blocks."""
    infosets, counts = tree.infosets, log.counts
    first_block = cut.player_ends[player]
    for visit in range(counts[NUM_VISITS]):
        infoset = log.visit[visit]["infoset"]
        log.visit[visit]["start"] = infosets[infoset]["first_sequence"]
    for event in range(counts[NUM_EVENTS]):
        infoset = log.event[event]["infoset"]
        log.event[event]["start"] = infosets[infoset]["first_sequence"]
    num_runs: Any = np.int64(0)
    last_part: Any = np.int64(-1)
    for leaf in range(counts[NUM_LEAVES]):
        at_home = np.int64(cut.home[log.leaf[leaf]["sequence"]])
        part = max((at_home >> 1) - first_block, -1) + 1
        if part != last_part:
            log.run[num_runs]["leaf"] = leaf
            log.run[num_runs]["part"] = last_part = part
            num_runs += 1
    counts[NUM_RUNS] = num_runs
    log.run[num_runs]["leaf"] = counts[NUM_LEAVES]
    sort_runs(log, 1 + cut.player_ends[player + 1] - first_block)


def make_split_walks(sampled: Sampled) -> Any:
    """Compiles `walk(frame, segment, desk, leads)`.

    It makes the walks of a segment's tickets into the slots of the same numbers. The
    tables are only read; the cursor is not. Statuses of single tickets are in their
    counts. It returns DONE, or THREAD_FAILED if another thread failed.
    """
    walk_ticket = make_walk_ticket(sampled)

    @jit(nogil=True)
    def walk(frame, segment, desk, leads):
        task, tables = views(frame, Task), views(frame, Tables)
        tree = tree_in(frame, task.job)
        cut, slots = views(frame, Cut), views(frame, Slots)
        if leads:
            desk[ITERATION_NOW], desk[PLAYER_NOW] = (
                segment[AT_ITERATION],
                segment[AT_PLAYER],
            )
            desk[NTH_NOW], desk[SEGMENT_END] = segment[AT_WALK], segment[END_WALK]
            desk[WALKS_OF_TICKET] = segment[WALKS_EACH]
            open_tickets(desk, FIRST_TICKET, segment[FIRST_SLOT], segment[END_SLOT])
        while True:
            ticket = next_ticket(desk, leads)
            if ticket < 0:
                if not leads or is_over(desk):
                    break
                store(desk, CLOSED, 1)
                continue
            ticket += load(desk, FIRST_TICKET)
            stack, log = stack_of(slots, ticket), log_of(slots, ticket)
            walk_ticket(task, tree, tables, cut, stack, log, desk, ticket)
            add_one(desk, FINISHED)
        if leads and load(desk, FAILED) != 0:
            return THREAD_FAILED
        return DONE

    return walk


_LISTING = WALKING
"""The stage before ADDING: logs are completed in place of walks."""


def make_split_sums(rule: int) -> Any:
    """Compiles `add(frame, segment, blocks, desk, leads)`.

    It adds up the logs of all tickets of a segment, and moves the policies if that ends
    the player's batch. The cursor must stand where the segment begins; it goes on to
    where the next one does, inside of the same iteration or behind it. It returns DONE,
    or THREAD_FAILED if another thread failed.
    """
    discounts = rule_of(rule).discounts

    @jit(nogil=True)
    def add(frame, segment, blocks, desk, leads):
        task, tables = views(frame, Task), views(frame, Tables)
        tree, walk = tree_in(frame, task.job), views(frame, Walk)
        cut, slots = views(frame, Cut), views(frame, Slots)
        if leads:
            take_over(tree, walk, cut, desk)
            if desk[IS_BEGUN] == 0:
                begin_player(task, tables, walk, desk, rule, discounts)
            desk[SEGMENT_END] = segment[END_WALK]
            desk[WALKS_OF_TICKET], desk[BLOCKS_OF_TICKET] = segment[WALKS_EACH], blocks
            desk[STAGE] = _LISTING
            open_tickets(desk, FIRST_TICKET, 0, num_tickets(desk))
        # One pass of this loop completes a log, or adds up the blocks of a ticket.
        while True:
            ticket = next_ticket(desk, leads)
            if ticket < 0:
                if not leads or is_over(desk):
                    break
                if desk[STAGE] == _LISTING:
                    open_blocks(task, tree, tables, cut, slots, desk)
                else:
                    end_adding(task, tree, tables, walk, cut, desk, rule, discounts)
                    if desk[IS_BEGUN] == 0 and desk[PLAYER_NOW] != 0:
                        begin_player(task, tables, walk, desk, rule, discounts)
                    store(desk, CLOSED, 1)
                continue
            ticket += load(desk, FIRST_TICKET)
            if load(desk, STAGE) == _LISTING:
                list_runs(tree, cut, log_of(slots, ticket), desk[PLAYER_NOW])
            else:
                first = desk[FIRST_BLOCK] + ticket * blocks
                for block in range(first, min(first + blocks, desk[END_BLOCK])):
                    add_block(
                        task,
                        tree,
                        tables,
                        walk,
                        cut,
                        slots,
                        desk,
                        block,
                        rule,
                        discounts,
                    )
            add_one(desk, FINISHED)
        if not leads:
            return DONE
        if load(desk, FAILED) != 0:
            return THREAD_FAILED
        hand_over(tree, walk, cut, desk)
        return DONE

    return add
