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
from mccfr_spiel.arenas.rules.played import (
    Game,
    Known,
    Path,
    RuleNodes,
    nodes_of,
)
from mccfr_spiel.arenas.rules.walks import PLAYED, start_new, views
from mccfr_spiel.common.arrays import CHANCE_NODE, INFOSET
from mccfr_spiel.kernels import apply
from mccfr_spiel.kernels.apply import NUM_GROUPS
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.shared_walks import make_part_of_batch
from mccfr_spiel.kernels.stored import STORED
from mccfr_spiel.kernels.switches import Sampled
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
from mccfr_spiel.kernels.walk import LARGE, Source, make_walk

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
        rules: the addresses from `kernel.callable_rules`.
        own: the infosets that are new to the group.
    """

    infosets: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    utilities: np.ndarray
    game: Game
    known: Known
    path: Path
    rules: Any
    own: Own


GROUP_LAYOUT = Layout(Groups)
group_views = GROUP_LAYOUT.viewer()


# --- the source of a group's walks -------------------------------------------------


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
            status, infoset = played.find_infoset(
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


# --- walking, packing and merging --------------------------------------------------


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


@inlined
def pack(
    infosets: np.ndarray, own: Own, tables: Tables, walk: Walk, num_met: int
) -> Any:
    """Packs the infosets that a group has met with their gradients, and clears the
    scratch of the thread.

    Returns:
        DONE, or LOG_FULL if the pack has no room for them.
    """
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
    """The final number of a sequence, which may be one of the group's own.

    A search among the group's infosets, whose sequences ascend, finds whose it is.
    """
    if s < own.plan[FIRST_OWN]:
        return np.int64(s)
    mine = s - own.plan[FIRST_OWN]
    low, high = np.int64(0), own.known.counts[INFOSETS] - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if own.infosets[middle]["first_sequence"] <= mine:
            low = middle
        else:
            high = middle - 1
    offset = mine - own.infosets[low]["first_sequence"]
    return np.int64(infosets[own.final[low]]["first_sequence"] + offset)


@inlined
def number_own(infosets: np.ndarray, known: Known, own: Own, key: np.ndarray) -> bool:
    """Assigns the final numbers of the infosets in a group's store.

    Args:
        infosets: the infosets that all groups know, with spare room.
        known: their keys.
        own: the group's.
        key: room for a key.

    Returns:
        Whether the groups agree about the infosets.
    """
    final = own.final
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
        slot = find_key(known.values, known.rows, known.table, hashed, key, length)
        if slot < 0:
            final[number] = known.counts[INFOSETS]
            played.add_infoset(
                infosets, known, key, length, hashed, slot, parent, actions
            )
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
    """Adds a group's gradient to the one of all, and its infosets to the list of those
    met."""
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
    """Merges the groups of the stretch that have not been merged; returns a status."""
    infosets, known = nodes.infosets, nodes.known
    for row in range(plan[MERGED], plan[WALKED]):
        if groups.counts[row, STATUS] != DONE:
            return np.int64(groups.counts[row, STATUS])
    while plan[MERGED] < plan[WALKED]:
        own = own_of(groups, plan[MERGED], nodes.path.uniform, plan)
        count, sequences = own.known.counts[INFOSETS], own.known.counts[SEQUENCES]
        values = own.known.rows[count]["start"]
        if not played.has_room_for(infosets, known, count, sequences, values):
            return np.int64(GROW)
        if not number_own(infosets, known, own, nodes.path.key):
            return np.int64(NEEDS_ONE_THREAD)
        start_new(nodes, tables, walk, start_tables, task)
        add_pack(infosets, own, tables, walk)
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
        """Makes the walks of a group, and packs their results."""
        tree, tables, path, stack = mine
        batch = apply.present_batch(task, walk)
        own = own_of(groups, row, path.uniform, plan)
        own.known.counts[INFOSETS] = own.known.counts[SEQUENCES] = 0
        own.known.rows[0]["start"] = 0
        own.known.table[:] = 0
        nodes = GroupNodes(
            infosets=tree.infosets,
            chance_probs=tree.chance_probs,
            chance_cdf=tree.chance_cdf,
            utilities=tree.utilities,
            game=game,
            known=known,
            path=path,
            rules=rules,
            own=own,
        )
        first, is_large = walk.marks[WALK] + row * desk[SIZE], plan[NUM_KNOWN] > LARGE
        stop = min(first + desk[SIZE], batch)
        status, progress = walk_part(
            task, nodes, tables, walk, stack, None, first, stop, is_large
        )
        packed = pack(tree.infosets, own, tables, stack, progress.num_met)
        for p in range(tree.utilities.shape[1]):
            tables.gradient[p] = 0.0
        own.counts[NODES] = progress.num_touched
        own.counts[STATUS] = max(status, packed)

    @jit(nogil=True, views_only=True)
    def do_group(what, desk, row):
        frame, own, stores, rules, plan = what
        task, game = views(frame, Task), views(frame, Game)
        known, groups = views(frame, Known), group_views(stores, Groups)
        walk, tree = views(frame, Walk), views(own, TreeArrays)
        mine = tree, views(own, Tables), views(own, Path), views(own, Walk)
        walk_group(task, game, known, rules, walk, groups, plan, mine, desk, row)

    @inlined
    def go_on(task, nodes, tables, walk, groups, plan, what, desk, leads):
        if not leads:
            take_pieces(do_group, what, desk, False)
            return np.int64(DONE)
        known, marks, num_players = nodes.known, walk.marks, nodes.utilities.shape[1]
        start_new(nodes, tables, walk, start_tables, task)
        # Each pass walks a stretch of groups unless it has been walked already, merges
        # the groups, and updates after the last stretch of the batch. The loop ends at
        # the end of the job or when the status is not DONE.
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
            status = merge(start_tables, task, nodes, tables, walk, groups, plan)
            if status != DONE:
                return status
            walks = plan[WALKED] * apply.walks_of_group(task, walk, num_players)
            plan[MERGED] = plan[WALKED] = 0
            status = apply.after_stretch(task, walk, walks, num_players)
            if status == DONE:
                apply.begin_update(task, tables, walk, rates, discounts)
                move(task, nodes, tables, walk, walk.met, 0, marks[NUM_MET], None)
                apply.end_update(task, tables, walk, num_players)
            elif status == PAUSED:
                return status

    @jit(nogil=True, views_only=True)
    def iterate(frame, frames, stores, rules, plan, desk, leads):
        own = frames[add_one(desk, ARRIVED) % len(frames)]
        task, tables, walk = (
            views(frame, Task),
            views(frame, Tables),
            views(frame, Walk),
        )
        tree, game = views(frame, TreeArrays), views(frame, Game)
        known, path = views(frame, Known), views(frame, Path)
        nodes = nodes_of(tree, game, known, path, rules)
        groups, what = group_views(stores, Groups), (frame, own, stores, rules, plan)
        return go_on(task, nodes, tables, walk, groups, plan, what, desk, leads)

    return iterate
