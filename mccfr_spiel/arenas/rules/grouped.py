"""Batches of walks over compiled rules, shared by threads.

A batch (walks for one player that all sample against the same policies) is cut into
*groups* of walks. The size of a group depends on the batch size and the mean length of
earlier walks, never on the number of threads. At most NUM_GROUPS consecutive groups
form a *stretch*, the part of a batch that the threads process before the results are
merged:

1. Each thread runs the walks of one group at a time with a separate, zeroed gradient.
   No thread writes shared arrays meanwhile; infosets that are new are added to the
   group's own store (group_nodes.py).
2. The same thread packs the group's results into a list of infosets and gradients
   (group_merging.py).
3. When all groups of a stretch are packed, one thread, the leader, merges the packs in
   the order of the groups.
4. If an update is due after the last stretch of the batch, the leader updates the
   policies.

So the results are equal to the bit for any number of threads, and the policies do not
change before the update.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba removes branches that compile-time constants exclude)

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
from mccfr_spiel.kernels import apply, batches
from mccfr_spiel.kernels.atomics import load
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.progress import LARGE
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
from mccfr_spiel.kernels.tickets import FAILED, add_one, share, take_pieces
from mccfr_spiel.kernels.walk import make_walk


@for_rule
def make_grouped_iterate(rule: Rule, sampled: Sampled) -> Any:
    """Compiles `iterate(frame, frames, stores, rules, plan, desk, leads)`.

    All threads of a team call `iterate` with the same arguments except `leads`, by
    means of `teams.run`:

    | argument | content |
    |---|---|
    | `frame` | the solver's frame, as for `walks.make_rule_iterate` |
    | `frames` | a frame per thread: gradient, stack, path and arrays of one node |
    | `stores` | frame of `Groups` |
    | `rules` | addresses from `rule_calls.callable_rules` |
    | `plan` | `[PLAN_SIZE]` state of the present stretch, see `group_nodes.NUM_KNOWN` |
    | `desk` | counters by which threads claim groups, see kernels/tickets.py |
    | `leads` | whether the calling thread is the leader |

    The leader's result is a status; other threads return DONE:

    | status | meaning |
    |---|---|
    | DONE | the job is finished |
    | PAUSED | Python should handle signals, then call again |
    | GROW | enlarge the shared store and call again |
    | STACK_FULL, LOG_FULL | enlarge stacks or groups' stores and call again |
    | NEEDS_ONE_THREAD | call the loop for one thread, see below |
    | other | a group stopped; the loop for one thread will return the same status |

    NEEDS_ONE_THREAD means that walks are too short or too long for groups, that a
    thread failed, or that groups contradict each other about an infoset.

    Args:
        rule: the local rule; a user's rule must be compiled.
        sampled: the sampled parts of an algorithm with batches of walks.
    """
    walk_on = make_walk(sampled, rule, GROUPED, BLOCK_PART)
    walk_part = make_part_of_batch(sampled, walk_on)
    move, start_tables = apply.make_apply(rule), make_start(rule)
    rates, discounts = rule.rates, rule.discounts

    @inlined
    def walk_group(task, game, known, rules, walk, groups, plan, private, desk, row):
        """Runs the walks of the group `row`, beginning with an empty store for new
        infosets, and packs the results.

        `private` contains the thread's own arrays of one node, tables, path and stack.
        """
        tree, tables, path, stack = private
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
        # Empty sequences belong to no infoset, so `pack` does not clear them.
        for p in range(tree.utilities.shape[1]):
            tables.gradient[p] = 0.0
        own.counts[NODES] = progress.num_touched
        own.counts[STATUS] = max(status, packed)

    @jit(nogil=True, views_only=True)
    def do_group(arguments, desk, row):
        """Makes the records of a thread, and runs the walks of the group `row`."""
        frame, own, stores, rules, plan = arguments
        task, game = views(frame, Task), views(frame, GameArrays)
        known, groups = views(frame, Known), group_views(stores, Groups)
        walk, tree = views(frame, Walk), views(own, TreeArrays)
        private = tree, views(own, Tables), views(own, Path), views(own, Walk)
        walk_group(task, game, known, rules, walk, groups, plan, private, desk, row)

    @inlined
    def go_on(task, nodes, tables, walk, groups, plan, arguments, desk, leads):
        """Runs the leader's loop over stretches, or the groups that another thread
        claims; returns a status.
        """
        if not leads:
            take_pieces(do_group, arguments, desk, False)
            return np.int64(DONE)
        known, marks, num_players = nodes.known, walk.marks, nodes.utilities.shape[1]
        start_new(nodes, tables, walk, start_tables, task)
        # Invariant: the groups plan[MERGED] to plan[WALKED] - 1 of the present stretch
        # have been walked but not merged. Each pass of the loop runs the walks of a new
        # stretch if no such groups are left. It merges the groups, and updates the
        # policies if the batch is complete. The loop ends with the job or with a status
        # that Python must handle. After GROW, the next call merges the remaining
        # groups.
        while True:
            if plan[MERGED] == plan[WALKED]:
                size = batches.walks_of_group(task, walk, num_players)
                if marks[WALK] == 0 and marks[WALKER] == walk.cursor[PLAYER]:
                    if apply.is_at_end(task, walk):
                        return np.int64(DONE)
                    if size == 0:
                        return np.int64(NEEDS_ONE_THREAD)
                left, desk[SIZE] = apply.present_batch(task, walk) - marks[WALK], size
                plan[NUM_KNOWN] = known.counts[INFOSETS]
                plan[FIRST_OWN] = known.counts[SEQUENCES]
                plan[MERGED], plan[WALKED] = (
                    0,
                    min(-(-left // size), batches.NUM_GROUPS),
                )
                share(do_group, arguments, desk, 0, plan[WALKED])
                if load(desk, FAILED) != 0:
                    return np.int64(NEEDS_ONE_THREAD)
            status = merge(start_tables, task, nodes, tables, walk, groups, plan)
            if status != DONE:
                return status
            walks = plan[WALKED] * batches.walks_of_group(task, walk, num_players)
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
        # The n-th thread that arrives uses the n-th frame.
        own = frames[add_one(desk, ARRIVED) % len(frames)]
        task, tables, walk = (
            views(frame, Task),
            views(frame, Tables),
            views(frame, Walk),
        )
        tree, game = views(frame, TreeArrays), views(frame, GameArrays)
        known, path = views(frame, Known), views(frame, Path)
        nodes = nodes_of(tree, game, known, path, rules)
        groups = group_views(stores, Groups)
        arguments = frame, own, stores, rules, plan
        return go_on(task, nodes, tables, walk, groups, plan, arguments, desk, leads)

    return iterate
