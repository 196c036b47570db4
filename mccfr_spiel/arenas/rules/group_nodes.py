"""The source of nodes for a group of walks over compiled rules.

grouped.py explains groups and stretches (the groups that are processed before the next
merge). All groups share the infosets that were known when the stretch began, and do not
change them. Infosets that are new to a group are added to the group's own store. Until
the groups are merged (group_merging.py), an *own* infoset or sequence of a group has a
temporary number: the number of shared infosets or sequences, plus the index in the
group's store.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.row_table import ROW, SLOT, find_key
from mccfr_spiel.arenas.rules.rule_faults import check_infoset
from mccfr_spiel.arenas.rules.rule_infosets import find_infoset
from mccfr_spiel.arenas.rules.rule_records import KEY, GameArrays, Known, Path
from mccfr_spiel.arenas.rules.walks import PLAYED
from mccfr_spiel.common.arrays import CHANCE_NODE, INFOSET
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.source import (
    Source,
)
from mccfr_spiel.kernels.stored import STORED
from mccfr_spiel.kernels.tables import (
    DONE,
    FLOAT,
    GROW,
    INT,
    LOG_FULL,
    LONG,
    NEEDS_ONE_THREAD,
)
from mccfr_spiel.kernels.tickets import (
    NOTES,
)

NUM_EVENTS, NODES, STATUS = range(3)
NUM_COUNTS = 16
"""Indices of `Own.counts`, an array of length NUM_COUNTS:

NUM_EVENTS: number of distinct infosets that the group's walks have visited.
NODES: number of nodes touched.
STATUS: DONE, or the reason why the walks stopped.

The other elements are unused. They keep the counts of different threads in different
cache lines.
"""

NUM_KNOWN, FIRST_OWN, MERGED, WALKED, PLAN_SIZE = range(5)
"""Indices of `plan`, the array that describes the present stretch:

NUM_KNOWN: number of shared infosets; temporary numbers of own infosets start here.
FIRST_OWN: number of shared sequences; temporary numbers of own sequences start here.
MERGED: number of groups that have been merged.
WALKED: number of groups in the stretch.
PLAN_SIZE: length of the array.
"""

ARRIVED, SIZE = range(NOTES, NOTES + 2)
NUM_GROUP_NOTES = 2
"""Additional elements of the desk, the counters that threads share
(kernels/tickets.py):

ARRIVED: number of threads that have started.
SIZE: number of walks per group.
"""


class Groups(NamedTuple):
    """Stores and results of all groups, one row per group.

    Shapes: G groups; C infosets, S sequences, V key values and T slots that fit a
    group. The first six arrays are the store of infosets that are new to the group.

    Attributes:
        infosets: records of the new infosets.
        actions: action of each new sequence.
        values: concatenated keys of the new infosets.
        rows: hash and start of each key.
        table: hash table of the keys.
        sizes: number of new infosets and number of their sequences, as `Known.counts`.
        final: numbers of the new infosets after the merge.
        event: infosets visited, in the order of their first visit.
        value: concatenated gradients of the infosets in `event`.
        counts: see NUM_COUNTS.
    """

    infosets: Annotated[np.ndarray, Entry(INFOSET, "[G, C]")]
    actions: Annotated[np.ndarray, Entry(LONG, "[G, S]")]
    values: Annotated[np.ndarray, Entry(KEY, "[G, V]")]
    rows: Annotated[np.ndarray, Entry(ROW, "[G, C + 1]")]
    table: Annotated[np.ndarray, Entry(SLOT, "[G, T]")]
    sizes: Annotated[np.ndarray, Entry(LONG, "[G, NUM_COUNTS]")]
    final: Annotated[np.ndarray, Entry(LONG, "[G, C]")]
    event: Annotated[np.ndarray, Entry(INT, "[G, C]")]
    value: Annotated[np.ndarray, Entry(FLOAT, "[G, S]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[G, NUM_COUNTS]")]


class Own(NamedTuple):
    """The store and the results of one group, as rows of `Groups`.

    Attributes:
        plan: `[PLAN_SIZE]` description of the present stretch, see NUM_KNOWN.
        known: keys and actions of the group's new infosets.
        infosets: `[C]` INFOSET, records of the new infosets.
        uniform: `[A]` buffer for the uniform policy of a new infoset.
        event: `[C]` infosets visited, in the order of their first visit.
        value: `[S]` concatenated gradients of the infosets in `event`.
        final: `[C]` numbers of the new infosets after the merge.
        counts: `[NUM_COUNTS]`, see NUM_COUNTS.
    """

    plan: np.ndarray
    known: Known
    infosets: np.ndarray
    uniform: np.ndarray
    event: np.ndarray
    value: np.ndarray
    final: np.ndarray
    counts: np.ndarray


class GroupNodes(NamedTuple):
    """The record `nodes` of the source GROUPED, see `kernels.source.Source`.

    Attributes:
        infosets: `[I]` INFOSET, records of the shared infosets.
        chance_probs: `[A]` chance distribution of the present node.
        chance_cdf: `[A]` cumulative sums of `chance_probs`.
        utilities: `[1, P]` returns of the present node.
        game: declarations of the game.
        known: keys of the shared infosets.
        path: present state.
        rules: addresses from `rule_calls.callable_rules`.
        own: store and results of the group.
    """

    infosets: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    utilities: np.ndarray
    game: GameArrays
    known: Known
    path: Path
    rules: Any
    own: Own


GROUP_LAYOUT = Layout(Groups)
group_views = GROUP_LAYOUT.viewer()


@inlined
def arrive(nodes, node, acting, room):
    """Lists the moves of the present node, and finds or adds its infoset.

    Arguments and results are those of `played.arrive`, but a new infoset is added to
    the group's own store and has a temporary number.
    """
    known, own, path = nodes.known, nodes.own, nodes.path
    status, count, length, hashed = played.look_around(nodes, acting, room)
    start, infoset = np.int64(0), np.int64(-1)
    if status == DONE and acting != CHANCE_NODE:
        key, parent = path.key, path.last[acting]
        if length > 0:
            infoset = np.int64(
                find_key(known.values, known.rows, known.table, hashed, key, length)
            )
        if infoset >= 0:
            start = np.int64(nodes.infosets[infoset]["first_sequence"])
            fault = check_infoset(
                nodes.infosets, known.actions, infoset, parent, path.moves, count
            )
            # The loop for one thread will repeat the walks and report the error.
            if fault != DONE:
                status = np.int64(NEEDS_ONE_THREAD)
        else:
            status, infoset = find_infoset(
                nodes.game, path, own.infosets, own.known, acting, count, length, hashed
            )
            status = np.int64(LOG_FULL if status == GROW else status)
            if status == DONE:
                first = own.infosets[infoset]["first_sequence"]
                start = own.plan[FIRST_OWN] + first
                infoset += own.plan[NUM_KNOWN]
    return status, played.moves_at(path, acting, infoset, start, count)


@inlined
def place_at(nodes, infoset):
    """Returns the place of a shared or own infoset: the hash that selects its draws."""
    own = nodes.own
    if infoset < own.plan[NUM_KNOWN]:
        return nodes.infosets[infoset]["place"]
    return own.infosets[infoset - own.plan[NUM_KNOWN]]["place"]


@inlined
def policy_at(nodes, tables, moves):
    """Returns a pair: an array with the acting player's policy at an infoset, and the
    index of the first action's probability in this array.

    For a shared infoset, these are the solver's `policy` and the first sequence. For an
    own infoset, which has not been updated yet, they are a buffer with the uniform
    policy, and 0.
    """
    own = nodes.own
    if moves.start < own.plan[FIRST_OWN]:
        return tables.policy, moves.start
    for k in range(moves.count):
        own.uniform[k] = 1.0 / moves.count
    return own.uniform, np.int64(0)


GROUPED: Source = PLAYED._replace(
    arrive=arrive, place_at=place_at, policy_at=policy_at, start=STORED.start
)
"""The source of a group's walks. `start` does nothing, because the leader initializes
the tables of new infosets after the merge."""


@inlined
def own_of(groups: Groups, row: int, uniform: np.ndarray, plan: np.ndarray) -> Own:
    """Returns the record `Own` of one group, which consists of views of `Groups`.

    Args:
        groups: stores and results of all groups.
        row: number of the group.
        uniform: buffer for a uniform policy.
        plan: description of the present stretch.
    """
    known = Known(
        actions=groups.actions[row],
        values=groups.values[row],
        rows=groups.rows[row],
        table=groups.table[row],
        counts=groups.sizes[row],
    )
    return Own(
        plan=plan,
        known=known,
        infosets=groups.infosets[row],
        uniform=uniform,
        event=groups.event[row],
        value=groups.value[row],
        final=groups.final[row],
        counts=groups.counts[row],
    )
