"""What compiled code reads and changes: every array, said once.

Each record below is a NamedTuple of arrays, and the annotation of a field gives the
array's type, shape and meaning. Nothing else repeats them: `frame_of` checks the arrays
that it is given by these annotations, `views` makes the same record of them in compiled
code, and `Solver` takes the sizes of its tables from here. Letters in shapes: `N`
nodes, `I` infosets, `S` sequences, `L` leaves, `P` players, `H` the height of the
stack.
"""

from collections.abc import Collection
from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import INFOSET, NODE
from mccfr_spiel.kernels.frame import Entry, Layout, entries_of
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

DONE: the work is done. GROW: the node `marks[NODE_TO_GROW]` must be expanded first.
STACK_FULL: the stack must be made larger first. TOO_UNLIKELY: the walk has sampled a
history so unlikely that its payoff, times its weight, exceeds `walk.MAX_WEIGHT`.
PAUSED: the walks for an update take long, so that signals should be heard meanwhile.
LOG_FULL: what threads that share a batch write must be made larger first.
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
"""The entries of a job: the seed, the last iteration to run, the number of nodes
touched from which on no iteration begins, whether players are updated in turns, the
present size of the tree, whose arrays may have room to spare, the walks for a player in
one iteration or GROWING (see apply.py), the number of nodes touched from which on the
walks for an update pause, and whether walks over rules are left to groups where they
should be walked in groups (see rules/grouped.py)."""

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
the logarithms of all discounts of positive and of negative memories (see rates.py)."""

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
    NODE_TO_GROW,
    MARKS_SIZE,
) = range(12)
"""The entries of a walk's marks, which say how far the walks for the next update are:
the height of the stack (0 between walks), the infosets met, the nodes touched, the
player for whom the present walk is, its number in its batch, from 0 on, and what is
noted for baselines; NUM_MET, TOUCHED and NOTED as they were before the present walk;
the value of TOUCHED up to which the gradient has what the walk adds, since the walk was
begun again; and the node of GROW."""


class Task(NamedTuple):
    """What is to be done, in numbers."""

    job: Annotated[np.ndarray, Entry(UNSIGNED, "[JOB_SIZE]", "see JOB_SIZE")]
    settings: Annotated[np.ndarray, Entry(FLOAT, "[NUM_SETTINGS]", "see NUM_SETTINGS")]
    parameters: Annotated[
        np.ndarray, Entry(FLOAT, "[K]", "the rule's own numbers, see minimizers.py")
    ]


class TreeArrays(NamedTuple):
    """The arrays of a GameTree that kernels read."""

    nodes: Annotated[np.ndarray, Entry(NODE, "[N]", "see NODE")]
    infosets: Annotated[np.ndarray, Entry(INFOSET, "[I]", "see INFOSET")]
    chance_probs: Annotated[
        np.ndarray,
        Entry(FLOAT, "[C]", "all distributions of chance, one after another"),
    ]
    chance_cdf: Annotated[np.ndarray, Entry(FLOAT, "[C]", "their cumulative sums")]
    utilities: Annotated[np.ndarray, Entry(FLOAT, "[L, P]", "the returns at leaves")]


class Tables(NamedTuple):
    """What a solver has learned. See averaging.py for `average` and `paid`."""

    policy: Annotated[
        np.ndarray, Entry(FLOAT, "[S]", "the current policy, 1 at empty sequences")
    ]
    memory: Annotated[
        np.ndarray, Entry(FLOAT, "[S]", "what the rule remembers, see minimizers.py")
    ]
    gradient: Annotated[
        np.ndarray, Entry(FLOAT, "[S]", "the estimate being made, 0 between updates")
    ]
    average: Annotated[np.ndarray, Entry(FLOAT, "[S]", "the weighted sum of plans")]
    paid: Annotated[
        np.ndarray,
        Entry(FLOAT, "[I]", "the average at the parent when its share was last added"),
    ]
    weight: Annotated[
        np.ndarray,
        Entry(FLOAT, "[I]", "of the infoset in the dilated entropy", is_optional=True),
    ]
    balance: Annotated[
        np.ndarray, Entry(FLOAT, "[S]", "the balanced strategy", is_optional=True)
    ]
    ahead: Annotated[
        np.ndarray,
        Entry(
            FLOAT, "[S]", "see entropy_rules.py, 0 between updates", is_optional=True
        ),
    ]
    log_positive: Annotated[
        np.ndarray,
        Entry(
            FLOAT, "[I]", "of the clock when last met, see rates.py", is_optional=True
        ),
    ]
    log_negative: Annotated[
        np.ndarray, Entry(FLOAT, "[I]", "as log_positive", is_optional=True)
    ]
    baseline: Annotated[
        np.ndarray,
        Entry(
            FLOAT,
            "[S, P]",
            "what a player expects below a sequence of anyone, see baselines.py",
            is_optional=True,
        ),
    ]
    seen: Annotated[
        np.ndarray,
        Entry(
            FLOAT,
            "[S]",
            "the sum of all plans that the other player's updates have met, see "
            "regret_pruning.py",
            is_optional=True,
        ),
    ]
    known: Annotated[
        np.ndarray,
        Entry(
            FLOAT,
            "[S]",
            "the sum of all that leaves after a sequence have paid, as of when it was "
            "last followed",
            is_optional=True,
        ),
    ]
    best: Annotated[
        np.ndarray,
        Entry(
            FLOAT,
            "[S]",
            "what the best response would have got after a sequence, or more",
            is_optional=True,
        ),
    ]
    below: Annotated[
        np.ndarray,
        Entry(
            FLOAT,
            "[S]",
            "of `best`, what comes from the infosets below, 0 between updates",
            is_optional=True,
        ),
    ]
    got: Annotated[
        np.ndarray,
        Entry(FLOAT, "[I]", "what the player has got at an infoset", is_optional=True),
    ]
    skips: Annotated[
        np.ndarray,
        Entry(
            FLAG,
            "[S]",
            "what the next pass does with a sequence, see regret_pruning.FOLLOWED",
            is_optional=True,
        ),
    ]
    locked: Annotated[
        np.ndarray,
        Entry(
            FLAG,
            "[I]",
            "1 where the policy stays what it is, in passes that prune nothing",
            is_optional=True,
        ),
    ]
    is_met: Annotated[
        np.ndarray,
        Entry(
            FLAG,
            "[I]",
            "1 if the walks since the last update met the infoset; in passes that "
            "prune, as `skips`",
        ),
    ]


class Walk(NamedTuple):
    """The scratch of a walk, and how far the solver is.

    A walk writes all of it but the cursor and the clock, and `Tables.gradient` and
    `Tables.is_met`; what a solver has learned it only reads. See walk.py.
    """

    node: Annotated[np.ndarray, Entry(INT, "[H]", "a stacked node")]
    sequence: Annotated[
        np.ndarray, Entry(INT, "[H]", "the updated player's last sequence before it")
    ]
    weight: Annotated[
        np.ndarray, Entry(FLOAT, "[H]", "the factor of all payoffs below it")
    ]
    place: Annotated[
        np.ndarray, Entry(UNSIGNED, "[H]", "its history's place, see randomness.py")
    ]
    debt: Annotated[
        np.ndarray,
        Entry(FLOAT, "[H]", "what the infoset of `sequence` owes, see averaging.py"),
    ]
    note: Annotated[np.ndarray, Entry(NOTE, "[K]", "what baselines learn from", True)]
    visit: Annotated[
        np.ndarray, Entry(VISIT, "[V]", "decisions of players who forget", True)
    ]
    gain: Annotated[
        np.ndarray, Entry(FLOAT, "[V]", "their gradient, see apply.py", True)
    ]
    met: Annotated[
        np.ndarray,
        Entry(INT, "[I]", "the infosets met since the last update, ancestors first"),
    ]
    settled: Annotated[
        np.ndarray,
        Entry(FLOAT, "[I]", "what the average has before each of these infosets"),
    ]
    known: Annotated[
        np.ndarray, Entry(LONG, "[1]", "how many infosets' tables have been started")
    ]
    marks: Annotated[np.ndarray, Entry(LONG, "[MARKS_SIZE]", "see MARKS_SIZE")]
    cursor: Annotated[np.ndarray, Entry(LONG, "[CURSOR_SIZE]", "see CURSOR_SIZE")]
    clock: Annotated[np.ndarray, Entry(FLOAT, "[CLOCK_SIZE]", "see CLOCK_SIZE")]


class Passes(NamedTuple):
    """What a pass over a complete tree reads, of all players together.

    Every leaf is a row for every player, and rows are grouped by that player's last
    sequence before the leaf.
    """

    ends: Annotated[
        np.ndarray,
        Entry(LONG, "[S + 1]", "sequence s has the rows `ends[s] .. ends[s + 1] - 1`"),
    ]
    others: Annotated[
        np.ndarray, Entry(INT, "[L P, P - 1]", "the other players' last sequences")
    ]
    payoffs: Annotated[
        np.ndarray,
        Entry(FLOAT, "[L P]", "the player's return times chance's probability"),
    ]
    members: Annotated[
        np.ndarray,
        Entry(INT, "[I]", "the infosets, player by player, ancestors first"),
    ]
    member_ends: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[P + 1]",
            "player p's infosets are `members[member_ends[p] : member_ends[p + 1]]`",
        ),
    ]


class Plans(NamedTuple):
    """What passes keep between two updates."""

    plan: Annotated[
        np.ndarray, Entry(FLOAT, "[S]", "the plans that `Tables.policy` stands for")
    ]


class Blocks(NamedTuple):
    """How the infosets of a complete tree are cut for threads; see passes.py."""

    ends: Annotated[
        np.ndarray,
        Entry(LONG, "[B + 1]", "block b has the infosets `ends[b] .. ends[b + 1] - 1`"),
    ]
    starts: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[P B + 1]",
            "of these, player p's are `members[starts[k] : starts[k + 1]]` for the "
            "piece k = p B + b",
        ),
    ]
    kinds: Annotated[
        np.ndarray, Entry(FLAG, "[I]", "see blocks.INNER; empty if there is one block")
    ]
    top: Annotated[
        np.ndarray,
        Entry(
            INT,
            "[T]",
            "the infosets in the top, and the roots as `~i`, player by player, "
            "ancestors first",
        ),
    ]
    top_ends: Annotated[
        np.ndarray,
        Entry(LONG, "[P + 1]", "player p has `top[top_ends[p] : top_ends[p + 1]]`"),
    ]


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


def empty_tables(
    num_infosets: int, num_sequences: int, num_players: int, needed: Collection[str]
) -> Tables:
    """Tables of zeros.

    Args:
        num_infosets: the infosets that there is room for.
        num_sequences: the sequences that there is room for.
        num_players: how many players there are.
        needed: the names of the optional tables that the algorithm needs.
    """
    tables = {}
    for name, entry in entries_of(Tables).items():
        size = num_infosets if name in PER_INFOSET else num_sequences
        is_used = not entry.is_optional or name in needed
        columns = (num_players,) if entry.num_dimensions == 2 else ()
        tables[name] = np.zeros((size if is_used else 0, *columns), entry.dtype)
    return Tables(**tables)


def empty_walk(
    height: int, num_infosets: int, *, notes: bool = False, forgets: bool = False
) -> Walk:
    """A walk that has not begun, and tables of which none has been started.

    Args:
        height: the nodes that there is room for on the stack, and among notes.
        num_infosets: the infosets that there is room for in the list of those met.
        notes: whether it takes notes for baselines.
        forgets: whether it is of players who forget, and lists their visits.
    """
    sizes = {"met": num_infosets, "settled": num_infosets, "known": 1}
    sizes |= {"cursor": CURSOR_SIZE, "clock": CLOCK_SIZE, "marks": MARKS_SIZE}
    sizes |= {"note": height * notes}
    sizes |= dict.fromkeys(("visit", "gain"), height * forgets)
    return Walk(
        **{
            name: np.zeros(sizes.get(name, height), entry.dtype)
            for name, entry in entries_of(Walk).items()
        }
    )


LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Passes, Plans, Blocks)
"""What a frame holds. Kernels that walk do not look at the last three."""

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
