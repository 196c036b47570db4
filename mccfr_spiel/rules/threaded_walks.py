"""Batches of walks over compiled rules by several threads, with the bits of one.

While threads walk, nothing that they share changes: the tables, the infosets, the keys.
They write into logs (walk_logs.py) what the loop of `walks.py` would do at once
(logged_walks.py). Afterwards one thread, the leader, reads the logs in the order of the
walks (log_reading.py). New infosets get the numbers that one thread would have given
them, and every sum has the same terms in the same order as in one thread.

A batch is walked in one or several segments, of at most as many tickets as there are
logs. A walk that cannot go on ends the segment before it: what comes behind it is
thrown away, and the loop of `walks.py` goes on from there. That one makes room or says
what is wrong, just as it would have done without threads.
"""

import contextlib
import functools
from typing import Annotated, Any, NamedTuple

import numpy as np
from numba.core import types

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
from mccfr_spiel.compiled.randomness import ROOT_PLACE, stream_key
from mccfr_spiel.kernels.batch_logs import (
    BEFORE,
    IS_BEGUN,
    ITERATION_NOW,
    NTH_NOW,
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
from mccfr_spiel.kernels.logged_walks import begin_player, finish, num_tickets
from mccfr_spiel.kernels.minimizers import number_of, rule_of
from mccfr_spiel.kernels.own_rules import function_of
from mccfr_spiel.kernels.stack import push
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    BATCH,
    DONE,
    ITERATION,
    LAST_ITERATION,
    LONG,
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
    THREAD_FAILED,
    TOP,
    WALK,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.walks import Sampled
from mccfr_spiel.rules.calls import NUM_CALLED
from mccfr_spiel.rules.log_reading import make_move_visited, make_read_log
from mccfr_spiel.rules.logged_walks import Shared, make_logged_walk
from mccfr_spiel.rules.walk_logs import STATUS, RuleLogs, empty, log_of, own_in
from mccfr_spiel.rules.walks import Game, Known, Path, start_new, views


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
def make_rules_in_threads(sampled: Sampled, rule: str) -> Any:
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
    """
    own = function_of(rule)
    with contextlib.nullcontext() if own is None else made_with(own):
        made = make_threaded_rule_walks(sampled, number_of(rule))
    if IS_COMPILED:
        array, number = types.int64[::1], types.int64
        made.compile(
            (
                array,
                types.UniTuple(number, NUM_CALLED),
                number,
                number,
                array,
                types.boolean,
            )
        )
    return made
