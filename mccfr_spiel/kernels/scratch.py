"""What threads that share the walks of a batch write, besides the one gradient.

The infosets of a complete tree are cut into blocks of whole subtrees and a top
(blocks.py). No two blocks share a sequence.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.tables import (
    FLOAT,
    INT,
    LONG,
    UNSIGNED,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.kernels.walk import FORK, LEAF, Log

NUM_SLICES = 32
"""The slices into which the walks of a batch are cut. Each has a log of its own."""

EVENTS, FORKS, LEAVES, NODES, STATUS = range(5)
"""The counts of a slice or a block: how long the lists of a slice's log are, the nodes
touched, and DONE or what kept the walks from going on."""

NUM_COUNTS = 16
"""The entries for them: counts that different threads change lie in different lines of
the processor's cache."""


class Cut(NamedTuple):
    """How the infosets of a complete tree are cut for threads that share a batch.

    `K` is the number of blocks, of all players.
    """

    home: Annotated[
        np.ndarray,
        Entry(
            INT,
            "[S]",
            "twice the block of the sequence's infoset, plus 1 if the infoset is the "
            "root of its subtree; -1 in the top",
        ),
    ]
    player_ends: Annotated[
        np.ndarray,
        Entry(
            LONG, "[P + 1]", "player p's blocks are those from its entry to the next"
        ),
    ]
    ends: Annotated[
        np.ndarray,
        Entry(LONG, "[K + 1]", "block b's part of `met` is `ends[b] .. ends[b + 1]`"),
    ]
    met: Annotated[
        np.ndarray,
        Entry(INT, "[I']", "the infosets met, block by block, ancestors first"),
    ]
    num_met: Annotated[np.ndarray, Entry(LONG, "[K]", "how many each block has")]
    top: Annotated[
        np.ndarray,
        Entry(INT, "[I'']", "the infosets met in the top, roots of subtrees included"),
    ]


class Slots(NamedTuple):
    """Stacks and logs. There are NUM_SLICES rows for slices, and one for each block."""

    node: Annotated[np.ndarray, Entry(INT, "[R H]", "as `Walk.node`, row by row")]
    sequence: Annotated[np.ndarray, Entry(INT, "[R H]", "as `Walk.sequence`")]
    weight: Annotated[np.ndarray, Entry(FLOAT, "[R H]", "as `Walk.weight`")]
    place: Annotated[np.ndarray, Entry(UNSIGNED, "[R H]", "as `Walk.place`")]
    counts: Annotated[np.ndarray, Entry(LONG, "[R NUM_COUNTS]", "see NUM_COUNTS")]
    event: Annotated[np.ndarray, Entry(INT, "[NUM_SLICES C]", "see `Log`")]
    leaf: Annotated[np.ndarray, Entry(LEAF, "[NUM_SLICES C]", "see `Log`")]
    fork: Annotated[np.ndarray, Entry(FORK, "[NUM_SLICES C]", "see `Log`")]
    order: Annotated[
        np.ndarray, Entry(INT, "[NUM_SLICES C]", "a slice's forks, block by block")
    ]
    order_ends: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[NUM_SLICES (K + 1)]",
            "of a slice's `order`, those of block b end where its entry b says",
        ),
    ]


SHARED_LAYOUT = Layout(Task, TreeArrays, Tables, Walk, Cut, Slots)
shared_views = SHARED_LAYOUT.viewer()


@inlined
def row_of(array: np.ndarray, num_rows: int, row: int) -> np.ndarray:
    """A row of an array whose rows lie one after another."""
    size = len(array) // num_rows
    return array[row * size : (row + 1) * size]


@inlined
def counts_of(slots: Slots, row: int) -> np.ndarray:
    """The counts of a row."""
    return slots.counts[row * NUM_COUNTS : (row + 1) * NUM_COUNTS]


@inlined
def stack_of(walk: Walk, slots: Slots, row: int, met: np.ndarray) -> Walk:
    """A walk with the stack of a row, and a list of its own of the infosets met."""
    num_rows = len(slots.counts) // NUM_COUNTS
    return Walk(
        node=row_of(slots.node, num_rows, row),
        sequence=row_of(slots.sequence, num_rows, row),
        weight=row_of(slots.weight, num_rows, row),
        place=row_of(slots.place, num_rows, row),
        debt=walk.debt,
        note=walk.note,
        visit=walk.visit,
        gain=walk.gain,
        met=met,
        settled=walk.settled,
        known=walk.known,
        marks=walk.marks,
        cursor=walk.cursor,
        clock=walk.clock,
    )


@inlined
def log_of(cut: Cut, slots: Slots, row: int) -> Log:
    """The log of a slice."""
    return Log(
        home=cut.home,
        event=row_of(slots.event, NUM_SLICES, row),
        leaf=row_of(slots.leaf, NUM_SLICES, row),
        fork=row_of(slots.fork, NUM_SLICES, row),
    )
