"""One evaluation of a policy over a complete tree, by one thread or by several.

An evaluation makes the plans of all players, the gradient at the leaves, best responses
upward, and the sums that are the expected returns. All threads run the same compiled
function; `compiled/atomics.py` explains the tickets.

The infosets are cut into *ranges* of neighbouring numbers, so that a thread reads the
leaves, the infosets and the policy in the order in which they lie in memory. Blocks of
one player's subtrees (blocks.py), as updates need them, are scattered over all of it.
An infoset that has an infoset of another range anywhere below it is in the *top*, which
one thread does. A *root* is an infoset below the top, or below nothing, that is not in
the top itself. It leaves its value in its own first sequence, from where the top takes
it, so that every sum has its terms in the order of a single range, and the same bits.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.compiled.atomics import (
    FINISHED,
    NOTES,
    add_one,
    is_over,
    load,
    next_ticket,
    store,
)
from mccfr_spiel.compiled.frame import Entry
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.passes import (
    add_rows,
    best_sequence,
    fill_plan_at,
)
from mccfr_spiel.kernels.tables import DONE, FLAG, FLOAT, INT, LONG, Passes
from mccfr_spiel.kernels.threaded_passes import open_tickets

INNER, ROOT, IN_TOP = range(3)
"""The kinds of infosets in a range."""

STAGE, FIRST_PART, _END = range(NOTES, NOTES + 3)
"""The leader's notes: the stage, and the part of the first ticket, less that ticket's
number."""

NUM_EVALUATION_NOTES = _END - NOTES

PLANS, RESPONSES, SUMS = range(3)
"""The stages: plans in all ranges, downward, once those in the top are made; gradients
and responses in all ranges, upward; then responses in the top, during which the other
threads add up the expected returns."""

PIECE = 2**15
"""A thread adds up so many products at once, or fewer."""

_LEAF = 128
"""NumPy adds up so many numbers, or fewer, without halving them any further."""


class Ranges(NamedTuple):
    """How the infosets of a complete tree are cut into neighbours."""

    ends: Annotated[
        np.ndarray,
        Entry(LONG, "[R + 1]", "range r has the infosets `ends[r] .. ends[r + 1] - 1`"),
    ]
    kinds: Annotated[
        np.ndarray,
        Entry(FLAG, "[I]", "INNER, ROOT or IN_TOP; empty if one thread has one range"),
    ]
    top: Annotated[
        np.ndarray,
        Entry(INT, "[T]", "the infosets in the top, and the roots as `~i`, ascending"),
    ]


class Vectors(NamedTuple):
    """What an evaluation writes, kept from one to the next, and what it needs to know
    to add it up."""

    plan: Annotated[np.ndarray, Entry(FLOAT, "[S]", "the plans of all players")]
    values: Annotated[
        np.ndarray,
        Entry(FLOAT, "[S]", "the gradient at the leaves, then what responses get"),
    ]
    products: Annotated[
        np.ndarray, Entry(FLOAT, "[S]", "the gradient at the leaves times the plan")
    ]
    owners: Annotated[
        np.ndarray, Entry(np.dtype(np.int16), "[S]", "whose a sequence is")
    ]
    pieces: Annotated[
        np.ndarray,
        Entry(
            LONG,
            "[K + 1]",
            "piece k of the sums has the sequences `pieces[k] .. pieces[k + 1] - 1`",
        ),
    ]


@jit
def count_jumps(infosets: np.ndarray, owner: np.ndarray, jumps: np.ndarray) -> None:
    """Counts, for each place for a cut, the infosets behind it that follow on one
    before it.

    Args:
        infosets: of a whole tree.
        owner: `[S]` int32, -1 at first; gets the infoset of each sequence.
        jumps: `[I + 1]` int32 zeros; get the counts for cuts before each infoset.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            owner[s] = infoset
        above = owner[infosets[infoset]["parent"]]
        if above >= 0:
            jumps[above + 1] += 1
            jumps[infoset + 1] -= 1
    for infoset in range(len(infosets)):
        jumps[infoset + 1] += jumps[infoset]


@jit
def mark_kinds(
    infosets: np.ndarray, ends: np.ndarray, owner: np.ndarray, kinds: np.ndarray
) -> None:
    """Finds which infosets are in the top, and which are roots.

    Args:
        infosets: of a whole tree.
        ends: see `Ranges`.
        owner: `[S]` from `count_jumps`.
        kinds: `[I]` zeros; see `Ranges`.
    """
    # Upward: when an infoset's turn comes, all below it have told it whether they are
    # in the top or in another range.
    for part in range(len(ends) - 2, -1, -1):
        for infoset in range(ends[part + 1] - 1, ends[part] - 1, -1):
            above = owner[infosets[infoset]["parent"]]
            if above >= 0 and (kinds[infoset] == IN_TOP or above < ends[part]):
                kinds[above] = IN_TOP
    for infoset in range(len(infosets)):
        above = owner[infosets[infoset]["parent"]]
        if kinds[infoset] != IN_TOP and (above < 0 or kinds[above] == IN_TOP):
            kinds[infoset] = ROOT


@jit(nogil=True)
def are_distributions(
    infosets: np.ndarray, policy: np.ndarray, begin: int, stop: int, most: float
) -> bool:
    """Whether a policy `[S]` is a distribution at each of `begin .. stop - 1`.

    Args:
        infosets: of any tree.
        policy: all finite, or the answer is no.
        begin, stop: infosets.
        most: how far from 1 a sum may be.
    """
    for number in range(begin, stop):
        infoset = np.uint64(number)  # see `add_rows`
        start = np.uint64(infosets[infoset]["first_sequence"])
        total, least = 0.0, 0.0
        for action in range(np.uint64(infosets[infoset]["num_actions"])):
            probability = policy[start + action]
            total += probability
            least = min(least, probability)
        if not (abs(total - 1.0) < most and least >= 0.0):
            return False
    return True


@jit(nogil=True)
def evaluate(
    infosets: np.ndarray,
    passes: Passes,
    ranges: Ranges,
    vectors: Vectors,
    player: int,
    end: int,
    policy: np.ndarray,
    choice: np.ndarray,
    responds: bool,
    sums: np.ndarray,
    desk: np.ndarray,
    leads: bool,
) -> int:
    """Evaluates a policy for some of the players.

    Args:
        infosets: of a whole tree.
        passes, ranges: of that tree.
        vectors: are set. The value of a best response is left in `values` at the
            player's empty sequence.
        player, end: the players `player .. end - 1` are evaluated.
        policy: `[S]` of all players.
        choice: `[I]` gets the first sequence of the highest value at each infoset of
            these players; `[0]` if nobody wants to know.
        responds: whether best responses are wanted.
        sums: `[P, K]` gets the sums of the pieces of each player's products, see
            `Vectors`; `[P, 0]` if nobody wants to know.
        desk, leads: see `compiled/teams.py`.
    """
    plan, values, products = vectors.plan, vectors.values, vectors.products
    top, ends, pieces = ranges.top, ranges.ends, vectors.pieces
    if leads:
        plan[: len(sums)] = 1.0
        for visit in range(len(top)):
            if top[visit] >= 0:
                fill_plan_at(infosets, policy, plan, top[visit])
        store(desk, STAGE, PLANS)
        open_tickets(desk, FIRST_PART, 0, len(ends) - 1)
    # One pass of this loop does one range, or one piece of the sums. When all are done,
    # the leader opens the next stage.
    while True:
        ticket = next_ticket(desk, leads)
        stage = load(desk, STAGE)
        if ticket < 0:
            if not leads or stage == SUMS or is_over(desk):
                break
            if stage == PLANS:
                store(desk, STAGE, RESPONSES)
                open_tickets(desk, FIRST_PART, 0, len(ends) - 1)
                for p in range(player, end):
                    value = add_rows(passes, plan, p, passes.others.shape[1], 0.0)
                    values[p], products[p] = value, value * plan[p]
            else:
                store(desk, STAGE, SUMS)
                open_tickets(desk, FIRST_PART, 0, sums.shape[1])
                if responds:
                    _respond_in_top(infosets, top, values, player, end, choice)
            continue
        part = ticket + desk[FIRST_PART]
        if stage == PLANS:
            _fill_plans(infosets, ranges, policy, plan, ends[part], ends[part + 1])
        elif stage == RESPONSES:
            begin, stop = ends[part], ends[part + 1]
            _fill_products(infosets, passes, vectors, player, end, begin, stop)
            if responds:
                _respond(infosets, ranges, values, player, end, choice, begin, stop)
        else:
            for p in range(player, end):
                sums[p, part] = add_up(
                    products, vectors.owners, p, pieces[part], pieces[part + 1]
                )
        add_one(desk, FINISHED)
    return DONE


@jit
def _fill_plans(
    infosets: np.ndarray,
    ranges: Ranges,
    policy: np.ndarray,
    plan: np.ndarray,
    begin: int,
    stop: int,
) -> None:
    """Writes the plans at `begin .. stop - 1`, but for those in the top."""
    has_top = len(ranges.kinds) > 0
    for infoset in range(begin, stop):
        if not has_top or ranges.kinds[infoset] != IN_TOP:
            fill_plan_at(infosets, policy, plan, infoset)


@jit
def _fill_products(
    infosets: np.ndarray,
    passes: Passes,
    vectors: Vectors,
    player: int,
    end: int,
    begin: int,
    stop: int,
) -> None:
    """Writes the leaves' gradient at `begin .. stop - 1`, and its products with the
    plan."""
    if begin == stop:
        return
    plan, owners, num_others = vectors.plan, vectors.owners, passes.others.shape[1]
    first = infosets[begin]["first_sequence"]
    last = infosets[stop - 1]["first_sequence"] + infosets[stop - 1]["num_actions"]
    for s in range(first, last):
        if player <= owners[s] < end:
            value = add_rows(passes, plan, s, num_others, 0.0)
            vectors.values[s], vectors.products[s] = value, value * plan[s]


@jit
def _respond(
    infosets: np.ndarray,
    ranges: Ranges,
    values: np.ndarray,
    player: int,
    end: int,
    choice: np.ndarray,
    begin: int,
    stop: int,
) -> None:
    """Finds best responses at `begin .. stop - 1`, upward, but for those in the top."""
    has_top, notes_choice = len(ranges.kinds) > 0, len(choice) > 0
    for number in range(stop - 1, begin - 1, -1):
        infoset = np.uint64(number)  # see `add_rows`
        if not player <= infosets[infoset]["player"] < end:
            continue
        kind = ranges.kinds[infoset] if has_top else INNER
        if kind == IN_TOP:
            continue
        start = np.uint64(infosets[infoset]["first_sequence"])
        if notes_choice:
            best = best_sequence(infosets, values, number)
            choice[infoset] = best
            value = values[best]
        else:
            value = values[start]
            for action in range(
                np.uint64(1), np.uint64(infosets[infoset]["num_actions"])
            ):
                another = values[start + action]
                value = another if another > value else value
        if kind == ROOT:
            values[start] = value
        else:
            values[np.uint64(infosets[infoset]["parent"])] += value


@jit
def _respond_in_top(
    infosets: np.ndarray,
    top: np.ndarray,
    values: np.ndarray,
    player: int,
    end: int,
    choice: np.ndarray,
) -> None:
    """Finds best responses in the top, once all ranges are done."""
    for visit in range(len(top) - 1, -1, -1):
        infoset = top[visit] if top[visit] >= 0 else ~top[visit]
        if not player <= infosets[infoset]["player"] < end:
            continue
        best = infosets[infoset]["first_sequence"]
        if top[visit] >= 0:
            best = best_sequence(infosets, values, infoset)
            if len(choice) > 0:
                choice[infoset] = best
        values[infosets[infoset]["parent"]] += values[best]


@jit(nogil=True)
def checksum(numbers: np.ndarray) -> Any:
    """A checksum of numbers `[n]` uint64, which tells their order, too.

    Each number is mixed into one of eight lanes, so that eight products are made at
    once. Halves are exchanged because a product moves bits upward only.
    """
    factor, half = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
    lanes = np.zeros(8, np.uint64)
    whole = len(numbers) - len(numbers) % 8
    for start in range(0, whole, 8):
        for lane in range(8):
            mixed = lanes[lane] ^ numbers[start + lane]
            lanes[lane] = ((mixed << half) | (mixed >> half)) * factor
    total = np.uint64(len(numbers))
    for lane in range(8):
        mixed = total ^ lanes[lane]
        total = ((mixed << half) | (mixed >> half)) * factor
    for rest in range(whole, len(numbers)):
        mixed = total ^ numbers[rest]
        total = ((mixed << half) | (mixed >> half)) * factor
    return total


# --- sums ------------------------------------------------------------------------


@jit
def add_up(
    products: np.ndarray, owners: np.ndarray, player: int, begin: int, stop: int
) -> float:
    """The sum of a player's products at the sequences `begin .. stop - 1`.

    The terms are added in the order of NumPy's `sum` over an array in which the others'
    products are 0, which halves long arrays: for the accuracy of that sum, and since
    earlier releases called it.

    Args:
        products, owners: see `Vectors`.
        player: whose products count.
        begin, stop: at least one sequence.
    """
    sizes, sums = np.empty(192, np.int64), np.empty(64)
    own = np.empty(_LEAF)
    sizes[0], num_sizes, num_sums, at = stop - begin, 1, 0, begin
    # One pass takes a size off the stack. A short stretch is added up, a long one
    # gives way to its halves and to a mark, -1, that adds both when they are done.
    while num_sizes > 0:
        num_sizes -= 1
        size = sizes[num_sizes]
        if size < 0:
            num_sums -= 1
            sums[num_sums - 1] += sums[num_sums]
        elif size > _LEAF:
            half = size // 2
            half -= half % 8
            sizes[num_sizes] = -1
            sizes[num_sizes + 1], sizes[num_sizes + 2] = size - half, half
            num_sizes += 3
        else:
            # Of slices LLVM sees that no index is negative, and takes several at once.
            theirs, whose = products[at : at + size], owners[at : at + size]
            for k in range(size):
                own[k] = theirs[k] if whose[k] == player else 0.0
            sums[num_sums] = _add_few(own, size)
            num_sums += 1
            at += size
    return sums[0]


@inlined
def _add_few(own: np.ndarray, size: int) -> float:
    """The sum of `own[:size]`, `_LEAF` numbers at most, in eight strands."""
    if size < 8:
        total = 0.0
        for k in range(size):
            total += own[k]
        return total
    r0, r1, r2, r3 = own[0], own[1], own[2], own[3]
    r4, r5, r6, r7 = own[4], own[5], own[6], own[7]
    for eight in range(1, size // 8):
        k = 8 * eight
        r0 += own[k]
        r1 += own[k + 1]
        r2 += own[k + 2]
        r3 += own[k + 3]
        r4 += own[k + 4]
        r5 += own[k + 5]
        r6 += own[k + 6]
        r7 += own[k + 7]
    total = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
    for k in range(size - size % 8, size):
        total += own[k]
    return total
