"""What compiled code reads and changes: every array, said once.

Each record below is a NamedTuple of arrays, and the annotation of a field gives the
array's type and shape, which nothing else repeats: `frame_of` checks the arrays
that it is given by these annotations, `views` makes the same record of them in compiled
code, and `Solver` takes the sizes of its tables from here. Letters in shapes: `N`
nodes, `I` infosets, `S` sequences, `L` leaves, `P` players, `H` the height of the
stack.
"""

from collections.abc import Collection
from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import INFOSET, NODE
from mccfr_spiel.kernels.frame import Entry, Layout, entries_of, new_record
from mccfr_spiel.kernels.jit import inlined

INT, LONG = np.dtype(np.int32), np.dtype(np.int64)
UNSIGNED, FLAG = np.dtype(np.uint64), np.dtype(np.uint8)
FLOAT = np.dtype(np.float64)

NOTE = np.dtype(
    [("start", "<i8"), ("count", "<i4"), ("chosen", "<i4"), ("number", "<f8")]
)
"""What a walk with baselines notes of a node; see baselines.py."""

VISIT = np.dtype(
    [("weight", "<f8"), ("end", "<i8"), ("infoset", "<i4"), ("above", "<i4")]
)
"""A decision that a walk of players who forget has visited: the factor of all payoffs
below it, the end of its slots, its infoset, and the slot above; see apply.py."""

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
"""What a kernel returns.

DONE: the work is done. GROW: the upper `marks[TO_GROW]` nodes on the stack must be
expanded first. STACK_FULL: the stack must be made larger first. TOO_UNLIKELY: the walk
has sampled a history so unlikely that its payoff, times its weight, exceeds
`walk.MAX_WEIGHT`. PAUSED: the walks for an update take long, so that signals should be
heard meanwhile. LOG_FULL: what threads that share a batch write must be made larger
first.
NEEDS_ONE_THREAD: the loop of one thread must go on. NEEDS_GROUPS: the walks of the next
batch should be made in groups.
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
"""The entries of a job: the seed; the last iteration to run; the number of nodes
touched after which no iteration begins; whether players are updated in turns; the
present size of the tree, whose arrays may have room to spare; the walks for a player in
one iteration, or GROWING (see apply.py); the number of nodes touched after which the
walks for an update pause; and whether batches over rules that are large enough are left
to groups (see rules/grouped.py)."""

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
"""The entries of the settings: the exploration of outcome sampling or the least chance
of an action in average-strategy sampling; the exponent of the average's weights, how
much it changes until the horizon, and the horizon (0 for none); the other two numbers
of average-strategy sampling; the regret below which an action is pruned; the share of
the way to what a walk found that a baseline moves; and the first iteration whose weight
in the average stands behind the settings, with those of the next; 0 for none."""

WEIGHTS_AHEAD = 1024
"""The weights that stand behind the settings, if the average is a user's own."""

AVERAGE_WEIGHT, LOG_POSITIVE, LOG_NEGATIVE, CLOCK_SIZE = range(4)
"""The entries of a clock: the weight of this iteration in the average, and the sums of
the logarithms of all discounts of positive and negative memories (regret_rules.py)."""

ITERATION, PLAYER, NODES_TOUCHED, CURSOR_SIZE = range(4)
"""The entries of a cursor, which only an update moves on: the iterations begun, the
player whose update is next, and the nodes touched by walks whose updates are done. With
simultaneous updates the player is always 0."""

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
"""The entries of a walk's marks, which say how far the walks for the next update are:
the height of the stack (0 between walks), the infosets met, the nodes touched, the
player for whom the present walk is, its number in its batch, from 0 on, and what is
noted for baselines; NUM_MET, TOUCHED and NOTED as they were before the present walk;
the value of TOUCHED up to which the gradient has what the walk adds, since the walk was
begun again; and how many nodes GROW means."""


ALONE, TOP_PART, BLOCK_PART = range(3)
"""The parts of a walk, for each of which its body and the update are compiled apart;
groups of walks over rules are walked as blocks are."""


class Task(NamedTuple):
    """What is to be done, in numbers.

    Attributes:
        job: see JOB_SIZE.
        settings: see NUM_SETTINGS.
        parameters: the rule's own numbers, see minimizers.py.
    """

    job: Annotated[np.ndarray, Entry(UNSIGNED, "[JOB_SIZE]")]
    settings: Annotated[np.ndarray, Entry(FLOAT, "[NUM_SETTINGS]")]
    parameters: Annotated[np.ndarray, Entry(FLOAT, "[K]")]


class TreeArrays(NamedTuple):
    """The arrays of a GameTree that kernels read.

    Attributes:
        nodes: see NODE.
        infosets: see INFOSET.
        chance_probs: all distributions of chance, one after another.
        chance_cdf: their cumulative sums.
        utilities: the returns at leaves.
    """

    nodes: Annotated[np.ndarray, Entry(NODE, "[N]")]
    infosets: Annotated[np.ndarray, Entry(INFOSET, "[I]")]
    chance_probs: Annotated[np.ndarray, Entry(FLOAT, "[C]")]
    chance_cdf: Annotated[np.ndarray, Entry(FLOAT, "[C]")]
    utilities: Annotated[np.ndarray, Entry(FLOAT, "[L, P]")]


class Tables(NamedTuple):
    """What a solver has learned. See apply.py for `average` and `paid`.

    Attributes:
        plan: the plans that `policy` stands for, which passes keep between two updates.
        policy: the current policy, 1 at empty sequences.
        memory: what the rule remembers, see minimizers.py.
        gradient: the estimate being made, 0 between updates.
        average: the weighted sum of plans.
        paid: the average at the parent when its share was last added.
        weight: of the infoset in the dilated entropy.
        balance: the balanced strategy.
        ahead: see entropy_rules.py, 0 between updates.
        log_positive: of the clock when last met, see regret_rules.py.
        log_negative: as log_positive.
        baseline: what a player expects below a sequence of anyone, see baselines.py.
        seen: the sum of all plans that the other player's updates have met, see
            regret_pruning.py.
        known: the sum of all that leaves after a sequence had paid when it was last
            followed.
        best: what the best response would have got after a sequence, or more.
        below: of `best`, what comes from the infosets below, 0 between updates.
        got: what the player has got at an infoset.
        skips: what the next pass does with a sequence, see regret_pruning.FOLLOWED.
        locked: 1 where the policy stays what it is, in passes that prune nothing.
        is_met: 1 if the walks since the last update met the infoset; in passes that
            prune, as `skips`.
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
    """The scratch of a walk, and how far the solver is.

    A walk writes all of it but the cursor and the clock, and `Tables.gradient` and
    `Tables.is_met`; what a solver has learned it only reads. See walk.py.

    Attributes:
        node: a stacked node.
        sequence: the updated player's last sequence before it.
        weight: the factor of all payoffs below it.
        place: its history's place, see randomness.py.
        debt: what the infoset of `sequence` owes, see apply.py.
        note: what baselines learn from.
        visit: decisions of players who forget.
        gain: their gradient, see apply.py.
        met: the infosets met since the last update, ancestors first.
        settled: what the average has before each of these infosets.
        known: how many infosets' tables have been started.
        marks: see MARKS_SIZE.
        cursor: see CURSOR_SIZE.
        clock: see CLOCK_SIZE.
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
"""The rows of leaves that cost a pass about as much as one sequence."""


class Passes(NamedTuple):
    """What a pass over a complete tree reads, of all players together.

    Every leaf is a row for every player, and rows are grouped by that player's last
    sequence before the leaf.

    Attributes:
        ends: sequence s has the rows `ends[s] .. ends[s + 1] - 1`.
        others: the other players' last sequences.
        payoffs: the player's return times chance's probability.
        members: the infosets, player by player, ancestors first.
        member_ends: player p's infosets are
            `members[member_ends[p] : member_ends[p + 1]]`.
    """

    ends: Annotated[np.ndarray, Entry(LONG, "[S + 1]")]
    others: Annotated[np.ndarray, Entry(INT, "[L P, P - 1]")]
    payoffs: Annotated[np.ndarray, Entry(FLOAT, "[L P]")]
    members: Annotated[np.ndarray, Entry(INT, "[I]")]
    member_ends: Annotated[np.ndarray, Entry(LONG, "[P + 1]")]

    @property
    def work(self) -> int:
        """The work of a pass for all players, in rows of leaves."""
        return len(self.payoffs) + WORK_OF_SEQUENCE * (len(self.ends) - 1)


class Blocks(NamedTuple):
    """How the infosets of a complete tree are cut for threads; see passes.py.

    Attributes:
        ends: block b has the infosets `ends[b] .. ends[b + 1] - 1`.
        starts: of these, player p's are `members[starts[k] : starts[k + 1]]` for the
            piece k = p B + b.
        kinds: see passes.INNER; empty if there is one block.
        top: the infosets in the top, and the roots as `~i`, player by player, ancestors
            first.
        top_ends: player p has `top[top_ends[p] : top_ends[p + 1]]`.
    """

    ends: Annotated[np.ndarray, Entry(LONG, "[B + 1]")]
    starts: Annotated[np.ndarray, Entry(LONG, "[P B + 1]")]
    kinds: Annotated[np.ndarray, Entry(FLAG, "[I]")]
    top: Annotated[np.ndarray, Entry(INT, "[T]")]
    top_ends: Annotated[np.ndarray, Entry(LONG, "[P + 1]")]


PER_INFOSET = tuple(
    name for name, entry in entries_of(Tables).items() if entry.shape == "[I]"
)
"""The fields of Tables over infosets; the others are over sequences."""

OPTIONAL = tuple(
    name for name, entry in entries_of(Tables).items() if entry.is_optional
)
"""The fields of Tables that only some algorithms need; the others' have length 0."""


BYTES_OF_TABLES = 36, 64
"""What the tables that all algorithms need take for each infoset and each sequence: the
arrays, one of them old and new while it grows, and the copies with which a policy is
handed out."""

SCRATCH = "gradient", "ahead", "below", "is_met"
"""The fields of Tables that say nothing between two updates, when all are 0."""


def empty_walk(height: int, num_infosets: int, needed: Collection[str] = ()) -> Walk:
    """A walk that has not begun, and tables of which none has been started.

    Args:
        height: the nodes that there is room for on the stack, and among notes.
        num_infosets: the infosets that there is room for in the list of those met.
        needed: `note` if it takes notes for baselines, `visit` and `gain` if it is of
            players who forget.
    """
    return new_record(Walk, needed, H=height, K=height, V=height, I=num_infosets)


LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Passes, Blocks)
"""What a frame holds. Kernels that walk do not look at the last two."""

frame_of = LAYOUT.frame_of
views = LAYOUT.viewer()


@inlined
def tree_in(frame, job):
    """The tree in a frame, without the room that its arrays have to spare."""
    tree = views(frame, TreeArrays)
    return TreeArrays(
        nodes=tree.nodes[: np.int64(job[NUM_NODES])],
        infosets=tree.infosets[: np.int64(job[NUM_INFOSETS])],
        chance_probs=tree.chance_probs,
        chance_cdf=tree.chance_cdf,
        utilities=tree.utilities,
    )
