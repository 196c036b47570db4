"""Batches of walks by way of logs, with the bits of one thread.

A walk only reads the tables. What it would add to the gradient it writes into a log: a
sequence and a payoff for each leaf, in the order in which it meets them. So the walks
of a batch can be made in any order, by any process. Afterwards the logs are read in the
order of the walks, and every gradient is the sum of the same terms in the same order as
in the loop of `walks.py`.

Threads share both. The infosets are cut into blocks and a top, as for a pass
(`blocks.py`), and each walk sorts its log by blocks. A thread that takes a block reads
that block's part of all logs, adds, and moves the policies at the infosets met, upward.
The infosets met between two leaves lie on the way to the second of them, so the leaves
tell which infosets of a block were met, and in which order. What is met in the top is
logged by itself. One thread, the leader, takes the top: it goes first, since debts to
the average are paid downward, and last, since policies are moved upward.

A batch is walked in one or several segments of up to NUM_SLOTS tickets. How many walks
a ticket has, and a segment, changes no bit.

`split_batches.py` makes the loops of these pieces. Threads of one process need no logs
of leaves, see `forked_walks.py`.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Any

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.compiled.atomics import (
    CLOSED,
    open_tickets,
    store,
)
from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.compiled.randomness import (
    ROOT_PLACE,
    child_place,
    stream_key,
    uniform,
)
from mccfr_spiel.kernels.batch_logs import (
    ADDING,
    BLOCKS_OF_TICKET,
    END_BLOCK,
    FIRST_BLOCK,
    FIRST_TICKET,
    IS_BEGUN,
    ITERATION_NOW,
    MOVES,
    NTH_NOW,
    NUM_COUNTS,
    NUM_EVENTS,
    NUM_LEAVES,
    NUM_RUNS,
    NUM_SLOTS,
    NUM_TOP,
    NUM_VISITS,
    PLAYER_NOW,
    SEGMENT_END,
    STAGE,
    STATUS,
    STATUS_NOW,
    TOUCHED,
    WALKS_OF_TICKET,
    Cut,
    Slots,
    add_part,
    log_of,
    meet_top,
    pay_roots,
    sort_runs,
)
from mccfr_spiel.kernels.batches import batch_at, enter_average, walk_number
from mccfr_spiel.kernels.minimizers import update
from mccfr_spiel.kernels.passes import take_value
from mccfr_spiel.kernels.rates import rates_since
from mccfr_spiel.kernels.sampling import draw_action, draw_chance
from mccfr_spiel.kernels.stack import (
    Visit,
    push,
    push_other_children,
    push_weighted_children,
)
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    BATCH,
    DONE,
    LOG_FULL,
    NEEDS_ONE_THREAD,
    SEED,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.walks import (
    LARGE,
    MAX_WEIGHT,
    UNCHANGED,
    Sampled,
    begin_iteration,
    draw_own,
    prefetch_children,
)


def can_be_shared(sampled: Sampled) -> bool:
    """Whether walks of this kind read nothing that other walks of the batch write."""
    return not (sampled.picks_own or sampled.skips or sampled.baseline)


def make_walk_once(sampled: Sampled) -> Any:
    """Compiles a walk that is logged."""
    chance, opponents, player_sampling, prune, *_ = sampled
    explores, player_sampled = player_sampling == "epsilon", player_sampling != "all"
    draws_own, weighted = sampled.draws_own, sampled.is_weighted

    @inlined
    def walk_once(task, tree, tables, home, stack, log, stream, player, first_block):
        """Makes a walk and logs it; changes the counts of the slot."""
        nodes, infosets, counts = tree.nodes, tree.infosets, log.counts
        touched = 0
        num_events, num_visits = counts[NUM_EVENTS], counts[NUM_VISITS]
        num_leaves, num_runs = counts[NUM_LEAVES], counts[NUM_RUNS]
        last_part: Any = np.int64(-1)
        capacity, room = len(stack.node), len(log.leaf)
        is_large = len(nodes) > LARGE
        top = push(stack, 0, 0, player, 1.0, ROOT_PLACE)
        # The two loops are those of `walks.make_loop`.
        while top > 0:
            top -= 1
            node = stack.node[top]
            sequence: Any = np.int64(stack.sequence[top])
            weight = stack.weight[top] if weighted else 1.0
            place = stack.place[top] if chance else ROOT_PLACE
            while True:
                record = nodes[node]
                acting, start = record["player"], record["start"]
                count: Any = np.int64(record["num_children"])
                first = record["first_child"]
                if acting == TERMINAL:
                    payoff = weight * tree.utilities[start, player]
                    # not <=: an infinite weight times 0 is NaN.
                    if player_sampled and not abs(payoff) <= MAX_WEIGHT:
                        counts[STATUS] = NEEDS_ONE_THREAD
                        return
                    if num_leaves + 1 >= room:
                        counts[STATUS] = LOG_FULL
                        return
                    at_home = np.int64(home[sequence])
                    part = max((at_home >> 1) - first_block, -1) + 1
                    if part != last_part:
                        log.run[num_runs]["leaf"] = num_leaves
                        log.run[num_runs]["part"] = last_part = part
                        num_runs += 1
                    log.leaf[num_leaves]["payoff"] = payoff
                    log.leaf[num_leaves]["sequence"] = sequence
                    log.leaf[num_leaves]["visits_end"] = num_visits
                    touched, num_leaves = touched + 1, num_leaves + 1
                    break
                if acting == UNEXPANDED:
                    counts[STATUS] = NEEDS_ONE_THREAD
                    return
                if top + count >= capacity or max(num_events, num_visits) == room:
                    counts[STATUS] = LOG_FULL
                    return
                touched, chosen = touched + 1, 0
                at = Visit(first, start, count, sequence, weight, place)
                if acting == player:
                    prefetch_children(nodes, at, is_large and draws_own)
                    infoset = record["infoset"]
                    at_home = np.int64(home[start])
                    if at_home >= 0 and at_home & 1 == 0:
                        log.visit[num_visits]["infoset"] = infoset
                        log.visit[num_visits]["start"] = start
                        num_visits += 1
                    else:
                        log.event[num_events]["infoset"] = infoset
                        log.event[num_events]["start"] = start
                        num_events += 1
                    if draws_own:
                        draw = uniform(stream, infosets[infoset]["place"])
                        chosen, q = draw_own(tables, at, explores, task.settings, draw)
                        weight /= q
                    else:
                        top = push_other_children(stack, top, at, weighted, chance)
                    sequence = start + chosen
                elif acting != CHANCE_NODE and opponents:
                    prefetch_children(nodes, at, is_large and draws_own)
                    draw = uniform(stream, infosets[record["infoset"]]["place"])
                    chosen = draw_action(tables.policy, start, count, draw)
                elif acting == CHANCE_NODE and chance:
                    prefetch_children(nodes, at, is_large)
                    draw = uniform(stream, place)
                    chosen = draw_chance(tree.chance_cdf, start, count, draw)
                else:
                    top = push_weighted_children(
                        tree, tables, stack, top, at, acting, prune, chance
                    )
                    break
                node = first + chosen
                place = child_place(place, chosen) if chance else place
        counts[TOUCHED] += touched
        counts[NUM_EVENTS], counts[NUM_VISITS] = num_events, num_visits
        counts[NUM_LEAVES], counts[NUM_RUNS] = num_leaves, num_runs

    return walk_once


def make_walk_ticket(sampled: Sampled) -> Any:
    """Compiles what makes the walks of a ticket."""
    walk_once = make_walk_once(sampled)

    @inlined
    def walk_ticket(task, tree, tables, cut, stack, log, desk, slot):
        """Makes the walks of a slot, and sorts the log."""
        for count in range(NUM_COUNTS):
            log.counts[count] = 0
        walks = desk[WALKS_OF_TICKET]
        first = desk[NTH_NOW] + slot * walks
        player, num_players = desk[PLAYER_NOW], tree.utilities.shape[1]
        given, begin = np.int64(task.job[BATCH]), cut.player_ends[player]
        for nth in range(first, min(first + walks, desk[SEGMENT_END])):
            number = walk_number(given, desk[ITERATION_NOW], nth)
            stream = stream_key(task.job[SEED], number, player, num_players)
            walk_once(task, tree, tables, cut.home, stack, log, stream, player, begin)
            if log.counts[STATUS] != DONE:
                return
        log.run[log.counts[NUM_RUNS]]["leaf"] = log.counts[NUM_LEAVES]
        sort_runs(log, 1 + cut.player_ends[player + 1] - begin)

    return walk_ticket


@inlined
def add_block(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    cut: Cut,
    slots: Slots,
    desk: np.ndarray,
    block: Any,
    rule: int,
    discounts: bool,
) -> None:
    """Adds the logs up in a block, and moves the policies there if it is time."""
    infosets = tree.infosets
    player = desk[PLAYER_NOW]
    part = block - cut.player_ends[player] + 1
    is_far = len(infosets) > LARGE
    if 1 <= part <= cut.player_ends[player + 1] - cut.player_ends[player]:
        pay_roots(infosets, tables, cut, block)
        num_met: Any = cut.ends[block] + cut.num_met[block]
        width = len(slots.part_ends) // NUM_SLOTS
        for slot in range(num_tickets(desk)):
            at = slot * width + part
            if slots.part_ends[at] < slots.part_ends[at + 1]:
                log = log_of(slots, slot)
                num_met = add_part(tree, tables, cut, log, part, num_met, is_far)
        cut.num_met[block] = cut.num_paid[block] = num_met - cut.ends[block]
    if desk[MOVES] != 0:
        move_block(task, tree, tables, walk, cut, block, rule, discounts)


@inlined
def move_block(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    cut: Cut,
    block: Any,
    rule: int,
    discounts: bool,
) -> None:
    """Moves the policies at the infosets met in a block, upward."""
    infosets, begin = tree.infosets, cut.ends[block]
    for visit in range(begin + cut.num_met[block] - 1, begin - 1, -1):
        infoset = cut.met[visit]
        start = infosets[infoset]["first_sequence"]
        parent = infosets[infoset]["parent"]
        if cut.home[start] & 1:  # the root leaves its value where the top takes it
            parent = start
        move(task, tree, tables, walk, infoset, parent, rule, discounts)
    cut.num_met[block] = cut.num_paid[block] = 0


@inlined
def move(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    infoset: Any,
    parent: Any,
    rule: int,
    discounts: bool,
) -> None:
    """Moves the policy at an infoset met; adds its value at `parent`."""
    tables.is_met[infoset] = 0
    start = tree.infosets[infoset]["first_sequence"]
    stop = start + tree.infosets[infoset]["num_actions"]
    rates = UNCHANGED
    if discounts:
        rates = rates_since(tables, walk.clock, infoset)
    value = update(
        rule,
        tables,
        infoset,
        tree.infosets[infoset]["parent"],
        start,
        stop,
        task.parameters,
        rates,
    )
    tables.gradient[parent] += value


@inlined
def move_top(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    cut: Cut,
    desk: np.ndarray,
    rule: int,
    discounts: bool,
) -> None:
    """Moves the policies at the top's infosets, which take the roots' values."""
    for visit in range(desk[NUM_TOP] - 1, -1, -1):
        infoset = cut.top[visit]
        if infoset < 0:
            take_value(tree, tables, ~infoset, False)
        else:
            parent = tree.infosets[infoset]["parent"]
            move(task, tree, tables, walk, infoset, parent, rule, discounts)
    desk[NUM_TOP] = 0
    for player in range(tree.utilities.shape[1]):
        tables.gradient[player] = 0.0


@inlined
def begin_player(
    task: Task,
    tables: Tables,
    walk: Walk,
    desk: np.ndarray,
    rule: int,
    discounts: bool,
) -> None:
    """Begins the batch of the next player, and the iteration if that is the first."""
    player = desk[PLAYER_NOW]
    if player == 0:
        desk[ITERATION_NOW] += 1
        iteration = desk[ITERATION_NOW]
        begin_iteration(task, walk.clock, iteration, rule, discounts)
    given = task.job.view(np.int64)[BATCH]
    enter_average(tables, walk, player, given, desk[ITERATION_NOW], True)
    desk[IS_BEGUN] = 1


@inlined
def open_blocks(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    cut: Cut,
    slots: Slots,
    desk: np.ndarray,
) -> None:
    """Meets the top that the walks of a segment have met, and opens the tickets of the
    blocks in which their logs are added up."""
    limits = task.job.view(np.int64)
    alternating = limits[ALTERNATING] != 0
    player, num_players = desk[PLAYER_NOW], tree.utilities.shape[1]
    meet_top(tree, tables, cut, slots, desk, num_tickets(desk))
    is_last = alternating or player == num_players - 1
    batch = batch_at(limits[BATCH], desk[ITERATION_NOW])
    moves = is_last and desk[SEGMENT_END] == batch
    desk[MOVES], desk[STAGE] = moves, ADDING
    first = 0 if moves and not alternating else player
    begin, end = cut.player_ends[first], cut.player_ends[player + 1]
    desk[FIRST_BLOCK], desk[END_BLOCK] = begin, end
    blocks = desk[BLOCKS_OF_TICKET]
    open_tickets(desk, FIRST_TICKET, 0, (end - begin + blocks - 1) // blocks)


@inlined
def end_adding(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    cut: Cut,
    desk: np.ndarray,
    rule: int,
    discounts: bool,
) -> None:
    """Ends a segment whose logs are added up, and the player's batch if it is over."""
    if desk[MOVES] != 0:
        move_top(task, tree, tables, walk, cut, desk, rule, discounts)
    desk[NTH_NOW] = desk[SEGMENT_END]
    batch = batch_at(task.job.view(np.int64)[BATCH], desk[ITERATION_NOW])
    if desk[NTH_NOW] == batch:
        desk[NTH_NOW] = desk[IS_BEGUN] = 0
        desk[PLAYER_NOW] = (desk[PLAYER_NOW] + 1) % tree.utilities.shape[1]


@inlined
def num_tickets(desk: np.ndarray) -> Any:
    """The tickets for the walks of a segment."""
    num_walks, walks = desk[SEGMENT_END] - desk[NTH_NOW], desk[WALKS_OF_TICKET]
    return (num_walks + walks - 1) // walks


@inlined
def finish(desk: np.ndarray, status: int) -> None:
    """Closes the desk."""
    desk[STATUS_NOW] = status
    store(desk, CLOSED, 1)
