"""Learned baselines: control variates for walks that follow one history.

Whatever a walk adds to the gradient for the action that it draws, it may add for every
action the value c(a) that it expects, if it takes c of the drawn one away again with
the weight of the draw. Then the gradient is still right on average, and it hardly
varies where c comes close to the values below (Schmid et al. 2019). `Tables.baseline`
holds c for every sequence of every player, the updated player's expectation.

On the way down a walk writes its decisions to the entries 1, 2, ... of its stack, which
has nothing else to hold: `sequence` gets the first sequence there, `node` the number of
the action drawn, `place` how many there are, and `weight` the probability of the draw
if the updated player moved, else 0. Afterwards the values of what was drawn are worked
out from the leaf up, and each c moves towards them.
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
    action drawn.

    Args:
        tables: of which `gradient` changes.
        walk: whose stack gets the decision.
        depth: how many decisions it has.
        at: the node.
        player: the updated player.
        chosen: the number of the action drawn.
        likelihood: its probability if the player moved; 0 if another one did, by its
            policy.

    Returns:
        How many decisions the stack has now.
    """
    gradient, baseline = tables.gradient, tables.baseline
    drawn = at.start + chosen
    if likelihood > 0.0:
        for s in range(at.start, at.start + at.num_moves):
            gradient[s] += at.weight * baseline[s, player]
        gradient[drawn] -= at.weight / likelihood * baseline[drawn, player]
    else:
        surplus = -baseline[drawn, player]
        for s in range(at.start, at.start + at.num_moves):
            surplus += tables.policy[s] * baseline[s, player]
        gradient[at.sequence] += at.weight * surplus
    depth += 1
    walk.node[depth], walk.sequence[depth] = chosen, at.start
    walk.weight[depth], walk.place[depth] = likelihood, np.uint64(at.num_moves)
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

    The value of a node is what its baselines expect under the policy, corrected by what
    was found below the action drawn. A pass goes from the last decision to the first.

    Args:
        tree: with the payoffs.
        tables: of which `baseline` changes.
        walk: with the decisions.
        depth: how many there are.
        player: the updated player.
        leaf: the number of the leaf at the end, among leaves.
        settings: with the share of the way that a baseline moves.
    """
    policy, baseline = tables.policy, tables.baseline
    value = tree.utilities[leaf, player]
    for step in range(depth, 0, -1):
        start, likelihood = np.int64(walk.sequence[step]), walk.weight[step]
        drawn = start + np.int64(walk.node[step])
        expected = 0.0
        for s in range(start, start + np.int64(walk.place[step])):
            expected += policy[s] * baseline[s, player]
        error = value - baseline[drawn, player]
        baseline[drawn, player] += settings[BASELINE_RATE] * error
        value = expected + error
        if likelihood > 0.0:
            value = expected + policy[drawn] / likelihood * error
