"""Strings that forget: a player comes to one infoset after different own moves.

Under an abstraction an infoset is a string, with one row of tables. It has no parent
sequence, so a walk for such players keeps the gradient for each of its visits instead:
`Walk.visit` lists the decisions visited, ancestors first, and `Walk.gain` has a *slot*
for every action at each visit of the updated player. The first slots stand for empty
sequences, one for each player. From the last visit up, a visit adds its regrets to the
row of its string and its value to the slot through which the walk came. The policies
move once all visits have been added.

The average is stochastically weighted (Lanctot 2013, 4.4): a visit of a player who is
not updated adds that player's policy to the average, times the weight of the walk. The
player's own moves decided whether the walk came there, so with two players the policy
of each iteration counts, on average, by chance's and the player's own probability of
the histories of the string. With more players the moves of the others count, too.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.kernels.tables import AVERAGE_WEIGHT, Tables, TreeArrays, Walk

NOT_UPDATED = -1
"""The slot `above` of a visit of a player who is not updated; it has no slots."""


@inlined
def free_slots(walk: Walk, num_met: int, num_players: int) -> int:
    """How many moves the next visit may have; 0 if there is no room for a visit."""
    if num_met == len(walk.visit):
        return 0
    return len(walk.gain) - end_of_slots(walk, num_met, num_players)


@inlined
def end_of_slots(walk: Walk, num_met: int, num_players: int) -> Any:
    """The first slot that no visit has taken."""
    return np.int64(walk.visit[num_met - 1]["end"]) if num_met > 0 else num_players


@inlined
def note_visit(
    walk: Walk,
    num_met: int,
    infoset: int,
    above: int,
    weight: float,
    count: int,
    num_players: int,
) -> Any:
    """Notes a visit; returns how many there are then, and its first slot.

    Args:
        walk: which gets the visit.
        num_met: how many visits there are.
        infoset: the infoset.
        above: the slot through which the updated player came, or NOT_UPDATED.
        weight: the factor of all payoffs below.
        count: the number of its moves; a player who is not updated has no slots.
        num_players: of the game.
    """
    first = end_of_slots(walk, num_met, num_players)
    walk.visit[num_met]["infoset"] = infoset
    walk.visit[num_met]["above"] = above
    walk.visit[num_met]["weight"] = weight
    walk.visit[num_met]["end"] = first + (count if above != NOT_UPDATED else 0)
    return num_met + 1, first


@inlined
def apply_visits(
    tree: TreeArrays, tables: Tables, walk: Walk, num_met: int, floored: bool
) -> None:
    """The update after some walks of players who forget, see above.

    Args:
        tree: whose infosets were visited.
        tables: of which `average`, `memory` and `policy` change.
        walk: with the visits; its gradient is cleared.
        num_met: how many visits there are.
        floored: whether negative sums of regrets become 0, as in regret matching+.
    """
    policy, memory, gain = tables.policy, tables.memory, walk.gain
    share = walk.clock[AVERAGE_WEIGHT]
    for k in range(num_met - 1, -1, -1):
        visit, record = walk.visit[k], tree.infosets[walk.visit[k]["infoset"]]
        start, count = record["first_sequence"], np.int64(record["num_actions"])
        above = visit["above"]
        if above == NOT_UPDATED:
            for s in range(start, start + count):
                tables.average[s] += share * visit["weight"] * policy[s]
            continue
        first, value = visit["end"] - count, 0.0
        for i in range(count):
            value += policy[start + i] * gain[first + i]
        for i in range(count):
            memory[start + i] = memory[start + i] + gain[first + i] - value
            gain[first + i] = 0.0
        gain[above] += value
    for k in range(num_met):
        if walk.visit[k]["above"] != NOT_UPDATED:
            record = tree.infosets[walk.visit[k]["infoset"]]
            start, count = record["first_sequence"], np.int64(record["num_actions"])
            match(tables, start, start + count, floored)
    gain[: tree.utilities.shape[1]] = 0.0


@inlined
def match(tables: Tables, start: int, stop: int, floored: bool) -> None:
    """Makes the policy of an infoset that of its sums of regrets."""
    policy, memory = tables.policy, tables.memory
    total = 0.0
    for s in range(start, stop):
        if floored and memory[s] < 0.0:
            memory[s] = 0.0
        if memory[s] > 0.0:
            total += memory[s]
    for s in range(start, stop):
        policy[s] = 1.0 / (stop - start)
        if total > 0.0:
            policy[s] = max(memory[s], 0.0) / total
