"""Expected returns of a policy on a complete tree, and of best responses to it.

An evaluation is a pass down and a pass up. The pass down (parents before children)
computes the realization plans of all players (plans.py). The pass up starts at the
leaves: for each leaf and player, the return, times the probability of chance, times the
plans of the other players, is added at the player's last sequence before the leaf.
Then, children before parents, each infoset adds two values at its parent sequence: the
mean over actions under the policy to `got`, and the maximum over actions to `best`. At
the empty sequence of a player, `got` finally is the expected return, and `best` the
expected return of a best response. NashConv is the sum of best - got over the players.

Threads share both passes by blocks of infosets, and a top above all blocks (blocks.py).
A thread processes a block for all players at once, so that leaves, infosets and
policies are read in memory order. For a single thread there is one block, and the top
is empty.
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
        plan: `[S]` output: realization plans of the policies.
        got: `[S]` output: counterfactual value of each sequence under the policy; at an
            empty sequence, the player's expected return. Exception: if infosets are in
            several blocks, the first sequence of a block's root finally holds the value
            of the root instead (blocks.py).
        best: `[S]` output: the same values if the player plays a best response.
        choice: `[I]` output: the action of the best response at each infoset, as a
            sequence. Pass an empty array if it is not needed.
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
    """Evaluates a policy for all players; always returns DONE.

    `teams.run` calls it in several threads, with `passes.NUM_NOTES` notes on the desk
    (shared array of integers, tickets.py). `leads` is True in the thread that runs the
    sequential parts.
    """
    if not leads:
        take_pieces(evaluate_piece, work, desk, False)
        return DONE
    num_blocks, num_players = len(work.blocks.ends) - 1, len(work.blocks.top_ends) - 1
    work.plan[:num_players] = 1.0
    go_down(evaluate_piece, work, work.blocks, desk, 0, num_blocks)
    # Blocks read the leaves after the sequences of their infosets. Empty sequences
    # belong to no infoset, so their leaves are read here.
    _read_leaves(work, 0, num_players)
    go_up(evaluate_piece, work, work.blocks, desk, 0, num_blocks)
    return DONE


@jit(nogil=True)
def evaluate_piece(work, desk, piece):
    """Processes a block, or the top if `piece` is THE_TOP.

    `desk[WAY]` is the direction: DOWNWARD computes plans, UPWARD computes values.
    """
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
    # Upward. First, payoffs are read in memory order for all sequences of the block,
    # including those of its infosets that belong to the top. The top therefore finds
    # the payoffs of leaves in `got` and `best`.
    if not is_top and begin < end:
        last = work.infosets[end - 1]
        stop = last["first_sequence"] + last["num_actions"]
        _read_leaves(work, work.infosets[begin]["first_sequence"], stop)
    for visit in range(end - 1, begin - 1, -1):
        infoset = np.int64(blocks.top[visit]) if is_top else visit
        if infoset < 0:  # a root, which its block has processed already
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
    """Sets `got` and `best` of the sequences `start .. stop - 1` to payoffs of leaves.

    These are the weighted payoffs of the leaves right after each sequence.
    """
    num_others = work.passes.others.shape[1]
    for s in range(start, stop):
        paid = add_rows(work.passes, work.plan, s, num_others, 0.0)
        work.got[s] = work.best[s] = paid


@inlined
def _respond(work: Evaluation, infoset: int, is_root: bool) -> None:
    """Adds an infoset's mean and maximum over actions at its parent sequence.

    If the infoset is the root of a block, the two values are stored at its own first
    sequence instead.
    """
    # Unsigned indices are faster, see `add_rows`.
    start = np.uint64(work.infosets[infoset]["first_sequence"])
    stop = start + np.uint64(work.infosets[infoset]["num_actions"])
    got, highest, chosen, s = 0.0, -np.inf, start, start
    while s < stop:
        got += work.policy[s] * work.got[s]
        # Among equal values the first sequence is chosen, so the choice is unique.
        if work.best[s] > highest:
            highest, chosen = work.best[s], s
        s += np.uint64(1)
    if len(work.choice) > 0:
        work.choice[infoset] = chosen
    if is_root:  # the parent sequence belongs to the top
        work.got[start], work.best[start] = got, highest
    else:
        parent = np.uint64(work.infosets[infoset]["parent"])
        work.got[parent] += got
        work.best[parent] += highest


@jit(nogil=True)
def respond(work: Evaluation) -> None:
    """Makes only the pass up, in one thread.

    The caller has written the payoffs of leaves into `got` and `best`.
    """
    for infoset in range(len(work.infosets) - 1, -1, -1):
        _respond(work, infoset, False)


@jit
def pass_up(
    infosets: np.ndarray, policy: np.ndarray, is_fixed: np.ndarray, values: np.ndarray
) -> None:
    """Adds the value of each infoset at its parent sequence, children before parents.

    Args:
        infosets: infosets of a complete tree.
        policy: `[S]` policies.
        is_fixed: `[I]` whether the player follows the policy at an infoset, so that its
            value is the mean over actions. Otherwise the value is the maximum.
        values: `[S]` the caller passes the weighted payoffs of leaves right after each
            sequence. The function adds the values of infosets.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        mean, highest = 0.0, -np.inf
        for s in range(start, start + infosets[infoset]["num_actions"]):
            mean += policy[s] * values[s]
            highest = max(highest, values[s])
        values[infosets[infoset]["parent"]] += mean if is_fixed[infoset] else highest
