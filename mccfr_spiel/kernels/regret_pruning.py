"""Regret-based pruning: full passes that skip actions of very negative regret.

An action with probability 0 and very negative regret can be skipped for some
iterations, because nothing below it changes the policy until the regret could become
positive again (Brown, Sandholm 2015). Here the test uses best responses (Brown,
Sandholm 2017). Two tables hold cumulative values over all past iterations:

- `Tables.best` `[S]`: value of each sequence under the best response to all past plans
  of the opponent;
- `Tables.got` `[I]`: value that the player's policies achieved at each infoset.

An action is skipped in the next iteration if its probability is 0 and, whatever the
opponent plays in that iteration, `best` of the action cannot exceed `got` afterwards.
While the action is skipped, each node directly below it is assumed to pay the highest
payoff of its subtree. So `best` is an upper bound.

When this bound no longer justifies the skip, one pass over the leaves below the action
computes the exact value of `best`, from the sum of all past plans of the opponent. The
infosets below the action then continue as if the player had always played the best
response there. Regret matching permits this: regrets of a best response are at most 0,
and the regret bound depends on squares of positive regrets only.

In each pass, a sequence or an infoset is in one of three states:

| state | meaning |
|---|---|
| FOLLOWED | visited by the walk of the pass |
| SKIPPED | left out |
| RESUMED | visited again after a skip; values are restored from the leaf list |

A sequence can be SKIPPED at an infoset that is FOLLOWED. Everything below a skipped or
resumed sequence has the state of that sequence. Walks also omit subtrees that the
opponent reaches with probability 0. The method requires two players: with two
opponents, values would depend on the sum over iterations of the product of their plans,
which cannot be computed from the sum of each opponent's plans.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import RULES
from mccfr_spiel.kernels.passes import UPWARD, WAY, make_loop
from mccfr_spiel.kernels.plans import add_rows, move_plans
from mccfr_spiel.kernels.regret_rules import play_positive

FOLLOWED, SKIPPED, RESUMED = range(3)
"""States of sequences in `Tables.skips` and of infosets in `Tables.is_met`."""


class Ceilings(NamedTuple):
    """Bounds for pruning in a complete tree of two players.

    Attributes:
        highest: highest payoff below each node, for each player.
        step: bound on the increase of `best - got` in one iteration, for each sequence;
            infinite for sequences that always end the game, because skipping them saves
            nothing.
        num_nodes: number of nodes right after each sequence, that is, nodes before
            which the sequence is its player's last sequence.
        height: upper bound on the height of the stack.
    """

    highest: Annotated[np.ndarray, Entry(layout.FLOAT, "[N, 2]")]
    step: Annotated[np.ndarray, Entry(layout.FLOAT, "[S]")]
    num_nodes: Annotated[np.ndarray, Entry(layout.LONG, "[S]")]
    height: Annotated[np.ndarray, Entry(layout.LONG, "[1]")]


LAYOUT = Layout(*layout.LAYOUT.kinds, Ceilings)
"""The records in a frame (array of addresses, see frame.py). The stack, `Walk.node`,
needs a length of at least `Ceilings.height`."""

_ceilings_in = LAYOUT.viewer()


@inlined
def walk_followed(
    tree: layout.TreeArrays,
    tables: layout.Tables,
    ceilings: Ceilings,
    stack: layout.Walk,
    player: int,
) -> int:
    """Visits the part of the tree that no skipped action excludes, for one player.

    Weighted payoffs of leaves are added to `gradient` and `known`. For each node right
    after a skipped action, the highest payoff of its subtree, weighted, is added to
    `best`.

    Returns:
        The number of nodes touched, including nodes right after skipped actions but not
        their descendants.
    """
    nodes, policy, skips = tree.nodes, tables.policy, tables.skips
    # The stack holds the nodes that remain to be visited. Each pass of the loop pops a
    # node and pushes its children, except children that the opponent reaches with
    # probability 0 and children after skipped or resumed actions. `update_infoset`
    # computes the values of resumed actions from the list of leaves.
    stack.node[0], stack.sequence[0], stack.weight[0] = 0, player, 1.0
    top, touched = 1, 0
    while top > 0:
        top -= 1
        node, weight = stack.node[top], stack.weight[top]
        sequence: Any = np.int64(stack.sequence[top])
        touched += 1
        acting, start = nodes[node]["player"], np.int64(nodes[node]["start"])
        if acting == TERMINAL:
            payoff = weight * tree.utilities[start, player]
            tables.gradient[sequence] += payoff
            tables.known[sequence] += payoff
            continue
        first = nodes[node]["first_child"]
        for child in range(np.int64(nodes[node]["num_children"]) - 1, -1, -1):
            s, prob = start + child, 1.0
            if acting == CHANCE_NODE:
                prob = tree.chance_probs[s]
            elif acting != player:
                prob = policy[s]
                if prob == 0.0:
                    continue
            elif skips[s] != FOLLOWED:
                if skips[s] == SKIPPED:
                    touched += 1
                    tables.best[s] += weight * ceilings.highest[first + child, player]
                continue
            stack.node[top] = first + child
            stack.sequence[top] = s if acting == player else sequence
            stack.weight[top] = weight * prob
            top += 1
    return touched


@inlined
def update_infoset(
    infosets: np.ndarray,
    tables: layout.Tables,
    passes: layout.Passes,
    ceilings: Ceilings,
    infoset: int,
) -> int:
    """Updates the policy at an infoset by regret matching.

    Two results are added at the parent sequence: the value of the policy b, which is
    the sum of b(a) G(a) over actions a with gradient G, to `gradient`; and the highest
    `best` of the actions, to `below`. `memory` of a skipped action is an upper bound on
    its regret. If no regret is positive, the policy is uniform over the actions that
    are not skipped. A resumed infoset continues as if the player had always played the
    best response there.

    Returns:
        The number of nodes after resumed actions, which count as touched.
    """
    start, parent = infosets[infoset]["first_sequence"], infosets[infoset]["parent"]
    stop = start + infosets[infoset]["num_actions"]
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    best, skips, got = tables.best, tables.skips, tables.got
    value, highest, touched = 0.0, -np.inf, 0
    # For a skipped action, `walk_followed` has already added the highest payoffs of
    # this iteration to `best`.
    for s in range(start, stop):
        if skips[s] == RESUMED:
            touched += ceilings.num_nodes[s]
            tables.known[s] = add_rows(passes, tables.seen, s, 1, 0.0)
        if skips[s] != SKIPPED:
            value += policy[s] * gradient[s]  # resumed actions have gradient 0
            best[s] = tables.known[s] + tables.below[s]
            tables.below[s] = 0.0
        highest = max(highest, best[s])
    got[infoset] += value
    if tables.is_met[infoset] == RESUMED:
        got[infoset] = highest
    total, num_followed = 0.0, 0
    for s in range(start, stop):
        if skips[s] == FOLLOWED:
            memory[s] += gradient[s] - value
        else:
            memory[s] = min(best[s] - got[infoset], 0.0)
        gradient[s] = 0.0
        num_followed += skips[s] != SKIPPED
        total += max(memory[s], 0.0)
    play_positive(policy, memory, start, stop, total, 0.0)
    if not total > 0.0:  # uniform over the actions that are not skipped
        for s in range(start, stop):
            policy[s] = 1.0 / num_followed if skips[s] != SKIPPED else 0.0
    gradient[parent] += value
    tables.below[parent] += highest
    return touched


@inlined
def decide(
    infosets: np.ndarray, tables: layout.Tables, ceilings: Ceilings, infoset: int
) -> None:
    """Sets the states of an infoset and its sequences for the next pass.

    Callers must process ancestors first, because everything below a skipped or resumed
    sequence has the state of that sequence.
    """
    skips = tables.skips
    start = infosets[infoset]["first_sequence"]
    above = skips[infosets[infoset]["parent"]]
    tables.is_met[infoset] = above
    for s in range(start, start + infosets[infoset]["num_actions"]):
        if above != FOLLOWED:
            skips[s] = above
        elif (
            tables.policy[s] == 0.0
            and tables.best[s] + ceilings.step[s] <= tables.got[infoset]
        ):
            skips[s] = SKIPPED
        else:
            skips[s] = RESUMED if skips[s] == SKIPPED else FOLLOWED


@jit(nogil=True, views_only=True)
def do_player(frame, desk, player):
    """Processes a player's infosets, upward or downward according to `desk[WAY]`.

    It replaces `do_piece` of `passes.make_piece`. The upward pass updates policies. The
    downward pass adds old plans to the average, computes new plans, and selects the
    actions that the next pass skips. Below skipped sequences plans are 0 and need no
    update.
    """
    task, tables, walk = (
        layout.views(frame, layout.Task),
        layout.views(frame, layout.Tables),
        layout.views(frame, layout.Walk),
    )
    tree, passes = layout.tree_in(frame, task.job), layout.views(frame, layout.Passes)
    ceilings, infosets = _ceilings_in(frame, Ceilings), tree.infosets
    first, stop = passes.member_ends[player], passes.member_ends[player + 1]
    if desk[WAY] == UPWARD:
        for visit in range(stop - 1, first - 1, -1):
            infoset = passes.members[visit]
            if tables.is_met[infoset] != SKIPPED:
                walk.marks[layout.TOUCHED] += update_infoset(
                    infosets, tables, passes, ceilings, infoset
                )
        tables.gradient[player] = tables.below[player] = 0.0
        return
    for visit in range(first, stop):
        infoset = passes.members[visit]
        if tables.is_met[infoset] != SKIPPED:
            move_plans(infosets, tables, infoset, walk.clock[layout.AVERAGE_WEIGHT])
        elif tables.skips[infosets[infoset]["parent"]] == SKIPPED:
            continue
        decide(infosets, tables, ceilings, infoset)


@inlined
def deliver(frame, desk, tables, first, end):
    """Writes payoffs of leaves for an update of the players `first .. end - 1`.

    They are added to `gradient`, `known` and `best`, see `walk_followed`. Before that,
    the opponent's present plan is added to `Tables.seen`, the sum of the opponent's
    plans in all updates.

    Returns:
        The number of nodes touched.
    """
    tree, passes = (
        layout.tree_in(frame, layout.views(frame, layout.Task).job),
        layout.views(frame, layout.Passes),
    )
    ceilings, stack, touched = (
        _ceilings_in(frame, Ceilings),
        layout.views(frame, layout.Walk),
        0,
    )
    for player in range(first, end):
        other, infosets = 1 - player, tree.infosets
        tables.seen[other] += 1.0
        for member in range(passes.member_ends[other], passes.member_ends[other + 1]):
            infoset = passes.members[member]
            start = infosets[infoset]["first_sequence"]
            for s in range(start, start + infosets[infoset]["num_actions"]):
                tables.seen[s] += tables.plan[s]
        touched += walk_followed(tree, tables, ceilings, stack, player)
    return touched


iterate_pruned = make_loop(RULES["regret_matching"], do_player, deliver)
"""The loop of CFR with regret-based pruning; for one thread, and one block of infosets
(blocks.py)."""


@jit
def survey_nodes(
    tree: layout.TreeArrays, last: np.ndarray, lowest: np.ndarray, ceilings: Ceilings
) -> None:
    """Computes `Ceilings` of a complete tree of two players.

    Args:
        tree: the tree.
        last: `[N, 2]` int32 output: each player's last sequence before each node.
        lowest: `[N, 2]` output: each player's lowest payoff below each node.
        ceilings: output. The caller sets `step` to infinity and `num_nodes` to 0.
    """
    nodes, highest, step = tree.nodes, ceilings.highest, ceilings.step
    probs, heights = np.ones(len(nodes)), np.zeros(len(nodes), np.int32)
    last[0, 0], last[0, 1] = 0, 1
    # Parents have lower numbers than children. This loop runs from the root down and
    # passes chance probabilities and last sequences from each node to its children.
    for node in range(len(nodes)):
        acting, start = nodes[node]["player"], nodes[node]["start"]
        for p in range(2):
            ceilings.num_nodes[last[node, p]] += 1
            if acting == TERMINAL:
                lowest[node, p] = highest[node, p] = tree.utilities[start, p]
        for child in range(nodes[node]["num_children"]):
            below = nodes[node]["first_child"] + child
            probs[below] = probs[node]
            last[below] = last[node]
            if acting == CHANCE_NODE:
                probs[below] *= tree.chance_probs[start + child]
            else:
                last[below, acting] = start + child
                if nodes[below]["player"] != TERMINAL:
                    step[start + child] = 0.0
    # This loop runs from the leaves up. For each node, it combines the payoffs and the
    # stack heights of the children. For each action, it adds to `step` the probability
    # of chance times the difference between the highest payoff after the action and the
    # lowest payoff below the node.
    for node in range(len(nodes) - 1, -1, -1):
        acting, count = nodes[node]["player"], nodes[node]["num_children"]
        if acting == TERMINAL:
            continue
        lowest[node], highest[node] = np.inf, -np.inf
        for child in range(count):
            below = nodes[node]["first_child"] + child
            heights[node] = max(heights[node], heights[below])
            for p in range(2):
                lowest[node, p] = min(lowest[node, p], lowest[below, p])
                highest[node, p] = max(highest[node, p], highest[below, p])
        heights[node] += count
        for child in range(count if acting >= 0 else 0):
            highest_after = highest[nodes[node]["first_child"] + child, acting]
            s = nodes[node]["start"] + child
            step[s] += probs[node] * (highest_after - lowest[node, acting])
    ceilings.height[0] = 1 + heights[0]
