"""Batches of walks over compiled rules, in groups that threads walk.

The walks of a batch are cut into groups. How many there are follows from the batch and
from how long walks have been so far, never from the number of threads. A thread walks a
group with a clean gradient of its own. While threads walk, nobody writes what they
share: infosets that are new to a group get numbers of the group, in a store of its own,
behind those that were known. Then what the group has found is *packed*: the infosets
met, in order, and the gradient at each.

When all groups of a stretch are walked, the leader, one of the threads, merges the
packs in the order of the groups: new infosets get their final numbers, and gradients
are added up. After the last group of the batch it makes the update. So numbers and sums
are the same for any number of threads, and until the update nothing that was learned
has changed. Where a stretch ends changes no bit.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import kernel, played
from mccfr_spiel.arenas.rules.kernel import INFOSETS, SEQUENCES, check_infoset, find_key
from mccfr_spiel.arenas.rules.played import Known, Path, views
from mccfr_spiel.common.arrays import CHANCE_NODE, INFOSET
from mccfr_spiel.kernels import apply
from mccfr_spiel.kernels.apply import NUM_GROUPS
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.shared_walks import make_part_of_batch
from mccfr_spiel.kernels.stored import STORED
from mccfr_spiel.kernels.tables import (
    BLOCK_PART,
    DONE,
    FLOAT,
    GROW,
    INT,
    LOG_FULL,
    LONG,
    NEEDS_ONE_THREAD,
    NUM_MET,
    PAUSED,
    PLAYER,
    TOUCHED,
    WALK,
    WALKER,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.teams import FAILED, NOTES, add_one, load, share, take_pieces
from mccfr_spiel.kernels.walk import LARGE, Sampled, Source, make_walk

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

    infosets: Annotated[np.ndarray, Entry(INFOSET, "[NUM_GROUPS, C]")]
    actions: Annotated[np.ndarray, Entry(LONG, "[NUM_GROUPS, S]")]
    values: Annotated[np.ndarray, Entry(played.KEY, "[NUM_GROUPS, V]")]
    rows: Annotated[np.ndarray, Entry(kernel.ROW, "[NUM_GROUPS, C + 1]")]
    table: Annotated[np.ndarray, Entry(kernel.SLOT, "[NUM_GROUPS, T]")]
    sizes: Annotated[np.ndarray, Entry(LONG, "[NUM_GROUPS, NUM_COUNTS]")]
    final: Annotated[np.ndarray, Entry(LONG, "[NUM_GROUPS, C]")]
    event: Annotated[np.ndarray, Entry(INT, "[NUM_GROUPS, C]")]
    value: Annotated[np.ndarray, Entry(FLOAT, "[NUM_GROUPS, S]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[NUM_GROUPS, NUM_COUNTS]")]


class Both(NamedTuple):
    """What a group knows of infosets: those that all groups know, and its own; and what
    it has found.

    Attributes:
        common: what all groups know.
        plan: `[PLAN_SIZE]`, which says how many infosets and sequences that are.
        own: what this group knows besides.
        infosets: the group's own, see `Groups`.
        uniform: `[A]` room for a policy, which at new infosets is uniform.
        event, value, final, counts: the group's, see `Groups`.
    """

    common: Known
    plan: np.ndarray
    own: Known
    infosets: np.ndarray
    uniform: np.ndarray
    event: np.ndarray
    value: np.ndarray
    final: np.ndarray
    counts: np.ndarray


GROUP_LAYOUT = Layout(Groups)
group_views = GROUP_LAYOUT.viewer()


# --- the source of a group's walks -------------------------------------------------


@inlined
def arrive(tree, game, known, path, rules, node, acting, free):
    """As for a single walk, but a new infoset goes to the group's own store."""
    common = known.common
    status, count, length, hashed = played.look_around(
        rules, game, path, tree, common, acting, free
    )
    start, infoset = np.int64(0), np.int64(-1)
    if status == DONE and acting != CHANCE_NODE:
        key, rows = path.key, (common.values, common.rows, common.table)
        if length > 0:
            infoset = np.int64(find_key(*rows, hashed, key, length))
        if infoset >= 0:
            start = np.int64(tree.infosets[infoset]["first_sequence"])
            parent = path.last[acting]
            found = check_infoset(
                tree.infosets, common.actions, infoset, parent, path.moves, count
            )
            if found != DONE:  # one thread will say what is wrong
                status = np.int64(NEEDS_ONE_THREAD)
        else:
            found, own = played.find_infoset(
                game, path, known.infosets, known.own, acting, count, length, hashed
            )
            status = np.int64(LOG_FULL if found == GROW else found)
            if status == DONE:
                start = known.plan[FIRST_OWN] + known.infosets[own]["first_sequence"]
                infoset = known.plan[NUM_KNOWN] + own
    return (
        status,
        np.int64(played.stacked(played.free_level(path)) + 1),
        start,
        count,
        infoset,
    )


@inlined
def place_at(tree, game, known, path, rules, infoset):
    """The place of an infoset that all know, or of one of the group's own."""
    if infoset < known.plan[NUM_KNOWN]:
        return tree.infosets[infoset]["place"]
    return known.infosets[infoset - known.plan[NUM_KNOWN]]["place"]


@inlined
def policy_at(tree, game, known, path, rules, tables, acting, start, count):
    """The policy, which is uniform where an infoset is new."""
    if acting < 0 or start < known.plan[FIRST_OWN]:
        return tables.policy, start
    for k in range(count):
        known.uniform[k] = 1.0 / count
    return known.uniform, np.int64(0)


GROUPED: Source = played.PLAYED._replace(
    arrive=arrive, place_at=place_at, policy_at=policy_at, start=STORED.start
)
"""Tables of new infosets are not started before they are merged."""


# --- walking, packing and merging --------------------------------------------------


@inlined
def both_of(
    known: Known, groups: Groups, row: int, uniform: np.ndarray, plan: np.ndarray
) -> Both:
    """What the group of a row knows."""
    own = Known(
        actions=groups.actions[row],
        values=groups.values[row],
        rows=groups.rows[row],
        table=groups.table[row],
        counts=groups.sizes[row],
    )
    found = groups.event[row], groups.value[row], groups.final[row], groups.counts[row]
    return Both(known, plan, own, groups.infosets[row], uniform, *found)


@inlined
def pack(
    infosets: np.ndarray, both: Both, tables: Tables, walk: Walk, num_met: int
) -> Any:
    """Packs what a group has met, and cleans its scratch.

    Returns:
        DONE, or LOG_FULL if there is no room for it.
    """
    event, value, gradient = both.event, both.value, tables.gradient
    num_known, num_values = both.plan[NUM_KNOWN], 0
    fits = num_met <= len(event)
    for visit in range(num_met):
        infoset = np.int64(walk.met[visit])
        tables.is_met[infoset] = 0
        if infoset < num_known:
            start = np.int64(infosets[infoset]["first_sequence"])
            count = np.int64(infosets[infoset]["num_actions"])
        else:
            own = infoset - num_known
            start = both.plan[FIRST_OWN] + both.infosets[own]["first_sequence"]
            count = np.int64(both.infosets[own]["num_actions"])
        fits = fits and num_values + count <= len(value)
        if fits:
            event[visit] = infoset
        for s in range(start, start + count):
            if fits:
                value[num_values] = gradient[s]
                num_values += 1
            gradient[s] = 0.0
    both.counts[NUM_EVENTS] = num_met
    return np.int64(DONE if fits else LOG_FULL)


@inlined
def final_sequence(infosets: np.ndarray, both: Both, s: int) -> Any:
    """The final number of a sequence, which may be one of the group's own.

    A search among the group's infosets, whose sequences ascend, finds whose it is.
    """
    if s < both.plan[FIRST_OWN]:
        return np.int64(s)
    mine = s - both.plan[FIRST_OWN]
    low, high = np.int64(0), both.own.counts[INFOSETS] - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if both.infosets[middle]["first_sequence"] <= mine:
            low = middle
        else:
            high = middle - 1
    offset = mine - both.infosets[low]["first_sequence"]
    return np.int64(infosets[both.final[low]]["first_sequence"] + offset)


@inlined
def number_own(infosets: np.ndarray, both: Both, key: np.ndarray) -> bool:
    """Gives the infosets of a group's store their final numbers.

    Args:
        infosets: of all, with room, as their store has.
        both: with the group's.
        key: room for a key.

    Returns:
        Whether groups agree on what they have met.
    """
    known, final = both.common, both.final
    for own in range(both.own.counts[INFOSETS]):
        record = both.infosets[own]
        first = both.own.rows[own]["start"]
        length = both.own.rows[own + 1]["start"] - first
        for k in range(length):
            key[k] = both.own.values[first + k]
        hashed = both.own.rows[own]["hash"]
        start = np.int64(record["first_sequence"])
        count = np.int64(record["num_actions"])
        actions = both.own.actions[start : start + count]
        parent = final_sequence(infosets, both, np.int64(record["parent"]))
        found = find_key(known.values, known.rows, known.table, hashed, key, length)
        if found < 0:
            final[own] = known.counts[INFOSETS]
            played.enter(infosets, known, key, length, hashed, found, parent, actions)
        else:
            final[own] = found
            status = check_infoset(
                infosets, known.actions, found, parent, actions, count
            )
            if status != DONE:
                return False
    return True


@inlined
def add_pack(infosets: np.ndarray, both: Both, tables: Tables, walk: Walk) -> None:
    """Adds a group's gradient to the one of all, and its infosets to the list of those
    met."""
    num_met, at = walk.marks[NUM_MET], 0
    for k in range(both.counts[NUM_EVENTS]):
        infoset = np.int64(both.event[k])
        if infoset >= both.plan[NUM_KNOWN]:
            infoset = both.final[infoset - both.plan[NUM_KNOWN]]
        if tables.is_met[infoset] == 0:
            tables.is_met[infoset] = 1
            walk.met[num_met] = infoset
            num_met += 1
        start = infosets[infoset]["first_sequence"]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            tables.gradient[s] += both.value[at]
            at += 1
    walk.marks[NUM_MET] = num_met
    walk.marks[TOUCHED] += both.counts[NODES]


@inlined
def merge(
    start_tables: Any,
    task: Task,
    tree: TreeArrays,
    known: Known,
    path: Path,
    tables: Tables,
    walk: Walk,
    groups: Groups,
    plan: np.ndarray,
) -> Any:
    """Merges the groups of the stretch that are not merged; returns a status."""
    for row in range(plan[MERGED], plan[WALKED]):
        if groups.counts[row, STATUS] != DONE:
            return np.int64(groups.counts[row, STATUS])
    while plan[MERGED] < plan[WALKED]:
        both = both_of(known, groups, plan[MERGED], path.uniform, plan)
        count, sequences = both.own.counts[INFOSETS], both.own.counts[SEQUENCES]
        values = both.own.rows[count]["start"]
        if not played.has_room_for(tree.infosets, known, count, sequences, values):
            return np.int64(GROW)
        if not number_own(tree.infosets, both, path.key):
            return np.int64(NEEDS_ONE_THREAD)
        played.start_new(
            tree, None, known, path, None, tables, walk, start_tables, task
        )
        add_pack(tree.infosets, both, tables, walk)
        plan[MERGED] += 1
    return np.int64(DONE)


@for_rule
def make_grouped_iterate(rule: Rule, sampled: Sampled) -> Any:
    """Makes `iterate(frame, frames, stores, rules, plan, desk, leads)`, which
    `teams.run` calls in all threads.

    `frame` and `rules` are those of `played.make_rule_iterate`. `frames` has a row for
    each thread: a frame with a gradient, a stack, a path and arrays of one node of the
    thread's own. `stores` is a frame of Groups. It returns DONE; PAUSED; GROW, if the
    store must be enlarged to go on; STACK_FULL or LOG_FULL, if the threads' stacks or
    the groups must be; NEEDS_ONE_THREAD if walks are too short or too long for groups;
    and whatever keeps a walk from going on, which one thread will find again.

    What its steps share are the records of all; the tree, the tables and the path of
    the leader; and the thread's own, with its stack.

    Args:
        rule: the local rule; a user's own must be compiled.
        sampled: what a walk samples, batched.
    """
    walk_part = make_part_of_batch(make_walk(sampled, rule, GROUPED, BLOCK_PART))
    move, start_tables = apply.make_apply(rule), make_start(rule)
    rates, discounts = rule.rates, rule.discounts

    @inlined
    def walk_group(task, game, known, rules, walk, groups, plan, mine, desk, row):
        """Walks the walks of a group, and packs what they find."""
        tree, tables, path, stack = mine
        batch = apply.present_batch(task, walk)
        both = both_of(known, groups, row, path.uniform, plan)
        both.own.counts[INFOSETS] = both.own.counts[SEQUENCES] = 0
        both.own.rows[0]["start"] = 0
        both.own.table[:] = 0
        first, is_large = walk.marks[WALK] + row * desk[SIZE], plan[NUM_KNOWN] > LARGE
        status, num_met, touched, _, _ = walk_part(
            task, tree, game, both, path, rules, tables, walk, stack, None,
            first, min(first + desk[SIZE], batch), is_large,
        )  # fmt: skip
        packed = pack(tree.infosets, both, tables, stack, num_met)
        for p in range(tree.utilities.shape[1]):
            tables.gradient[p] = 0.0
        both.counts[NODES], both.counts[STATUS] = touched, max(status, packed)

    @jit(nogil=True, views_only=True)
    def do_group(what, desk, row):
        frame, own, stores, rules, plan = what
        task, game, known = (
            views(frame, Task),
            views(frame, played.Game),
            views(frame, Known),
        )
        walk, groups = views(frame, Walk), group_views(stores, Groups)
        mine = views(own, TreeArrays), views(own, Tables), views(own, Path)
        mine = *mine, views(own, Walk)
        walk_group(task, game, known, rules, walk, groups, plan, mine, desk, row)

    @inlined
    def go_on(task, known, walk, groups, tree, tables, path, plan, what, desk, leads):
        if not leads:
            take_pieces(do_group, what, desk, False)
            return np.int64(DONE)
        marks, num_players = walk.marks, tree.utilities.shape[1]
        played.start_new(
            tree, None, known, path, None, tables, walk, start_tables, task
        )
        # One pass walks a stretch of groups, unless they have been walked and are being
        # merged, merges them, and updates after the last one of the batch.
        while True:
            if plan[MERGED] == plan[WALKED]:
                size = apply.walks_of_group(task, walk, num_players)
                if marks[WALK] == 0 and marks[WALKER] == walk.cursor[PLAYER]:
                    if apply.is_at_end(task, walk):
                        return np.int64(DONE)
                    if size == 0:
                        return np.int64(NEEDS_ONE_THREAD)
                left, desk[SIZE] = apply.present_batch(task, walk) - marks[WALK], size
                plan[NUM_KNOWN] = known.counts[INFOSETS]
                plan[FIRST_OWN] = known.counts[SEQUENCES]
                plan[MERGED], plan[WALKED] = 0, min(-(-left // size), NUM_GROUPS)
                share(do_group, what, desk, 0, plan[WALKED])
                if load(desk, FAILED) != 0:
                    return np.int64(NEEDS_ONE_THREAD)
            status = merge(
                start_tables, task, tree, known, path, tables, walk, groups, plan
            )
            if status != DONE:
                return status
            walks = plan[WALKED] * apply.walks_of_group(task, walk, num_players)
            plan[MERGED] = plan[WALKED] = 0
            status = apply.after_stretch(task, walk, walks, num_players)
            if status == DONE:
                apply.begin_update(task, tables, walk, rates, discounts)
                move(task, tree, tables, walk, walk.met, 0, marks[NUM_MET], None)
                apply.end_update(task, tables, walk, num_players)
            elif status == PAUSED:
                return status

    @jit(nogil=True, views_only=True)
    def iterate(frame, frames, stores, rules, plan, desk, leads):
        own = frames[add_one(desk, ARRIVED) % len(frames)]
        task, known, path = views(frame, Task), views(frame, Known), views(frame, Path)
        walk, groups = views(frame, Walk), group_views(stores, Groups)
        tree, tables = views(frame, TreeArrays), views(frame, Tables)
        what = frame, own, stores, rules, plan
        return go_on(
            task, known, walk, groups, tree, tables, path, plan, what, desk, leads
        )

    return iterate
