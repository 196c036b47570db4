"""What a policy gets over a complete tree, and what best responses to it get.

An evaluation is a pass down and a pass up. The pass down makes the plans of all
players: a sequence's plan is the product of its player's probabilities on the way to
it. The pass up begins at the leaves. Each pays, to the player's last sequence before
it, the return times chance's probability times the other players' plans. From the last
infoset to the first, an infoset then passes two numbers up to its parent sequence: what
the policy gets there, the mean over its actions, and what a best response gets, the
highest of them. At a player's empty sequence arrive the expected return, `got`, and
that of the best response, `best`. NashConv is the sum of best - got over the players.

Threads share both passes as those of an update, see passes.py: infosets are cut into
blocks of whole subtrees and a top above them. (In one thread one block has all infosets
and the top none.) Each block is done for all players at once, so that leaves, infosets
and policies are read in the order in which they lie in memory.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.kernels.blocks import IN_TOP, INNER, ROOT, THE_TOP
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.passes import DOWNWARD, WAY, go_down, go_up
from mccfr_spiel.kernels.plans import add_rows, fill_plan_at
from mccfr_spiel.kernels.tables import DONE, Blocks, Passes
from mccfr_spiel.kernels.tickets import take_pieces


class Evaluation(NamedTuple):
    """What an evaluation reads and writes.

    Attributes:
        infosets: of a complete tree.
        passes: the list of its leaves.
        blocks: how it is cut.
        policy: `[S]` of all players.
        plan: `[S]` gets their plans.
        got: `[S]` gets what a sequence brings its player by the policy,
            counterfactually; at an empty sequence that is the expected return. A root
            of a block ends with its own value at its first sequence.
        best: `[S]` gets the values of a best response in the same places.
        choice: `[I]` gets the first sequence of the highest value at each infoset;
            `[0]` if it is not wanted.
    """

    infosets: np.ndarray
    passes: Passes
    blocks: Blocks
    policy: np.ndarray
    plan: np.ndarray
    got: np.ndarray
    best: np.ndarray
    choice: np.ndarray


@jit(nogil=True)
def evaluate(work: Evaluation, desk: np.ndarray, leads: bool) -> int:
    """Evaluates a policy for all players.

    `teams.run` calls it in some threads, with `passes.NUM_NOTES` notes.
    """
    if not leads:
        take_pieces(evaluate_piece, work, desk, False)
        return DONE
    num_blocks, num_players = len(work.blocks.ends) - 1, len(work.blocks.top_ends) - 1
    work.plan[:num_players] = 1.0
    go_down(evaluate_piece, work, work.blocks, desk, 0, num_blocks)
    _read_leaves(work, 0, num_players)
    go_up(evaluate_piece, work, work.blocks, desk, 0, num_blocks)
    return DONE


@jit(nogil=True)
def evaluate_piece(work, desk, piece):
    """Goes the leader's way through a block, or through the top."""
    blocks, is_top = work.blocks, piece == THE_TOP
    is_cut = not is_top and len(blocks.kinds) > 0
    begin, end = np.int64(0), np.int64(len(blocks.top))
    if not is_top:
        begin, end = blocks.ends[piece], blocks.ends[piece + 1]
    if desk[WAY] == DOWNWARD:
        for visit in range(begin, end):
            infoset = np.int64(blocks.top[visit]) if is_top else visit
            if infoset >= 0 and not (is_cut and blocks.kinds[infoset] == IN_TOP):
                fill_plan_at(work.infosets, work.policy, work.plan, infoset)
        return
    # Leaves are read forward, as they lie in memory. Those after sequences of the top
    # lie among them.
    if not is_top and begin < end:
        last = work.infosets[end - 1]
        stop = last["first_sequence"] + last["num_actions"]
        _read_leaves(work, work.infosets[begin]["first_sequence"], stop)
    for visit in range(end - 1, begin - 1, -1):
        infoset = np.int64(blocks.top[visit]) if is_top else visit
        if infoset < 0:  # the root of a block, which has been done
            start = work.infosets[~infoset]["first_sequence"]
            parent = work.infosets[~infoset]["parent"]
            work.got[parent] += work.got[start]
            work.best[parent] += work.best[start]
            continue
        kind = blocks.kinds[infoset] if is_cut else np.uint8(INNER)
        if kind != IN_TOP:
            _respond(work, infoset, kind == ROOT)


@inlined
def _read_leaves(work: Evaluation, start: int, stop: int) -> None:
    """Writes what the leaves right after the sequences `start .. stop - 1` pay."""
    num_others = work.passes.others.shape[1]
    for s in range(start, stop):
        paid = add_rows(work.passes, work.plan, s, num_others, 0.0)
        work.got[s] = work.best[s] = paid


@inlined
def _respond(work: Evaluation, infoset: int, is_root: bool) -> None:
    """Passes up what the policy gets at an infoset and what a best response gets."""
    start = np.uint64(work.infosets[infoset]["first_sequence"])  # see `add_rows`
    stop = start + np.uint64(work.infosets[infoset]["num_actions"])
    got, highest, chosen, s = 0.0, -np.inf, start, start
    while s < stop:
        got += work.policy[s] * work.got[s]
        if work.best[s] > highest:
            highest, chosen = work.best[s], s
        s += np.uint64(1)
    if len(work.choice) > 0:
        work.choice[infoset] = chosen
    if is_root:  # the top takes it from here
        work.got[start], work.best[start] = got, highest
    else:
        parent = np.uint64(work.infosets[infoset]["parent"])
        work.got[parent] += got
        work.best[parent] += highest


@jit(nogil=True)
def respond(work: Evaluation) -> None:
    """The pass up alone, for gradients at the leaves that are in `got` and `best`."""
    for infoset in range(len(work.infosets) - 1, -1, -1):
        _respond(work, infoset, False)


@jit
def pass_up(
    infosets: np.ndarray, policy: np.ndarray, is_fixed: np.ndarray, values: np.ndarray
) -> None:
    """Adds to what leaves pay `[S]` what is below, from the last infoset up: the mean
    over the actions where the policy is fixed, the highest value elsewhere."""
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        mean, highest = 0.0, -np.inf
        for s in range(start, start + infosets[infoset]["num_actions"]):
            mean += policy[s] * values[s]
            highest = max(highest, values[s])
        values[infosets[infoset]["parent"]] += mean if is_fixed[infoset] else highest
