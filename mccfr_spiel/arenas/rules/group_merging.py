"""Merging of the results of groups of walks.

A thread *packs* the results of a group: it copies the visited infosets, in order, and
the gradient at each of them. The leader (grouped.py) merges the packs in the order of
the groups: it assigns final numbers to new infosets and adds up the gradients. So
numbers and sums do not depend on the number of threads.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules.group_nodes import (
    FIRST_OWN,
    MERGED,
    NODES,
    NUM_EVENTS,
    NUM_KNOWN,
    STATUS,
    WALKED,
    Groups,
    Own,
    own_of,
)
from mccfr_spiel.arenas.rules.row_table import find_key
from mccfr_spiel.arenas.rules.rule_faults import check_infoset
from mccfr_spiel.arenas.rules.rule_infosets import add_infoset, has_room_for
from mccfr_spiel.arenas.rules.rule_records import INFOSETS, SEQUENCES, Known, RuleNodes
from mccfr_spiel.arenas.rules.walks import start_new
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import (
    DONE,
    GROW,
    LOG_FULL,
    NEEDS_ONE_THREAD,
    NUM_MET,
    TOUCHED,
    Tables,
    Task,
    Walk,
)


@inlined
def pack(
    infosets: np.ndarray, own: Own, tables: Tables, walk: Walk, num_met: int
) -> Any:
    """Packs the infosets and gradients of a group, and clears the thread's gradient.

    Args:
        infosets: records of the shared infosets.
        own: the group; `event`, `value` and `counts` are written.
        tables: tables with the thread's gradient and `is_met`, which are cleared.
        walk: buffers of the thread's walks, with the visited infosets in `walk.met`.
        num_met: number of visited infosets.

    Returns:
        DONE, or LOG_FULL if the pack is too small for the results.
    """
    # The gradient is cleared even if the pack is too small: the walks will be repeated.
    event, value, gradient = own.event, own.value, tables.gradient
    num_known, num_values = own.plan[NUM_KNOWN], 0
    fits = num_met <= len(event)
    for visit in range(num_met):
        infoset = np.int64(walk.met[visit])
        tables.is_met[infoset] = 0
        if infoset < num_known:
            start = np.int64(infosets[infoset]["first_sequence"])
            count = np.int64(infosets[infoset]["num_actions"])
        else:
            record = own.infosets[infoset - num_known]
            start = own.plan[FIRST_OWN] + record["first_sequence"]
            count = np.int64(record["num_actions"])
        fits = fits and num_values + count <= len(value)
        if fits:
            event[visit] = infoset
        for s in range(start, start + count):
            if fits:
                value[num_values] = gradient[s]
                num_values += 1
            gradient[s] = 0.0
    own.counts[NUM_EVENTS] = num_met
    return np.int64(DONE if fits else LOG_FULL)


@inlined
def final_sequence(infosets: np.ndarray, own: Own, s: int) -> Any:
    """Returns the final number of a sequence after the merge.

    A shared sequence keeps its number. For an own sequence of the group, the infoset is
    found by bisection, because the sequences of own infosets ascend. `final` of this
    infoset must be known.
    """
    if s < own.plan[FIRST_OWN]:
        return np.int64(s)
    sequence = s - own.plan[FIRST_OWN]
    # Invariant: the sequence belongs to one of the infosets low .. high.
    low, high = np.int64(0), own.known.counts[INFOSETS] - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if own.infosets[middle]["first_sequence"] <= sequence:
            low = middle
        else:
            high = middle - 1
    offset = sequence - own.infosets[low]["first_sequence"]
    return np.int64(infosets[own.final[low]]["first_sequence"] + offset)


@inlined
def number_own(infosets: np.ndarray, known: Known, own: Own, key: np.ndarray) -> bool:
    """Assigns final numbers to the new infosets of a group, and adds them to the shared
    store.

    Args:
        infosets: records of the shared infosets; changes.
        known: keys and actions of the shared infosets; changes.
        own: the group; `final` is written.
        key: buffer for a key.

    Returns:
        True; False if an earlier group added the same infoset with different legal
            actions or another parent sequence.
    """
    final = own.final
    # Each pass of the loop numbers one infoset. In a group's store, ancestors precede
    # descendants, so the final number of the parent sequence is already known.
    for number in range(own.known.counts[INFOSETS]):
        record = own.infosets[number]
        first = own.known.rows[number]["start"]
        length = own.known.rows[number + 1]["start"] - first
        for k in range(length):
            key[k] = own.known.values[first + k]
        hashed = own.known.rows[number]["hash"]
        start = np.int64(record["first_sequence"])
        count = np.int64(record["num_actions"])
        actions = own.known.actions[start : start + count]
        parent = final_sequence(infosets, own, np.int64(record["parent"]))
        # An earlier group of the stretch may have added the infoset.
        slot = find_key(known.values, known.rows, known.table, hashed, key, length)
        if slot < 0:
            final[number] = known.counts[INFOSETS]
            add_infoset(infosets, known, key, length, hashed, slot, parent, actions)
        else:
            final[number] = slot
            status = check_infoset(
                infosets, known.actions, slot, parent, actions, count
            )
            if status != DONE:
                return False
    return True


@inlined
def add_pack(infosets: np.ndarray, own: Own, tables: Tables, walk: Walk) -> None:
    """Adds the packed gradient of a group to the gradient of the batch, and its
    infosets to the list of visited infosets.
    """
    num_met, at = walk.marks[NUM_MET], 0
    for k in range(own.counts[NUM_EVENTS]):
        infoset = np.int64(own.event[k])
        if infoset >= own.plan[NUM_KNOWN]:
            infoset = own.final[infoset - own.plan[NUM_KNOWN]]
        if tables.is_met[infoset] == 0:
            tables.is_met[infoset] = 1
            walk.met[num_met] = infoset
            num_met += 1
        start = infosets[infoset]["first_sequence"]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            tables.gradient[s] += own.value[at]
            at += 1
    walk.marks[NUM_MET] = num_met
    walk.marks[TOUCHED] += own.counts[NODES]


@inlined
def merge(
    start_tables: Any,
    task: Task,
    nodes: RuleNodes,
    tables: Tables,
    walk: Walk,
    groups: Groups,
    plan: np.ndarray,
) -> Any:
    """Merges the groups of a stretch in order.

    Args:
        start_tables: function from `make_start`.
        task: settings of the solver.
        nodes: record of nodes with the shared infosets; changes.
        tables: tables of the solver; the gradient of the batch changes.
        walk: buffers of the batch; the list of visited infosets changes.
        groups: stores and results of all groups.
        plan: description of the present stretch; `plan[MERGED]` changes.

    Returns:
        DONE; the status of a group that stopped; GROW if the shared store is full; or
            NEEDS_ONE_THREAD if groups contradict each other. After GROW, call again
            with a larger store.
    """
    infosets, known = nodes.infosets, nodes.known
    # Nothing is merged if a group failed: all groups must be repeated.
    for row in range(plan[MERGED], plan[WALKED]):
        if groups.counts[row, STATUS] != DONE:
            return np.int64(groups.counts[row, STATUS])
    # Invariant: groups before plan[MERGED] are merged completely, so a call after GROW
    # continues with the next group.
    while plan[MERGED] < plan[WALKED]:
        own = own_of(groups, plan[MERGED], nodes.path.uniform, plan)
        count, sequences = own.known.counts[INFOSETS], own.known.counts[SEQUENCES]
        values = own.known.rows[count]["start"]
        if not has_room_for(infosets, known, count, sequences, values):
            return np.int64(GROW)
        if not number_own(infosets, known, own, nodes.path.key):
            return np.int64(NEEDS_ONE_THREAD)
        start_new(nodes, tables, walk, start_tables, task)
        add_pack(infosets, own, tables, walk)
        plan[MERGED] += 1
    return np.int64(DONE)
