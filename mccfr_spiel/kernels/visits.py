"""Records and updates of walks for players with imperfect recall.

Under an abstraction a player may reach an infoset after different own moves. The
infoset then has one policy but no unique parent sequence. A walk therefore estimates
the gradient for each visit of a decision instead of each sequence.

`Walk.visit` lists the visits, ancestors first. `Walk.gain` holds the gradient: for each
visit of the updated player, it has one element per action. The index of an element is
called a *slot*. The first slots represent the empty sequences, one per player. The
update processes visits bottom-up. It adds the regrets of a visit to `Tables.memory` at
the infoset, and the value of the visit to the slot of the player's previous action.
Policies are updated after all visits were processed.

The average uses stochastic weights (Lanctot 2013, section 4.4): whenever a walk visits
a decision of a player who is not updated, that player's policy, times the weight of the
walk, is added to the average at the infoset. The probability of such a visit contains
the probability of the player's own moves. With two players, the expected weight of an
iteration's policy is therefore the reach probability of chance and the player, as
required. With more players it also depends on the moves of the other players.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.regret_rules import match_sums

NOT_UPDATED = -1
"""Value of `VISIT["above"]` for visits of players who are not updated. Such visits have
no slots."""


@inlined
def end_of_slots(walk: layout.Walk, num_met: int, num_players: int) -> Any:
    """Returns the first slot (index in `Walk.gain`) that no visit uses yet."""
    return np.int64(walk.visit[num_met - 1]["end"]) if num_met > 0 else num_players


@inlined
def note_visit(
    walk: layout.Walk,
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
        above: the slot of the updated player's previous action. NOT_UPDATED if another
            player acts.
        weight: importance weight of payoffs below.
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
    tree: layout.TreeArrays,
    tables: layout.Tables,
    walk: layout.Walk,
    num_met: int,
    floored: bool,
) -> None:
    """Updates the visited infosets by regret matching or regret matching+.

    Args:
        tree: the tree, or another record with `infosets` and `utilities`.
        tables: the tables, of which `average`, `memory` and `policy` change.
        walk: the walk with the visits; all slots of `gain` that were used become 0.
        num_met: number of visits.
        floored: True to replace negative sums of regrets by 0 (regret matching+).
    """
    policy, memory, gain = tables.policy, tables.memory, walk.gain
    share = walk.clock[layout.AVERAGE_WEIGHT]
    # Descendants come later in the list, so they have already added their values to the
    # slots of visit k.
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
    # Policies change only now, because the values in the previous loop depend on the
    # old policies. If an infoset was visited several times, its policy is computed
    # several times, with the same result.
    for k in range(num_met):
        if walk.visit[k]["above"] != NOT_UPDATED:
            record = tree.infosets[walk.visit[k]["infoset"]]
            start, count = record["first_sequence"], np.int64(record["num_actions"])
            match_sums(tables, start, start + count, floored)
    gain[: tree.utilities.shape[1]] = 0.0
