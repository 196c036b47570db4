"""Learned baselines: control variates for what a walk draws.

A baseline c(a) estimates the value of an action. When a walk draws an action, it adds
c(a) to the gradient of every action and subtracts c of the drawn action with the weight
of the draw. The gradient stays unbiased, and its variance is small if c is close to the
true values (Schmid, Burch, Lanctot, Moravcik, Kadlec, Bowling 2019).
`Tables.baseline` holds c for each sequence and each updated player. Chance has no
baselines, because its outcomes have no infosets where they could be stored.

A walk reads baselines only. It appends its decisions to `Walk.note`, after a heading,
and the next update learns from these notes, walk by walk. The update computes the
sampled values bottom-up and moves each c towards them. The fields of a heading are:
`count`, the number of notes that follow; `start`, the updated player; `number`, the
payoff of the leaf (outcome sampling only). There are two kinds of walks:

- Outcome sampling draws an action of every player and ends at one leaf. The fields of a
  note are: `start`, the first sequence of the decision; `count`, the number of actions;
  `chosen`, the drawn action; `number`, the probability of the draw if the updated
  player acts, else 0.
- External sampling follows all actions of the updated player. A leaf has a note, too,
  with `count` 0 and the payoff as `number`. Where the updated player acts, `chosen` is
  ALL. Where another player acts, `number` is the term added to the gradient. In reverse
  order each note comes after all notes below it, so a stack can hold their values.
"""

import numpy as np

from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.stack import Choice, Moves, Spot
from mccfr_spiel.kernels.tables import BASELINE_RATE, NOTED_BEFORE, Tables, Walk

ALL = -1
"""Value of `chosen` where a walk follows all actions."""


@inlined
def note(
    walk: Walk, num_notes: int, start: int, count: int, chosen: int, number: float
) -> int:
    """Appends a note; returns the new number of notes."""
    walk.note[num_notes]["start"] = start
    walk.note[num_notes]["count"] = count
    walk.note[num_notes]["chosen"] = chosen
    walk.note[num_notes]["number"] = number
    return num_notes + 1


@inlined
def note_payoff(walk: Walk, payoff: float) -> None:
    """Stores the payoff of a walk that ends at one leaf in the walk's heading."""
    walk.note[walk.marks[NOTED_BEFORE]]["number"] = payoff


@inlined
def note_heading(walk: Walk, player: int, num_notes: int) -> None:
    """Completes the heading of a walk that has ended."""
    heading = walk.marks[NOTED_BEFORE]
    walk.note[heading]["start"] = player
    walk.note[heading]["count"] = num_notes - heading - 1


@inlined
def control(
    tables: Tables,
    gradient: np.ndarray,
    walk: Walk,
    num_notes: int,
    spot: Spot,
    moves: Moves,
    choice: Choice,
    player: int,
    branches: bool,
    adds: bool,
) -> int:
    """Adds the control variate of a decision to the gradient, and notes the decision.

    Args:
        tables: the tables with the policies and the baselines.
        gradient: the gradient, which changes at the moves' slots or at `spot.sequence`.
        walk: the walk with the notes.
        num_notes: number of notes.
        spot: the node.
        moves: its moves.
        choice: the action drawn.
        player: the updated player.
        branches: whether all actions of the updated player are followed.
        adds: False if the gradient already has the contribution.

    Returns:
        The new number of notes.
    """
    baseline, start, likelihood = tables.baseline, moves.start, choice.likelihood
    drawn = start + choice.child
    surplus = 0.0
    if likelihood > 0.0 and not branches:
        if adds:
            for k in range(moves.count):
                gradient[moves.slots + k] += spot.weight * baseline[start + k, player]
            expected = spot.weight / likelihood * baseline[drawn, player]
            gradient[moves.slots + choice.child] -= expected
    elif likelihood == 0.0:
        surplus = -baseline[drawn, player]
        for s in range(start, start + moves.count):
            surplus += tables.policy[s] * baseline[s, player]
        if adds:
            gradient[spot.sequence] += spot.weight * surplus
    if not branches:
        return note(walk, num_notes, start, moves.count, choice.child, likelihood)
    if likelihood > 0.0:
        return note(walk, num_notes, start, moves.count, ALL, 0.0)
    return note(walk, num_notes, start, moves.count, choice.child, surplus)


@inlined
def learn(
    tables: Tables, walk: Walk, num_notes: int, settings: np.ndarray, branches: bool
) -> None:
    """Moves the baselines towards the sampled values of the walks of an update.

    Args:
        tables: the tables, of which `baseline` changes.
        walk: the walk with the notes; its empty stack serves as scratch.
        num_notes: number of notes.
        settings: see `tables.NUM_SETTINGS`; BASELINE_RATE is the step size.
        branches: whether all actions of the updated player were followed.
    """
    rate, heading = settings[BASELINE_RATE], 0
    while heading < num_notes:
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
    """Learns from the notes `heading + 1 .. stop - 1` of a walk that ended at one leaf.

    The value of a node is the baselines' expectation under the policy, corrected by the
    sampled value below the drawn action. Notes are read from the last to the first.
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
    """Learns from the notes `heading + 1 .. stop - 1` of a walk that followed all
    actions of the updated player.

    Each pass reads a note. The stack holds the value of each node whose parent has not
    been read, first children on top. It is never higher than the stack of the walk was.
    """
    policy, baseline, value_of = tables.policy, tables.baseline, walk.weight
    player, top = walk.note[heading]["start"], 0
    for k in range(stop - 1, heading, -1):
        start, count = walk.note[k]["start"], np.int64(walk.note[k]["count"])
        chosen = np.int64(walk.note[k]["chosen"])
        if count == 0:
            value_of[top] = walk.note[k]["number"]
            top += 1
        elif chosen != ALL:
            error = value_of[top - 1] - baseline[start + chosen, player]
            baseline[start + chosen, player] += rate * error
            value_of[top - 1] += walk.note[k]["number"]
        else:
            value = 0.0
            for s in range(start, start + count):
                top -= 1
                value += policy[s] * value_of[top]
            value_of[top] = value
            top += 1
