"""What the leader does with the logs of a batch over compiled rules: it adds the new
infosets, meets those of the player, and adds up the leaves, walk by walk; see
threaded_walks.py.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.compiled.prefetch import prefetch
from mccfr_spiel.compiled.randomness import ROOT_PLACE
from mccfr_spiel.kernels.batch_logs import NTH_NOW, NUM_TOP, TOUCHED_NOW
from mccfr_spiel.kernels.logged_walks import move
from mccfr_spiel.kernels.minimizers import rule_of
from mccfr_spiel.kernels.stack import Visit
from mccfr_spiel.kernels.tables import (
    DONE,
    NEEDS_ONE_THREAD,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.walks import LARGE, meet
from mccfr_spiel.rules.kernel import INFOSETS
from mccfr_spiel.rules.key_table import ask_for_slot
from mccfr_spiel.rules.walk_logs import (
    APART,
    NUM_WALKS,
    STATUS,
    Own,
    RuleLogs,
    own_in,
)
from mccfr_spiel.rules.walks import Game, Known, Path, find_infoset, start_new, views

_FAR, _NEAR = 16, 8
"""An infoset's record is asked for when so many others are to be read before it, and
the tables when so many are."""


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
