"""All loops over nodes and infosets that run compiled, in named pieces.

    tables.py      what compiled code reads and changes, in one specification
    sampling.py    how an action or an outcome is drawn
    minimizers.py  the table of the local rules, and how their tables start
    regret_rules.py, entropy_rules.py  the rules, one function each
    own_rules.py   rules that users write as functions
    rates.py       how a rule's parameters change, and exact discounts in sampled walks
    averaging.py   the lazy average
    batches.py     several walks before an update
    baselines.py   control variates for walks that follow one history
    ties.py        infosets that an abstraction ties
    stack.py       the nodes that a walk visits later
    picking.py     some of the player's actions, as in average-strategy sampling
    pruning.py     actions of very negative regret in sampled walks
    walks.py       the loop for algorithms that sample
    passes.py      the loop for algorithms that do not
    regret_pruning.py  that loop, leaving out actions of very negative regret
    blocks.py      how a pass is cut into pieces for threads
    evaluation.py  what a policy gets, and what best responses get
    split_batches.py   batches of walks by several processes
    logged_walks.py  the pieces of that
    batch_logs.py  what such walks write down
    forked_walks.py  walks by several threads, cut at roots of subtrees
    forks.py       what those write down

A kernel never raises and never calls Python: it returns a status and leaves its state
in the arrays, so that it can be called again to go on. The switches of an algorithm are
constants of the factories, so each combination compiles to its own code. No indexing
error is checked; the shell (solver.py, evaluation/) passes arrays that fit.
"""

import contextlib
import functools
from typing import Any

from numba.core import types

from mccfr_spiel.compiled.jit import IS_COMPILED, made_with
from mccfr_spiel.kernels.averaging import normalize, settle_average
from mccfr_spiel.kernels.batch_logs import (
    LEAF,
    NUM_BATCH_NOTES,
    NUM_COUNTS,
    NUM_EVENTS,
    NUM_LEAVES,
    NUM_SLOTS,
    NUM_VISITS,
    RUN,
    STATUS,
    TOUCHED,
    VISIT,
    Cut,
    Slots,
    frame_of_batch,
)
from mccfr_spiel.kernels.batches import GROWING, plain_batch_at, plain_walk_number
from mccfr_spiel.kernels.entropy_rules import dilate
from mccfr_spiel.kernels.forked_walks import LONG_QUEUE, make_forked_walks
from mccfr_spiel.kernels.forks import (
    BRANCH,
    FORK,
    NUM_FORK_NOTES,
    Forks,
    frame_of_forks,
)
from mccfr_spiel.kernels.logged_walks import can_be_shared
from mccfr_spiel.kernels.minimizers import RULES, make_start_tables, number_of
from mccfr_spiel.kernels.own_rules import FAULT, function_of, name_of_own
from mccfr_spiel.kernels.passes import (
    make_passes,
)
from mccfr_spiel.kernels.regret_pruning import (
    Ceilings,
)
from mccfr_spiel.kernels.sampling import count_sequences
from mccfr_spiel.kernels.split_batches import (
    make_split_sums,
    make_split_walks,
)
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    AVERAGE_WEIGHT,
    BASELINE_RATE,
    BATCH,
    BONUS,
    CLOCK_SIZE,
    CURSOR_SIZE,
    DEPTH,
    DONE,
    EPSILON,
    GAMMA,
    GAMMA_CHANGE,
    GROW,
    HORIZON,
    ITERATION,
    JOB_SIZE,
    LAST_ITERATION,
    LOG_FULL,
    NEEDS_ONE_THREAD,
    NODE_LIMIT,
    NODE_TO_GROW,
    NODES_TOUCHED,
    NODES_TOUCHED_BEFORE,
    NUM_INFOSETS,
    NUM_MET,
    NUM_MET_BEFORE,
    NUM_NODES,
    NUM_SETTINGS,
    NUM_UNDO,
    OPTIONAL,
    PAUSE_LIMIT,
    PAUSED,
    PER_INFOSET,
    PLAYER,
    PRUNE_BELOW,
    SEED,
    STACK_FULL,
    THREAD_FAILED,
    THRESHOLD,
    TOO_UNLIKELY,
    TOP,
    WALK,
    Blocks,
    Passes,
    Plans,
    Tables,
    Task,
    TreeArrays,
    Walk,
    empty_tables,
    empty_walk,
    frame_of,
)
from mccfr_spiel.kernels.ties import join_averages, join_policies
from mccfr_spiel.kernels.walks import MAX_WEIGHT, Sampled, make_walks, restart_walk

__all__ = [
    "ALTERNATING",
    "AVERAGE_WEIGHT",
    "BASELINE_RATE",
    "BATCH",
    "BONUS",
    "BRANCH",
    "CLOCK_SIZE",
    "CURSOR_SIZE",
    "DEPTH",
    "DONE",
    "EPSILON",
    "FAULT",
    "FORK",
    "GAMMA",
    "GAMMA_CHANGE",
    "GROW",
    "GROWING",
    "HORIZON",
    "ITERATION",
    "JOB_SIZE",
    "LAST_ITERATION",
    "LEAF",
    "LOG_FULL",
    "LONG_QUEUE",
    "MAX_WEIGHT",
    "NEEDS_ONE_THREAD",
    "NODES_TOUCHED",
    "NODES_TOUCHED_BEFORE",
    "NODE_LIMIT",
    "NODE_TO_GROW",
    "NUM_BATCH_NOTES",
    "NUM_COUNTS",
    "NUM_EVENTS",
    "NUM_FORK_NOTES",
    "NUM_INFOSETS",
    "NUM_LEAVES",
    "NUM_MET",
    "NUM_MET_BEFORE",
    "NUM_NODES",
    "NUM_SETTINGS",
    "NUM_SLOTS",
    "NUM_UNDO",
    "NUM_VISITS",
    "OPTIONAL",
    "PAUSED",
    "PAUSE_LIMIT",
    "PER_INFOSET",
    "PLAYER",
    "PRUNE_BELOW",
    "RULES",
    "RUN",
    "SEED",
    "STACK_FULL",
    "STATUS",
    "THREAD_FAILED",
    "THRESHOLD",
    "TOO_UNLIKELY",
    "TOP",
    "TOUCHED",
    "VISIT",
    "WALK",
    "Blocks",
    "Ceilings",
    "Cut",
    "Forks",
    "Passes",
    "Plans",
    "Sampled",
    "Slots",
    "Tables",
    "Task",
    "TreeArrays",
    "Walk",
    "can_be_shared",
    "count_sequences",
    "dilate",
    "empty_tables",
    "empty_walk",
    "frame_of",
    "frame_of_batch",
    "frame_of_forks",
    "join_averages",
    "join_policies",
    "make_forks_in_threads",
    "make_iterate",
    "make_start_tables",
    "make_sums_of_split",
    "make_walks_of_split",
    "name_of_own",
    "normalize",
    "number_of",
    "plain_batch_at",
    "plain_walk_number",
    "restart_walk",
    "settle_average",
]


@functools.cache
def make_iterate(sampled: Sampled, rule: str, tied: bool = False) -> Any:
    """Makes `iterate(frame)` for one kind of sampling and one rule.

    If nothing is sampled it is `iterate(frame, desk, leads)`, see `make_passes`.

    It starts the tables of infosets that are new, then runs whole iterations until the
    job's limits. What the frame holds is said in tables.py: a Task, the TreeArrays,
    Tables and a Walk, which are changed, and, if nothing is sampled, Passes, Plans and
    Blocks.
    It returns a status of tables.py. After GROW, STACK_FULL and PAUSED it is to be
    called again.

    Args:
        sampled: what a walk samples.
        rule: a name in RULES, or what `name_of_own` gave.
        tied: whether an abstraction ties infosets; for regret matching and regret
            matching+ only.
    """
    chance, opponents, player, prune, *_ = sampled
    own = function_of(rule)
    with contextlib.nullcontext() if own is None else made_with(own):
        if chance or opponents or player != "all" or prune:
            return make_walks(sampled, number_of(rule), tied)
        return make_passes(number_of(rule), tied)


@functools.cache
def make_forks_in_threads(sampled: Sampled, rule: str) -> Any:
    """Makes `iterate(frame, walks, blocks, threads, desk, leads)` for walks in threads.

    The tree is complete, no abstraction ties infosets, and the walks are such that
    `can_be_shared`. forked_walks.py says what the frame holds and what is returned.

    Args:
        sampled: what a walk samples; its `batched` makes no difference.
        rule: as in `make_iterate`; a user's own rule must be compiled.
    """
    own = function_of(rule)
    with contextlib.nullcontext() if own is None else made_with(own):
        made = make_forked_walks(sampled, number_of(rule))
    if IS_COMPILED:
        number, array = types.int64, types.int64[::1]
        made.compile((array, number, number, number, array, types.boolean))
    return made


@functools.cache
def make_walks_of_split(sampled: Sampled) -> Any:
    """Makes `walk(frame, segment, desk, leads)`, see `make_split_walks`."""
    made = make_split_walks(sampled)
    if IS_COMPILED:
        array = types.int64[::1]
        made.compile((array, array, array, types.boolean))
    return made


@functools.cache
def make_sums_of_split(rule: str) -> Any:
    """Makes `add(frame, segment, blocks, desk, leads)`, see `make_split_sums`.

    Args:
        rule: as in `make_iterate`; a user's own rule must be compiled.
    """
    own = function_of(rule)
    with contextlib.nullcontext() if own is None else made_with(own):
        made = make_split_sums(number_of(rule))
    if IS_COMPILED:
        array = types.int64[::1]
        made.compile((array, array, types.int64, array, types.boolean))
    return made
