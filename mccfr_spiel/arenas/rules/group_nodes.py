"""The source of the nodes of a group's walks over compiled rules."""

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
from mccfr_spiel.kernels.teams import NOTES
from mccfr_spiel.kernels.walk import Source

NUM_EVENTS, NODES, STATUS = range(3)
NUM_COUNTS = 16
"""The counts of a group: how many infosets it has met, the nodes touched, and DONE or
what kept its walks from going on. There are entries to spare, so that those that
different threads change lie in different lines of the processor's cache."""

NUM_KNOWN, FIRST_OWN, MERGED, WALKED, PLAN_SIZE = range(5)
"""The entries of a plan: how many infosets all groups of the stretch know, the number
from which on their own sequences are numbered, how many groups are merged, and how many
are walked."""

ARRIVED, SIZE = range(NOTES, NOTES + 2)
NUM_GROUP_NOTES = 2
"""What is noted on the desk: how many threads have arrived, and the walks of a group.
"""


class Groups(NamedTuple):
    """What groups find: a row of each array for each of them.

    A group has room for C infosets. The first six arrays are each group's own store of
    infosets that were not known.

    Attributes:
        infosets: see INFOSET.
        actions: as `Known.actions`.
        values: as `Known.values`.
        rows: as `Known.rows`.
        table: as `Known.table`.
        sizes: as `Known.counts`.
        final: the final numbers of the group's infosets.
        event: the infosets met, in order.
        value: the gradients there.
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
    """The infosets that are new to a group, and its results.

    Attributes:
        plan: `[PLAN_SIZE]`; NUM_KNOWN and FIRST_OWN separate the common numbers of
            infosets and sequences from the group's own.
        known: the group's own infosets.
        infosets: their records.
        uniform: `[A]` room for a policy, which is uniform at new infosets.
        event: the infosets met, in order.
        value: the gradients there.
        final: the final numbers of the group's own infosets.
        counts: see NUM_COUNTS.
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
    """The record of nodes of a group's walks, see `kernels.walk.Source`.

    Attributes:
        infosets: the infosets that all groups know.
        chance_probs: the chance distribution of the present node.
        chance_cdf: its cumulative sums.
        utilities: `[1, P]`, the returns of the present node.
        game: the declaration.
        known: the keys of the infosets that all groups know.
        path: the present state.
        rules: the addresses from `rule_calls.callable_rules`.
        own: the infosets that are new to the group.
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
    """As `played.arrive`, but a new infoset is added to the group's own store."""
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
            mistake = check_infoset(
                nodes.infosets, known.actions, infoset, parent, path.moves, count
            )
            if mistake != DONE:  # one thread will report the mistake
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
    """The place of an infoset, which may be one of the group's own."""
    own = nodes.own
    if infoset < own.plan[NUM_KNOWN]:
        return nodes.infosets[infoset]["place"]
    return own.infosets[infoset - own.plan[NUM_KNOWN]]["place"]


@inlined
def policy_at(nodes, tables, moves):
    """The policy, which is uniform at the group's own infosets."""
    own = nodes.own
    if moves.start < own.plan[FIRST_OWN]:
        return tables.policy, moves.start
    for k in range(moves.count):
        own.uniform[k] = 1.0 / moves.count
    return own.uniform, np.int64(0)


GROUPED: Source = PLAYED._replace(
    arrive=arrive, place_at=place_at, policy_at=policy_at, start=STORED.start
)
"""Tables of new infosets are started when groups have been merged."""


@inlined
def own_of(groups: Groups, row: int, uniform: np.ndarray, plan: np.ndarray) -> Own:
    """The store and the results of the group of a row."""
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
