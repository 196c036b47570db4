"""The walk: visits sampled nodes of a game and estimates one player's gradient.

A walk starts at the root. At each leaf, it adds the payoff times an importance weight
to the gradient of the updated player's last sequence before the leaf. The weight
corrects for sampling, so that the expected gradient is exact (Lanctot, Waugh,
Zinkevich, Bowling 2009; Farina, Kroer, Sandholm 2020).

Read `walk_on` below first. For each node, its loop calls these stages in order:

| stage | purpose | file |
|---|---|---|
| `open_node` | pop a node from the stack | walk.py |
| `pay_leaf` | credit a leaf's payoff; the history ends | recording.py |
| `draw_at` | draw the random number that selects a child | children.py |
| `meet_infoset` | record the infoset for the update | recording.py |
| `choose` | select the child to follow, push others | children.py |
| `correct` | add baselines, if any | children.py |
| `follow` | move to the selected child | children.py |
| `halt` | push the node back if it cannot be visited yet | walk.py |

The concepts:

1.  Sampled: sampled parts of an algorithm (switches.py).
2.  Switches: compile-time constants derived from `Sampled` (switches.py).
3.  Source: functions that supply nodes, from a stored tree or from compiled rules
    (source.py).
4.  nodes: the record of a source, first argument of the source's functions.
5.  Spot: the node being visited, with sequence, weight, place and debt (stack.py).
6.  Moves: acting player, infoset and moves at a node (stack.py).
7.  Choice: the child that the walk follows next (stack.py).
8.  Stack: nodes to visit later (stack.py).
9.  Trip: constants of one walk, such as the player and the draw stream (progress.py).
10. Progress: counters of the walk, kept in processor registers (progress.py).
11. Status: DONE, or the reason why the walk stopped (tables.py).
12. Task: job, settings and rule parameters (tables.py).
13. Tables: learned state, read only, and the gradient (tables.py).
14. Walk: arrays that a walk writes: stack, list of infosets to update, notes, ...
    (tables.py).
15. Place: key of a draw, a hash of an infoset or a chance history (randomness.py,
    sobol.py).
16. Debt: amount that the lazy average still owes an infoset (lazy_average.py).
17. Notes: decisions recorded for the update of baselines (baselines.py).
18. Visits: decisions of players with imperfect recall (visits.py).
19. Log: records of a walk above all blocks, read by other threads (logs.py).

A walk changes only the arrays of `Walk`, the gradient, and tables of new infosets. It
can therefore stop at any node and resume, or be discarded and repeated. A repeated walk
visits the same nodes in the same order. It adds nothing to the gradient at the first
`Trip.passed` nodes, because the discarded walk has already done so.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba removes branches that compile-time constants exclude)

from typing import Any

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.children import (
    make_choose,
    make_correct,
    make_draw,
    make_follow,
)
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.minimizers import Rule, make_start
from mccfr_spiel.kernels.progress import counted, with_height
from mccfr_spiel.kernels.randomness import ROOT_PLACE
from mccfr_spiel.kernels.recording import make_meet, make_pay
from mccfr_spiel.kernels.regret_rules import SKIPPED
from mccfr_spiel.kernels.selection import LOOK
from mccfr_spiel.kernels.source import Source
from mccfr_spiel.kernels.stack import MAX_POSTPONED, Spot, postpone, push, resume
from mccfr_spiel.kernels.switches import Sampled, Switches, switches_of
from mccfr_spiel.kernels.tables import ALONE, DONE, PAUSED, TO_GROW
from mccfr_spiel.kernels.visits import end_of_slots


def make_walk(sampled: Sampled, rule: Rule, source: Source, part: int = ALONE) -> Any:
    """Builds `walk_on`, which visits nodes until the stack is empty or it must stop.

    `walk_on` returns a status, which is DONE if the stack is empty, and the counters
    (`Progress`).

    Args:
        sampled: the sampled parts of the algorithm.
        rule: the local rule, which initializes tables of new infosets.
        source: the source of the nodes.
        part: ALONE for a whole walk. Threads split each walk of a shared batch:
            TOP_PART stops where a block of infosets begins, BLOCK_PART continues below.
    """
    switches = switches_of(sampled, grows=source.grows, part=part)
    open_node, halt = make_open(switches, source), make_halt(switches, source)
    pay_leaf, room_for_moves = make_pay(switches, source), make_room(switches)
    meet_infoset = make_meet(switches, source, make_start(rule))
    draw_at, choose = make_draw(switches, source), make_choose(switches, source)
    follow, correct = make_follow(switches, source), make_correct(switches)
    acting_at, arrive, skips = source.acting_at, source.arrive, switches.skips
    postpones, learns = switches.postpones, switches.learns

    @inlined
    def walk_on(task, nodes, tables, walk, log, trip, progress):
        status, num_aside = np.int64(DONE), np.int64(0)
        # The outer loop pops a node and follows a history from there; the inner loop
        # visits the nodes of this history. Invariant: the stack holds all nodes that
        # remain to be visited, except the present node and postponed nodes. Hence the
        # walk is complete when the stack is empty and no node was postponed. The inner
        # loop ends at a leaf, at a skipped child, after all children were pushed, at
        # the root of a block, or at a node that cannot be visited yet, which `halt`
        # pushes.
        #
        # `progress` and `spot` are new tuples instead of changed arrays, so that their
        # values stay in registers.
        while progress.height > 0 and status == DONE:
            if progress.num_touched >= trip.pause:
                status = np.int64(PAUSED)
                break
            progress = with_height(progress, progress.height - 1)
            spot = open_node(nodes, walk, progress.height)
            while True:
                acting = acting_at(nodes, spot.node)
                # The weight LOOK marks the child after an action with very negative
                # regret. If the child is not a leaf, the action is skipped.
                if skips and spot.weight == LOOK and acting >= CHANCE_NODE:
                    tables.gradient[spot.sequence] = SKIPPED
                    break
                if acting == TERMINAL:
                    status, progress = pay_leaf(
                        nodes, tables, walk, log, trip, spot, progress
                    )
                    if status == DONE:
                        break
                else:
                    room = room_for_moves(walk, nodes.utilities, progress)
                    status, moves = arrive(nodes, spot.node, acting, room)
                if status != DONE:
                    status, height, num_aside = halt(
                        nodes, walk, spot, acting, status, progress.height, num_aside
                    )
                    progress = with_height(progress, height)
                    break
                # Draw before recording the infoset: the address of the next node
                # depends on the draw, so the processor can load the node while it
                # records the infoset.
                draw = draw_at(task, nodes, trip, spot, moves)
                if acting >= 0:
                    status, continues, spot, moves, progress = meet_infoset(
                        task, nodes, tables, walk, log, trip, spot, moves, progress
                    )
                    if not continues:
                        break
                height, choice = choose(
                    task, nodes, tables, walk, trip, spot, moves, draw, progress.height
                )
                progress = counted(progress, height)
                if learns and acting != CHANCE_NODE:
                    progress = correct(
                        tables, walk, trip, spot, moves, choice, progress
                    )
                if not choice.follows:
                    break
                spot = follow(nodes, spot, moves, choice)
        if postpones:
            height, status = resume(walk, progress.height, num_aside, status)
            progress = with_height(progress, height)
        return status, progress

    return walk_on


def make_open(switches: Switches, source: Source) -> Any:
    """Builds `open_node`, which returns a row of the stack as a `Spot`.

    The source moves to the node of that row.
    """
    enter, samples_chance = source.enter, switches.samples_chance
    is_weighted, has_debts = switches.is_weighted, switches.has_debts

    @inlined
    def open_node(nodes, walk, entry):
        node = np.int64(walk.node[entry])
        enter(nodes, node)
        sequence = np.int64(walk.sequence[entry])
        weight = walk.weight[entry] if is_weighted else 1.0
        place = walk.place[entry] if samples_chance else ROOT_PLACE
        debt = walk.debt[entry] if has_debts else 0.0
        return Spot(node, sequence, weight, place, debt)

    return open_node


def make_halt(switches: Switches, source: Source) -> Any:
    """Builds `halt`, which pushes a node back because it cannot be visited yet.

    `halt` returns the status of the walk, the height of the stack, and the number of
    postponed nodes.
    """
    stop, grows = source.stop, source.grows
    has_debts, postpones = switches.has_debts, switches.postpones

    @inlined
    def halt(nodes, walk, spot, acting, status, height, num_aside):
        if grows:
            walk.marks[TO_GROW] = 1
        node = stop(nodes, spot.node, acting)
        height = push(walk, height, node, spot.sequence, spot.weight, spot.place)
        if has_debts:
            walk.debt[height - 1] = spot.debt
        if postpones:
            height, num_aside, status = postpone(walk, height, num_aside, status)
        return status, height, num_aside

    return halt


def make_room(switches: Switches) -> Any:
    """Builds `room_for_moves`, which returns the capacity left for moves of a node.

    A node with more moves could overflow the stack, the notes or the visits.
    """
    learns, forgets = switches.learns, switches.forgets
    reserved = MAX_POSTPONED if switches.postpones else 0

    @inlined
    def room_for_moves(walk, utilities, progress):
        room = len(walk.node) - reserved - progress.height
        if learns:
            room = min(room, len(walk.note) - progress.num_notes - 2)
        if forgets:
            num_met, num_players = progress.num_met, utilities.shape[1]
            slots = len(walk.gain) - end_of_slots(walk, num_met, num_players)
            room = min(room, slots if num_met < len(walk.visit) else 0)
        return room

    return room_for_moves
