"""The steps of first-order methods, by one thread or by several with the same bits.

A method is a sequence of steps over vectors: gradients, prox maps and mixtures. In one
thread each step is a plain loop (`dilated_entropy`). With several, the thread that runs
the method is the leader of a team (`compiled/teams.py`): it cuts each step into pieces,
opens a ticket for each, and goes on when all are finished. The others only do pieces.

The pieces follow from the game's shape alone. A prox map goes up and down the same
blocks of whole subtrees as a pass of CFR, and the leader does the top between them (see
`kernels/blocks.py`). Gradients and mixtures have their own pieces, ranges of
sequences. Every sum has the same terms in the same order as in one thread.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.compiled.atomics import (
    CLOSED,
    FINISHED,
    NOTES,
    add_one,
    next_ticket,
    store,
)
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.kernels.tables import FLOAT, LONG
from mccfr_spiel.kernels.threaded_passes import (
    FIRST_BLOCK,
    NUM_NOTES,
    PLAYER_NOW,
    STAGE,
    open_tickets,
)
from mccfr_spiel.offline.dilated_entropy import (
    Side,
    evaluate_gradient,
    mix_into,
    plan_at,
    prox,
    respond_at,
)
from mccfr_spiel.offline.sequence_form import SequenceForm, Treeplex

(PLAN, GRADIENT, MIDDLE, LOG, *_OWN) = range(8)
"""Rows of `Steps.vectors`: the plans of the method, and what each step writes: a
gradient, the maximizer of a prox map, and the logarithm of that one's policy."""

OWN_0, OWN_1, OWN_2, NUM_ROWS = _OWN
"""Rows for what a method keeps besides, and how many rows there are."""

UNIFORM = -1
"""In place of the row of a center: the uniform policy."""

FIRST, SECOND, RESULT = range(NOTES + NUM_NOTES, NOTES + NUM_NOTES + 3)
NUM_STEP_NOTES = NUM_NOTES + 3
"""The leader's notes: those of a pass of CFR, and the rows that a step is about."""

EVALUATE, RESPOND, FOLLOW, MIX, ADD, COPY = range(6)
"""The steps in pieces; a prox map is RESPOND upward and FOLLOW downward."""

_PIECES = 64
"""How many ranges of sequences each player should have."""

LEAST_PIECE = 2**10
"""The least work of one, in payoffs and sequences."""


class Own(NamedTuple):
    """What the steps of one player read and change, besides Side and Blocks."""

    ranges: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[R + 1]",
            "piece r of a gradient or a mixture has the sequences "
            "`ranges[r] .. ranges[r + 1] - 1`",
        ),
    ]
    vectors: Annotated[np.ndarray, Entry(FLOAT, "[NUM_ROWS, m]", "see PLAN")]
    number: Annotated[
        np.ndarray,
        Entry(FLOAT, "[1]", "the scale or the weight that the open tickets are about"),
    ]
    shared: Annotated[
        np.ndarray, Entry(LONG, "[1]", "1 if steps are done in pieces, else 0")
    ]


_LAYOUT = Layout(Side, kernels.Blocks, Own)
views = _LAYOUT.viewer()
"""`views(frames[player], kind)` gives Side, Blocks and Own of a player."""


class Steps(NamedTuple):
    """The arrays of a method. Compiled code gets the frames alone.

    Attributes:
        sides: both players' Sides.
        blocks: each player's blocks, with infosets numbered within the player.
        own: of each player.
    """

    sides: tuple[Side, Side]
    blocks: tuple[kernels.Blocks, kernels.Blocks]
    own: tuple[Own, Own]

    def frames(self) -> np.ndarray:
        """`[2, 3 K]` a frame of each player's arrays, see `compiled/frame.py`."""
        return np.array([_LAYOUT.frame_of(*each) for each in zip(*self, strict=True)])


# --- pieces --------------------------------------------------------------------------


@jit
def respond_in(side, order, begin, end, in_top, gradient, center, scale, log_policy):
    """The way up of `prox` at `order[begin:end]`, of a block or of the top.

    The root ~i of a block's subtree leaves its value in the gradient at its own first
    sequence, which nobody reads any more, and the top takes it from there.
    """
    for visit in range(end - 1, begin - 1, -1):
        infoset = order[visit]
        is_root = infoset < 0
        if is_root:
            infoset = ~infoset
        start, parent = side.first_sequence[infoset], side.parent[infoset]
        if is_root and in_top:
            gradient[parent] += gradient[start]
        else:
            value = respond_at(side, infoset, gradient, center, scale, log_policy)
            if is_root:
                gradient[start] = value
            else:
                gradient[parent] += value


@jit
def follow_in(side, order, begin, end, in_top, log_policy, plan):
    """The way down of `prox` at `order[begin:end]`, of a block or of the top."""
    for visit in range(begin, end):
        infoset = order[visit]
        if infoset >= 0:
            plan_at(side, infoset, log_policy, plan)
        elif not in_top:
            plan_at(side, ~infoset, log_policy, plan)


@jit
def add_into(first, result, begin, end):
    """Adds `first` to `result` at the places from `begin` to `end - 1`."""
    for s in range(begin, end):
        result[s] += first[s]


@jit
def copy_into(first, result, begin, end):
    """Copies `first` to `result` at the places from `begin` to `end - 1`."""
    for s in range(begin, end):
        result[s] = first[s]


@jit
def do_piece(frames, desk, piece):
    """Does a piece of the open step."""
    step, player = desk[STAGE], desk[PLAYER_NOW]
    first, second = desk[FIRST], desk[SECOND]
    side, own = views(frames[player], Side), views(frames[player], Own)
    vectors, number = own.vectors, own.number[0]
    result = vectors[desk[RESULT]]
    if step == RESPOND or step == FOLLOW:
        blocks = views(frames[player], kernels.Blocks)
        begin, end = blocks.ends[piece], blocks.ends[piece + 1]
        order, row = blocks.members, vectors[first]
        if step == RESPOND:
            center = side.uniform if second == UNIFORM else vectors[second]
            respond_in(side, order, begin, end, False, row, center, number, result)
        else:
            follow_in(side, order, begin, end, False, row, result)
    else:
        begin, end = own.ranges[piece], own.ranges[piece + 1]
        if step == EVALUATE:
            plan = views(frames[1 - player], Own).vectors[first]
            evaluate_gradient(side, plan, result, begin, end)
        elif step == MIX:
            mix_into(vectors[first], vectors[second], number, result, begin, end)
        elif step == ADD:
            add_into(vectors[first], result, begin, end)
        else:
            copy_into(vectors[first], result, begin, end)


@jit
def do_pieces(frames, desk, leads):
    """Does pieces of the open step until there are none.

    For a leader that is when the step is finished, for the others when the desk is
    closed.
    """
    while True:
        ticket = next_ticket(desk, leads)
        if ticket < 0:
            break
        do_piece(frames, desk, ticket + desk[FIRST_BLOCK])
        add_one(desk, FINISHED)


@jit
def share(frames, desk, step, player, first, second, number, result):
    """Has all pieces of a step done."""
    own = views(frames[player], Own)
    own.number[0] = number
    desk[PLAYER_NOW] = player
    desk[FIRST], desk[SECOND], desk[RESULT] = first, second, result
    store(desk, STAGE, step)
    if step == RESPOND or step == FOLLOW:
        num_pieces = len(views(frames[player], kernels.Blocks).ends) - 1
    else:
        num_pieces = len(own.ranges) - 1
    open_tickets(desk, FIRST_BLOCK, 0, num_pieces)
    do_pieces(frames, desk, True)


# --- steps, for the methods --------------------------------------------------------


@jit
def evaluate(frames, desk, player, plan, gradient):
    """The gradient of a player at the other's plan; both are rows."""
    own = views(frames[player], Own)
    if own.shared[0] != 0:
        share(frames, desk, EVALUATE, player, plan, 0, 0.0, gradient)
    else:
        vectors, others = own.vectors, views(frames[1 - player], Own).vectors
        side = views(frames[player], Side)
        evaluate_gradient(side, others[plan], vectors[gradient], 0, vectors.shape[1])


@jit
def prox_step(frames, desk, player, gradient, center, scale, log_policy, plan):
    """`prox` with a player's rows in place of vectors; UNIFORM may be the center.

    Returns:
        The maximum. The row `gradient` is overwritten.
    """
    side, own = views(frames[player], Side), views(frames[player], Own)
    slope, log = own.vectors[gradient], own.vectors[log_policy]
    found = own.vectors[plan]
    middle = side.uniform if center == UNIFORM else own.vectors[center]
    if own.shared[0] == 0:
        return prox(side, slope, middle, scale, log, found)
    top = views(frames[player], kernels.Blocks).top
    share(frames, desk, RESPOND, player, gradient, center, scale, log_policy)
    respond_in(side, top, 0, len(top), True, slope, middle, scale, log)
    found[0] = 1.0
    follow_in(side, top, 0, len(top), True, log, found)
    share(frames, desk, FOLLOW, player, log_policy, 0, 0.0, plan)
    return slope[0]


@jit
def mix(frames, desk, player, first, second, weight, result):
    """(1 - weight) times a row plus weight times another one."""
    own = views(frames[player], Own)
    if own.shared[0] != 0:
        share(frames, desk, MIX, player, first, second, weight, result)
    else:
        vectors, end = own.vectors, own.vectors.shape[1]
        mix_into(vectors[first], vectors[second], weight, vectors[result], 0, end)


@jit
def add(frames, desk, player, first, result):
    """Adds one row to another."""
    own = views(frames[player], Own)
    if own.shared[0] != 0:
        share(frames, desk, ADD, player, first, 0, 0.0, result)
    else:
        vectors = own.vectors
        add_into(vectors[first], vectors[result], 0, vectors.shape[1])


@jit
def copy(frames, desk, player, first, result):
    """Copies one row to another."""
    own = views(frames[player], Own)
    if own.shared[0] != 0:
        share(frames, desk, COPY, player, first, 0, 0.0, result)
    else:
        vectors = own.vectors
        copy_into(vectors[first], vectors[result], 0, vectors.shape[1])


@jit
def help_or_lead(frames, desk, leads):
    """Whether a thread leads; one that does not has done all pieces it could get."""
    if not leads:
        do_pieces(frames, desk, False)
    return leads


@jit
def dismiss(desk):
    """Lets the leader's helpers go."""
    store(desk, CLOSED, 1)


# --- making them --------------------------------------------------------------------


def make_steps(form: SequenceForm, sides: tuple[Side, Side], num_threads: int) -> Steps:
    """The steps of a method that begins; all vectors are 0.

    Raises:
        MemoryBudgetError: the tree's blocks do not fit its `max_memory`.
    """
    shared = num_threads > 1
    first, second = form.treeplexes
    blocks = form.tree.list_blocks() if shared else None
    cut = _blocks_of(first, blocks), _blocks_of(second, blocks)
    number, flag = np.zeros(1), np.array([int(shared)])
    own = (
        _own(sides[0], shared, number, flag),
        _own(sides[1], shared, number, flag),
    )
    return Steps(sides, cut, own)


def _own(side: Side, shared: bool, number: np.ndarray, flag: np.ndarray) -> Own:
    vectors = np.zeros((NUM_ROWS, len(side.uniform)))
    return Own(_ranges(side, shared), vectors, number, flag)


def _blocks_of(plex: Treeplex, blocks: kernels.Blocks | None) -> kernels.Blocks:
    """A player's blocks, with infosets numbered within the player; None has none."""
    none = np.zeros(0, np.int32)
    if blocks is None:
        zero = np.zeros(1, np.int64)
        return kernels.Blocks(none, zero, zero, none, zero)

    def renumbered(infosets: np.ndarray) -> np.ndarray:
        is_root = infosets < 0
        own = np.searchsorted(plex.infosets, np.where(is_root, ~infosets, infosets))
        return np.where(is_root, ~own, own).astype(np.int32)

    first, last = blocks.player_ends[plex.player : plex.player + 2]
    ends = blocks.ends[first : last + 1]
    begin, end = blocks.top_ends[plex.player : plex.player + 2]
    return kernels.Blocks(
        members=renumbered(blocks.members[ends[0] : ends[-1]]),
        ends=ends - ends[0],
        player_ends=np.array([0, last - first]),
        top=renumbered(blocks.top[begin:end]),
        top_ends=np.array([0, end - begin]),
    )


def _ranges(side: Side, shared: bool) -> np.ndarray:
    """`Steps.ranges` of a player: ranges with about the same work.

    The work of a gradient is a payoff for each entry, and one for the sequence.
    """
    num_sequences = len(side.uniform)
    if not shared:
        return np.array([0, num_sequences])
    work = side.starts + np.arange(num_sequences + 1)
    num_ranges = min(max(int(work[-1]) // LEAST_PIECE, 1), _PIECES)
    targets = work[-1] * np.arange(1, num_ranges) // num_ranges
    inner = np.searchsorted(work, targets)
    return np.unique(np.concatenate(([0], inner, [num_sequences])))
