"""Learned baselines: control variates for what a walk draws.

Whatever a walk adds to the gradient for the action that it draws, it may add for every
action the value c(a) that it expects, if it takes c of the drawn one away again with
the weight of the draw. Then the gradient is still right on average, and it hardly
varies where c comes close to the values below (Schmid et al. 2019). `Tables.baseline`
holds c for every sequence of every player, the updated player's expectation. Chance has
no baselines: its outcomes have no infosets at which to keep them.

A walk does not change a baseline. It writes its decisions to `Walk.note`, behind a
heading, and the update that follows learns from them, walk by walk. The values of what
was drawn are then worked out from the leaves up, and each c moves towards them. A
heading has the number of the notes behind it in `count`, the updated player in `start`
and the payoff of the last leaf in `number`. There are two kinds of walks:

- One that draws an action of everybody (outcome sampling) ends at one leaf. A note has
  the first sequence of the decision in `start`, how many actions there are in `count`,
  which one was drawn in `chosen`, and in `number` the probability of the draw if the
  updated player moved, else 0.
- One that follows all actions of the updated player (external sampling) branches.
  Leaves are noted, too: their `count` is 0 and their payoff is `number`. Where the
  player moved `chosen` is ALL. Where another one did, `number` is what was added to the
  gradient. From the last note to the first, each comes after all that were made below
  it, so that a stack has the values found.
"""

import numpy as np

from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.sampling import Visit
from mccfr_spiel.kernels.tables import BASELINE_RATE, Tables, Walk

ALL = -1
"""The value of `chosen` where a walk follows all actions."""


@inlined
def note(
    walk: Walk, noted: int, start: int, count: int, chosen: int, number: float
) -> int:
    """Writes a note; returns how many there are now."""
    walk.note[noted]["start"] = start
    walk.note[noted]["count"] = count
    walk.note[noted]["chosen"] = chosen
    walk.note[noted]["number"] = number
    return noted + 1


@inlined
def control(
    tables: Tables,
    gradient: np.ndarray,
    walk: Walk,
    noted: int,
    at: Visit,
    start: int,
    player: int,
    chosen: int,
    likelihood: float,
    branches: bool,
    adds: bool,
) -> int:
    """Adds what the baselines expect to the gradient, without what they expect of the
    action drawn, and notes the decision.

    Args:
        tables: with the policies and the baselines.
        gradient: to which is added: at the moves from `at.start` on, or `at.sequence`.
        walk: which gets the note.
        noted: how many notes there are.
        at: the node.
        start: its first sequence.
        player: the updated player.
        chosen: the number of the action drawn.
        likelihood: its probability if the player moved, which is 1 if all actions are
            followed; 0 if another one did, by its policy.
        branches: whether all actions of the updated player are followed.
        adds: whether the gradient does not have yet what is to be added.

    Returns:
        How many notes there are now.
    """
    baseline = tables.baseline
    drawn = start + chosen
    surplus = 0.0
    if likelihood > 0.0 and not branches:
        if adds:
            for k in range(at.num_moves):
                gradient[at.start + k] += at.weight * baseline[start + k, player]
            expected = at.weight / likelihood * baseline[drawn, player]
            gradient[at.start + chosen] -= expected
    elif likelihood == 0.0:
        surplus = -baseline[drawn, player]
        for s in range(start, start + at.num_moves):
            surplus += tables.policy[s] * baseline[s, player]
        if adds:
            gradient[at.sequence] += at.weight * surplus
    if not branches:
        return note(walk, noted, start, at.num_moves, chosen, likelihood)
    if likelihood > 0.0:
        return note(walk, noted, start, at.num_moves, ALL, 0.0)
    return note(walk, noted, start, at.num_moves, chosen, surplus)


@inlined
def learn(
    tables: Tables, walk: Walk, noted: int, settings: np.ndarray, branches: bool
) -> None:
    """Moves the baselines towards the values that the walks of an update have found.

    Args:
        tables: of which `baseline` changes.
        walk: with the notes; the lower end of its stack, which is empty now, is used.
        noted: how many notes there are.
        settings: with the share of the way that a baseline moves.
        branches: whether all actions of the updated player were followed.
    """
    rate, heading = settings[BASELINE_RATE], 0
    while heading < noted:
        stop = heading + 1 + np.int64(walk.note[heading]["count"])
        if branches:
            learn_branches(tables, walk, heading, stop, rate)
        else:
            learn_history(tables, walk, heading, stop, rate)
        heading = stop


@inlined
def learn_history(
    tables: Tables, walk: Walk, heading: int, stop: int, rate: float
) -> None:
    """Learns from the notes between a heading and `stop`, of a walk that ended at one
    leaf.

    The value of a node is what its baselines expect under the policy, corrected by what
    was found below the action drawn. A pass goes from the last decision to the first.
    """
    policy, baseline = tables.policy, tables.baseline
    player, value = walk.note[heading]["start"], walk.note[heading]["number"]
    for k in range(stop - 1, heading, -1):
        start, likelihood = walk.note[k]["start"], walk.note[k]["number"]
        drawn = start + np.int64(walk.note[k]["chosen"])
        expected = 0.0
        for s in range(start, start + np.int64(walk.note[k]["count"])):
            expected += policy[s] * baseline[s, player]
        error = value - baseline[drawn, player]
        baseline[drawn, player] += rate * error
        value = expected + error
        if likelihood > 0.0:
            value = expected + policy[drawn] / likelihood * error


@inlined
def learn_branches(
    tables: Tables, walk: Walk, heading: int, stop: int, rate: float
) -> None:
    """Learns from the notes between a heading and `stop`, of a walk that followed all
    actions of the updated player.

    One pass takes a note. Before it, the stack has a value for each node whose parent
    is still to come, that of a first child on top. They are no more than the walk had
    nodes on its stack.
    """
    policy, baseline, found = tables.policy, tables.baseline, walk.weight
    player, top = walk.note[heading]["start"], 0
    for k in range(stop - 1, heading, -1):
        start, count = walk.note[k]["start"], np.int64(walk.note[k]["count"])
        chosen = np.int64(walk.note[k]["chosen"])
        if count == 0:
            found[top] = walk.note[k]["number"]
            top += 1
        elif chosen != ALL:
            error = found[top - 1] - baseline[start + chosen, player]
            baseline[start + chosen, player] += rate * error
            found[top - 1] += walk.note[k]["number"]
        else:
            value = 0.0
            for s in range(start, start + count):
                top -= 1
                value += policy[s] * found[top]
            found[top] = value
            top += 1
