"""Walks by several threads, with the bits of one thread.

Each player's infosets are cut into blocks of whole subtrees and a top, as for a pass
(`blocks.py`). Once a walk has come to the root of a subtree, it meets no infoset of the
player but those of that subtree until it is back. So what it does there can be done at
another time, and by another thread, as long as the walks that come to one block do so
in their order: every gradient is then the sum of the same terms in the same order as in
the loop of `walks.py`. That holds for the walks of a batch and for the parts of a
single walk that follows all actions of the player.

The walks of a batch for a player are made in three stages, each of which ends before
the next one begins.

1. Threads walk in the top. Where a walk comes to the root of a subtree it writes down a
   fork and turns back. What it meets in the top, and what it would add to the gradient
   there, it writes into a log.
2. Threads take blocks. In each they follow that block's forks, in the order of the
   walks, and add to the gradient.
3. Threads take blocks, pay debts to the average in them, downward, and move the
   policies, upward, if the batch is complete.

One thread, the leader, takes the top: it reads the log and pays before the third stage,
and moves the policies after it.

A batch is walked in one or several segments of up to NUM_SLOTS tickets. How many walks
a ticket has, and a segment, changes no bit. Where a walk cannot go on in the first two
stages, what its segment has done is taken back.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Any

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.compiled.atomics import (
    FAILED,
    FINISHED,
    add_one,
    is_over,
    load,
)
from mccfr_spiel.compiled.jit import inlined, jit, pasted
from mccfr_spiel.compiled.lanes import (
    MOST_LANES,
    NUM_LANES,
    next_in_lanes,
    open_lanes,
    take_lane,
)
from mccfr_spiel.compiled.prefetch import prefetch
from mccfr_spiel.compiled.randomness import (
    ROOT_PLACE,
    child_place,
    stream_key,
    uniform,
)
from mccfr_spiel.kernels.batch_logs import (
    BLOCKS_OF_TICKET,
    END_BLOCK,
    FIRST_BLOCK,
    IS_BEGUN,
    ITERATION_NOW,
    MOVES,
    NTH_NOW,
    NUM_COUNTS,
    NUM_EVENTS,
    NUM_LEAVES,
    NUM_SLOTS,
    NUM_TOP,
    PLAYER_NOW,
    SEGMENT_END,
    STAGE,
    STATUS,
    STATUS_NOW,
    TOUCHED,
    TOUCHED_NOW,
    WALKS_OF_TICKET,
    Cut,
    hand_over,
    take_over,
)
from mccfr_spiel.kernels.batches import batch_at, enter_average, walk_number
from mccfr_spiel.kernels.forks import (
    LANES,
    LISTED,
    NUM_FORKS,
    Forks,
    add_top,
    counts_of,
    fork_log_of,
    fork_stack_of,
    fork_views,
    keep_block,
    pay_block,
    queue_of,
    roll_back,
    sort_forks,
    status_of_rows,
    touched_in_rows,
)
from mccfr_spiel.kernels.logged_walks import finish, move_block, move_top, num_tickets
from mccfr_spiel.kernels.minimizers import rule_of, start_tables
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
    LAST_ITERATION,
    LOG_FULL,
    NEEDS_ONE_THREAD,
    NODE_LIMIT,
    NUM_MET,
    PAUSE_LIMIT,
    PAUSED,
    SEED,
    THREAD_FAILED,
    Tables,
    Task,
    TreeArrays,
    Walk,
    tree_in,
)
from mccfr_spiel.kernels.walks import (
    LARGE,
    MAX_WEIGHT,
    Sampled,
    begin_iteration,
    draw_own,
    prefetch_children,
)

IN_TOP, IN_BLOCKS, SETTLING = range(1, 4)
"""The stages, see above."""

_SHORT_QUEUE, LONG_QUEUE, _AHEAD = 24, 32, 12
"""A queue with fewer nodes than the first number takes in forks until it has as many as
the second. What its nodes need is asked for when so many others as the third are to be
visited before them."""

_FAR, _NEAR = 6, 3
"""The node of a fork is asked for when so many other forks are to be followed before
it, and what is read there when so many are."""


def make_fork_walk(sampled: Sampled, in_block: bool) -> Any:
    """Compiles the part of a walk in the top, or that from a fork on."""
    chance, opponents, player_sampling, prune, *_ = sampled
    explores, player_sampled = player_sampling == "epsilon", player_sampling != "all"
    draws_own, weighted = sampled.draws_own, sampled.is_weighted

    @inlined
    def walk_on(
        task, tree, tables, cut, stack, log, counts, fork, player, num_met: Any
    ):
        """Walks from a fork on.

        In the top it changes `log`. In a block it adds to the gradient, and writes the
        infosets that it is the first to meet to `cut.met`, from `num_met` on.

        Returns:
            The end of these infosets.
        """
        nodes, infosets, home = tree.nodes, tree.infosets, cut.home
        stream, first_block = fork["stream"], cut.player_ends[player]
        num_events, num_leaves = counts[NUM_EVENTS], counts[NUM_LEAVES]
        num_forks = counts[NUM_FORKS]
        touched, capacity, room = 0, len(stack.node), len(log.leaf) - 1
        is_large = len(nodes) > LARGE
        top = push(stack, 0, fork["node"], player, fork["weight"], fork["place"])
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
                        return num_met
                    touched += 1
                    if in_block:
                        tables.gradient[sequence] += payoff
                        break
                    if num_leaves >= room:
                        counts[STATUS] = LOG_FULL
                        return num_met
                    log.leaf[num_leaves]["payoff"] = payoff
                    log.leaf[num_leaves]["sequence"] = sequence
                    num_leaves += 1
                    break
                if acting == UNEXPANDED:
                    counts[STATUS] = NEEDS_ONE_THREAD
                    return num_met
                is_full = top + count >= capacity
                if not in_block:
                    is_full = is_full or max(num_events, num_forks) >= room
                if is_full:
                    counts[STATUS] = LOG_FULL
                    return num_met
                at = Visit(first, start, count, sequence, weight, place)
                if not in_block and acting == player:
                    infoset = record["infoset"]
                    log.event[num_events]["infoset"] = infoset
                    log.event[num_events]["start"] = start
                    num_events += 1
                    at_home: Any = np.int64(home[start])
                    if at_home >= 0:
                        log.fork[num_forks]["stream"] = stream
                        log.fork[num_forks]["place"] = place
                        log.fork[num_forks]["weight"] = weight
                        log.fork[num_forks]["node"] = node
                        log.fork[num_forks]["part"] = (at_home >> 1) - first_block
                        num_forks += 1
                        break
                touched, chosen = touched + 1, 0
                if acting == player:
                    prefetch_children(nodes, at, is_large and draws_own)
                    infoset = record["infoset"]
                    if in_block and tables.is_met[infoset] == 0:
                        tables.is_met[infoset] = 1
                        cut.met[num_met] = infoset
                        num_met += 1
                        if is_large and draws_own:
                            prefetch(tables.gradient, start)
                    if draws_own:
                        draw = uniform(stream, infosets[infoset]["place"])
                        chosen, q = draw_own(tables, at, explores, task.settings, draw)
                        weight /= q
                    else:
                        if in_block:
                            prefetch_policies(nodes, tables, at)
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
        if not in_block:
            counts[NUM_EVENTS], counts[NUM_LEAVES] = num_events, num_leaves
            counts[NUM_FORKS] = num_forks
        return num_met

    return walk_on


@inlined
def ask_for(tree: TreeArrays, tables: Tables, node: Any, sequence: Any) -> None:
    """Asks for all that a walk may read at a node, whoever acts there: to find that out
    first takes longer than to ask in vain."""
    record = tree.nodes[node]
    start, infoset = record["start"], record["infoset"]
    prefetch(tables.policy, start)
    prefetch(tree.infosets, infoset)
    prefetch(tables.is_met, infoset)
    prefetch(tables.gradient, sequence)
    prefetch(tree.utilities, start * tree.utilities.shape[1])
    prefetch(tree.nodes, record["first_child"])


@inlined
def follow_in_levels(
    tree: TreeArrays,
    tables: Tables,
    cut: Cut,
    forks: Forks,
    desk: np.ndarray,
    block: Any,
) -> None:
    """Walks on from the forks of a block with all other players sampled, in a tree that
    is in memory rather than in a cache.

    A walk comes to each sequence of the player at most once then, so its branches may
    be visited in any order. They go into a queue and are taken from its other end.
    Between the two, what they read is asked for. Of two walks that come to an infoset
    the earlier one comes to its ancestors first, too, so it stays ahead in the queue.
    """
    nodes, infosets = tree.nodes, tree.infosets
    counts, queue = counts_of(forks, NUM_SLOTS + block), queue_of(forks, block)
    clear(counts)
    player, used, mask = desk[PLAYER_NOW], num_tickets(desk), len(queue) - 1
    room, width = len(forks.leaf) // NUM_SLOTS, len(forks.part_ends) // NUM_SLOTS
    part = block - cut.player_ends[player]
    num_met: Any = cut.ends[block] + cut.num_met[block]
    status = DONE
    head: Any = np.int64(0)
    tail, asked, slot, touched = head, head, head, head
    k: Any = np.int64(forks.part_ends[part])
    end: Any = np.int64(forks.part_ends[part + 1])
    # One pass takes a node from the queue and goes on to a leaf, or to the player's
    # next infoset, whose children go into the queue. Forks come in while it is short.
    while True:
        most = LONG_QUEUE if tail - head < _SHORT_QUEUE else 0
        while tail - head < most and slot < used:
            if k == end:
                slot += 1
                if slot < used:
                    k = np.int64(forks.part_ends[slot * width + part])
                    end = np.int64(forks.part_ends[slot * width + part + 1])
                continue
            fork = forks.fork[slot * room + forks.order[slot * room + k]]
            queue[tail & mask]["stream"] = fork["stream"]
            queue[tail & mask]["place"] = fork["place"]
            queue[tail & mask]["node"] = fork["node"]
            queue[tail & mask]["sequence"] = player
            prefetch(nodes, fork["node"])
            tail, k = tail + 1, k + 1
        if head == tail:
            break
        while asked < min(head + _AHEAD, tail):
            entry = queue[asked & mask]
            node, sequence = entry["node"], entry["sequence"]
            ask_for(tree, tables, node, sequence)
            asked += 1
        entry = queue[head & mask]
        stream, place = entry["stream"], entry["place"]
        node, sequence = entry["node"], entry["sequence"]
        head += 1
        while True:
            record = nodes[node]
            acting, start = record["player"], record["start"]
            count: Any = np.int64(record["num_children"])
            first = record["first_child"]
            if acting == UNEXPANDED:
                status = NEEDS_ONE_THREAD
                break
            touched += 1
            if acting == TERMINAL:
                tables.gradient[sequence] += tree.utilities[start, player]
                break
            if acting == player:
                if tail + count - head > len(queue):
                    status = LOG_FULL
                    break
                infoset = record["infoset"]
                if tables.is_met[infoset] == 0:
                    tables.is_met[infoset] = 1
                    cut.met[num_met] = infoset
                    num_met += 1
                for child in range(count):
                    queue[tail & mask]["stream"] = stream
                    queue[tail & mask]["place"] = child_place(place, child)
                    queue[tail & mask]["node"] = first + child
                    queue[tail & mask]["sequence"] = start + child
                    tail += 1
                break
            if acting != CHANCE_NODE:
                draw = uniform(stream, infosets[record["infoset"]]["place"])
                chosen = draw_action(tables.policy, start, count, draw)
            else:
                draw = uniform(stream, place)
                chosen = draw_chance(tree.chance_cdf, start, count, draw)
            node = first + chosen
            place = child_place(place, chosen)
        if status != DONE:
            break
    counts[STATUS], counts[TOUCHED] = status, touched
    cut.num_met[block] = num_met - cut.ends[block]


def make_forked_walks(sampled: Sampled, rule: int) -> Any:
    """Compiles `iterate(frame, walks, blocks, threads, desk, leads)`.

    Every thread calls it with the same frame of a complete tree, numbers of walks and
    of blocks for a ticket, number of threads, and desk; one of them leads. It returns
    the statuses of `make_walks`, and

    - LOG_FULL if the rows and slots must be larger first,
    - NEEDS_ONE_THREAD if the loop of `walks.py` must go on, since a walk met what ends
      the run,
    - THREAD_FAILED if another thread failed.

    The cursor must stand between two walks.
    """
    walk_in_top = make_fork_walk(sampled, False)
    walk_in_block = make_fork_walk(sampled, True)
    discounts = rule_of(rule).discounts
    samples_others = sampled.chance and sampled.opponents
    in_levels = samples_others and sampled.player == "all"

    @inlined
    def walk_ticket(task, tree, tables, cut, forks, desk, slot):
        """Walks in the top with the walks of a slot, and sorts their forks."""
        stack, counts = fork_stack_of(forks, slot), counts_of(forks, slot)
        log = fork_log_of(forks, slot)
        clear(counts)
        walks = desk[WALKS_OF_TICKET]
        first = desk[NTH_NOW] + slot * walks
        player, num_players = desk[PLAYER_NOW], tree.utilities.shape[1]
        given = np.int64(task.job[BATCH])
        root = log.fork[len(log.fork) - 1]
        for nth in range(first, min(first + walks, desk[SEGMENT_END])):
            number = walk_number(given, desk[ITERATION_NOW], nth)
            stream = stream_key(task.job[SEED], number, player, num_players)
            root["stream"], root["place"] = stream, ROOT_PLACE
            root["weight"], root["node"] = 1.0, 0
            walk_in_top(task, tree, tables, cut, stack, log, counts, root, player, 0)
            if counts[STATUS] != DONE:
                return
        num_parts = cut.player_ends[player + 1] - cut.player_ends[player]
        sort_forks(log, counts[NUM_FORKS], num_parts)

    @inlined
    def follow_forks(task, tree, tables, cut, forks, desk, block):
        """Walks on from the forks of a block."""
        if in_levels and len(forks.queue) > 0:
            follow_in_levels(tree, tables, cut, forks, desk, block)
            return
        row = NUM_SLOTS + block
        stack, counts = fork_stack_of(forks, row), counts_of(forks, row)
        clear(counts)
        player = desk[PLAYER_NOW]
        part = block - cut.player_ends[player]
        num_met: Any = cut.ends[block] + cut.num_met[block]
        for slot in range(num_tickets(desk)):
            log = fork_log_of(forks, slot)
            end = log.part_ends[part + 1]
            for k in range(log.part_ends[part], end):
                fork = log.fork[log.order[k]]
                if k + _FAR < end:
                    prefetch(tree.nodes, log.fork[log.order[k + _FAR]]["node"])
                if k + _NEAR < end:
                    node = log.fork[log.order[k + _NEAR]]["node"]
                    prefetch(tables.policy, tree.nodes[node]["start"])
                    prefetch(tables.is_met, tree.nodes[node]["infoset"])
                    prefetch(tree.infosets, tree.nodes[node]["infoset"])
                num_met = walk_in_block(
                    task,
                    tree,
                    tables,
                    cut,
                    stack,
                    log,
                    counts,
                    fork,
                    player,
                    num_met,
                )
                if counts[STATUS] != DONE:
                    break
            if counts[STATUS] != DONE:
                break
        cut.num_met[block] = num_met - cut.ends[block]

    @jit(nogil=True)
    def iterate(frame, walks, blocks, threads, desk, leads):
        task, tables = fork_views(frame, Task), fork_views(frame, Tables)
        tree, walk = tree_in(frame, task.job), fork_views(frame, Walk)
        cut, forks = fork_views(frame, Cut), fork_views(frame, Forks)
        parameters = task.parameters
        if leads:
            start_tables(tree, tables, walk.known, rule, task.job[SEED], parameters)
            desk[WALKS_OF_TICKET], desk[BLOCKS_OF_TICKET] = walks, blocks
            desk[LANES + NUM_LANES] = min(threads, MOST_LANES)
            begin_call(tree, tables, walk, cut, forks, desk)
        lane = take_lane(desk, LANES, leads)
        # One pass of this loop does a ticket.
        while True:
            ticket = next_in_lanes(desk, LANES, lane, leads)
            if ticket < 0:
                if not leads or is_over(desk):
                    break
                direct(task, tree, tables, walk, cut, forks, desk, rule, discounts)
                continue
            if load(desk, STAGE) == IN_TOP:
                walk_ticket(task, tree, tables, cut, forks, desk, ticket)
            else:
                first = desk[FIRST_BLOCK] + ticket * blocks
                for block in range(first, min(first + blocks, desk[END_BLOCK])):
                    if load(desk, STAGE) == IN_BLOCKS:
                        follow_forks(task, tree, tables, cut, forks, desk, block)
                    else:
                        settle_block(
                            task,
                            tree,
                            tables,
                            walk,
                            cut,
                            forks,
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
        once = samples_others and np.int64(task.job[BATCH]) == 1
        end_call(tree, tables, walk, cut, desk, once)
        return desk[STATUS_NOW]

    return iterate


@pasted
def prefetch_policies(nodes: np.ndarray, tables: Tables, at: Visit) -> None:
    """Asks for the policies at all children of a node, which all will be visited: the
    thread that has moved them may have been another one."""
    for child in range(at.first, at.first + at.num_moves):
        if nodes[child]["player"] >= 0:
            prefetch(tables.policy, nodes[child]["start"])


@inlined
def clear(counts: np.ndarray) -> None:
    """Sets the counts of a row to 0."""
    for k in range(NUM_COUNTS):
        counts[k] = 0


@inlined
def begin_call(
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    cut: Cut,
    forks: Forks,
    desk: np.ndarray,
) -> None:
    """Takes over from one thread, see `take_over`."""
    take_over(tree, walk, cut, desk)
    for visit in range(desk[NUM_TOP]):
        infoset = cut.top[visit]
        if infoset < 0:
            tables.is_met[~infoset] = LISTED
        else:
            tables.is_met[infoset] = 1
    for block in range(len(cut.num_met)):
        begin = cut.ends[block]
        for visit in range(begin, begin + cut.num_met[block]):
            if tables.is_met[cut.met[visit]] == 0:
                tables.is_met[cut.met[visit]] = 1
        keep_block(tree.infosets, tables, cut, forks, block)


@inlined
def end_call(
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    cut: Cut,
    desk: np.ndarray,
    once: bool,
) -> None:
    """Hands over to one thread, see `hand_over`.

    The loop of `walks.py` has the marks of `Tables.is_met` only if it meets an infoset
    more than once.
    """
    hand_over(tree, walk, cut, desk)
    for visit in range(walk.cursor[NUM_MET]):
        tables.is_met[walk.met[visit]] = 0 if once else 1


@inlined
def settle_block(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    cut: Cut,
    forks: Forks,
    desk: np.ndarray,
    block: Any,
    rule: int,
    discounts: bool,
) -> None:
    """Pays the debts of a block, and moves the policies there if it is time."""
    infosets = tree.infosets
    pay_block(infosets, tables, cut, block, len(infosets) > LARGE)
    if desk[MOVES] == 0:
        keep_block(infosets, tables, cut, forks, block)
        return
    move_block(task, tree, tables, walk, cut, block, rule, discounts)


@inlined
def direct(
    task: Task,
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    cut: Cut,
    forks: Forks,
    desk: np.ndarray,
    rule: int,
    discounts: bool,
) -> None:
    """What the leader does when all tickets are finished: it ends the stage, and
    opens the tickets of the next one, or closes the desk."""
    limits = task.job.view(np.int64)
    alternating = limits[ALTERNATING] != 0
    player, num_players = desk[PLAYER_NOW], tree.utilities.shape[1]
    blocks = desk[BLOCKS_OF_TICKET]
    if desk[STAGE] == IN_TOP:
        status = status_of_rows(forks, 0, num_tickets(desk))
        if status != DONE:
            finish(desk, status)
            return
        begin, end = cut.player_ends[player], cut.player_ends[player + 1]
        desk[FIRST_BLOCK], desk[END_BLOCK], desk[STAGE] = begin, end, IN_BLOCKS
        open_lanes(desk, LANES, (end - begin + blocks - 1) // blocks)
        return
    if desk[STAGE] == IN_BLOCKS:
        begin, end = desk[FIRST_BLOCK], desk[END_BLOCK]
        status = status_of_rows(forks, NUM_SLOTS + begin, NUM_SLOTS + end)
        if status != DONE:
            for block in range(begin, end):
                roll_back(tree.infosets, tables, cut, forks, block)
            finish(desk, status)
            return
        desk[TOUCHED_NOW] += touched_in_rows(forks, NUM_SLOTS + begin, NUM_SLOTS + end)
        add_top(tree, tables, cut, forks, desk, num_tickets(desk))
        is_last = alternating or player == num_players - 1
        batch = batch_at(limits[BATCH], desk[ITERATION_NOW])
        desk[MOVES], desk[STAGE] = is_last and desk[SEGMENT_END] == batch, SETTLING
        if desk[MOVES] != 0 and not alternating:
            desk[FIRST_BLOCK] = begin = 0
        open_lanes(desk, LANES, (end - begin + blocks - 1) // blocks)
        return
    if desk[STAGE] == SETTLING:
        if desk[MOVES] != 0:
            move_top(task, tree, tables, walk, cut, desk, rule, discounts)
        desk[NTH_NOW] = desk[SEGMENT_END]
        if desk[NTH_NOW] == batch_at(limits[BATCH], desk[ITERATION_NOW]):
            desk[NTH_NOW] = desk[IS_BEGUN] = 0
            desk[PLAYER_NOW] = player = (player + 1) % num_players
        elif desk[TOUCHED_NOW] >= limits[PAUSE_LIMIT]:
            finish(desk, PAUSED)
            return
    if desk[IS_BEGUN] == 0:
        if player == 0:
            is_end = desk[ITERATION_NOW] == limits[LAST_ITERATION]
            if is_end or desk[TOUCHED_NOW] >= limits[NODE_LIMIT]:
                finish(desk, DONE)
                return
            desk[ITERATION_NOW] += 1
            iteration = desk[ITERATION_NOW]
            begin_iteration(task, walk.clock, iteration, rule, discounts)
        is_batch = limits[BATCH] != 1
        enter_average(
            tables, walk, player, limits[BATCH], desk[ITERATION_NOW], is_batch
        )
        desk[IS_BEGUN] = 1
    left = batch_at(limits[BATCH], desk[ITERATION_NOW]) - desk[NTH_NOW]
    num_walks = min(left, NUM_SLOTS * desk[WALKS_OF_TICKET])
    desk[SEGMENT_END] = desk[NTH_NOW] + num_walks
    desk[STAGE] = IN_TOP
    open_lanes(desk, LANES, num_tickets(desk))
