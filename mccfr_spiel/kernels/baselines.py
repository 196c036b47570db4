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
  `sequence` gets the player's last sequence before the decision. Where the player
  moved, `node` is minus the number of actions and `place` the first sequence. Where
  another one did, `node` is the sequence drawn, and `weight` what was added to the
  gradient. The values found so far are kept in `Tables.below`, at the player's
  sequences: below each, everything is drawn until the player's next infoset or a leaf.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.stack import Visit
from mccfr_spiel.kernels.tables import BASELINE_RATE, Tables, TreeArrays, Walk


@inlined
def control(
    tables: Tables,
    walk: Walk,
    depth: int,
    at: Visit,
    player: int,
    chosen: int,
    likelihood: float,
) -> int:
    """Adds what the baselines expect to the gradient, without what they expect of the
    action drawn, and writes the decision down.

    Args:
        tables: of which `gradient` changes. `below` is empty in walks that draw an
            action of everybody.
        walk: whose stack gets the decision.
        depth: how many decisions it has.
        at: the node.
        player: the updated player.
        chosen: the number of the action drawn.
        likelihood: its probability if the player moved, which is 1 if all actions are
            followed; 0 if another one did, by its policy.

    Returns:
        How many decisions the stack has now.
    """
    gradient, baseline = tables.gradient, tables.baseline
    drawn, branches = at.start + chosen, len(tables.below) > 0
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
    if branches:
        is_own = likelihood > 0.0
        walk.node[entry] = -at.num_moves if is_own else drawn
        walk.sequence[entry], walk.weight[entry] = at.sequence, surplus
        walk.place[entry] = np.uint64(at.start)
    else:
        walk.node[entry], walk.sequence[entry] = chosen, at.start
        walk.weight[entry], walk.place[entry] = likelihood, np.uint64(at.num_moves)
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
) -> None:
    """Moves the baselines along a walk towards the values that it has found.

    Args:
        tree: with the payoffs.
        tables: of which `baseline` changes, and `below` if the walk branched.
        walk: with the decisions.
        depth: how many there are.
        player: the updated player.
        leaf: the number of the last leaf, among leaves.
        settings: with the share of the way that a baseline moves.
    """
    rate = settings[BASELINE_RATE]
    if len(tables.below) > 0:
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

    Before a pass, `below` has what was found below the decision, under the sequence
    before it: the payoff of a leaf, to begin with. The pass adds what the decision
    changes of that, so that it fits the decision before. At an infoset of the player
    the values of its actions have been found, and the policy weighs them.
    """
    policy, baseline, below = tables.policy, tables.baseline, tables.below
    for entry in range(len(walk.node) - depth, len(walk.node)):
        sequence, drawn = walk.sequence[entry], np.int64(walk.node[entry])
        if drawn >= 0:
            found = below[sequence]
            baseline[drawn, player] += rate * (found - baseline[drawn, player])
            below[sequence] = found + walk.weight[entry]
        else:
            start = np.int64(walk.place[entry])
            value = 0.0
            for s in range(start, start - drawn):
                value += policy[s] * below[s]
                below[s] = 0.0
            below[sequence] = value
    below[player] = 0.0
