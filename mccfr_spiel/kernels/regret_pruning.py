"""Regret-based pruning: whole passes that leave out actions of very negative regret.

An action of probability 0 whose regret is far below 0 need not be looked into for a
while: what is below it cannot change the policy before the regret could be positive
again (Brown, Sandholm 2015). Here that is decided by the best response, as in the later
form (Brown, Sandholm 2017). For each sequence of a player, `Tables.best` has what the
player could have got there so far, by the plan that is best against all that the other
player has played, and `Tables.got`, for each infoset, what it has got. The action is
left out of the next iteration if best will not exceed got after it, whatever the other
one plays.

While it is left out, the payoffs below each of its nodes are taken for the highest that
there are, so that best is never too low. When it can be left out no more, all below it
is made good in one pass, by the sum of all plans that the other player has played: the
player is said to have played the best response there from the beginning. Regret
matching may be told so: all regrets of a best response are at most 0, and its bounds
rest on the squares of those above 0 only.

Walks go to what is followed, and like those of PRUNED_CFR not to what the other player
never plays to. What is made good is read from the list of leaves (passes.py). In a
pass, a sequence or an infoset is FOLLOWED, SKIPPED, or RESUMED after it was skipped. A
sequence may be skipped at an infoset that is followed; all that is below it has its
state. The sum of the plans of two other players says nothing of their product, so this
is for two players.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import RULES
from mccfr_spiel.kernels.passes import UPWARD, WAY, add_rows, make_loop, move_plans
from mccfr_spiel.kernels.regret_rules import play_positive
from mccfr_spiel.kernels.tables import Passes, Tables, Task, Walk, tree_in, views

FOLLOWED, SKIPPED, RESUMED = range(3)
"""What `Tables.skips` says of sequences and `Tables.is_met` of infosets."""


class Ceilings(NamedTuple):
    """What passes that prune know of a complete tree of two players.

    Attributes:
        highest: the most that a player is paid below.
        step: the most by which one iteration can change best - got; infinite where the
            sequence ends the game, since nothing is saved there.
        num_nodes: the nodes before which it is its player's last sequence.
        height: a walk's stack is never higher.
    """

    highest: Annotated[np.ndarray, Entry(layout.FLOAT, "[N, 2]")]
    step: Annotated[np.ndarray, Entry(layout.FLOAT, "[S]")]
    num_nodes: Annotated[np.ndarray, Entry(layout.LONG, "[S]")]
    height: Annotated[np.ndarray, Entry(layout.LONG, "[1]")]


LAYOUT = Layout(*layout.LAYOUT.kinds, Ceilings)
"""What a frame of passes with pruning holds. The walk's stack must have room."""

_ceilings_in = LAYOUT.viewer()


@inlined
def walk_followed(
    tree: layout.TreeArrays,
    tables: Tables,
    ceilings: Ceilings,
    stack: Walk,
    player: int,
) -> int:
    """Walks to all that a player's update needs to know: adds the leaves' payoffs to
    `gradient` and `known`, and the ceilings of what is skipped to `best`.

    Returns:
        The number of nodes touched. A node that is skipped is one, what is below it is
        not.
    """
    nodes, policy, skips = tree.nodes, tables.policy, tables.skips
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
    tables: Tables,
    passes: Passes,
    ceilings: Ceilings,
    infoset: int,
) -> int:
    """Moves the policy at an infoset, by regret matching over what is followed, and
    passes up <b, G> and the highest value of `best`.

    The memory of an action that is skipped is a bound on its regret. If no regret is
    above 0, the policy is uniform over the others. An infoset that is resumed starts
    anew, as if its player had played the best response so far.

    Returns:
        The number of nodes touched to make good what was skipped.
    """
    start, parent = infosets[infoset]["first_sequence"], infosets[infoset]["parent"]
    stop = start + infosets[infoset]["num_actions"]
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    best, skips, got = tables.best, tables.skips, tables.got
    value, highest, touched = 0.0, -np.inf, 0
    for s in range(start, stop):
        if skips[s] == RESUMED:
            touched += ceilings.num_nodes[s]
            tables.known[s] = add_rows(passes, tables.seen, s, 1, 0.0)
        if skips[s] != SKIPPED:
            value += policy[s] * gradient[s]  # of what is resumed the gradient is 0
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
    play_positive(policy, memory, start, stop, total)
    if not total > 0.0:  # uniform over the actions that are followed
        for s in range(start, stop):
            policy[s] = 1.0 / num_followed if skips[s] != SKIPPED else 0.0
    gradient[parent] += value
    tables.below[parent] += highest
    return touched


@inlined
def decide(
    infosets: np.ndarray, tables: Tables, ceilings: Ceilings, infoset: int
) -> None:
    """Decides what the next pass does at an infoset; of those above it is known."""
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
    """Goes the leader's way through a player's infosets; see `passes.make_piece`.

    Upward policies move. Downward the old plans are added to the average and the new
    ones made, and it is decided what the next pass leaves out. Where nothing was
    followed the plan is 0 and stays so.
    """
    task, tables, walk = views(frame, Task), views(frame, Tables), views(frame, Walk)
    tree, passes = tree_in(frame, task.job), views(frame, Passes)
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
    """Walks for the players `first .. end - 1`; returns the nodes touched.

    The present plan of the other player, which an update meets, is added to the sum of
    all that were met.
    """
    tree, passes = tree_in(frame, views(frame, Task).job), views(frame, Passes)
    ceilings, stack, touched = _ceilings_in(frame, Ceilings), views(frame, Walk), 0
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
"""CFR with regret-based pruning, in one thread; all infosets are in one block."""


@jit
def survey_nodes(
    tree: layout.TreeArrays, last: np.ndarray, lowest: np.ndarray, ceilings: Ceilings
) -> None:
    """Looks at each node of a complete tree of two players.

    Args:
        tree: the tree.
        last: `[N, 2]` int32, gets each player's last sequence before the node.
        lowest: `[N, 2]` gets the least that each player is paid below it.
        ceilings: of which all is written; `step` is infinite and `num_nodes` 0 before.
    """
    nodes, highest, step = tree.nodes, ceilings.highest, ceilings.step
    probs, heights = np.ones(len(nodes)), np.zeros(len(nodes), np.int32)
    last[0, 0], last[0, 1] = 0, 1
    # From the root down: what leads to a node.
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
    # From the leaves up: what is below it.
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
            most = highest[nodes[node]["first_child"] + child, acting]
            s = nodes[node]["start"] + child
            step[s] += probs[node] * (most - lowest[node, acting])
    ceilings.height[0] = 1 + heights[0]
