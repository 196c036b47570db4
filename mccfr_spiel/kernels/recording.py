"""Stages of the walk that record payoffs of leaves and infosets for the update."""

# pyright: reportPossiblyUnboundVariable=false
# (numba removes branches that compile-time constants exclude)

from typing import Any

import numpy as np

from mccfr_spiel.kernels.baselines import note, note_payoff
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.logs import log_infoset, log_leaf
from mccfr_spiel.kernels.prefetching import (
    prefetch,
)
from mccfr_spiel.kernels.progress import Progress
from mccfr_spiel.kernels.source import Source
from mccfr_spiel.kernels.stack import Moves, Spot
from mccfr_spiel.kernels.switches import Switches
from mccfr_spiel.kernels.tables import DONE, TOO_UNLIKELY, Tables, Walk
from mccfr_spiel.kernels.visits import NOT_UPDATED, note_visit

MAX_WEIGHT = 1e290
"""Largest absolute value of payoff times weight. Sums of such products do not overflow
the range of a double."""

_FLOATS_A_LINE = 64 // 8


def make_pay(switches: Switches, source: Source) -> Any:
    """Builds `pay_leaf`, which adds a leaf's payoff to the gradient or to the log.

    `pay_leaf` returns a status and the counters. The status is DONE, TOO_UNLIKELY,
    LOG_FULL, or comes from the source of nodes.
    """
    pay, in_top, may_overflow = source.pay, switches.in_top, switches.may_overflow
    learns, branches, forgets = switches.learns, switches.branches, switches.forgets
    postpones = switches.postpones

    @inlined
    def pay_leaf(nodes, tables, walk, log, trip, spot, progress):
        height, num_met, num_touched, num_notes, num_leaves, num_forks = progress
        status, row = pay(nodes, spot.node)
        payoff = abs(spot.weight) * nodes.utilities[row, trip.player]
        # "not <=" instead of ">", because an infinite weight times 0 is NaN.
        if may_overflow and status == DONE and not abs(payoff) <= MAX_WEIGHT:
            status = np.int64(TOO_UNLIKELY)
        if status == DONE:
            num_touched += 1
            if in_top:
                status = log_leaf(log, num_leaves, payoff, spot.sequence)
                num_leaves += 1
            else:
                gradient = walk.gain if forgets else tables.gradient
                is_new = num_touched > trip.passed
                credit(gradient, spot.sequence, payoff, is_new, postpones)
            # Walks with baselines: external sampling appends a note, outcome sampling
            # stores the payoff in the heading (baselines.py).
            if branches:
                num_notes = note(walk, num_notes, 0, 0, 0, payoff)
            elif learns:
                note_payoff(walk, nodes.utilities[row, trip.player])
        return status, Progress(
            height, num_met, num_touched, num_notes, num_leaves, num_forks
        )

    return pay_leaf


@inlined
def credit(
    gradient: np.ndarray, sequence: int, payoff: float, is_new: bool, adds_once: bool
) -> None:
    """Adds a leaf's payoff to the gradient.

    Args:
        gradient: `[S]` the gradient.
        sequence: the updated player's last sequence before the leaf.
        payoff: payoff times importance weight.
        is_new: False if a repeated walk has added this payoff before.
        adds_once: whether each sequence receives at most one payoff before an update.
            The payoff is then assigned instead of added, so a repeated walk changes
            nothing.
    """
    if adds_once:
        gradient[sequence] = payoff
    elif is_new:
        gradient[sequence] += payoff


def make_meet(switches: Switches, source: Source, start_tables: Any) -> Any:
    """Builds `meet_infoset`, which records an infoset for the update.

    It lists an infoset of the updated player for the update, computes the debt of the
    average to it, and logs it if the walk ends at blocks (logs.py). For players with
    imperfect recall it lists the visit (visits.py).

    `meet_infoset` returns five values: a status; whether the walk continues below the
    node, which is False at the root of a block in the top part; the `Spot` with the
    infoset's debt; the `Moves` with their indices in the gradient; the counters.
    """
    start_new, in_top, forgets = source.start, switches.in_top, switches.forgets
    has_debts, meets_once = switches.has_debts, switches.meets_once
    draws_own = switches.draws_own

    @inlined
    def meet_infoset(task, nodes, tables, walk, log, trip, spot, moves, progress):
        height, num_met, num_touched, num_notes, num_leaves, num_forks = progress
        acting, infoset, first, start, count, slots = moves
        node, sequence, weight, place, debt = spot
        status, continues, settled = np.int64(DONE), True, 0.0
        is_own = acting == trip.player
        # If compiled rules supply the nodes, the infoset may be new. Its tables must be
        # initialized before they are read.
        start_new(nodes, tables, walk, start_tables, task)
        if in_top and is_own:
            status, num_forks = log_infoset(
                log, num_met, num_forks, trip.serial, spot, moves
            )
            num_met += 1
            continues = status == DONE and log.home[start] < 0
        elif forgets:
            above = sequence if is_own else NOT_UPDATED
            num_players = nodes.utilities.shape[1]
            num_met, slots = note_visit(
                walk, num_met, infoset, above, weight, count, num_players
            )
        elif is_own:
            if has_debts:
                settled, debt = carry_debt(tables, infoset, sequence, debt)
            # Prefetching pays only for walks that follow one history, see
            # `progress.LARGE`.
            is_far = trip.is_large and draws_own
            # Bit 0 marks listed infosets; shared_walks.py also uses bit 1 (REACHED).
            if meets_once or tables.is_met[infoset] & 1 == 0:
                if not meets_once:
                    tables.is_met[infoset] |= 1
                list_met(tables, walk, num_met, moves, settled, has_debts, is_far)
                num_met += 1
        return (
            status,
            continues,
            Spot(node, sequence, weight, place, debt),
            Moves(acting, infoset, first, start, count, slots),
            Progress(height, num_met, num_touched, num_notes, num_leaves, num_forks),
        )

    return meet_infoset


@inlined
def carry_debt(
    tables: Tables, infoset: int, sequence: int, debt: float
) -> tuple[float, float]:
    """Computes the lazy average's debt to an infoset of the updated player.

    The update pays the debts of all listed infosets only after the walk. So the stored
    average at the parent sequence is too small by its own debt times the policy.

    Args:
        tables: the tables, of which `average`, `policy` and `paid` are read.
        infoset: the infoset.
        sequence: the player's parent sequence of the infoset.
        debt: debt to the infoset that `sequence` belongs to.

    Returns:
        The average at `sequence` after all debts above are paid, and the debt to
        `infoset`.
    """
    settled = tables.average[sequence] + tables.policy[sequence] * debt
    return settled, settled - tables.paid[infoset]


@inlined
def list_met(
    tables: Tables,
    walk: Walk,
    num_met: int,
    moves: Moves,
    settled: float,
    has_debts: bool,
    is_far: bool,
) -> None:
    """Appends an infoset to `Walk.met`, the list of infosets to update.

    Args:
        tables: the tables, whose rows are prefetched for the update.
        walk: the walk with the list.
        num_met: length of the list.
        moves: the moves at the infoset.
        settled: average at the parent sequence after payment, see `carry_debt`.
        has_debts: whether to store `settled`.
        is_far: whether to prefetch the rows, because they may not be in the cache.
    """
    walk.met[num_met] = moves.infoset
    if has_debts:
        walk.settled[num_met] = settled
    if is_far:
        for s in range(moves.start, moves.start + moves.count, _FLOATS_A_LINE):
            prefetch(tables.memory, s)
            prefetch(tables.gradient, s)
            prefetch(tables.average, s)
