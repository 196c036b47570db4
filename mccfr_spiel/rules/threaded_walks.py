"""Batches of walks over compiled rules by several threads, with the bits of one.

While threads walk, nothing that they share changes: the tables, the infosets, the keys.
A walk writes into a log what the loop of `walks.py` would do at once: which infosets of
the player it visits, and the sequence and the payoff of each leaf. An infoset that
nobody has met before goes into a small store that belongs to the log. There it has a
number from `APART` on, and so have its sequences, so that a number tells which store it
is of. Its policy is the one with which the rule starts.

Afterwards one thread, the leader, reads the logs in the order of the walks. It adds the
new infosets, which get the numbers that one thread would have given them, meets those
of the player, and adds up the leaves. So every sum has the same terms in the same order
as in one thread.

A batch is walked in one or several segments, of at most as many tickets as there are
logs. A walk that cannot go on ends the segment before it: what comes behind it is
thrown away, and the loop of `walks.py` goes on from there. That one makes room or says
what is wrong, just as it would have done without threads.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

import contextlib
import functools
from typing import Annotated, Any, NamedTuple

import numpy as np
from numba.core import types

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.compiled.atomics import FAILED, FINISHED, add_one, is_over, load
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import IS_COMPILED, inlined, jit, made_with
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
    BEFORE,
    IS_BEGUN,
    ITERATION_NOW,
    LEAF,
    NTH_NOW,
    NUM_COUNTS,
    NUM_TOP,
    PLAYER_NOW,
    SEGMENT_END,
    STAGE,
    STATUS_NOW,
    TOUCHED_NOW,
    WALKING,
    WALKS_OF_TICKET,
    Stack,
)
from mccfr_spiel.kernels.batches import batch_at, walk_number
from mccfr_spiel.kernels.forks import LANES
from mccfr_spiel.kernels.logged_walks import begin_player, finish, move, num_tickets
from mccfr_spiel.kernels.minimizers import number_of, rule_of
from mccfr_spiel.kernels.own_rules import function_of
from mccfr_spiel.kernels.sampling import draw_action, draw_chance, draw_explored
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
    EPSILON,
    GROW,
    INT,
    ITERATION,
    LAST_ITERATION,
    LOG_FULL,
    LONG,
    NEEDS_ONE_THREAD,
    NODE_LIMIT,
    NODES_TOUCHED,
    NODES_TOUCHED_BEFORE,
    NUM_MET,
    NUM_MET_BEFORE,
    NUM_UNDO,
    PAUSE_LIMIT,
    PAUSED,
    PLAYER,
    SEED,
    STACK_FULL,
    THREAD_FAILED,
    TOP,
    WALK,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.walks import LARGE, MAX_WEIGHT, Sampled, meet
from mccfr_spiel.rules.kernel import (
    BAD_KEY,
    INFOSETS,
    SEQUENCES,
    check_infoset,
)
from mccfr_spiel.rules.key_table import ask_for_slot, find_key, forget_keys, likely_row
from mccfr_spiel.rules.places import UNKNOWN
from mccfr_spiel.rules.walks import (
    BROKEN,
    LEVEL,
    Game,
    Known,
    Path,
    end_game,
    find_infoset,
    free_level,
    go_to,
    key_of,
    list_moves,
    list_outcomes,
    move_on,
    place_at,
    save,
    spelled_place,
    stacked,
    start_new,
    views,
    who_acts,
)

APART = 2**30
"""Infosets and sequences of a log's own store have numbers from here on."""

WALK_END = np.dtype(
    [
        ("touched", np.int64),
        ("event", np.int32),
        ("leaf", np.int32),
        ("infoset", np.int32),
        ("sequence", np.int32),
    ]
)
"""Where a walk of a log ends: the nodes that it touched, the end of its visits, of its
leaves, and of the infosets and the sequences of the log's own store by then."""

SPELLED = np.dtype([("place", np.uint64), ("infoset", np.int64)])
"""A shared infoset whose place was not known, and the place."""

STATUS, NUM_WALKS, NUM_PLACES = range(3)
"""The counts of a log: DONE or why the next walk was not made, the walks in it, and the
places in it."""

_FAR, _NEAR = 16, 8
"""An infoset's record is asked for when so many others are to be read before it, and
the tables when so many are."""


class RuleLogs(NamedTuple):
    """What tickets write. Of the `Q` logs each has room for `C` entries of a kind; its
    own store for `I` infosets and `S` sequences."""

    event: Annotated[np.ndarray, Entry(INT, "[Q C]", "the player's infosets visited")]
    leaf: Annotated[np.ndarray, Entry(LEAF, "[Q C]", "see `batch_logs.LEAF`")]
    place: Annotated[np.ndarray, Entry(SPELLED, "[Q C]", "see SPELLED")]
    end: Annotated[np.ndarray, Entry(WALK_END, "[Q C]", "see WALK_END")]
    shared_infoset: Annotated[
        np.ndarray,
        Entry(INT, "[Q I]", "the number of an own infoset once it is shared"),
    ]
    shared_sequence: Annotated[
        np.ndarray, Entry(INT, "[Q S]", "the same for own sequences")
    ]
    counts: Annotated[np.ndarray, Entry(LONG, "[Q NUM_COUNTS]", "see STATUS")]


class Frames(NamedTuple):
    """Frames of `walks.frame_of`, of `F` numbers each.

    Compiled code counts references to arrays that it is handed, but not to arrays that
    it finds in a frame.
    """

    shared: Annotated[np.ndarray, Entry(LONG, "[F]", "the solver's")]
    own: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[Q, F]",
            "each with a log's store; those of threads have stacks and paths, too",
        ),
    ]


_LAYOUT = Layout(RuleLogs, Frames)

frame_of_logs = _LAYOUT.frame_of
_log_views = _LAYOUT.viewer()


class Shared(NamedTuple):
    """What walks read of the infosets that all know, and of the solver's tables."""

    infosets: np.ndarray
    policy: np.ndarray
    known: Known


class Own(NamedTuple):
    """The same of a log's own store; `tree` is also what a walk knows of one node, and
    `started` is `Walk.known`."""

    tree: TreeArrays
    policy: np.ndarray
    known: Known
    started: np.ndarray


class Policies(NamedTuple):
    """What `push_weighted_children` reads of `Tables`."""

    policy: np.ndarray


@inlined
def own_in(frame: np.ndarray) -> Own:
    """The own store in the frame of a log."""
    return Own(
        views(frame, TreeArrays),
        views(frame, Tables).policy,
        views(frame, Known),
        views(frame, Walk).known,
    )


@inlined
def log_of(logs: RuleLogs, slot: Any) -> RuleLogs:
    """One of the logs."""
    num_logs = len(logs.counts) // NUM_COUNTS
    room = len(logs.leaf) // num_logs
    infosets = len(logs.shared_infoset) // num_logs
    sequences = len(logs.shared_sequence) // num_logs
    return RuleLogs(
        logs.event[slot * room : (slot + 1) * room],
        logs.leaf[slot * room : (slot + 1) * room],
        logs.place[slot * room : (slot + 1) * room],
        logs.end[slot * room : (slot + 1) * room],
        logs.shared_infoset[slot * infosets : (slot + 1) * infosets],
        logs.shared_sequence[slot * sequences : (slot + 1) * sequences],
        logs.counts[slot * NUM_COUNTS : (slot + 1) * NUM_COUNTS],
    )


@inlined
def empty(own: Own, counts: np.ndarray) -> None:
    """Empties a log and its store."""
    for k in range(NUM_COUNTS):
        counts[k] = 0
    forget_keys(own.known.table, own.known.rows, own.known.counts[INFOSETS])
    own.known.counts[INFOSETS] = own.known.counts[SEQUENCES] = own.started[0] = 0


# --- the walks -----------------------------------------------------------------------


@inlined
def arrive_apart(
    rules: Any,
    game: Game,
    path: Path,
    shared: Shared,
    own: Own,
    acting: int,
    free: int,
    is_far: bool,
) -> tuple[int, int, int]:
    """As `walks.arrive`; an infoset that is not shared is found in the own store, or
    added there, and has a number from APART on.

    Nearly always the first slot tells the infoset. Then all that will be read of it, in
    turn, is asked for at once if it is likely to be far, in memory.
    """
    length, hashed = np.int64(0), ROOT_PLACE
    if 0 <= acting < len(path.last):
        length, hashed = key_of(rules, game, path, shared.known, acting)
    count = list_moves(rules, game, path, acting)
    if count < 0:
        return BROKEN - 1 - count, count, -1
    if count > free:
        return STACK_FULL, count, -1
    if acting == CHANCE_NODE:
        return list_outcomes(rules, game, path, own.tree, count), count, -1
    if length == 0:
        return BROKEN + BAD_KEY, count, -1
    known = shared.known
    likely = likely_row(known.table, hashed) if is_far else np.int64(-1)
    if likely >= 0:
        prefetch(known.rows, likely)
        first = shared.infosets[likely]["first_sequence"]
        prefetch(known.values, known.rows[likely]["start"])
        prefetch(known.actions, first)
        prefetch(shared.policy, first)
    infoset = find_key(known.values, known.rows, known.table, hashed, path.key, length)
    if infoset >= 0:
        status = check_infoset(
            shared.infosets,
            known.actions,
            infoset,
            path.last[acting],
            path.moves,
            count,
        )
        return status + (BROKEN if status != DONE else 0), count, infoset
    status, infoset = find_infoset(
        rules, game, path, own.tree, own.known, acting, count, length, hashed
    )
    return status, count, infoset + APART


@inlined
def place_apart(
    rules: Any,
    game: Game,
    path: Path,
    shared: Shared,
    own: Own,
    log: RuleLogs,
    infoset: int,
) -> Any:
    """As `walks.place_at`. The place of a shared infoset that is spelled here goes into
    the log, as far as there is room."""
    if infoset >= APART:
        return place_at(rules, game, path, own.tree, own.known, infoset - APART)
    place = shared.infosets[infoset]["place"]
    if place == UNKNOWN and len(path.text) > 0:
        place = spelled_place(rules, game, path, shared.known, infoset)
        noted = log.counts[NUM_PLACES]
        if noted < len(log.place):
            log.place[noted]["place"] = place
            log.place[noted]["infoset"] = infoset
            log.counts[NUM_PLACES] = noted + 1
    return place


def make_start_own(rule: int) -> Any:
    """Compiles `start_own(frame, own_frame)`, which starts the tables of the infosets
    that a log's own store has gained."""

    @jit
    def start_own(frame, own_frame):
        tree, tables = views(own_frame, TreeArrays), views(own_frame, Tables)
        known, walk = views(own_frame, Known), views(own_frame, Walk)
        start_new(tree, known, tables, walk, rule, views(frame, Task))

    return start_own


def make_logged_walk(sampled: Sampled, rule: int) -> Any:
    """Compiles a walk over rules that is logged."""
    start_own = make_start_own(rule)
    chance, opponents, player_sampling, prune, *_ = sampled
    player_sampled = player_sampling != "all"
    draws_own, weighted = sampled.draws_own, sampled.is_weighted

    @inlined
    def walk_once(
        task, shared, own, stack, game, path, log, rules, stream, player, frames
    ):
        """Makes a walk and logs it, or sets the status of the log."""
        counts, nth = log.counts, log.counts[NUM_WALKS]
        num_events, num_leaves, touched = np.int64(0), np.int64(0), np.int64(0)
        if nth > 0:
            num_events = np.int64(log.end[nth - 1]["event"])
            num_leaves = np.int64(log.end[nth - 1]["leaf"])
        capacity, room = len(stack.node), len(log.leaf)
        is_far = shared.known.counts[INFOSETS] > LARGE
        utilities, position = own.tree.utilities, path.position
        top = push(stack, 0, 0, player, 1.0, ROOT_PLACE)
        # The two loops are those of `walks.make_rule_loop`.
        while top > 0:
            top -= 1
            go_to(rules, game, path, stack.node[top])
            sequence: Any = np.int64(stack.sequence[top])
            weight = stack.weight[top] if weighted else 1.0
            place = stack.place[top] if chance else ROOT_PLACE
            while True:
                acting: Any = np.int64(who_acts(rules, game, path))
                if max(num_events, num_leaves) == room:
                    counts[STATUS] = LOG_FULL
                    return
                if acting == TERMINAL:
                    status = end_game(rules, game, path, utilities)
                    payoff = weight * utilities[0, player]
                    # not <=: an infinite weight times 0 is NaN.
                    is_likely = not player_sampled or abs(payoff) <= MAX_WEIGHT
                    if status != DONE or not is_likely:
                        counts[STATUS] = NEEDS_ONE_THREAD
                        return
                    log.leaf[num_leaves]["payoff"] = payoff
                    log.leaf[num_leaves]["sequence"] = sequence
                    touched, num_leaves = touched + 1, num_leaves + 1
                    break
                status, count, infoset = arrive_apart(
                    rules, game, path, shared, own, acting, capacity - top - 1, is_far
                )
                if status != DONE:
                    is_full = status in (GROW, STACK_FULL)
                    counts[STATUS] = LOG_FULL if is_full else NEEDS_ONE_THREAD
                    return
                policy = shared.policy
                start: Any = np.int64(0)
                begin: Any = start
                if infoset >= APART:
                    if own.known.counts[INFOSETS] > own.started[0]:
                        start_own(frames[0], frames[1])
                    record = own.tree.infosets[infoset - APART]
                    policy = own.policy
                    begin = np.int64(record["first_sequence"])
                    start = begin + APART
                elif infoset >= 0:
                    record = shared.infosets[infoset]
                    start = begin = np.int64(record["first_sequence"])
                touched, chosen = touched + 1, 0
                level = free_level(path)
                first = stacked(level) + 1
                at = Visit(first, start, count, sequence, weight, place)
                if acting == player:
                    log.event[num_events] = infoset
                    num_events += 1
                    if draws_own:
                        draw = uniform(
                            stream,
                            place_apart(rules, game, path, shared, own, log, infoset),
                        )
                        epsilon = task.settings[EPSILON]
                        chosen, q = draw_explored(policy, begin, count, epsilon, draw)
                        weight /= q
                    elif count > 1:
                        save(path, level, acting, start, count)
                        position[LEVEL] = level
                        top = push_other_children(stack, top, at, weighted, chance)
                    sequence = start + chosen
                elif acting != CHANCE_NODE and opponents:
                    draw = uniform(
                        stream,
                        place_apart(rules, game, path, shared, own, log, infoset),
                    )
                    chosen = draw_action(policy, begin, count, draw)
                elif acting == CHANCE_NODE and chance:
                    draw = uniform(stream, place)
                    chosen = draw_chance(own.tree.chance_cdf, 0, count, draw)
                else:
                    save(path, level, acting, start, count)
                    at = Visit(first, begin, count, sequence, weight, place)
                    top = push_weighted_children(
                        own.tree,
                        Policies(policy),
                        stack,
                        top,
                        at,
                        acting,
                        prune,
                        chance,
                    )
                    break
                if acting >= 0:
                    path.last[acting] = start + chosen
                move_on(rules, game, path, path.moves[chosen])
                place = child_place(place, chosen) if chance else place
        log.end[nth]["touched"] = touched
        log.end[nth]["event"], log.end[nth]["leaf"] = num_events, num_leaves
        log.end[nth]["infoset"] = own.known.counts[INFOSETS]
        log.end[nth]["sequence"] = own.known.counts[SEQUENCES]
        counts[NUM_WALKS] = nth + 1

    return walk_once


# --- what they found -----------------------------------------------------------------


@inlined
def shared_number(numbers: np.ndarray, number: Any) -> Any:
    """The number of an infoset or a sequence in the shared store."""
    return np.int64(numbers[number - APART] if number >= APART else number)


@inlined
def add_new(
    rules: Any,
    game: Game,
    path: Path,
    tree: TreeArrays,
    known: Known,
    own: Own,
    log: RuleLogs,
    begin: Any,
    end: Any,
) -> int:
    """Adds infosets of a log's own store to the shared one, unless they are there.

    Args:
        rules, game, path: of the leader; the path's buffers are written to.
        tree, known: the shared infosets, which become more.
        own: the store of the log.
        log: which learns the shared numbers.
        begin, end: the first of the infosets, and the end of them.

    Returns:
        DONE, or the status of the walk that would have added the infoset.
    """
    for number in range(begin, min(begin + _NEAR, end)):
        ask_for_slot(known.table, own.known.rows[number]["hash"])
    for number in range(begin, end):
        if number + _NEAR < end:
            hashed = own.known.rows[number + _NEAR]["hash"]
            ask_for_slot(known.table, hashed)
        record, row = own.tree.infosets[number], own.known.rows[number]
        start = row["start"]
        length = own.known.rows[number + 1]["start"] - start
        for k in range(length):
            path.key[k] = own.known.values[start + k]
        acting, first = np.int64(record["player"]), np.int64(record["first_sequence"])
        count = np.int64(record["num_actions"])
        for k in range(count):
            path.moves[k] = own.known.actions[first + k]
        path.last[acting] = shared_number(log.shared_sequence, record["parent"])
        status, infoset = find_infoset(
            rules,
            game,
            path,
            tree,
            known,
            acting,
            count,
            length,
            row["hash"],
        )
        if status != DONE:
            return status
        log.shared_infoset[number] = infoset
        begin_there = tree.infosets[infoset]["first_sequence"]
        for k in range(count):
            log.shared_sequence[first + k] = begin_there + k
        if tree.infosets[infoset]["place"] == UNKNOWN:
            tree.infosets[infoset]["place"] = record["place"]
    return DONE


@inlined
def ask_for(tables: Tables, infosets: np.ndarray, infoset: Any) -> None:
    """Asks for what a meeting, and later the update, will read of an infoset."""
    start = infosets[infoset]["first_sequence"]
    prefetch(tables.average, start)
    prefetch(tables.policy, start)
    prefetch(tables.gradient, start)
    prefetch(tables.paid, infoset)
    prefetch(tables.is_met, infoset)


@inlined
def ask_for_first(
    infosets: np.ndarray, tables: Tables, log: RuleLogs, last_event: Any, last_leaf: Any
) -> None:
    """Asks for what the first entries of a log will read, all at once."""
    for visit in range(min(_FAR, last_event)):
        if log.event[visit] < APART:
            prefetch(infosets, log.event[visit])
    for leaf in range(min(_FAR, last_leaf)):
        if log.leaf[leaf]["sequence"] < APART:
            prefetch(tables.gradient, log.leaf[leaf]["sequence"])
    for visit in range(min(_NEAR, last_event)):
        if log.event[visit] < APART:
            ask_for(tables, infosets, log.event[visit])


@inlined
def meet_visited(
    infosets: np.ndarray,
    tables: Tables,
    walk: Walk,
    log: RuleLogs,
    begin: Any,
    end: Any,
    last: Any,
    num_met: Any,
) -> Any:
    """Meets the infosets that a walk visited.

    Args:
        infosets, tables, walk: of the solver.
        log: of the walk.
        begin, end: the walk's part of `log.event`.
        last: how far to look ahead there; 0 for infosets that are likely to be in the
            processor's caches.
        num_met: how long the list of those met is.

    Returns:
        How long it is now.
    """
    for visit in range(begin, end):
        if visit + _FAR < last and log.event[visit + _FAR] < APART:
            prefetch(infosets, log.event[visit + _FAR])
        if visit + _NEAR < last and log.event[visit + _NEAR] < APART:
            ask_for(tables, infosets, log.event[visit + _NEAR])
        infoset = shared_number(log.shared_infoset, log.event[visit])
        record = infosets[infoset]
        start: Any = np.int64(record["first_sequence"])
        count: Any = np.int64(record["num_actions"])
        parent: Any = np.int64(record["parent"])
        at = Visit(0, start, count, parent, 1.0, ROOT_PLACE)
        num_met = meet(tables, walk, num_met, infoset, at, False, False)
    return num_met


@inlined
def add_leaves(
    gradient: np.ndarray, log: RuleLogs, begin: Any, end: Any, last: Any
) -> None:
    """Adds the payoffs of a walk's leaves to the gradient, in their order; looks ahead
    as `meet_visited` does."""
    for leaf in range(begin, end):
        if leaf + _FAR < last and log.leaf[leaf + _FAR]["sequence"] < APART:
            prefetch(gradient, log.leaf[leaf + _FAR]["sequence"])
        sequence = shared_number(log.shared_sequence, log.leaf[leaf]["sequence"])
        gradient[sequence] += log.leaf[leaf]["payoff"]


def make_read_log(rule: int) -> Any:
    """Compiles what reads a log."""

    @jit
    def read_log(frame, own_frame, log, rules, desk):
        """Does what the walks of a log found, walk by walk.

        Returns:
            DONE, or why the walk with which the desk goes on could not be made.
        """
        task, game, path = views(frame, Task), views(frame, Game), views(frame, Path)
        tree, known = views(frame, TreeArrays), views(frame, Known)
        tables, walk = views(frame, Tables), views(frame, Walk)
        own = own_in(own_frame)
        for k in range(log.counts[NUM_PLACES]):
            tree.infosets[log.place[k]["infoset"]]["place"] = log.place[k]["place"]
        event, leaf, infoset = np.int64(0), np.int64(0), np.int64(0)
        num_walks, last_event, last_leaf = log.counts[NUM_WALKS], event, leaf
        if known.counts[INFOSETS] > LARGE and num_walks > 0:
            last_event = np.int64(log.end[num_walks - 1]["event"])
            last_leaf = np.int64(log.end[num_walks - 1]["leaf"])
        ask_for_first(tree.infosets, tables, log, last_event, last_leaf)
        for nth in range(num_walks):
            record = log.end[nth]
            end = np.int64(record["infoset"])
            if infoset < end:
                status = add_new(rules, game, path, tree, known, own, log, infoset, end)
                start_new(tree, known, tables, walk, rule, task)
                if status != DONE:
                    return np.int64(NEEDS_ONE_THREAD)
            infoset, end = end, np.int64(record["event"])
            desk[NUM_TOP] = meet_visited(
                tree.infosets, tables, walk, log, event, end, last_event, desk[NUM_TOP]
            )
            event, end = end, np.int64(record["leaf"])
            add_leaves(tables.gradient, log, leaf, end, last_leaf)
            leaf = end
            desk[TOUCHED_NOW] += record["touched"]
            desk[NTH_NOW] += 1
        return log.counts[STATUS]

    return read_log


def make_move_visited(rule: int) -> Any:
    """Compiles what moves the policies."""
    discounts = rule_of(rule).discounts

    @inlined
    def move_all(task, tree, tables, walk, num_met, is_far):
        infosets, met = tree.infosets, walk.met
        for visit in range(num_met - 1, -1, -1):
            if is_far:
                if visit >= _FAR:
                    prefetch(infosets, met[visit - _FAR])
                if visit >= _NEAR:
                    ask_for(tables, infosets, met[visit - _NEAR])
                    start = infosets[met[visit - _NEAR]]["first_sequence"]
                    prefetch(tables.memory, start)
            infoset = met[visit]
            parent = infosets[infoset]["parent"]
            move(task, tree, tables, walk, infoset, parent, rule, discounts)

    @jit
    def move_visited(frame, desk):
        """Moves the policies at the infosets met, and clears the gradient."""
        tree, tables = views(frame, TreeArrays), views(frame, Tables)
        is_far = views(frame, Known).counts[INFOSETS] > LARGE
        task, walk = views(frame, Task), views(frame, Walk)
        move_all(task, tree, tables, walk, desk[NUM_TOP], is_far)
        for player in range(tree.utilities.shape[1]):
            tables.gradient[player] = 0.0
        desk[NUM_TOP] = 0

    return move_visited


# --- the loop ------------------------------------------------------------------------


@inlined
def begin_call(walk: Walk, desk: np.ndarray) -> None:
    """Reads the cursor, which stands between two walks."""
    cursor = walk.cursor
    desk[STAGE] = BEFORE
    desk[ITERATION_NOW], desk[PLAYER_NOW] = cursor[ITERATION], cursor[PLAYER]
    desk[TOUCHED_NOW], desk[NTH_NOW] = cursor[NODES_TOUCHED], cursor[WALK]
    desk[NUM_TOP], desk[IS_BEGUN] = cursor[NUM_MET], cursor[TOP]


@inlined
def end_call(walk: Walk, desk: np.ndarray) -> None:
    """Writes the cursor, so that the loop of `walks.py` can go on."""
    cursor = walk.cursor
    cursor[ITERATION], cursor[PLAYER] = desk[ITERATION_NOW], desk[PLAYER_NOW]
    cursor[NODES_TOUCHED], cursor[WALK] = desk[TOUCHED_NOW], desk[NTH_NOW]
    cursor[NUM_MET] = cursor[NUM_MET_BEFORE] = desk[NUM_TOP]
    cursor[NODES_TOUCHED_BEFORE] = desk[TOUCHED_NOW]
    cursor[TOP] = cursor[NUM_UNDO] = 0
    if desk[IS_BEGUN] != 0:
        cursor[TOP] = push(walk, 0, 0, desk[PLAYER_NOW], 1.0, ROOT_PLACE)


def make_walk_ticket(sampled: Sampled, rule: int) -> Any:
    """Compiles what makes the walks of a ticket."""
    walk_once = make_logged_walk(sampled, rule)

    @jit
    def walk_ticket(frame, thread_frame, own_frame, log, rules, desk, slot):
        task, game = views(frame, Task), views(frame, Game)
        shared = Shared(
            views(frame, TreeArrays).infosets,
            views(frame, Tables).policy,
            views(frame, Known),
        )
        path, walk = views(thread_frame, Path), views(thread_frame, Walk)
        stack = Stack(walk.node, walk.sequence, walk.weight, walk.place)
        own = own_in(own_frame)
        empty(own, log.counts)
        walks, player = desk[WALKS_OF_TICKET], desk[PLAYER_NOW]
        first, num_players = desk[NTH_NOW] + slot * walks, len(path.last)
        given = np.int64(task.job[BATCH])
        for nth in range(first, min(first + walks, desk[SEGMENT_END])):
            number = walk_number(given, desk[ITERATION_NOW], nth)
            stream = stream_key(task.job[SEED], number, player, num_players)
            walk_once(
                task,
                shared,
                own,
                stack,
                game,
                path,
                log,
                rules,
                stream,
                player,
                (frame, own_frame),
            )
            if log.counts[STATUS] != DONE:
                break

    return walk_ticket


def make_threaded_rule_walks(sampled: Sampled, rule: int) -> Any:
    """Compiles `iterate(frame, rules, walks, threads, desk, leads)`.

    See `make_rules_in_threads`. Its parts are functions of their own, since a function
    with all of them in it takes several times as long to compile.
    """
    walk_ticket, read_log = make_walk_ticket(sampled, rule), make_read_log(rule)
    move_visited = make_move_visited(rule)
    discounts = rule_of(rule).discounts

    @inlined
    def direct(frame, frames, logs, rules, desk):
        """What the leader does when all tickets are finished: it reads the logs, moves
        the policies if the batch is complete, and opens the tickets of the next
        segment, or closes the desk."""
        task, walk = views(frame, Task), views(frame, Walk)
        limits, num_players = task.job.view(np.int64), len(views(frame, Path).last)
        if desk[STAGE] == WALKING:
            for slot in range(num_tickets(desk)):
                log = log_of(logs, slot)
                status = read_log(frame, frames[slot], log, rules, desk)
                if status != DONE:
                    finish(desk, status)
                    return
            player = desk[PLAYER_NOW]
            if desk[NTH_NOW] == batch_at(limits[BATCH], desk[ITERATION_NOW]):
                if limits[ALTERNATING] != 0 or player == num_players - 1:
                    move_visited(frame, desk)
                desk[NTH_NOW] = desk[IS_BEGUN] = 0
                desk[PLAYER_NOW] = (player + 1) % num_players
            elif desk[TOUCHED_NOW] >= limits[PAUSE_LIMIT]:
                finish(desk, PAUSED)
                return
        if desk[IS_BEGUN] == 0:
            is_end = desk[ITERATION_NOW] == limits[LAST_ITERATION]
            is_end = is_end or desk[TOUCHED_NOW] >= limits[NODE_LIMIT]
            if desk[PLAYER_NOW] == 0 and is_end:
                finish(desk, DONE)
                return
            begin_player(task, views(frame, Tables), walk, desk, rule, discounts)
        left = batch_at(limits[BATCH], desk[ITERATION_NOW]) - desk[NTH_NOW]
        num_walks = min(left, len(frames) * desk[WALKS_OF_TICKET])
        desk[SEGMENT_END] = desk[NTH_NOW] + num_walks
        desk[STAGE] = WALKING
        open_lanes(desk, LANES, num_tickets(desk))

    @jit(nogil=True)
    def iterate(frame, rules, walks, threads, desk, leads):
        logs, frames = _log_views(frame, RuleLogs), _log_views(frame, Frames).own
        shared = _log_views(frame, Frames).shared
        if leads:
            task, tables = views(shared, Task), views(shared, Tables)
            tree, known = views(shared, TreeArrays), views(shared, Known)
            start_new(tree, known, tables, views(shared, Walk), rule, task)
            desk[WALKS_OF_TICKET] = walks
            desk[LANES + NUM_LANES] = min(threads, MOST_LANES)
            begin_call(views(shared, Walk), desk)
        lane = take_lane(desk, LANES, leads)
        # One pass of this loop makes the walks of a ticket.
        while True:
            slot = next_in_lanes(desk, LANES, lane, leads)
            if slot < 0:
                if not leads or is_over(desk):
                    break
                direct(shared, frames, logs, rules, desk)
                continue
            log = log_of(logs, slot)
            walk_ticket(shared, frames[lane], frames[slot], log, rules, desk, slot)
            add_one(desk, FINISHED)
        if not leads:
            return DONE
        if load(desk, FAILED) != 0:
            return THREAD_FAILED
        end_call(views(shared, Walk), desk)
        return desk[STATUS_NOW]

    return iterate


@functools.cache
def make_rules_in_threads(sampled: Sampled, rule: str, num_rules: int) -> Any:
    """Makes `iterate(frame, rules, walks, threads, desk, leads)`.

    Every thread calls it, see `compiled.teams`. It runs whole iterations until the
    job's limits, from a cursor that stands between two walks on. It returns DONE,
    PAUSED between two walks, and

    - LOG_FULL if the logs must be larger first,
    - NEEDS_ONE_THREAD if the loop of `walks.py` must make the next walk,
    - THREAD_FAILED if another thread failed.

    Its arguments, besides those of each thread, are a frame of RuleLogs and Frames, the
    rules, how many walks a ticket has, and how many threads there are, at most Q.

    Args:
        sampled: what a walk samples; such that `kernels.can_be_shared`.
        rule: as in `walks.make_rule_iterate`; a user's own rule must be compiled.
        num_rules: the length of `RuleStore.called`.
    """
    own = function_of(rule)
    with contextlib.nullcontext() if own is None else made_with(own):
        made = make_threaded_rule_walks(sampled, number_of(rule))
    if IS_COMPILED:
        array, number = types.int64[::1], types.int64
        made.compile(
            (
                array,
                types.UniTuple(number, num_rules),
                number,
                number,
                array,
                types.boolean,
            )
        )
    return made
