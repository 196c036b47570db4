"""Expected returns of a policy on a complete tree, and of best responses to it.

An evaluation is a pass down and a pass up. The pass down computes the plans of all
players (plans.py). The pass up starts at the leaves: each pays the player's return,
times the probability of chance, times the plans of the other players, to the player's
last sequence before it. Then, bottom-up, each infoset passes two values to its parent
sequence: the mean over actions under the policy (`got`) and the maximum (`best`). At
the empty sequence of a player, `got` is the expected return and `best` that of a best
response. NashConv is the sum of best - got over the players.

Threads share both passes by blocks (blocks.py). Each block is processed for all players
at once, so that leaves, infosets and policies are read in memory order. A single thread
has one block and an empty top.
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
    """The inputs and outputs of an evaluation.

    Attributes:
        infosets: infosets of a complete tree.
        passes: the leaves of the tree.
        blocks: blocks of infosets.
        policy: `[S]` policies of all players.
        plan: `[S]` output, their plans.
        got: `[S]` output, counterfactual value of a sequence under the policy; the
            expected return at an empty sequence. The root of a block ends with its own
            value at its first sequence.
        best: `[S]` output, the same for a best response.
        choice: `[I]` output, the first sequence of maximal value at each infoset; `[0]`
            to leave it out.
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

    `teams.run` calls it in several threads, with `passes.NUM_NOTES` notes.
    """
    if not leads:
        take_pieces(evaluate_piece, work, desk, False)
        return DONE
    num_blocks, num_players = len(work.blocks.ends) - 1, len(work.blocks.top_ends) - 1
    work.plan[:num_players] = 1.0
    go_down(evaluate_piece, work, work.blocks, desk, 0, num_blocks)
    # Leaves without any decision of a player before them belong to no block.
    _read_leaves(work, 0, num_players)
    go_up(evaluate_piece, work, work.blocks, desk, 0, num_blocks)
    return DONE


@jit(nogil=True)
def evaluate_piece(work, desk, piece):
    """Processes a block, or the top, in the direction of the leader's note."""
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
    # Leaves are read forward, in memory order. That includes leaves right after
    # sequences of the top, because their infosets have numbers in this range.
    if not is_top and begin < end:
        last = work.infosets[end - 1]
        stop = last["first_sequence"] + last["num_actions"]
        _read_leaves(work, work.infosets[begin]["first_sequence"], stop)
    for visit in range(end - 1, begin - 1, -1):
        infoset = np.int64(blocks.top[visit]) if is_top else visit
        if infoset < 0:  # a root that its block has processed
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
    """Writes the payoffs of leaves right after the sequences `start .. stop - 1`."""
    num_others = work.passes.others.shape[1]
    for s in range(start, stop):
        paid = add_rows(work.passes, work.plan, s, num_others, 0.0)
        work.got[s] = work.best[s] = paid


@inlined
def _respond(work: Evaluation, infoset: int, is_root: bool) -> None:
    """Passes the values of an infoset under the policy and under a best response up."""
    # Unsigned indices are faster, see `add_rows`.
    start = np.uint64(work.infosets[infoset]["first_sequence"])
    stop = start + np.uint64(work.infosets[infoset]["num_actions"])
    got, highest, chosen, s = 0.0, -np.inf, start, start
    while s < stop:
        got += work.policy[s] * work.got[s]
        if work.best[s] > highest:
            highest, chosen = work.best[s], s
        s += np.uint64(1)
    if len(work.choice) > 0:
        work.choice[infoset] = chosen
    if is_root:  # the parent sequence belongs to the top, which adds this later
        work.got[start], work.best[start] = got, highest
    else:
        parent = np.uint64(work.infosets[infoset]["parent"])
        work.got[parent] += got
        work.best[parent] += highest


@jit(nogil=True)
def respond(work: Evaluation) -> None:
    """Makes the pass up alone; `got` and `best` must hold the payoffs of the leaves."""
    for infoset in range(len(work.infosets) - 1, -1, -1):
        _respond(work, infoset, False)


@jit
def pass_up(
    infosets: np.ndarray, policy: np.ndarray, is_fixed: np.ndarray, values: np.ndarray
) -> None:
    """Adds the values of infosets to their parent sequences, bottom-up.

    Args:
        infosets: infosets of a complete tree.
        policy: `[S]` policies.
        is_fixed: `[I]` whether the value of an infoset is the mean under the policy;
            otherwise it is the maximum over actions.
        values: `[S]` payoffs of leaves at first, then with the values of all infosets.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        mean, highest = 0.0, -np.inf
        for s in range(start, start + infosets[infoset]["num_actions"]):
            mean += policy[s] * values[s]
            highest = max(highest, values[s])
        values[infosets[infoset]["parent"]] += mean if is_fixed[infoset] else highest
