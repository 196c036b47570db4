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

Letters in shapes: `N` nodes, `I` infosets, `S` sequences of all players, `L` leaves,
`P` players, `C` chance outcomes, `H` height of the stack, `B` blocks, `T` infosets and
roots in the top, `V` slots of visits, `K` other lengths.
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
"""A note for baselines; baselines.py lists the fields."""

VISIT = np.dtype(
    [("weight", "<f8"), ("end", "<i8"), ("infoset", "<i4"), ("above", "<i4")]
)
"""A decision visited by a walk of players with imperfect recall; see visits.py.

weight: importance weight, the factor of all payoffs below.
end: end of the slots of the visit.
infoset: index of the infoset.
above: slot through which the updated player came, or `visits.NOT_UPDATED`.
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
"""The statuses that a kernel returns.

DONE: the work is complete.
GROW: the top `marks[TO_GROW]` nodes of the stack must be expanded first.
STACK_FULL: the stack is too small.
TOO_UNLIKELY: a payoff times its weight exceeds `walk.MAX_WEIGHT`.
PAUSED: the walks for one update take long, so Python should handle signals.
LOG_FULL: the logs of threads that share a batch are too small.
NEEDS_ONE_THREAD: the loop for a single thread must continue.
NEEDS_GROUPS: the next batch should be walked in groups.
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
"""The entries of `Task.job`.

SEED: seed of all draws.
LAST_ITERATION: last iteration to run.
NODE_LIMIT: number of touched nodes from which on no iteration begins.
ALTERNATING: 1 if players are updated in turns, 0 if all at once.
NUM_NODES: number of nodes of the tree, whose arrays may be longer.
NUM_INFOSETS: number of infosets, likewise.
BATCH: walks per player and iteration, or `batches.GROWING`.
PAUSE_LIMIT: number of touched nodes from which on walks pause.
HAS_GROUPS: 1 if large batches over rules are left to groups (rules/grouped.py).
JOB_SIZE: number of entries.
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
    WEIGHTS_FROM,
    NUM_SETTINGS,
) = range(10)
"""The entries of `Task.settings`.

EPSILON: exploration of outcome sampling, or least probability of an action in
    average-strategy sampling.
GAMMA: exponent of the average's weights.
GAMMA_CHANGE: total change of that exponent until the horizon.
HORIZON: number of iterations in which it changes, 0 for none.
THRESHOLD: threshold of average-strategy sampling.
BONUS: bonus of average-strategy sampling.
PRUNE_BELOW: regret below which walks skip an action.
BASELINE_RATE: step size of baselines.
WEIGHTS_FROM: first iteration whose weight is stored behind these entries, 0 for none.
NUM_SETTINGS: number of entries, without the stored weights.
"""

WEIGHTS_AHEAD = 1024
"""Number of weights stored behind the settings if a user's function weights the
average.
"""

AVERAGE_WEIGHT, LOG_POSITIVE, LOG_NEGATIVE, CLOCK_SIZE = range(4)
"""The entries of `Walk.clock`.

AVERAGE_WEIGHT: weight of the current iteration in the average.
LOG_POSITIVE: sum of the logarithms of all discounts of positive memories.
LOG_NEGATIVE: the same for other memories; see discounts.py.
CLOCK_SIZE: number of entries.
"""

ITERATION, PLAYER, NODES_TOUCHED, CURSOR_SIZE = range(4)
"""The entries of `Walk.cursor`, which only updates change.

ITERATION: number of iterations begun.
PLAYER: player who is updated next; always 0 with simultaneous updates.
NODES_TOUCHED: number of nodes touched by walks whose update is done.
CURSOR_SIZE: number of entries.
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
"""The entries of `Walk.marks`, the progress of the walks for the next update.

TOP: height of the stack, 0 between walks.
NUM_MET: number of infosets met.
TOUCHED: number of nodes touched.
WALKER: player whose gradient the current walk estimates.
WALK: index of the walk in its batch.
NOTED: number of notes for baselines.
NUM_MET_BEFORE: NUM_MET when the current walk began.
TOUCHED_BEFORE: TOUCHED when the current walk began.
NOTED_BEFORE: NOTED when the current walk began.
PASSED: value of TOUCHED up to which a repeated walk skips its contributions.
TO_GROW: number of nodes to expand when the status is GROW.
MARKS_SIZE: number of entries.
"""


ALONE, TOP_PART, BLOCK_PART = range(3)
"""The parts of a walk, each compiled separately.

ALONE: a whole walk by one thread.
TOP_PART: a walk that stops where blocks of infosets begin.
BLOCK_PART: its continuation inside a block, or a walk in a group of walks over rules.
"""


# Names of constants in the shapes below refer to this module, see `new_record`.


class Task(NamedTuple):
    """The numbers that define the work of a call.

    Attributes:
        job: entries listed at SEED.
        settings: entries listed at EPSILON.
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
        chance_probs: concatenated chance distributions.
        chance_cdf: cumulative sums of each distribution.
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
        memory: memory of the local rule, see minimizers.py.
        gradient: gradient being estimated; zero between updates.
        average: lazily updated sum of weighted plans, see lazy_average.py.
        paid: average at the parent sequence when its share was last added.
        weight: weight of the infoset in the dilated entropy.
        balance: the balanced strategy, from which balanced outcome sampling draws.
        ahead: predicted gradient, see entropy_rules.py; zero between updates.
        log_positive: clock entry LOG_POSITIVE when the infoset was last met.
        log_negative: clock entry LOG_NEGATIVE when the infoset was last met.
        baseline: estimated payoff of each player below a sequence, see baselines.py.
        seen: sum of the plans that updates of the other player used, see
            regret_pruning.py.
        known: total payoff of the leaves right after a sequence, up to its last visit.
        best: upper bound on the total value of a best response after the sequence.
        below: contribution of child infosets to `best`; zero between updates.
        got: total value that the player received at the infoset.
        skips: decision of the next pruned pass about a sequence, see
            `regret_pruning.FOLLOWED`.
        locked: 1 where the policy must not change. Passes without pruning support this.
        is_met: 1 if walks met the infoset since the last update. In pruned passes it
            has the meaning of `skips`.
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

    A walk writes all of it except `cursor` and `clock`. In `Tables` it writes only
    `gradient` and `is_met`; see walk.py.

    Attributes:
        node: nodes on the stack.
        sequence: last sequence of the updated player before the node.
        weight: importance weight, the factor of all payoffs below the node.
        place: place of the history, see randomness.py.
        debt: debt to the average of the infoset of `sequence`, see lazy_average.py.
        note: notes for baselines.
        visit: visited decisions of players with imperfect recall.
        gain: gradient over the slots of these visits, see visits.py.
        met: infosets met since the last update, ancestors first.
        settled: average at the parent sequence of each of these infosets.
        known: number of infosets whose tables are initialized.
        marks: entries listed at TOP.
        cursor: entries listed at ITERATION.
        clock: entries listed at AVERAGE_WEIGHT.
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
"""The cost of one sequence in a pass, in rows of leaves."""


class Passes(NamedTuple):
    """The leaves of a complete tree, and each player's infosets.

    Every leaf has one row per player. Rows are grouped by that player's last sequence
    before the leaf.

    Attributes:
        ends: rows of sequence s are `ends[s] .. ends[s + 1] - 1`.
        others: last sequences of the other players.
        payoffs: return of the player times the probability of chance.
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
        """Cost of a pass for all players, in rows of leaves."""
        return len(self.payoffs) + WORK_OF_SEQUENCE * (len(self.ends) - 1)


class Blocks(NamedTuple):
    """The blocks of infosets by which threads share a pass; see blocks.py.

    Attributes:
        ends: infosets of block b are `ends[b] .. ends[b + 1] - 1`.
        starts: infosets of player p in block b are
            `members[starts[k] : starts[k + 1]]`, with the piece k = p B + b.
        kinds: INNER, ROOT or IN_TOP; empty if there is one block.
        top: infosets in the top, and each root i as `~i`, by player, ancestors first.
        top_ends: entries of player p are `top[top_ends[p] : top_ends[p + 1]]`.
    """

    ends: Annotated[np.ndarray, Entry(LONG, "[B + 1]")]
    starts: Annotated[np.ndarray, Entry(LONG, "[P B + 1]")]
    kinds: Annotated[np.ndarray, Entry(FLAG, "[I]")]
    top: Annotated[np.ndarray, Entry(INT, "[T]")]
    top_ends: Annotated[np.ndarray, Entry(LONG, "[P + 1]")]


PER_INFOSET = tuple(
    name for name, entry in entries_of(Tables).items() if entry.shape == "[I]"
)
"""Names of the fields of `Tables` over infosets. All other fields are over sequences.
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
    """Allocates the scratch of a walk that has not begun.

    Args:
        height: capacity of the stack, and of the notes and visits.
        num_infosets: capacity of the list of infosets met.
        needed: names of optional arrays: `note` for baselines, `visit` and `gain` for
            players with imperfect recall.
    """
    return new_record(Walk, needed, H=height, K=height, V=height, I=num_infosets)


LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Passes, Blocks)
"""The records in a frame. Kernels that walk do not read the last two."""

frame_of = LAYOUT.frame_of
views = LAYOUT.viewer()


@inlined
def tree_in(frame, job):
    """Returns the tree in a frame, without unused capacity at the end of its arrays."""
    tree = views(frame, TreeArrays)
    # Numba adds uint64 and int64 as float64, so entries of the job are converted.
    return TreeArrays(
        nodes=tree.nodes[: np.int64(job[NUM_NODES])],
        infosets=tree.infosets[: np.int64(job[NUM_INFOSETS])],
        chance_probs=tree.chance_probs,
        chance_cdf=tree.chance_cdf,
        utilities=tree.utilities,
    )
