"""The walk: the one place where a sampled node is visited, and the one loop over
iterations.

A walk is made for one player. It starts at the root and adds, at each leaf that it
meets, the leaf's payoff times a weight to the gradient of the player's last sequence
before it. The weight makes up for what was sampled, so that the gradient is right on
average. After the walks for a player, `apply` moves the policies at that player's
infosets that they met.

A walk only reads what was learned. What it writes is a scratch: its stack, the list of
the infosets met, and the gradient, which is 0 elsewhere. So a walk may stop anywhere,
be left or be begun again, and a solver always stands between two updates. When nodes
have been dropped, the walk begins again at the root. It then makes the same steps, and
passes over what the gradient has from it already: `Walk.marks` counts the nodes touched
up to which that is so. Where walks add to no sequence twice, their steps need no order.
Such a walk sets a missing node aside and goes on elsewhere; begun again, it writes the
same payoffs.

Where nodes come from is told by a `Source`: rows of a stored tree (stored.py) or the
states of compiled rules (rules/played.py).

The body of the walk is compiled for one of three parts. ALONE walks to the end. Threads
share a batch in two parts (shared_walks.py): TOP stops where a block of infosets begins
and leaves a fork there, and BLOCK goes on from a fork.

In the body, `sequence` is the updated player's last one before the node, `weight` the
factor of all payoffs below it, `place` the history's place and `own` the infoset's, at
which draws are asked. `chosen` is the child that is followed, and `q` the probability
of the updated player's own action, 0 at the nodes of others. `touched` counts nodes and
`noted` notes for baselines. `leaf` is the row of the last leaf's returns, but in the
top the number of leaves logged.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels import apply
from mccfr_spiel.kernels.baselines import control, learn, note
from mccfr_spiel.kernels.frame import prefetch
from mccfr_spiel.kernels.jit import inlined, pasted
from mccfr_spiel.kernels.minimizers import RULES, Rule, make_start
from mccfr_spiel.kernels.randomness import ROOT_PLACE, child_place, stream_key, uniform
from mccfr_spiel.kernels.sampling import (
    LOOK,
    MOST_ASIDE,
    SKIPPED,
    Visit,
    draw_action,
    draw_chance,
    draw_explored,
    leave,
    poor_regret,
    push,
    push_kept,
    push_other_children,
    push_picked,
    push_weighted_children,
    take_back,
)
from mccfr_spiel.kernels.tables import (
    ALONE,
    AVERAGE_WEIGHT,
    BATCH,
    BLOCK_PART,
    DONE,
    EPSILON,
    ITERATION,
    LOG_FULL,
    NEEDS_GROUPS,
    NODES_TOUCHED,
    NOTED,
    NOTED_BEFORE,
    NUM_MET,
    NUM_MET_BEFORE,
    PASSED,
    PAUSE_LIMIT,
    PAUSED,
    PLAYER,
    SEED,
    STACK_FULL,
    TOO_UNLIKELY,
    TOP,
    TOP_PART,
    TOUCHED,
    TOUCHED_BEFORE,
    WALK,
    WALKER,
    Tables,
    Task,
    Walk,
)

MAX_WEIGHT = 1e290
"""Sums of payoffs that were multiplied by their weights up to this still fit a double.
"""

LARGE = 2**16
"""Trees of more nodes do not stay in the processor's caches. There a walk that follows
one history waits for memory at each step (see frame.py)."""

_FLOATS_A_LINE = 64 // 8


class Sampled(NamedTuple):
    """What a walk samples, as constants of its loop.

    One loop is compiled for all samplings of a kind; it reads their numbers, such as
    epsilon, in `Task.settings`. The fields without a line here are those of
    `algorithms.Sampling`.

    Attributes:
        skips: whether actions of very negative regret are not followed, see
            sampling.py.
        batched: whether an iteration makes several walks for each player.
        forgets: whether players forget, see apply.py; for regret matching and regret
            matching+ only. Then there are walks even if nothing is sampled.
    """

    chance: bool
    opponents: bool
    player: str
    prune: bool
    draws_one_action: bool
    picks_actions: bool
    skips: bool
    baseline: str
    batched: bool
    forgets: bool = False

    @property
    def learns(self) -> bool:
        """Whether there are baselines, see baselines.py."""
        return self.baseline != ""

    @property
    def branches(self) -> bool:
        """Whether walks with baselines follow all of the player's actions."""
        return self.learns and self.player == "all"

    @property
    def draws_others(self) -> bool:
        """Whether one move is followed wherever the updated player does not act."""
        return self.chance and self.opponents

    @property
    def meets_once(self) -> bool:
        """Whether each of the player's infosets is met at most once before an update,
        as it is with chance and all opponents sampled."""
        return self.draws_others and not self.batched

    @property
    def can_be_shared(self) -> bool:
        """Whether threads or processes may share the walks of a batch."""
        return not (self.picks_actions or self.skips or self.learns)

    @property
    def is_weighted(self) -> bool:
        """Whether not every weight is 1, as it is in external sampling."""
        return self.player != "all" or self.skips or not self.draws_others


FORK = np.dtype(
    [
        ("stream", np.uint64),
        ("place", np.uint64),
        ("weight", np.float64),
        ("node", np.int32),
        ("block", np.int32),
    ]
)
"""Where a walk comes to the root of a block's subtree: the walk's stream, the place of
its history, its weight there, the node, and the number of the block among all."""

LEAF = np.dtype([("payoff", np.float64), ("sequence", np.int32), ("pad", np.int32)])
"""A leaf above all blocks: its payoff times its weight, and the player's last sequence
before it."""


class Log(NamedTuple):
    """What walks leave behind in the top: C entries of each kind.

    Attributes:
        home: `[S]` int32, twice the block of a sequence's infoset, plus 1 if the
            infoset is the root of its subtree; -1 in the top.
        event: `[C]` int32, the player's infosets met, roots of subtrees included.
        leaf: `[C]` LEAF.
        fork: `[C]` FORK.
    """

    home: np.ndarray
    event: np.ndarray
    leaf: np.ndarray
    fork: np.ndarray


class Source(NamedTuple):
    """Where the nodes of a walk come from: steps that are inlined into the walk.

    All take the five records `tree, game, known, path, rules` first, which mean to each
    source what it says.

    Attributes:
        enter: `(..., node)` goes to a node of the stack.
        acting_at: `(..., node)` says who acts, a player, CHANCE_NODE or TERMINAL.
        pay: `(..., node)` gives a status, and the row of a terminal node's returns.
        arrive: `(..., node, acting, free)` gives, if there is room for its children,
            a status, the first child, where the moves begin (sequences, or
            probabilities of chance), how many there are, and the infoset.
        keep: `(..., acting, start, count)`: children of the node are visited later.
        place_at: `(..., infoset)` gives the place of the infoset's draws.
        policy_at: `(..., tables, acting, start, count)` gives an array and where in it
            the policy at the infoset with these sequences begins; `start` for chance.
        descend: `(..., first, acting, start, chosen)` goes to a child.
        stop: `(..., walk, top, node, acting, sequence, weight, place)` stacks the node
            at which the walk cannot go on; returns the new height.
        start: `(..., tables, walk, start_tables, task)` starts the tables of infosets
            that `arrive` has added, see `make_start`.
        fetch: `(tree, visit)` asks memory for the children.
        grows: whether nodes may be missing until Python has expanded them.
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


@inlined
def meet(
    tables: Tables,
    walk: Walk,
    num_met: int,
    infoset: int,
    at: Visit,
    settled: float,
    met_once: bool,
    is_far: bool,
    carries: bool,
) -> int:
    """Notes an infoset of the updated player for the update, unless it has been noted.

    Args:
        tables: of which `is_met` changes.
        walk: whose list `met` gets the infoset, and `settled` what the average has.
        num_met: how long the list is.
        infoset: the infoset.
        at: the node.
        settled: what the average has at the player's sequence before the infoset.
        met_once: whether no walk comes to an infoset a second time.
        is_far: whether its tables are likely not to be in the processor's caches.
        carries: whether `settled` is known.

    Returns:
        How long the list is now.
    """
    if not met_once:
        if tables.is_met[infoset] & 1 != 0:
            return num_met
        tables.is_met[infoset] |= 1
    walk.met[num_met] = infoset
    if carries:
        walk.settled[num_met] = settled
    if is_far:  # for the update
        for s in range(at.start, at.start + at.num_moves, _FLOATS_A_LINE):
            prefetch(tables.memory, s)
            prefetch(tables.gradient, s)
            prefetch(tables.average, s)
    return num_met + 1


@inlined
def carry(
    tables: Tables, infoset: int, sequence: int, debt: float
) -> tuple[float, float]:
    """Carries what the average is owed down to an infoset of the updated player.

    Nothing is paid before the update. What the average will have by then at a sequence
    follows from what its infoset owes now, without waiting for any sum to be stored.

    Args:
        tables: with the average and the policies.
        infoset: the infoset.
        sequence: the player's sequence before it.
        debt: what the infoset of that sequence owes.

    Returns:
        What the average will have at the sequence, and what the infoset then owes.
    """
    settled = tables.average[sequence] + tables.policy[sequence] * debt
    return settled, settled - tables.paid[infoset]


@inlined
def log_leaf(log, leaf, payoff, sequence):
    """Logs a leaf in the top; returns how many there are now, and whether there is
    room."""
    log.leaf[leaf]["payoff"] = payoff
    log.leaf[leaf]["sequence"] = sequence
    leaf += 1
    return leaf, np.int64(LOG_FULL if leaf == len(log.leaf) else DONE)


@inlined
def log_infoset(log, num_met, noted, infoset, start, stream, place, weight, node):
    """Logs an infoset met in the top, and a fork if it is the root of a block's
    subtree; returns how many there are now of both, and whether there is room."""
    log.event[num_met] = infoset
    if log.home[start] >= 0:
        log.fork[noted]["stream"] = stream
        log.fork[noted]["place"] = place
        log.fork[noted]["weight"] = weight
        log.fork[noted]["node"] = node
        log.fork[noted]["block"] = log.home[start] >> 1
        noted += 1
    num_met += 1
    return num_met, noted, np.int64(LOG_FULL if num_met == len(log.event) else DONE)


@inlined
def credit(
    gradient: np.ndarray, sequence: int, payoff: float, is_new: bool, once: bool
) -> None:
    """Adds a leaf's payoff to the gradient, if it is new there.

    Where no walk adds twice to a sequence, one that was begun again writes the same.
    """
    if once:
        gradient[sequence] = payoff
    elif is_new:
        gradient[sequence] += payoff


@inlined
def room_of(
    walk: Walk,
    free: int,
    noted: int,
    num_met: int,
    num_players: int,
    learns: bool,
    forgets: bool,
) -> int:
    """How many moves the node at hand may have: what it adds must fit the walk, with
    that many free entries on its stack."""
    if learns:
        free = min(free, len(walk.note) - noted - 2)
    if forgets:
        slots = len(walk.gain) - apply.end_of_slots(walk, num_met, num_players)
        free = min(free, slots if num_met < len(walk.visit) else 0)
    return free


def make_walk(sampled: Sampled, rule: Rule, source: Source, part: int = ALONE) -> Any:
    """Makes `walk_on`, which walks on from what is on the stack, as far as it can.

    Its counts are passed and returned one by one, so that they stay in registers.
    """
    in_top, in_block = part == TOP_PART, part == BLOCK_PART
    skips, learns = sampled.skips, sampled.learns
    chance, opponents, prune = sampled.chance, sampled.opponents, sampled.prune
    explores, player_sampled = sampled.player == "epsilon", sampled.player != "all"
    draws_own, picks_own = sampled.draws_one_action, sampled.picks_actions
    once, weighted, branches = sampled.meets_once, sampled.is_weighted, sampled.branches
    begin, forgets = make_start(rule), sampled.forgets
    carries, once = part == ALONE and not forgets, once and not in_block
    waits = once and carries and source.grows and not learns
    enter, acting_at, pay, arrive, keep = source[:5]
    place_at, policy_at, descend, stop, start_new, fetch = source[5:11]

    @inlined
    def walk_on(
        task, tree, game, known, path, rules, tables, walk, log,
        stream, player, top, num_met, touched, noted, leaf, passed, pause, is_large,
    ):  # fmt: skip
        settings, num_players = task.settings, tree.utilities.shape[1]
        gradient = walk.gain if forgets else tables.gradient
        status, is_far = np.int64(DONE), is_large and draws_own
        left, room = np.int64(0), len(walk.node) - (MOST_ASIDE if waits else 0)
        poor = poor_regret(stream, settings) if skips else 0.0

        # One pass takes a node from the stack and follows a single history from it to
        # a leaf. What else is to be visited on the way goes onto the stack.
        while top > 0 and status == DONE:
            if touched >= pause:
                status = np.int64(PAUSED)
                break
            top -= 1
            node: Any = np.int64(walk.node[top])
            enter(tree, game, known, path, rules, node)
            sequence: Any = np.int64(walk.sequence[top])
            weight = walk.weight[top] if weighted else 1.0
            debt, settled = walk.debt[top] if carries else 0.0, 0.0
            place = walk.place[top] if chance else ROOT_PLACE
            # One pass visits a node of that history and goes to a child, `chosen`.
            while True:
                acting = acting_at(tree, game, known, path, rules, node)
                if skips and weight == LOOK and acting >= CHANCE_NODE:
                    gradient[sequence] = SKIPPED
                    break
                first = start = infoset = count = np.int64(0)
                own = ROOT_PLACE
                if acting == TERMINAL:
                    status, row = pay(tree, game, known, path, rules, node)
                    payoff = abs(weight) * tree.utilities[row, player]
                    # not <=: an infinite weight times 0 is NaN.
                    is_unlikely = player_sampled and not abs(payoff) <= MAX_WEIGHT
                    if status == DONE and is_unlikely:
                        status = np.int64(TOO_UNLIKELY)
                    if status == DONE:
                        touched += 1
                        if in_top:
                            leaf, status = log_leaf(log, leaf, payoff, sequence)
                        else:
                            leaf = row
                            credit(gradient, sequence, payoff, touched > passed, waits)
                        if branches:
                            noted = note(walk, noted, 0, 0, 0, payoff)
                        break
                else:
                    free = room_of(
                        walk, room - top, noted, num_met, num_players, learns, forgets
                    )
                    status, first, start, count, infoset = arrive(
                        tree, game, known, path, rules, node, acting, free
                    )
                if status != DONE:
                    top = stop(
                        tree, game, known, path, rules,
                        walk, top, node, acting, sequence, weight, place,
                    )  # fmt: skip
                    if carries:
                        top, left, status = leave(walk, top, left, status, debt, waits)
                    break
                if acting >= 0:
                    start_new(tree, game, known, path, rules, tables, walk, begin, task)
                    own = place_at(tree, game, known, path, rules, infoset)
                if in_top and acting == player:
                    num_met, noted, status = log_infoset(
                        log, num_met, noted, infoset, start,
                        stream, place, weight, node,
                    )  # fmt: skip
                    if status != DONE or log.home[start] >= 0:
                        break
                policy, row = policy_at(
                    tree, game, known, path, rules, tables, acting, start, count
                )
                touched, chosen, q = touched + 1, 0, 1.0 * (acting == player)
                if carries and acting == player:
                    settled, debt = carry(tables, infoset, sequence, debt)
                mine = start  # where the sequences, or slots, of the moves begin
                if forgets and acting >= 0:
                    above = sequence if acting == player else apply.NOT_UPDATED
                    num_met, mine = apply.note_visit(
                        walk, num_met, infoset, above, weight, count, num_players
                    )
                at = Visit(first, mine, count, sequence, weight, place, debt)
                if is_far or (is_large and chance and acting == CHANCE_NODE):
                    fetch(tree, at)
                if acting == player:
                    if not (in_top or forgets):
                        num_met = meet(
                            tables, walk, num_met, infoset, at, settled,
                            once, is_far, carries,
                        )  # fmt: skip
                    if picks_own or (count > 1 and not draws_own):
                        keep(tree, game, known, path, rules, acting, start, count)
                    if picks_own:
                        top = push_picked(
                            tables, walk, top, at, settings, stream, own, chance
                        )
                        break
                    if draws_own:
                        draw = uniform(stream, own)
                        odds = policy if explores else tables.balance
                        share = settings[EPSILON] if explores else 0.0
                        chosen, q = draw_explored(odds, row, count, share, draw)
                        weight /= q
                    elif skips:
                        top, weight = push_kept(tables, walk, top, at, poor, chance)
                    else:
                        top = push_other_children(
                            walk, top, at, weighted, chance, carries
                        )
                    sequence = mine + chosen
                elif acting != CHANCE_NODE and opponents:
                    chosen = draw_action(policy, row, count, uniform(stream, own))
                elif acting == CHANCE_NODE and chance:
                    draw = uniform(stream, place)
                    chosen = draw_chance(tree.chance_cdf, start, count, draw)
                else:
                    keep(tree, game, known, path, rules, acting, start, count)
                    leaves_out = prune and acting != CHANCE_NODE
                    probs = tree.chance_probs if acting == CHANCE_NODE else policy
                    top = push_weighted_children(
                        probs, row, walk, top, at, leaves_out, chance, carries
                    )
                    break
                if learns and acting != CHANCE_NODE:
                    noted = control(
                        tables, gradient, walk, noted, at, start,
                        player, chosen, q, branches, touched > passed,
                    )  # fmt: skip
                node = descend(
                    tree, game, known, path, rules, first, acting, start, chosen
                )
                place = child_place(place, chosen) if chance else place
        if waits:
            top, status = take_back(walk, top, left, status)
        return status, top, num_met, touched, noted, leaf

    return walk_on


@pasted
def debt_at_root(task: Task, walk: Walk) -> float:
    """What the iteration of the present walk will add at a player's empty sequence."""
    weight, iteration = walk.clock[AVERAGE_WEIGHT], apply.present_iteration(walk)
    if walk.cursor[ITERATION] < iteration:  # the clock has not been moved on yet
        weight = apply.average_weight(iteration, task.settings, weight)
    return apply.weight_of(task, weight, iteration)


def make_loop(sampled: Sampled, rule: Rule, source: Source) -> Any:
    """Makes `go_on`, the loop over iterations: the walks for an update, then the
    update."""
    walk_on = make_walk(sampled, rule, source)
    floored = rule is RULES["regret_matching_plus"]
    skips, batched = sampled.skips, sampled.batched
    learns, foresees = sampled.learns, sampled.baseline == "predictive"
    once, branches, forgets = sampled.meets_once, sampled.branches, sampled.forgets
    rates, discounts = rule.rates, rule.discounts
    update = apply.make_apply(rule, met_once=once, carried=True, skips=skips)

    @inlined
    def go_on(task, tree, game, known, path, rules, tables, walk, size):
        seed, given = task.job[SEED], np.int64(task.job[BATCH])
        cursor, marks = walk.cursor, walk.marks
        num_players, is_large = tree.utilities.shape[1], size > LARGE
        top, num_met, touched = marks[TOP], marks[NUM_MET], marks[TOUCHED]
        noted, leaf, status = marks[NOTED], np.int64(0), np.int64(DONE)

        # One pass of this loop is a walk and, if it is the last one of its batch (and
        # of the last player, with simultaneous updates), the update after it. When a
        # walk cannot go on, the marks say where it stands, and the next call goes on
        # there: with a stack that is not empty.
        while True:
            walker, nth, now = marks[WALKER], marks[WALK], apply.present_iteration(walk)
            if top == 0:
                if nth == 0 and walker == cursor[PLAYER]:
                    if apply.is_at_end(task, walk):
                        break
                    if batched and apply.walks_of_group(task, walk, num_players) > 0:
                        status = np.int64(NEEDS_GROUPS)
                        break
                if learns and noted + 4 > len(walk.note):
                    status = np.int64(STACK_FULL)
                    break
                marks[NUM_MET_BEFORE], marks[TOUCHED_BEFORE] = num_met, touched
                if learns:
                    marks[NOTED_BEFORE], noted = noted, noted + 1
                top = push(walk, 0, 0, walker, 1.0, ROOT_PLACE)
                walk.debt[0] = debt_at_root(task, walk)
            number = now
            if batched:
                before, batch = apply.walks_at(given, now)
                number = before + nth + 1
            stream = stream_key(seed, number, walker, num_players)
            pause = np.int64(task.job[PAUSE_LIMIT]) - cursor[NODES_TOUCHED]
            status, top, num_met, touched, noted, leaf = walk_on(
                task, tree, game, known, path, rules, tables, walk, None,
                stream, walker, top, num_met, touched, noted, leaf, marks[PASSED],
                pause, is_large,
            )  # fmt: skip
            if status != DONE:
                break
            if learns:
                heading = marks[NOTED_BEFORE]
                value = tree.utilities[leaf, walker]
                note(walk, heading, walker, noted - heading - 1, 0, value)
            if batched:
                marks[WALK] += 1
                if marks[WALK] < batch:
                    continue
            if not apply.is_due(task, walk, num_players):
                continue
            apply.begin_update(task, tables, walk, rates, discounts)
            if learns and not foresees:
                learn(tables, walk, noted, task.settings, branches)
            if forgets:
                apply.apply_visits(tree, tables, walk, num_met, floored)
            else:
                update(task, tree, tables, walk, walk.met, 0, num_met, None)
            if foresees:
                learn(tables, walk, noted, task.settings, branches)
            marks[TOUCHED] = touched
            apply.end_update(task, tables, walk, num_players)
            num_met, touched, noted = np.int64(0), np.int64(0), np.int64(0)

        marks[TOP], marks[NUM_MET], marks[TOUCHED] = top, num_met, touched
        marks[NOTED] = noted
        return status

    return go_on


def begin_again(walk: Walk, *, drops_met: bool) -> None:
    """Takes a walk that stopped back to its root, after its nodes were dropped.

    What it added to the gradient stays, and is passed over when the walk, which makes
    the same steps, comes by again.

    Args:
        walk: whose marks and stack change.
        drops_met: whether the walk will list again what it met. Otherwise
            `Tables.is_met` knows which infosets are in the list.
    """
    marks = walk.marks
    if marks[TOP] == 0:
        return
    marks[PASSED] = max(marks[PASSED], marks[TOUCHED])
    marks[TOUCHED], marks[NOTED] = marks[TOUCHED_BEFORE], marks[NOTED_BEFORE]
    if drops_met:
        marks[NUM_MET] = marks[NUM_MET_BEFORE]
    marks[TOP] = 0
