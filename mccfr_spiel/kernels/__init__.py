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
    walk.py        the walk, and the loop for algorithms that sample
    apply.py       the update after walks
    stored.py      stored trees as the source of a walk's nodes
    passes.py      the loop for algorithms that do not sample, in one or several threads
    regret_pruning.py  that loop, leaving out actions of very negative regret
    blocks.py      how a pass is cut into pieces for threads
    evaluation.py  what a policy gets, and what best responses get
    shared_walks.py  walks on complete trees by several threads or processes
    scratch.py     what those write

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
from mccfr_spiel.kernels.batches import GROWING, plain_batch_at, plain_walk_number
from mccfr_spiel.kernels.entropy_rules import dilate
from mccfr_spiel.kernels.minimizers import RULES, make_start_tables, number_of
from mccfr_spiel.kernels.own_rules import FAULT, function_of, name_of_own
from mccfr_spiel.kernels.passes import make_passes
from mccfr_spiel.kernels.regret_pruning import Ceilings
from mccfr_spiel.kernels.sampling import count_sequences
from mccfr_spiel.kernels.shared_walks import make_shared_walks
from mccfr_spiel.kernels.stored import make_walks
from mccfr_spiel.kernels.tables import (
    ALTERNATING,
    BASELINE_RATE,
    BATCH,
    BONUS,
    CURSOR_SIZE,
    DONE,
    EPSILON,
    GAMMA,
    GAMMA_CHANGE,
    GROW,
    HAS_GROUPS,
    HORIZON,
    ITERATION,
    JOB_SIZE,
    LAST_ITERATION,
    LOG_FULL,
    NEEDS_GROUPS,
    NEEDS_ONE_THREAD,
    NODE_LIMIT,
    NODE_TO_GROW,
    NODES_TOUCHED,
    NUM_INFOSETS,
    NUM_MET,
    NUM_NODES,
    NUM_SETTINGS,
    OPTIONAL,
    PAUSE_LIMIT,
    PAUSED,
    PER_INFOSET,
    PLAYER,
    PRUNE_BELOW,
    SCRATCH,
    SEED,
    STACK_FULL,
    THRESHOLD,
    TOO_UNLIKELY,
    TOP,
    TOUCHED,
    TOUCHED_BEFORE,
    WALK,
    WALKER,
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
from mccfr_spiel.kernels.ties import join_averages
from mccfr_spiel.kernels.walk import MAX_WEIGHT, Sampled

__all__ = [
    "ALTERNATING",
    "BASELINE_RATE",
    "BATCH",
    "BONUS",
    "CURSOR_SIZE",
    "DONE",
    "EPSILON",
    "FAULT",
    "GAMMA",
    "GAMMA_CHANGE",
    "GROW",
    "GROWING",
    "HAS_GROUPS",
    "HORIZON",
    "ITERATION",
    "JOB_SIZE",
    "LAST_ITERATION",
    "LOG_FULL",
    "MAX_WEIGHT",
    "NEEDS_GROUPS",
    "NEEDS_ONE_THREAD",
    "NODES_TOUCHED",
    "NODE_LIMIT",
    "NODE_TO_GROW",
    "NUM_INFOSETS",
    "NUM_MET",
    "NUM_NODES",
    "NUM_SETTINGS",
    "OPTIONAL",
    "PAUSED",
    "PAUSE_LIMIT",
    "PER_INFOSET",
    "PLAYER",
    "PRUNE_BELOW",
    "RULES",
    "SCRATCH",
    "SEED",
    "STACK_FULL",
    "THRESHOLD",
    "TOO_UNLIKELY",
    "TOP",
    "TOUCHED",
    "TOUCHED_BEFORE",
    "WALK",
    "WALKER",
    "Blocks",
    "Ceilings",
    "Passes",
    "Plans",
    "Sampled",
    "Tables",
    "Task",
    "TreeArrays",
    "Walk",
    "count_sequences",
    "dilate",
    "empty_tables",
    "empty_walk",
    "frame_of",
    "join_averages",
    "make_iterate",
    "make_shared_iterate",
    "make_start_tables",
    "name_of_own",
    "normalize",
    "number_of",
    "plain_batch_at",
    "plain_walk_number",
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
def make_shared_iterate(sampled: Sampled, rule: str) -> Any:
    """Makes `iterate(frame, plan, desk, leads)` for walks on a complete tree in
    threads.

    No abstraction ties infosets, and the walks are such that `can_be_shared`.
    `scratch.py` says what the frame holds, and `shared_walks.PLAN_SIZE` the plan. It
    returns DONE, PAUSED, TOO_UNLIKELY, or, if the slots must be made larger first,
    STACK_FULL or LOG_FULL. With the last three `drop_shared` must be called.

    Args:
        sampled: what a walk samples, batched.
        rule: as in `make_iterate`; a user's own rule must be compiled.
    """
    own = function_of(rule)
    with contextlib.nullcontext() if own is None else made_with(own):
        made = make_shared_walks(sampled, number_of(rule))
    if IS_COMPILED:
        array = types.int64[::1]
        made.compile((array, array, array, types.boolean))
    return made
