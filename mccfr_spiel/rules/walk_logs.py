"""What walks over compiled rules write when threads share a batch; see
threaded_walks.py.

A log holds what the loop of `walks.py` would do at once: which infosets of the player
the walks visit, and the sequence and the payoff of each leaf. An infoset that nobody
has met before goes into a small store that belongs to the log. There it has a number
from `APART` on, and so have its sequences, so that a number tells which store it is of.
Its policy is the one with which the rule starts.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.compiled.frame import Entry
from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.batch_logs import LEAF, NUM_COUNTS
from mccfr_spiel.kernels.tables import INT, LONG, Tables, TreeArrays, Walk
from mccfr_spiel.rules.kernel import INFOSETS, SEQUENCES
from mccfr_spiel.rules.key_table import forget_keys
from mccfr_spiel.rules.walks import Known, views

APART = 2**30
"""Infosets and sequences of a log's own store have numbers from here on."""

WALK_END = np.dtype(
    [
        ("touched", np.int64),
        ("event", np.int32),
        ("leaf", np.int32),
        ("infoset", np.int32),
        ("sequence", np.int32),
    ]
)
"""Where a walk of a log ends: the nodes that it touched, the end of its visits, of its
leaves, and of the infosets and the sequences of the log's own store by then."""

STATUS, NUM_WALKS = range(2)
"""The counts of a log: DONE or why the next walk was not made, and the walks in it."""


class RuleLogs(NamedTuple):
    """What tickets write. Of the `Q` logs each has room for `C` entries of a kind; its
    own store for `I` infosets and `S` sequences."""

    event: Annotated[np.ndarray, Entry(INT, "[Q C]", "the player's infosets visited")]
    leaf: Annotated[np.ndarray, Entry(LEAF, "[Q C]", "see `batch_logs.LEAF`")]
    end: Annotated[np.ndarray, Entry(WALK_END, "[Q C]", "see WALK_END")]
    shared_infoset: Annotated[
        np.ndarray,
        Entry(INT, "[Q I]", "the number of an own infoset once it is shared"),
    ]
    shared_sequence: Annotated[
        np.ndarray, Entry(INT, "[Q S]", "the same for own sequences")
    ]
    counts: Annotated[np.ndarray, Entry(LONG, "[Q NUM_COUNTS]", "see STATUS")]


class Own(NamedTuple):
    """The same of a log's own store; `tree` is also what a walk knows of one node, and
    `started` is `Walk.known`."""

    tree: TreeArrays
    policy: np.ndarray
    known: Known
    started: np.ndarray


@inlined
def own_in(frame: np.ndarray) -> Own:
    """The own store in the frame of a log."""
    return Own(
        views(frame, TreeArrays),
        views(frame, Tables).policy,
        views(frame, Known),
        views(frame, Walk).known,
    )


@inlined
def log_of(logs: RuleLogs, slot: Any) -> RuleLogs:
    """One of the logs."""
    num_logs = len(logs.counts) // NUM_COUNTS
    room = len(logs.leaf) // num_logs
    infosets = len(logs.shared_infoset) // num_logs
    sequences = len(logs.shared_sequence) // num_logs
    return RuleLogs(
        logs.event[slot * room : (slot + 1) * room],
        logs.leaf[slot * room : (slot + 1) * room],
        logs.end[slot * room : (slot + 1) * room],
        logs.shared_infoset[slot * infosets : (slot + 1) * infosets],
        logs.shared_sequence[slot * sequences : (slot + 1) * sequences],
        logs.counts[slot * NUM_COUNTS : (slot + 1) * NUM_COUNTS],
    )


@inlined
def empty(own: Own, counts: np.ndarray) -> None:
    """Empties a log and its store."""
    for k in range(NUM_COUNTS):
        counts[k] = 0
    forget_keys(own.known.table, own.known.rows, own.known.counts[INFOSETS])
    own.known.counts[INFOSETS] = own.known.counts[SEQUENCES] = own.started[0] = 0
