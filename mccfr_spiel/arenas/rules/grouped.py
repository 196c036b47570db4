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

from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules.group_merging import merge, pack
from mccfr_spiel.arenas.rules.group_nodes import (
    ARRIVED,
    FIRST_OWN,
    GROUPED,
    MERGED,
    NODES,
    NUM_KNOWN,
    SIZE,
    STATUS,
    WALKED,
    GroupNodes,
    Groups,
    group_views,
    own_of,
)
from mccfr_spiel.arenas.rules.rule_records import (
    INFOSETS,
    SEQUENCES,
    GameArrays,
    Known,
    Path,
    nodes_of,
)
from mccfr_spiel.arenas.rules.walks import start_new, views
from mccfr_spiel.kernels import apply
from mccfr_spiel.kernels.apply import NUM_GROUPS
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.shared_walks import make_part_of_batch
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import (
    BLOCK_PART,
    DONE,
    NEEDS_ONE_THREAD,
    NUM_MET,
    PAUSED,
    PLAYER,
    WALK,
    WALKER,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.teams import FAILED, add_one, load, share, take_pieces
from mccfr_spiel.kernels.walk import LARGE, make_walk


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
        task, game = views(frame, Task), views(frame, GameArrays)
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
        tree, game = views(frame, TreeArrays), views(frame, GameArrays)
        known, path = views(frame, Known), views(frame, Path)
        nodes = nodes_of(tree, game, known, path, rules)
        groups, what = group_views(stores, Groups), (frame, own, stores, rules, plan)
        return go_on(task, nodes, tables, walk, groups, plan, what, desk, leads)

    return iterate
