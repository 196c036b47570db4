"""Learned baselines: control variates for sampled actions.

A baseline c(a) estimates the value of an action. When a walk draws an action, it adds
c(a) to the gradient of every action, and subtracts c of the drawn action divided by the
probability of the draw. The gradient stays unbiased. Its variance is small if c is
close to the true values (Schmid, Burch, Lanctot, Moravcik, Kadlec, Bowling 2019).
`Tables.baseline` stores c for each sequence and each updated player. Chance outcomes
have no baselines, because they have no row in the tables.

Walks only read baselines. Each walk appends records of type NOTE to `Walk.note`: first
a *heading* for the whole walk, then one *note* per decision. The next update reads the
notes of each walk in reverse order, hence bottom-up, computes the sampled value of each
drawn action, and moves its c towards this value.

Fields of a heading:

- `count`: number of notes that follow;
- `start`: the updated player;
- `number`: payoff of the leaf (outcome sampling only).

Outcome sampling draws one action of every player and ends at one leaf. Fields of its
notes:

- `start`: first sequence of the decision;
- `count`: number of actions;
- `chosen`: index of the drawn action;
- `number`: probability of the draw if the updated player acts, else 0.

External sampling follows all actions of the updated player. Its walks also append a
note for each leaf, and some fields differ:

| node | `count` | `chosen` | `number` |
|---|---|---|---|
| leaf | 0 | 0 | payoff |
| updated player | number of actions | ALL | 0 |
| opponent | number of actions | drawn action | control variate (see `control`) |
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
    """Stores the payoff of an outcome-sampling walk in the walk's heading."""
    walk.note[walk.marks[NOTED_BEFORE]]["number"] = payoff


@inlined
def note_heading(walk: Walk, player: int, num_notes: int) -> None:
    """Writes player and number of notes into the heading of a finished walk."""
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
    """Adds the control variate of a decision to the gradient and appends a note.

    If the updated player acts, the gradient changes as described above. It does not
    change if the walk follows all actions. If an opponent with policy b acts, the
    gradient at the updated player's last sequence receives weight * (sum over actions
    of b(a) c(a), minus c of the drawn action).

    Args:
        tables: the tables with the policies and the baselines.
        gradient: the gradient, which changes at the moves' slots or at `spot.sequence`.
        walk: the walk with the notes.
        num_notes: number of notes.
        spot: the node.
        moves: its moves.
        choice: the action drawn.
        player: the updated player.
        branches: True if the walk follows all actions of the updated player.
        adds: False if a repeated walk has already added this control variate.

    Returns:
        The new number of notes.
    """
    # These are the baseline-corrected values of Schmid et al. (2019), expressed by
    # gradients. `likelihood` is positive exactly at nodes of the updated player.
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
    # External sampling stores the control variate `surplus` itself, because
    # `learn_branches` needs it after the baselines have changed.
    if not branches:
        return note(walk, num_notes, start, moves.count, choice.child, likelihood)
    if likelihood > 0.0:
        return note(walk, num_notes, start, moves.count, ALL, 0.0)
    return note(walk, num_notes, start, moves.count, choice.child, surplus)


@inlined
def learn(
    tables: Tables, walk: Walk, num_notes: int, settings: np.ndarray, branches: bool
) -> None:
    """Moves the baselines towards the values that the walks have sampled.

    Args:
        tables: the tables, of which `baseline` changes.
        walk: the walk with the notes; the empty stack serves as scratch.
        num_notes: number of notes.
        settings: see `tables.NUM_SETTINGS`; BASELINE_RATE is the step size.
        branches: True if walks followed all actions of the updated player.
    """
    # Each pass of the loop processes one walk: its heading and notes.
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
    """Updates baselines by the notes `heading + 1 .. stop - 1` of outcome sampling.

    The value of a node is the expectation of the baselines under the policy, plus a
    correction by the sampled value below the drawn action.
    """
    policy, baseline = tables.policy, tables.baseline
    player, value = walk.note[heading]["start"], walk.note[heading]["number"]
    # Notes are read bottom-up. `value` is the sampled value of the drawn child when a
    # pass of the loop starts, and the sampled value of the node when it ends.
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
    """Updates baselines by the notes `heading + 1 .. stop - 1` of external sampling.

    Notes are read in reverse order, so children come before their parents. A stack, in
    the memory of the walk's stack, holds the values of nodes whose parents have not
    been read yet; the first child is on top of its siblings. It never grows higher than
    the stack of the walk was.
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
