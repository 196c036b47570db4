"""The arrays that compiled code reads and writes.

Each record is a NamedTuple of arrays. The annotation of a field is the only place that
states the type and shape of its array. Three functions rely on it: `frame_of` checks
arrays, `views` rebuilds the record in compiled code, and `new_record` allocates it.

| record | content | written by |
|---|---|---|
| Task | job, settings and rule parameters | the solver, before a call |
| TreeArrays | nodes, infosets, chance, utilities | expansion of the tree |
| Tables | policy, memory, gradient, average, ... | updates; walks add to the gradient |
| Walk | stack and scratch of a walk, cursor, clock | walks; updates |
| Passes | leaves of a complete tree, by sequence | the tree, once |
| Blocks | blocks of infosets, by which threads share work | the tree, once |

Terms: a *walk* visits sampled nodes. A *pass* visits no nodes: it processes the
infosets and the list of all leaves of a complete tree (passes.py). The *top* consists
of the infosets above all blocks, and the *roots* of a block are its infosets without a
parent in a block (blocks.py).

Letters in shapes: `N` nodes, `I` infosets, `S` sequences of all players, `L` leaves,
`P` players, `C` outcomes of all chance nodes, `H` capacity of the stack, `B` blocks,
`T` infosets of the top plus roots, `V` capacity of the arrays of visits, `K` other
lengths.
"""

from collections.abc import Collection
from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import INFOSET, NODE
from mccfr_spiel.kernels.frame import Entry, Layout, entries_of, new_record
from mccfr_spiel.kernels.jit import inlined

INT, LONG = np.dtype(np.int32), np.dtype(np.int64)
UNSIGNED, FLAG = np.dtype(np.uint64), np.dtype(np.uint8)
FLOAT, WORD = np.dtype(np.float64), np.dtype(np.uint32)

NOTE = np.dtype(
    [("start", "<i8"), ("count", "<i4"), ("chosen", "<i4"), ("number", "<f8")]
)
"""A note: what a walk records at a decision, so that the update can adjust baselines.
baselines.py describes the fields."""

VISIT = np.dtype(
    [("weight", "<f8"), ("end", "<i8"), ("infoset", "<i4"), ("above", "<i4")]
)
"""A decision visited by a walk of players with imperfect recall; see visits.py.

weight: importance weight, the factor of all payoffs below.
end: end (exclusive) of the range of `Walk.gain` with the gradients of this visit.
infoset: index of the infoset.
above: index in `Walk.gain` of the updated player's last action before the visit;
    `visits.NOT_UPDATED` at decisions of other players.
"""

(
    DONE,
    GROW,
    STACK_FULL,
    TOO_UNLIKELY,
    PAUSED,
    LOG_FULL,
    NEEDS_ONE_THREAD,
    NEEDS_GROUPS,
) = range(8)
"""The statuses that a kernel returns. Walks over rules also return
`rule_records.BROKEN` and larger numbers, see rules/rule_faults.py.

DONE: the work is complete.
GROW: the `marks[TO_GROW]` nodes on top of the stack must be expanded first.
STACK_FULL: the stack is too small.
TOO_UNLIKELY: a payoff times its weight exceeds `recording.MAX_WEIGHT`.
PAUSED: the walks for one update take long, so Python should handle signals.
LOG_FULL: the logs of threads that share a batch are too small.
NEEDS_ONE_THREAD: threads cannot share this batch, or one of them has failed. The
    single-threaded loop must continue.
NEEDS_GROUPS: the next batch of walks should be divided into groups (batches.py).
"""

(
    SEED,
    LAST_ITERATION,
    NODE_LIMIT,
    ALTERNATING,
    NUM_NODES,
    NUM_INFOSETS,
    BATCH,
    PAUSE_LIMIT,
    HAS_GROUPS,
    JOB_SIZE,
) = range(10)
"""Indices of `Task.job`.

SEED: seed of all draws.
LAST_ITERATION: last iteration to run.
NODE_LIMIT: no iteration begins once this number of nodes has been touched.
ALTERNATING: 1 if players are updated in turns, 0 if all at once.
NUM_NODES: number of nodes of the tree; the arrays may have unused rows behind them.
NUM_INFOSETS: number of infosets; the arrays may have unused rows behind them.
BATCH: walks per player and iteration, or `batches.GROWING`.
PAUSE_LIMIT: walks pause once this number of nodes has been touched.
HAS_GROUPS: 1 if the loop returns NEEDS_GROUPS before each large batch, so that threads
    walk its groups (arenas/rules/grouped.py).
JOB_SIZE: length of the array.
"""

(
    EPSILON,
    GAMMA,
    GAMMA_CHANGE,
    HORIZON,
    THRESHOLD,
    BONUS,
    PRUNE_BELOW,
    BASELINE_RATE,
    TREMBLE,
    WEIGHTS_FROM,
    NUM_SETTINGS,
) = range(11)
"""Indices of `Task.settings`.

EPSILON: exploration of outcome sampling, or least probability of an action in
    average-strategy sampling.
GAMMA: exponent of the average's weights: iteration t has the weight t ** GAMMA.
GAMMA_CHANGE: total change of this exponent until the horizon.
HORIZON: number of iterations during which the exponent changes; 0 for no change.
THRESHOLD: threshold of average-strategy sampling.
BONUS: bonus of average-strategy sampling.
PRUNE_BELOW: regret below which walks skip an action.
BASELINE_RATE: step size of baselines.
TREMBLE: least probability of an action, see trembles.py; 0 for no trembles.
WEIGHTS_FROM: iteration whose weight is stored at index NUM_SETTINGS, followed by the
    weights of later iterations; 0 if no weights are stored.
NUM_SETTINGS: number of settings, without the stored weights.
"""

WEIGHTS_AHEAD = 1024
"""Number of weights stored behind the settings if a user's function computes the
weights of iterations in the average.
"""

AVERAGE_WEIGHT, LOG_POSITIVE, LOG_NEGATIVE, CLOCK_SIZE = range(4)
"""Indices of `Walk.clock`.

AVERAGE_WEIGHT: weight of the current iteration in the average.
LOG_POSITIVE: sum over all iterations of the logarithm of the factor by which the rule
    discounts positive entries of `Tables.memory`; see discounts.py.
LOG_NEGATIVE: the same sum for all other entries of `Tables.memory`.
CLOCK_SIZE: length of the array.
"""

ITERATION, PLAYER, NODES_TOUCHED, CURSOR_SIZE = range(4)
"""Indices of `Walk.cursor`, which only updates change.

ITERATION: number of iterations whose first update is done.
PLAYER: player who is updated next; always 0 with simultaneous updates.
NODES_TOUCHED: number of nodes touched before the last update, over the whole run.
CURSOR_SIZE: length of the array.
"""

(
    TOP,
    NUM_MET,
    TOUCHED,
    WALKER,
    WALK,
    NOTED,
    NUM_MET_BEFORE,
    TOUCHED_BEFORE,
    NOTED_BEFORE,
    PASSED,
    TO_GROW,
    MARKS_SIZE,
) = range(12)
"""Indices of `Walk.marks`, the progress of the walks for the next update.

TOP: height of the stack, 0 between walks.
NUM_MET: length of the list of infosets to update: of `Walk.met`, or of `Walk.visit` for
    players with imperfect recall, or of `Cut.top` in shared_walks.py.
TOUCHED: number of nodes touched.
WALKER: player whose gradient the current walk estimates.
WALK: index of the walk in its batch.
NOTED: number of notes for baselines.
NUM_MET_BEFORE: NUM_MET when the current walk began.
TOUCHED_BEFORE: TOUCHED when the current walk began; a repeated walk starts from it.
NOTED_BEFORE: NOTED when the current walk began, hence the index of its first note.
PASSED: while TOUCHED is at most this number, a repeated walk adds nothing to the
    gradient, because the gradient already contains its payoffs.
TO_GROW: number of nodes to expand when the status is GROW.
MARKS_SIZE: length of the array.
"""


ALONE, TOP_PART, BLOCK_PART = range(3)
"""Which part of a walk a compiled loop executes.

ALONE: a whole walk by one thread.
TOP_PART: the part above all blocks of infosets, if threads share a walk
    (shared_walks.py).
BLOCK_PART: the continuation of such a walk inside a block. Walks in groups over rules
    (arenas/rules/grouped.py) also use it, for whole walks.
"""


# Shapes may contain names of constants of this module. `new_record` inserts the values.


class Task(NamedTuple):
    """The numbers that define the work of a call.

    Attributes:
        job: integers, indexed by SEED, LAST_ITERATION, ...
        settings: floats, indexed by EPSILON, GAMMA, ...
        parameters: parameters of the local rule, see minimizers.py.
        points: Sobol points of correlated chance draws, see
            `sobol.scrambled_points`; no rows without them.
    """

    job: Annotated[np.ndarray, Entry(UNSIGNED, "[JOB_SIZE]")]
    settings: Annotated[np.ndarray, Entry(FLOAT, "[NUM_SETTINGS]")]
    parameters: Annotated[np.ndarray, Entry(FLOAT, "[K]")]
    points: Annotated[np.ndarray, Entry(WORD, "[K, 1026]")]


class TreeArrays(NamedTuple):
    """The arrays of a GameTree that kernels read.

    Attributes:
        nodes: nodes, see `arrays.NODE`.
        infosets: infosets, see `arrays.INFOSET`.
        chance_probs: probabilities of the outcomes of all chance nodes, concatenated.
        chance_cdf: cumulative sums of the probabilities of each chance node.
        utilities: returns of all players at the leaves.
    """

    nodes: Annotated[np.ndarray, Entry(NODE, "[N]")]
    infosets: Annotated[np.ndarray, Entry(INFOSET, "[I]")]
    chance_probs: Annotated[np.ndarray, Entry(FLOAT, "[C]")]
    chance_cdf: Annotated[np.ndarray, Entry(FLOAT, "[C]")]
    utilities: Annotated[np.ndarray, Entry(FLOAT, "[L, P]")]


class Tables(NamedTuple):
    """The learned state of a solver, and the gradient of the next update.

    Attributes:
        plan: realization plans of `policy`, kept by passes from one update to the next.
        policy: current policy; 1 at empty sequences.
        memory: the state of the local rule, such as cumulative regrets, see
            minimizers.py.
        gradient: gradient being estimated; zero between updates.
        average: sum of the weighted plans of all iterations, updated only where walks
            arrive, see lazy_average.py.
        paid: value of `average` at the infoset's parent sequence when `average` was
            last updated at the infoset.
        weight: weight of the infoset in the dilated entropy.
        balance: the balanced strategy, from which balanced outcome sampling draws.
        ahead: predicted gradient, see entropy_rules.py; zero between updates.
        log_positive: `clock[LOG_POSITIVE]` at the last update of the infoset.
        log_negative: `clock[LOG_NEGATIVE]` at the last update of the infoset.
        baseline: estimated payoff of each player below a sequence, see baselines.py.
        seen: sum of the plans that this player played while the other player was
            updated, see regret_pruning.py.
        known: in pruned passes, total payoff of the leaves right after a sequence, up
            to its last visit.
        best: in pruned passes, upper bound on the total value of a best response after
            the sequence.
        below: contribution of child infosets to `best`; zero between updates.
        got: in pruned passes, total value that the policies achieved at the infoset.
        skips: what the next pruned pass does with a sequence: FOLLOWED, SKIPPED or
            RESUMED of regret_pruning.py.
        locked: 1 where the policy must not change. Only passes without pruning support
            locked infosets.
        is_met: bit 0 is 1 if the infoset is in the list `Walk.met`. Threads that share
            walks also use bit 1, see `shared_walks.REACHED`. Pruned passes store the
            state of the infoset instead, with the same values as `skips`.
    """

    plan: Annotated[np.ndarray, Entry(FLOAT, "[S]", is_optional=True)]
    policy: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    memory: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    gradient: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    average: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    paid: Annotated[np.ndarray, Entry(FLOAT, "[I]")]
    weight: Annotated[np.ndarray, Entry(FLOAT, "[I]", is_optional=True)]
    balance: Annotated[np.ndarray, Entry(FLOAT, "[S]", is_optional=True)]
    ahead: Annotated[np.ndarray, Entry(FLOAT, "[S]", is_optional=True)]
    log_positive: Annotated[np.ndarray, Entry(FLOAT, "[I]", is_optional=True)]
    log_negative: Annotated[np.ndarray, Entry(FLOAT, "[I]", is_optional=True)]
    baseline: Annotated[np.ndarray, Entry(FLOAT, "[S, P]", is_optional=True)]
    seen: Annotated[np.ndarray, Entry(FLOAT, "[S]", is_optional=True)]
    known: Annotated[np.ndarray, Entry(FLOAT, "[S]", is_optional=True)]
    best: Annotated[np.ndarray, Entry(FLOAT, "[S]", is_optional=True)]
    below: Annotated[np.ndarray, Entry(FLOAT, "[S]", is_optional=True)]
    got: Annotated[np.ndarray, Entry(FLOAT, "[I]", is_optional=True)]
    skips: Annotated[np.ndarray, Entry(FLAG, "[S]", is_optional=True)]
    locked: Annotated[np.ndarray, Entry(FLAG, "[I]", is_optional=True)]
    is_met: Annotated[np.ndarray, Entry(FLAG, "[I]")]


class Walk(NamedTuple):
    """The scratch of a walk, and the progress of the solver.

    A walk writes all fields except `cursor` and `clock`. Of the existing rows of
    `Tables` it changes only `gradient` and `is_met`; see walk.py.

    The first five fields form the stack of nodes to visit.

    Attributes:
        node: node numbers.
        sequence: last sequence of the updated player before the node.
        weight: importance weight, the factor of all payoffs below the node.
        place: key of chance draws at the node, a hash of its history (randomness.py).
        debt: amount by which the average at the parent sequence of an infoset has grown
            since the infoset received its share, see lazy_average.py. The infoset is
            that of `sequence`.
        note: notes for baselines.
        visit: visited decisions of players with imperfect recall.
        gain: gradient at the actions of these visits, see visits.py.
        met: infosets of the updated players that the next update changes, ancestors
            first.
        settled: average at the parent sequence of each infoset in `met`, including all
            debts.
        known: number of infosets whose tables are initialized.
        marks: integers, indexed by TOP, NUM_MET, ...
        cursor: integers, indexed by ITERATION, PLAYER, ...
        clock: floats, indexed by AVERAGE_WEIGHT, LOG_POSITIVE, ...
    """

    node: Annotated[np.ndarray, Entry(INT, "[H]")]
    sequence: Annotated[np.ndarray, Entry(INT, "[H]")]
    weight: Annotated[np.ndarray, Entry(FLOAT, "[H]")]
    place: Annotated[np.ndarray, Entry(UNSIGNED, "[H]")]
    debt: Annotated[np.ndarray, Entry(FLOAT, "[H]")]
    note: Annotated[np.ndarray, Entry(NOTE, "[K]", is_optional=True)]
    visit: Annotated[np.ndarray, Entry(VISIT, "[V]", is_optional=True)]
    gain: Annotated[np.ndarray, Entry(FLOAT, "[V]", is_optional=True)]
    met: Annotated[np.ndarray, Entry(INT, "[I]")]
    settled: Annotated[np.ndarray, Entry(FLOAT, "[I]")]
    known: Annotated[np.ndarray, Entry(LONG, "[1]")]
    marks: Annotated[np.ndarray, Entry(LONG, "[MARKS_SIZE]")]
    cursor: Annotated[np.ndarray, Entry(LONG, "[CURSOR_SIZE]")]
    clock: Annotated[np.ndarray, Entry(FLOAT, "[CLOCK_SIZE]")]


WORK_OF_SEQUENCE = 8
"""The cost of one sequence in a pass, in units of the cost of one row of leaves."""


class Passes(NamedTuple):
    """The leaves of a complete tree, and each player's infosets.

    Every leaf has one row for each player. Rows are grouped by the last sequence of
    their player before the leaf.

    Attributes:
        ends: rows of sequence s are `ends[s] .. ends[s + 1] - 1`.
        others: last sequences of the other players before the leaf of the row.
        payoffs: return of the row's player, times the probability of chance.
        members: infosets grouped by player, ancestors first.
        member_ends: infosets of player p are
            `members[member_ends[p] : member_ends[p + 1]]`.
    """

    ends: Annotated[np.ndarray, Entry(LONG, "[S + 1]")]
    others: Annotated[np.ndarray, Entry(INT, "[L P, P - 1]")]
    payoffs: Annotated[np.ndarray, Entry(FLOAT, "[L P]")]
    members: Annotated[np.ndarray, Entry(INT, "[I]")]
    member_ends: Annotated[np.ndarray, Entry(LONG, "[P + 1]")]

    @property
    def work(self) -> int:
        """Cost of a pass for all players, as a multiple of the cost of one row."""
        return len(self.payoffs) + WORK_OF_SEQUENCE * (len(self.ends) - 1)


class Blocks(NamedTuple):
    """The blocks of infosets by which threads share a pass; see blocks.py.

    Attributes:
        ends: infosets of block b are `ends[b] .. ends[b + 1] - 1`.
        starts: infosets of player p in block b are
            `Passes.members[starts[k] : starts[k + 1]]`. The index k = p B + b is the
            number of this *piece* of work.
        kinds: INNER, ROOT or IN_TOP of blocks.py; empty if there is one block.
        top: the infosets of the top, and each root i as `~i`, grouped by player,
            ancestors first.
        top_ends: the part of player p is `top[top_ends[p] : top_ends[p + 1]]`.
    """

    ends: Annotated[np.ndarray, Entry(LONG, "[B + 1]")]
    starts: Annotated[np.ndarray, Entry(LONG, "[P B + 1]")]
    kinds: Annotated[np.ndarray, Entry(FLAG, "[I]")]
    top: Annotated[np.ndarray, Entry(INT, "[T]")]
    top_ends: Annotated[np.ndarray, Entry(LONG, "[P + 1]")]


PER_INFOSET = tuple(
    name for name, entry in entries_of(Tables).items() if entry.shape == "[I]"
)
"""Names of the fields of `Tables` with one row per infoset. All other fields have one
row per sequence.
"""

OPTIONAL = tuple(
    name for name, entry in entries_of(Tables).items() if entry.is_optional
)
"""Names of the fields of `Tables` that are empty unless the algorithm needs them."""


BYTES_OF_TABLES = 36, 64
"""Bytes per infoset and per sequence of the tables that every algorithm needs.

They include a second copy of one array while it grows, and copies of a policy.
"""

SCRATCH = "gradient", "ahead", "below", "is_met"
"""Names of the fields of `Tables` that are zero between updates.

`is_met` is an exception in pruned passes, where it keeps decisions for the next pass.
"""


def empty_walk(height: int, num_infosets: int, needed: Collection[str] = ()) -> Walk:
    """Allocates a `Walk` of zeros.

    Args:
        height: capacity of the stack, and of the notes and visits.
        num_infosets: capacity of the lists `met` and `settled`.
        needed: names of optional arrays: `note` for baselines, `visit` and `gain` for
            players with imperfect recall.
    """
    return new_record(Walk, needed, H=height, K=height, V=height, I=num_infosets)


LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Passes, Blocks)
"""The records in a frame (array of addresses, see frame.py). Walks do not read the last
two records."""

frame_of = LAYOUT.frame_of
views = LAYOUT.viewer()


@inlined
def tree_in(frame, job):
    """Returns the tree in a frame.

    Its arrays of nodes and infosets omit the unused rows at their ends.
    """
    tree = views(frame, TreeArrays)
    # `job` holds uint64. Numba computes uint64 with int64 in float64, so the numbers
    # are converted to int64 first.
    return TreeArrays(
        nodes=tree.nodes[: np.int64(job[NUM_NODES])],
        infosets=tree.infosets[: np.int64(job[NUM_INFOSETS])],
        chance_probs=tree.chance_probs,
        chance_cdf=tree.chance_cdf,
        utilities=tree.utilities,
    )
