"""Walks and updates of players who forget.

Under an abstraction a player may reach one infoset after different own moves. The
infoset is then a string with one row of tables and no parent sequence. So a walk keeps
the gradient for each visit of a decision instead of each sequence.

`Walk.visit` lists the decisions visited, ancestors first. `Walk.gain` has a *slot* for
each action at each visit of the updated player. The first slots stand for the empty
sequences, one for each player. The update goes through the visits bottom-up. It adds
the regrets of a visit to the row of its string, and the value of the visit to the slot
through which the walk came. The policies move when all visits have been added.

The average is stochastically weighted (Lanctot 2013, section 4.4): a visit of a player
who is not updated adds that player's policy to the average, times the weight of the
walk. Whether the walk reaches the visit depends on the player's own moves. So with two
players the expected weight of each iteration's policy is the reach probability of
chance and the player itself. With more players the moves of the others count, too.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.regret_rules import match_sums
from mccfr_spiel.kernels.tables import Tables, TreeArrays, Walk

NOT_UPDATED = -1
"""Value of `above` for visits of players who are not updated. They have no slots."""


@inlined
def end_of_slots(walk: Walk, num_met: int, num_players: int) -> Any:
    """The first free slot."""
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
    """Appends a visit to the list.

    Args:
        walk: the walk with the list.
        num_met: length of the list.
        infoset: the infoset.
        above: the slot through which the updated player came, or NOT_UPDATED.
        weight: importance weight, the factor of all payoffs below.
        count: number of moves.
        num_players: number of players of the game.

    Returns:
        The new length of the list, and the first slot of the visit.
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
    """Updates the strings visited, by regret matching or regret matching+.

    Args:
        tree: the tree, or another record with `infosets` and `utilities`.
        tables: the tables, of which `average`, `memory` and `policy` change.
        walk: the walk with the visits; its gradient `gain` is cleared.
        num_met: number of visits.
        floored: whether negative sums of regrets become 0, as in regret matching+.
    """
    policy, memory, gain = tables.policy, tables.memory, walk.gain
    share = walk.clock[layout.AVERAGE_WEIGHT]
    # Bottom-up: the slots of a visit are complete when its turn comes.
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
            match_sums(tables, start, start + count, floored)
    gain[: tree.utilities.shape[1]] = 0.0
