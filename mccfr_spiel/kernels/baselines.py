"""Learned baselines: control variates for what a walk draws.

Whatever a walk adds to the gradient for the action that it draws, it may add for every
action the value c(a) that it expects, if it takes c of the drawn one away again with
the weight of the draw. Then the gradient is still right on average, and it hardly
varies where c comes close to the values below (Schmid et al. 2019). `Tables.baseline`
holds c for every sequence of every player, the updated player's expectation. Chance has
no baselines: its outcomes have no infosets at which to keep them.

On the way down a walk writes its decisions to the entries of its stack from the last
one down, towards the nodes that are still to come. Afterwards the values of what was
drawn are worked out from the leaves up, and each c moves towards them. There are two
kinds of walks, and two ways to write a decision down:

- One that draws an action of everybody (outcome sampling) ends at one leaf. `sequence`
  gets the first sequence of the decision, `node` the number of the action drawn,
  `place` how many there are, and `weight` the probability of the draw if the updated
  player moved, else 0.
- One that follows all actions of the updated player (external sampling) branches.
  Leaves are written down, too, and `node` tells what an entry is. It is LEAF at a leaf,
  whose payoff is in `weight`. Where the player moved it is minus the number of actions,
  and `place` is the first sequence. Where another one did, it is the sequence drawn,
  and `weight` what was added to the gradient. From the last entry to the first, each
  comes after all that were written below it, so that a stack has the values found.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.stack import Visit
from mccfr_spiel.kernels.tables import BASELINE_RATE, Tables, TreeArrays, Walk

LEAF = 0
"""What an entry has in place of a sequence drawn, which is no player's empty one."""


@inlined
def control(
    tables: Tables,
    walk: Walk,
    depth: int,
    at: Visit,
    player: int,
    chosen: int,
    likelihood: float,
    branches: bool,
) -> int:
    """Adds what the baselines expect to the gradient, without what they expect of the
    action drawn, and writes the decision down.

    Args:
        tables: of which `gradient` changes.
        walk: whose stack gets the decision.
        depth: how many entries it has.
        at: the node.
        player: the updated player.
        chosen: the number of the action drawn.
        likelihood: its probability if the player moved, which is 1 if all actions are
            followed; 0 if another one did, by its policy.
        branches: whether all actions of the updated player are followed.

    Returns:
        How many entries the stack has now.
    """
    gradient, baseline = tables.gradient, tables.baseline
    drawn = at.start + chosen
    depth += 1
    entry = len(walk.node) - depth
    surplus = 0.0
    if likelihood > 0.0 and not branches:
        for s in range(at.start, at.start + at.num_moves):
            gradient[s] += at.weight * baseline[s, player]
        gradient[drawn] -= at.weight / likelihood * baseline[drawn, player]
    elif likelihood == 0.0:
        surplus = -baseline[drawn, player]
        for s in range(at.start, at.start + at.num_moves):
            surplus += tables.policy[s] * baseline[s, player]
        gradient[at.sequence] += at.weight * surplus
    if branches and likelihood > 0.0:
        walk.node[entry], walk.place[entry] = -at.num_moves, np.uint64(at.start)
    elif branches:
        walk.node[entry], walk.weight[entry] = drawn, surplus
    else:
        walk.node[entry], walk.sequence[entry] = chosen, at.start
        walk.weight[entry], walk.place[entry] = likelihood, np.uint64(at.num_moves)
    return depth


@inlined
def note_leaf(walk: Walk, depth: int, payoff: float) -> int:
    """Writes a leaf of a walk that branches down; returns how many entries there are
    now."""
    depth += 1
    entry = len(walk.node) - depth
    walk.node[entry], walk.weight[entry] = LEAF, payoff
    return depth


@inlined
def learn(
    tree: TreeArrays,
    tables: Tables,
    walk: Walk,
    depth: int,
    player: int,
    leaf: int,
    settings: np.ndarray,
    branches: bool,
) -> None:
    """Moves the baselines along a walk towards the values that it has found.

    Args:
        tree: with the payoffs.
        tables: of which `baseline` changes.
        walk: with the decisions.
        depth: how many entries there are.
        player: the updated player.
        leaf: the number of the last leaf, among leaves.
        settings: with the share of the way that a baseline moves.
        branches: whether all actions of the updated player were followed.
    """
    rate = settings[BASELINE_RATE]
    if branches:
        learn_branches(tables, walk, depth, player, rate)
    else:
        learn_history(tables, walk, depth, player, tree.utilities[leaf, player], rate)


@inlined
def learn_history(
    tables: Tables, walk: Walk, depth: int, player: int, value: float, rate: float
) -> None:
    """As `learn`, after a walk that ended at one leaf of that value.

    The value of a node is what its baselines expect under the policy, corrected by what
    was found below the action drawn. A pass goes from the last decision to the first.
    """
    policy, baseline = tables.policy, tables.baseline
    for entry in range(len(walk.node) - depth, len(walk.node)):
        start, likelihood = np.int64(walk.sequence[entry]), walk.weight[entry]
        drawn = start + np.int64(walk.node[entry])
        expected = 0.0
        for s in range(start, start + np.int64(walk.place[entry])):
            expected += policy[s] * baseline[s, player]
        error = value - baseline[drawn, player]
        baseline[drawn, player] += rate * error
        value = expected + error
        if likelihood > 0.0:
            value = expected + policy[drawn] / likelihood * error


@inlined
def learn_branches(
    tables: Tables, walk: Walk, depth: int, player: int, rate: float
) -> None:
    """As `learn`, after a walk that followed all actions of the updated player.

    One pass takes an entry. Before it, the stack has a value for each node whose parent
    is still to come, that of a first child on top. The stack of the walk is empty now,
    so its lower end is free for them; there are never more than entries were taken.
    """
    policy, baseline, found = tables.policy, tables.baseline, walk.weight
    top = 0
    for entry in range(len(walk.node) - depth, len(walk.node)):
        drawn = np.int64(walk.node[entry])
        if drawn == LEAF:
            found[top] = walk.weight[entry]
            top += 1
        elif drawn > LEAF:
            error = found[top - 1] - baseline[drawn, player]
            baseline[drawn, player] += rate * error
            found[top - 1] += walk.weight[entry]
        else:
            start = np.int64(walk.place[entry])
            value = 0.0
            for s in range(start, start - drawn):
                top -= 1
                value += policy[s] * found[top]
            found[top] = value
            top += 1
