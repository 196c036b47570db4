"""The walk: visits sampled nodes of a game and estimates one player's gradient.

A walk starts at the root. At each leaf that it visits, it adds the leaf's payoff times
an importance weight to the gradient of the updated player's last sequence before the
leaf. The weight compensates for sampling, so that the gradient is unbiased (Lanctot,
Waugh, Zinkevich, Bowling 2009; Farina, Kroer, Sandholm 2020).

Read `make_walk` at the end of this file first. Its loop calls the four stages above it
for each node: `open_node`, `pay_leaf`, `meet_infoset` and `choose`. The concepts:

1.  Sampled: what an algorithm samples (switches.py).
2.  Switches: compile-time constants derived from it.
3.  Source: functions that supply nodes, from a stored tree or from compiled rules.
4.  nodes: the source's own record, the first argument of its functions.
5.  Spot: the history being visited: node, sequence, weight, place, debt (stack.py).
6.  Moves: the acting player, infoset and moves at a node.
7.  Choice: the child that the walk follows next.
8.  Stack: the spots to visit later.
9.  Trip: values that stay the same during one walk: player, stream, limits.
10. Progress: counters of the walk, kept in registers.
11. Status: DONE, or the reason why the walk stopped (tables.py).
12. Task: job, settings and rule parameters (tables.py).
13. Tables: the learned state, which a walk only reads, and the gradient (tables.py).
14. Walk: the scratch that a walk writes: stack, infosets met, notes (tables.py).
15. Place: the argument of a draw: an infoset or a chance history (randomness.py).
16. Debt: what the lazy average still owes an infoset (apply.py).
17. Notes: decisions from which baselines learn (baselines.py).
18. Visits: decisions of players who forget (visits.py).
19. Log: what a walk above all blocks leaves for other threads (logs.py).

Because a walk writes only its scratch, it can stop at any node, resume, or be dropped
and repeated. A repeated walk takes the same steps and skips contributions that the
gradient already has: `Trip.passed` is the number of nodes up to which this is so.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.baselines import control, note, note_payoff
from mccfr_spiel.kernels.frame import prefetch
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.logs import log_infoset, log_leaf
from mccfr_spiel.kernels.minimizers import Rule, make_start
from mccfr_spiel.kernels.randomness import ROOT_PLACE, child_place, uniform
from mccfr_spiel.kernels.regret_rules import SKIPPED
from mccfr_spiel.kernels.sampling import draw_action, draw_chance, draw_explored
from mccfr_spiel.kernels.selection import LOOK, push_kept, push_picked
from mccfr_spiel.kernels.stack import (
    MOST_ASIDE,
    Choice,
    Moves,
    Spot,
    postpone,
    push,
    push_other_children,
    push_weighted_children,
    resume,
)
from mccfr_spiel.kernels.switches import Sampled, Switches, switches_of
from mccfr_spiel.kernels.tables import (
    ALONE,
    DONE,
    EPSILON,
    PAUSED,
    TO_GROW,
    TOO_UNLIKELY,
    Tables,
    Walk,
)
from mccfr_spiel.kernels.visits import NOT_UPDATED, end_of_slots, note_visit

MAX_WEIGHT = 1e290
"""Largest payoff times weight. Sums of such terms still fit a double."""

LARGE = 2**16
"""Number of nodes from which on a tree does not fit the processor's caches. There a
walk that follows one history waits for memory at each step, see frame.py."""

_FLOATS_A_LINE = 64 // 8


class Source(NamedTuple):
    """The functions that supply the nodes of a walk; they are inlined into the walk.

    The record `nodes` is the source's own. A walk reads four of its fields, which every
    source has: `infosets`, `utilities`, `chance_probs` and `chance_cdf`, as in
    `TreeArrays`. Chance distributions and returns may be those of the present node.

    Attributes:
        enter: `(nodes, node)` moves to a node from the stack.
        acting_at: `(nodes, node)` returns the acting player, CHANCE_NODE or TERMINAL.
        pay: `(nodes, node)` returns a status and the row of the leaf's returns.
        arrive: `(nodes, node, acting, room)` returns a status and the `Moves`. The
            status is STACK_FULL if there are more than `room` moves.
        keep: `(nodes, moves)` saves the node, because its children are visited later.
        place_at: `(nodes, infoset)` returns the place of the infoset's draws.
        policy_at: `(nodes, tables, moves)` returns an array with the policy of the
            acting player, and the index of the first move in it.
        descend: `(nodes, moves, child)` moves to a child; returns its node.
        stop: `(nodes, node, acting)` saves the node where the walk has to stop; returns
            the node to push.
        start: `(nodes, tables, walk, start_tables, task)` starts the tables of infosets
            that `arrive` has added, see `minimizers.make_start`.
        fetch: `(nodes, moves)` prefetches the children.
        grows: whether Python must expand nodes that are missing.
    """

    enter: Any
    acting_at: Any
    pay: Any
    arrive: Any
    keep: Any
    place_at: Any
    policy_at: Any
    descend: Any
    stop: Any
    start: Any
    fetch: Any
    grows: bool


class Trip(NamedTuple):
    """The values that stay the same during one walk.

    Attributes:
        player: the updated player.
        stream: key of the walk's draws, see randomness.py.
        poor: regret below which actions are skipped, see selection.py.
        passed: value of `Progress.num_touched` up to which a repeated walk skips its
            contributions.
        pause: value of `Progress.num_touched` from which on the walk pauses.
        is_large: whether the nodes do not fit the processor's caches.
    """

    player: Any
    stream: Any
    poor: Any
    passed: Any
    pause: Any
    is_large: Any


class Progress(NamedTuple):
    """The counters of the walks for one update, all int64.

    A walk gets and returns them by value, so that they stay in registers. Stored in an
    array at each node, they would slow it down.

    Attributes:
        height: height of the stack.
        num_met: length of the list of infosets met, or of visits, or of logged infosets
            in the top.
        num_touched: number of nodes visited.
        num_notes: number of notes for baselines.
        num_leaves: number of leaves logged in the top.
        num_forks: number of forks logged in the top.
    """

    height: Any
    num_met: Any
    num_touched: Any
    num_notes: Any
    num_leaves: Any
    num_forks: Any


@inlined
def with_height(progress: Progress, height: int) -> Progress:
    """The counters with another height of the stack."""
    _, num_met, num_touched, num_notes, num_leaves, num_forks = progress
    return Progress(height, num_met, num_touched, num_notes, num_leaves, num_forks)


@inlined
def no_progress() -> Progress:
    """The counters before the first walk for an update."""
    zero = np.int64(0)
    return Progress(zero, zero, zero, zero, zero, zero)


# --- opening a node and leaving it ----------------------------------------------------


def make_open(switches: Switches, source: Source) -> Any:
    """Makes `open_node`, which moves to the node of a stack entry."""
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
    """Makes `halt`, which pushes a node again that the walk cannot visit yet."""
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
    """Makes `room_for_moves`, the largest number of moves that a node may have without
    overflowing the stack and the lists of the walk."""
    learns, forgets = switches.learns, switches.forgets
    reserved = MOST_ASIDE if switches.postpones else 0

    @inlined
    def room_for_moves(nodes, walk, progress):
        room = len(walk.node) - reserved - progress.height
        if learns:
            room = min(room, len(walk.note) - progress.num_notes - 2)
        if forgets:
            num_met, num_players = progress.num_met, nodes.utilities.shape[1]
            slots = len(walk.gain) - end_of_slots(walk, num_met, num_players)
            room = min(room, slots if num_met < len(walk.visit) else 0)
        return room

    return room_for_moves


# --- paying a leaf --------------------------------------------------------------------


def make_pay(switches: Switches, source: Source) -> Any:
    """Makes `pay_leaf`, which adds a leaf's payoff to the gradient or to the log."""
    pay, in_top, may_overflow = source.pay, switches.in_top, switches.may_overflow
    learns, branches, forgets = switches.learns, switches.branches, switches.forgets
    postpones = switches.postpones

    @inlined
    def pay_leaf(nodes, tables, walk, log, trip, spot, progress):
        height, num_met, num_touched, num_notes, num_leaves, num_forks = progress
        status, row = pay(nodes, spot.node)
        payoff = abs(spot.weight) * nodes.utilities[row, trip.player]
        # "not <=" instead of ">", because an infinite weight times 0 is NaN.
        if may_overflow and status == DONE and not abs(payoff) <= MAX_WEIGHT:
            status = np.int64(TOO_UNLIKELY)
        if status == DONE:
            num_touched += 1
            if in_top:
                status = log_leaf(log, num_leaves, payoff, spot.sequence)
                num_leaves += 1
            else:
                gradient = walk.gain if forgets else tables.gradient
                is_new = num_touched > trip.passed
                credit(gradient, spot.sequence, payoff, is_new, postpones)
            if branches:
                num_notes = note(walk, num_notes, 0, 0, 0, payoff)
            elif learns:
                note_payoff(walk, nodes.utilities[row, trip.player])
        return status, Progress(
            height, num_met, num_touched, num_notes, num_leaves, num_forks
        )

    return pay_leaf


@inlined
def credit(
    gradient: np.ndarray, sequence: int, payoff: float, is_new: bool, adds_once: bool
) -> None:
    """Adds a leaf's payoff to the gradient unless the gradient already has it.

    If no walk adds to a sequence twice, storing the payoff has the same effect.
    """
    if adds_once:
        gradient[sequence] = payoff
    elif is_new:
        gradient[sequence] += payoff


# --- meeting an infoset ---------------------------------------------------------------


def make_meet(switches: Switches, source: Source, start_tables: Any) -> Any:
    """Makes `meet_infoset`, which records an infoset for the update.

    It returns a status, whether the walk continues below the infoset (not where a block
    begins), the spot with its debt, the moves with their slots, and the counters.
    """
    start_new, in_top, forgets = source.start, switches.in_top, switches.forgets
    has_debts, meets_once = switches.has_debts, switches.meets_once
    draws_own = switches.draws_own

    @inlined
    def meet_infoset(task, nodes, tables, walk, log, trip, spot, moves, progress):
        height, num_met, num_touched, num_notes, num_leaves, num_forks = progress
        acting, infoset, first, start, count, slots = moves
        node, sequence, weight, place, debt = spot
        status, continues, settled = np.int64(DONE), True, 0.0
        is_own = acting == trip.player
        start_new(nodes, tables, walk, start_tables, task)
        if in_top and is_own:
            status, num_forks = log_infoset(
                log, num_met, num_forks, trip.stream, spot, moves
            )
            num_met += 1
            continues = status == DONE and log.home[start] < 0
        elif forgets:
            above = sequence if is_own else NOT_UPDATED
            num_players = nodes.utilities.shape[1]
            num_met, slots = note_visit(
                walk, num_met, infoset, above, weight, count, num_players
            )
        elif is_own:
            if has_debts:
                settled, debt = carry_debt(tables, infoset, sequence, debt)
            is_far = trip.is_large and draws_own
            if meets_once or tables.is_met[infoset] & 1 == 0:
                if not meets_once:
                    tables.is_met[infoset] |= 1
                list_met(tables, walk, num_met, moves, settled, has_debts, is_far)
                num_met += 1
        return (
            status,
            continues,
            Spot(node, sequence, weight, place, debt),
            Moves(acting, infoset, first, start, count, slots),
            Progress(height, num_met, num_touched, num_notes, num_leaves, num_forks),
        )

    return meet_infoset


@inlined
def carry_debt(
    tables: Tables, infoset: int, sequence: int, debt: float
) -> tuple[float, float]:
    """Carries the debt to the average down to an infoset of the updated player.

    The update pays all debts. The sum that the average will then have at a sequence
    follows from the infoset's present debt, without waiting for a stored sum.

    Args:
        tables: the tables with the average and the policies.
        infoset: the infoset.
        sequence: the player's sequence before it.
        debt: the debt of the infoset of that sequence.

    Returns:
        The sum that the average will have at `sequence`, and the debt of the infoset.
    """
    settled = tables.average[sequence] + tables.policy[sequence] * debt
    return settled, settled - tables.paid[infoset]


@inlined
def list_met(
    tables: Tables,
    walk: Walk,
    num_met: int,
    moves: Moves,
    settled: float,
    has_debts: bool,
    is_far: bool,
) -> None:
    """Appends an infoset to the list of infosets met.

    Args:
        tables: the tables, whose rows are prefetched.
        walk: the walk with the list.
        num_met: length of the list.
        moves: the moves at the infoset.
        settled: the sum that the average will have at the sequence before the infoset.
        has_debts: whether `settled` is known.
        is_far: whether the tables are likely not in the processor's caches.
    """
    walk.met[num_met] = moves.infoset
    if has_debts:
        walk.settled[num_met] = settled
    if is_far:
        for s in range(moves.start, moves.start + moves.count, _FLOATS_A_LINE):
            prefetch(tables.memory, s)
            prefetch(tables.gradient, s)
            prefetch(tables.average, s)


# --- choosing the children ------------------------------------------------------------


def make_choose(switches: Switches, source: Source) -> Any:
    """Makes `choose`, which selects the child to follow and pushes the others.

    It returns the height of the stack and a `Choice`.
    """
    choose_own = make_choose_own(switches, source)
    keep, place_at, policy_at = source.keep, source.place_at, source.policy_at
    chance, opponents = switches.samples_chance, switches.samples_opponents
    fetch, draws_own, prunes = source.fetch, switches.draws_own, switches.prunes
    has_debts, pushes_all = switches.has_debts, not (chance and opponents)

    @inlined
    def choose(task, nodes, tables, walk, trip, spot, moves, height):
        is_chance, child = moves.acting == CHANCE_NODE, 0
        if trip.is_large and (draws_own or (chance and is_chance)):
            fetch(nodes, moves)
        if moves.acting == trip.player:
            return choose_own(task, nodes, tables, walk, trip, spot, moves, height)
        if opponents and not is_chance:
            policy, row = policy_at(nodes, tables, moves)
            draw = uniform(trip.stream, place_at(nodes, moves.infoset))
            child = draw_action(policy, row, moves.count, draw)
        elif chance and is_chance:
            draw = uniform(trip.stream, spot.place)
            child = draw_chance(nodes.chance_cdf, moves.start, moves.count, draw)
        elif pushes_all:
            keep(nodes, moves)
            probs, row = nodes.chance_probs, moves.start
            if not is_chance:
                probs, row = policy_at(nodes, tables, moves)
            height = push_weighted_children(
                probs, row, walk, height, spot, moves,
                prunes and not is_chance, chance, has_debts,
            )  # fmt: skip
            return height, Choice(False, 0, spot.sequence, spot.weight, 0.0)
        return height, Choice(True, child, spot.sequence, spot.weight, 0.0)

    return choose


def make_choose_own(switches: Switches, source: Source) -> Any:
    """Makes `choose_own`, which does so where the updated player acts."""
    keep, place_at, policy_at = source.keep, source.place_at, source.policy_at
    draws_own, explores = switches.draws_own, switches.explores
    picks_own, skips = switches.picks_own, switches.skips
    is_weighted, has_debts = switches.is_weighted, switches.has_debts
    placed = switches.samples_chance
    follows = not picks_own

    @inlined
    def choose_own(task, nodes, tables, walk, trip, spot, moves, height):
        child, weight, likelihood = 0, spot.weight, 1.0
        if picks_own or (moves.count > 1 and not draws_own):
            keep(nodes, moves)
        if picks_own:
            own = place_at(nodes, moves.infoset)
            height = push_picked(
                tables, walk, height, spot, moves,
                task.settings, trip.stream, own, placed,
            )  # fmt: skip
        elif draws_own:
            policy, row = policy_at(nodes, tables, moves)
            odds = policy if explores else tables.balance
            epsilon = task.settings[EPSILON] if explores else 0.0
            draw = uniform(trip.stream, place_at(nodes, moves.infoset))
            child, likelihood = draw_explored(odds, row, moves.count, epsilon, draw)
            weight /= likelihood
        elif skips:
            height, weight = push_kept(
                tables, walk, height, spot, moves, trip.poor, placed
            )
        else:
            height = push_other_children(
                walk, height, spot, moves, is_weighted, placed, has_debts
            )
        return height, Choice(follows, child, moves.slots + child, weight, likelihood)

    return choose_own


# --- the walk -------------------------------------------------------------------------


def make_walk(sampled: Sampled, rule: Rule, source: Source, part: int = ALONE) -> Any:
    """Makes `walk_on`, which continues a walk from its stack as far as it can.

    It returns a status and the counters.

    Args:
        sampled: what the walk samples.
        rule: the local rule, which starts tables.
        source: the source of the nodes.
        part: ALONE for a whole walk. Threads share a batch in two parts: TOP_PART stops
            where a block of infosets begins, BLOCK_PART continues below.
    """
    switches = switches_of(sampled, grows=source.grows, part=part)
    open_node, halt = make_open(switches, source), make_halt(switches, source)
    pay_leaf, room_for_moves = make_pay(switches, source), make_room(switches)
    meet_infoset = make_meet(switches, source, make_start(rule))
    choose, follow = make_choose(switches, source), make_follow(switches, source)
    acting_at, arrive, skips = source.acting_at, source.arrive, switches.skips
    postpones = switches.postpones

    @inlined
    def walk_on(task, nodes, tables, walk, log, trip, progress):
        status, num_aside = np.int64(DONE), np.int64(0)
        # Each pass of the outer loop pops a node and follows one history from it. The
        # stack holds all other nodes to visit, so the walk is complete when the stack
        # is empty. Each pass of the inner loop visits a node of that history. It ends
        # at a leaf, where all children were pushed, where a block begins, or at a node
        # that cannot be visited now. `halt` pushes such a node again.
        while progress.height > 0 and status == DONE:
            if progress.num_touched >= trip.pause:
                status = np.int64(PAUSED)
                break
            progress = with_height(progress, progress.height - 1)
            spot = open_node(nodes, walk, progress.height)
            while True:
                acting = acting_at(nodes, spot.node)
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
                    room = room_for_moves(nodes, walk, progress)
                    status, moves = arrive(nodes, spot.node, acting, room)
                if status != DONE:
                    status, height, num_aside = halt(
                        nodes, walk, spot, acting, status, progress.height, num_aside
                    )
                    progress = with_height(progress, height)
                    break
                if acting >= 0:
                    status, continues, spot, moves, progress = meet_infoset(
                        task, nodes, tables, walk, log, trip, spot, moves, progress
                    )
                    if not continues:
                        break
                height, choice = choose(
                    task, nodes, tables, walk, trip, spot, moves, progress.height
                )
                spot, progress = follow(
                    nodes, tables, walk, trip, spot, moves, choice, height, progress
                )
                if not choice.follows:
                    break
        if postpones:
            height, status = resume(walk, progress.height, num_aside, status)
            progress = with_height(progress, height)
        return status, progress

    return walk_on


def make_follow(switches: Switches, source: Source) -> Any:
    """Makes `follow`, which moves to the chosen child, if any, and counts the node."""
    descend, samples_chance = source.descend, switches.samples_chance
    learns, branches, forgets = switches.learns, switches.branches, switches.forgets

    @inlined
    def follow(nodes, tables, walk, trip, spot, moves, choice, height, progress):
        _, num_met, num_touched, num_notes, num_leaves, num_forks = progress
        num_touched += 1
        if learns and moves.acting != CHANCE_NODE:
            gradient = walk.gain if forgets else tables.gradient
            num_notes = control(
                tables, gradient, walk, num_notes, spot, moves, choice,
                trip.player, branches, num_touched > trip.passed,
            )  # fmt: skip
        node, place = spot.node, spot.place
        if choice.follows:
            node = descend(nodes, moves, choice.child)
            place = child_place(place, choice.child) if samples_chance else place
        return (
            Spot(node, choice.sequence, choice.weight, place, spot.debt),
            Progress(height, num_met, num_touched, num_notes, num_leaves, num_forks),
        )

    return follow
