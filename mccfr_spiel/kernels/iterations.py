"""The loop over iterations of sampling algorithms: walks, then an update.

If the loop stops during a walk, `Walk.marks` stores the counters of the walks since the
last update, and the stack stores the nodes that the walk must still visit. The next
call continues from there.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import apply, batches, lazy_average
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.baselines import learn, note_heading
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.minimizers import RULES, Rule
from mccfr_spiel.kernels.progress import LARGE, Progress, Trip, no_progress
from mccfr_spiel.kernels.randomness import stream_key
from mccfr_spiel.kernels.selection import poor_regret
from mccfr_spiel.kernels.sobol import root_place
from mccfr_spiel.kernels.source import Source
from mccfr_spiel.kernels.stack import push
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.visits import apply_visits
from mccfr_spiel.kernels.walk import make_walk


@pasted
def debt_at_root(task: layout.Task, walk: layout.Walk) -> float:
    """Returns the debt at the root: what the next update adds at empty sequences.

    This is the increase of the average at the updated player's empty sequence, see
    `apply.weight_of`. The update makes it after the walk, but debts of infosets that
    the walk computes already include it.
    """
    iteration = batches.present_iteration(walk)
    weight = walk.clock[layout.AVERAGE_WEIGHT]
    if walk.cursor[layout.ITERATION] < iteration:  # `begin_update` has not run yet
        weight = lazy_average.average_weight(iteration, task.settings, weight)
    return apply.weight_of(task, weight, iteration)


def make_begin(sampled: Sampled) -> Any:
    """Builds `begin_walk`, which pushes the root for the next walk.

    `begin_walk` returns a status, whether a walk has begun, and the counters. If no
    walk has begun, the status is the reason: DONE at the end of the job, NEEDS_GROUPS
    before a batch that must be walked in groups, STACK_FULL if the array of notes is
    full.
    """
    batched, learns = sampled.batched, sampled.learns
    root = root_place(sampled.correlates)

    @inlined
    def begin_walk(task, walk, num_players, progress):
        marks, walker = walk.marks, walk.marks[layout.WALKER]
        height, num_met, num_touched, num_notes, _, _ = progress
        if marks[layout.WALK] == 0 and walker == walk.cursor[layout.PLAYER]:
            if apply.is_at_end(task, walk):
                return np.int64(layout.DONE), False, progress
            if batched and batches.walks_of_group(task, walk, num_players) > 0:
                return np.int64(layout.NEEDS_GROUPS), False, progress
        # Requires room for the heading and the first notes. `room_for_moves` checks the
        # room for other notes.
        if learns and num_notes + 4 > len(walk.note):
            return np.int64(layout.STACK_FULL), False, progress
        # The counters before the walk, for `begin_again`.
        marks[layout.NUM_MET_BEFORE] = num_met
        marks[layout.TOUCHED_BEFORE] = num_touched
        if learns:  # the first note is the heading
            marks[layout.NOTED_BEFORE] = num_notes
            num_notes += 1
        height = push(walk, 0, 0, walker, 1.0, root)
        walk.debt[0] = debt_at_root(task, walk)
        zero = np.int64(0)
        return (
            np.int64(layout.DONE),
            True,
            Progress(height, num_met, num_touched, num_notes, zero, zero),
        )

    return begin_walk


def make_trip(sampled: Sampled) -> Any:
    """Builds `trip_of`, which returns the constants (`Trip`) of the present walk."""
    batched, skips = sampled.batched, sampled.skips

    @inlined
    def trip_of(task, walk, seed, iteration, num_players, is_large):
        job, marks = task.job, walk.marks
        walker, serial = marks[layout.WALKER], iteration
        # The stream of draws is chosen by the number of the iteration, or by the number
        # of the walk among all walks of the player if iterations have several walks.
        if batched:
            before, _ = batches.walks_at(np.int64(job[layout.BATCH]), iteration)
            serial = before + marks[layout.WALK] + 1
        stream = stream_key(seed, serial, walker, num_players)
        poor = poor_regret(stream, task.settings) if skips else -np.inf
        pause = np.int64(job[layout.PAUSE_LIMIT]) - walk.cursor[layout.NODES_TOUCHED]
        passed = marks[layout.PASSED]
        return Trip(walker, serial, stream, poor, passed, pause, is_large)

    return trip_of


def make_update(sampled: Sampled, rule: Rule) -> Any:
    """Builds `update`, which updates average, policies and baselines after the walks.

    "predictive" baselines are updated after the policies, other baselines before the
    policies (Davis, Schmid, Bowling 2020).
    """
    floored = rule is RULES["regret_matching_plus"]
    rates, discounts = rule.rates, rule.discounts
    learns, foresees = sampled.learns, sampled.baseline == "predictive"
    branches, forgets = sampled.branches, sampled.forgets
    move = apply.make_apply(
        rule, met_once=sampled.meets_once, carried=True, skips=sampled.skips
    )

    @inlined
    def update(task, nodes, tables, walk, progress):
        num_met, num_notes = progress.num_met, progress.num_notes
        apply.begin_update(task, tables, walk, rates, discounts)
        if learns and not foresees:
            learn(tables, walk, num_notes, task.settings, branches)
        if forgets:
            apply_visits(nodes, tables, walk, num_met, floored)
        else:
            move(task, nodes, tables, walk, walk.met, 0, num_met, None)
        if foresees:
            learn(tables, walk, num_notes, task.settings, branches)
        walk.marks[layout.TOUCHED] = progress.num_touched
        apply.end_update(task, tables, walk, nodes.utilities.shape[1])

    return update


def make_loop(sampled: Sampled, rule: Rule, source: Source) -> Any:
    """Builds `go_on(task, nodes, tables, walk, size)`, the loop over iterations.

    `size` is the number of nodes of a stored tree, or the number of infosets if nodes
    are not stored. Walks prefetch memory if it exceeds LARGE. `go_on` returns a status.
    """
    begin_walk, trip_of = make_begin(sampled), make_trip(sampled)
    walk_on, update = make_walk(sampled, rule, source), make_update(sampled, rule)
    batched, learns = sampled.batched, sampled.learns

    @inlined
    def go_on(task, nodes, tables, walk, size):
        marks, num_players = walk.marks, nodes.utilities.shape[1]
        zero, status = np.int64(0), np.int64(layout.DONE)
        # The seed is read before the loop, so that the compiler moves the first round
        # of hashing (`stream_key`), which takes several nanoseconds, out of the loop.
        seed = task.job[layout.SEED]
        progress = Progress(
            marks[layout.TOP], marks[layout.NUM_MET], marks[layout.TOUCHED],
            marks[layout.NOTED], zero, zero,
        )  # fmt: skip
        # Each pass of the loop runs a walk, and the update if the walk completes a
        # batch (with simultaneous updates: the batches of all players). If the stack is
        # not empty, a previous call stopped during a walk, and the first pass resumes
        # that walk. The loop ends when no walk may begin or when a walk stops.
        while True:
            iteration = batches.present_iteration(walk)
            if progress.height == 0:
                status, has_begun, progress = begin_walk(
                    task, walk, num_players, progress
                )
                if not has_begun:
                    break
            trip = trip_of(task, walk, seed, iteration, num_players, size > LARGE)
            status, progress = walk_on(task, nodes, tables, walk, None, trip, progress)
            if status != layout.DONE:
                break
            if learns:
                note_heading(walk, trip.player, progress.num_notes)
            if batched:
                marks[layout.WALK] += 1
                if marks[layout.WALK] < batches.present_batch(task, walk):
                    continue
            if apply.is_due(task, walk, num_players):
                update(task, nodes, tables, walk, progress)
                progress = no_progress()
        marks[layout.TOP], marks[layout.NUM_MET] = progress.height, progress.num_met
        marks[layout.TOUCHED] = progress.num_touched
        marks[layout.NOTED] = progress.num_notes
        return status

    return go_on


def begin_again(walk: layout.Walk, *, drops_met: bool) -> None:
    """Restarts a stopped walk at the root, for example after its nodes were dropped.

    The gradient keeps the payoffs added so far. The repeated walk visits the same nodes
    but does not add these payoffs again.

    Args:
        walk: the walk, whose marks and stack change.
        drops_met: True to remove the infosets that the walk has added to `Walk.met`,
            because the repeated walk lists them again. False if `Tables.is_met`
            prevents duplicates in the list.
    """
    marks = walk.marks
    if marks[layout.TOP] == 0:
        return
    marks[layout.PASSED] = max(marks[layout.PASSED], marks[layout.TOUCHED])
    marks[layout.TOUCHED] = marks[layout.TOUCHED_BEFORE]
    marks[layout.NOTED] = marks[layout.NOTED_BEFORE]
    if drops_met:
        marks[layout.NUM_MET] = marks[layout.NUM_MET_BEFORE]
    marks[layout.TOP] = 0
