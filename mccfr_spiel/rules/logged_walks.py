"""Walks over compiled rules that change nothing but a log; see threaded_walks.py."""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.compiled.prefetch import prefetch
from mccfr_spiel.compiled.randomness import ROOT_PLACE, child_place, uniform
from mccfr_spiel.kernels.sampling import draw_action, draw_chance, draw_explored
from mccfr_spiel.kernels.stack import (
    Visit,
    push,
    push_other_children,
    push_weighted_children,
)
from mccfr_spiel.kernels.tables import (
    DONE,
    EPSILON,
    GROW,
    LOG_FULL,
    NEEDS_ONE_THREAD,
    STACK_FULL,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.walks import LARGE, MAX_WEIGHT, Sampled
from mccfr_spiel.rules.kernel import BAD_KEY, INFOSETS, SEQUENCES, check_infoset
from mccfr_spiel.rules.key_table import find_key, likely_row
from mccfr_spiel.rules.walk_logs import (
    APART,
    NUM_WALKS,
    STATUS,
    Own,
)
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
    save,
    stacked,
    start_new,
    views,
    who_acts,
)


class Shared(NamedTuple):
    """What walks read of the infosets that all know, and of the solver's tables."""

    infosets: np.ndarray
    policy: np.ndarray
    known: Known


class Policies(NamedTuple):
    """What `push_weighted_children` reads of `Tables`."""

    policy: np.ndarray


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
                            record["place"],
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
                        record["place"],
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
