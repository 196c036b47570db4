"""The loop over iterations of algorithms that sample: walks, then an update.

Between two calls of the loop, `Walk.marks` holds the counters of the walks for the next
update, and the stack holds the nodes that the present walk has not visited.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import apply
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.baselines import learn, note_heading
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.minimizers import RULES, Rule
from mccfr_spiel.kernels.randomness import ROOT_PLACE, stream_key
from mccfr_spiel.kernels.selection import poor_regret
from mccfr_spiel.kernels.stack import push
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import DONE, Task, Walk
from mccfr_spiel.kernels.visits import apply_visits
from mccfr_spiel.kernels.walk import (
    LARGE,
    Progress,
    Source,
    Trip,
    make_walk,
    no_progress,
)


@pasted
def debt_at_root(task: Task, walk: Walk) -> float:
    """The weight that this iteration will add at a player's empty sequence."""
    iteration = apply.present_iteration(walk)
    weight = walk.clock[layout.AVERAGE_WEIGHT]
    if walk.cursor[layout.ITERATION] < iteration:  # `begin_update` has not run yet
        weight = apply.average_weight(iteration, task.settings, weight)
    return apply.weight_of(task, weight, iteration)


def make_begin(sampled: Sampled) -> Any:
    """Makes `begin_walk`, which pushes the root for the next walk.

    It returns a status, whether a walk has begun, and the counters. No walk begins at
    the end of the job (DONE), before a batch that groups of walks take (NEEDS_GROUPS),
    or without room for notes (STACK_FULL).
    """
    batched, learns = sampled.batched, sampled.learns

    @inlined
    def begin_walk(task, walk, num_players, progress):
        marks, walker = walk.marks, walk.marks[layout.WALKER]
        height, num_met, num_touched, num_notes, _, _ = progress
        if marks[layout.WALK] == 0 and walker == walk.cursor[layout.PLAYER]:
            if apply.is_at_end(task, walk):
                return np.int64(DONE), False, progress
            if batched and apply.walks_of_group(task, walk, num_players) > 0:
                return np.int64(layout.NEEDS_GROUPS), False, progress
        if learns and num_notes + 4 > len(walk.note):
            return np.int64(layout.STACK_FULL), False, progress
        marks[layout.NUM_MET_BEFORE] = num_met
        marks[layout.TOUCHED_BEFORE] = num_touched
        if learns:  # the first note is the heading
            marks[layout.NOTED_BEFORE] = num_notes
            num_notes += 1
        height = push(walk, 0, 0, walker, 1.0, ROOT_PLACE)
        walk.debt[0] = debt_at_root(task, walk)
        zero = np.int64(0)
        return (
            np.int64(DONE),
            True,
            Progress(height, num_met, num_touched, num_notes, zero, zero),
        )

    return begin_walk


def make_trip(sampled: Sampled) -> Any:
    """Makes `trip_of`, which computes the `Trip` of the present walk."""
    batched, skips = sampled.batched, sampled.skips

    @inlined
    def trip_of(task, walk, num_players, is_large):
        job, marks = task.job, walk.marks
        iteration = apply.present_iteration(walk)
        walker, serial = marks[layout.WALKER], iteration
        if batched:
            before, _ = apply.walks_at(np.int64(job[layout.BATCH]), iteration)
            serial = before + marks[layout.WALK] + 1
        stream = stream_key(job[layout.SEED], serial, walker, num_players)
        poor = poor_regret(stream, task.settings) if skips else -np.inf
        pause = np.int64(job[layout.PAUSE_LIMIT]) - walk.cursor[layout.NODES_TOUCHED]
        return Trip(walker, stream, poor, marks[layout.PASSED], pause, is_large)

    return trip_of


def make_update(sampled: Sampled, rule: Rule) -> Any:
    """Makes `update`, which applies the walks of a batch and begins the next one.

    Baselines of the "predictive" kind learn after the policies have moved, others
    before.
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
    """Makes `go_on(task, nodes, tables, walk, size)`, the loop over iterations.

    `size` is the number of nodes or infosets, which decides whether to prefetch. The
    loop returns a status.
    """
    begin_walk, trip_of = make_begin(sampled), make_trip(sampled)
    walk_on, update = make_walk(sampled, rule, source), make_update(sampled, rule)
    batched, learns = sampled.batched, sampled.learns

    @inlined
    def go_on(task, nodes, tables, walk, size):
        marks, num_players = walk.marks, nodes.utilities.shape[1]
        zero, status = np.int64(0), np.int64(DONE)
        progress = Progress(
            marks[layout.TOP], marks[layout.NUM_MET], marks[layout.TOUCHED],
            marks[layout.NOTED], zero, zero,
        )  # fmt: skip
        # Each pass makes one walk, and the update after the last walk of the batch
        # (with simultaneous updates: of the last player's batch). A stack that is not
        # empty belongs to a walk that had to stop. The loop ends when no walk may
        # begin, or when a walk stops.
        while True:
            if progress.height == 0:
                status, has_begun, progress = begin_walk(
                    task, walk, num_players, progress
                )
                if not has_begun:
                    break
            trip = trip_of(task, walk, num_players, size > LARGE)
            status, progress = walk_on(task, nodes, tables, walk, None, trip, progress)
            if status != DONE:
                break
            if learns:
                note_heading(walk, trip.player, progress.num_notes)
            if batched:
                marks[layout.WALK] += 1
                if marks[layout.WALK] < apply.present_batch(task, walk):
                    continue
            if apply.is_due(task, walk, num_players):
                update(task, nodes, tables, walk, progress)
                progress = no_progress()
        marks[layout.TOP], marks[layout.NUM_MET] = progress.height, progress.num_met
        marks[layout.TOUCHED] = progress.num_touched
        marks[layout.NOTED] = progress.num_notes
        return status

    return go_on


def begin_again(walk: Walk, *, drops_met: bool) -> None:
    """Restarts a stopped walk at the root, because its nodes were dropped.

    The contributions to the gradient stay. The walk repeats its steps and skips them.

    Args:
        walk: the walk, whose marks and stack change.
        drops_met: whether the walk will list again which infosets it meets. Otherwise
            `Tables.is_met` prevents that an infoset is listed twice.
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
