"""Walks that follow several of the player's actions at an infoset, but not all.

Average-strategy sampling (Gibson et al. 2012) draws for each action by itself whether
it is followed, more often the more of it the average has. What is below is divided by
that probability.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.compiled.randomness import child_place, uniform
from mccfr_spiel.kernels.stack import Visit
from mccfr_spiel.kernels.tables import BONUS, EPSILON, THRESHOLD, Tables, Walk

Floats = Sequence[float] | np.ndarray | memoryview


def plain_follow_probability(settings: Floats, played: float, total: float) -> float:
    """The probability with which average-strategy sampling follows an action.

    It is (bonus + threshold S(a)) / (bonus + sum S), within [epsilon, 1].

    Args:
        settings: see `tables.NUM_SETTINGS`.
        played: the weighted sum of plans S of the action.
        total: the sum of S over the infoset's actions.
    """
    bonus, least = settings[BONUS], settings[EPSILON]
    whole = bonus + total
    if not whole > 0.0:  # nothing has been played here, so nothing is known
        return 1.0
    return min(1.0, max(least, (bonus + settings[THRESHOLD] * played) / whole))


follow_probability = inlined(plain_follow_probability)


class Pick(NamedTuple):
    """What picks a node's actions.

    Attributes:
        settings: see `tables.NUM_SETTINGS`.
        stream: the key of the walk.
        own_place: the infoset's place; that of an action's draw is below it.
        placed: whether places of histories are asked; else they are not stacked.
    """

    settings: Any
    stream: Any
    own_place: Any
    placed: bool


@inlined
def push_picked(tables: Tables, walk: Walk, top: int, at: Visit, pick: Pick) -> int:
    """Stacks the children that a walk follows after the player's move.

    The average is not paid before the update. What it will then have at a sequence
    follows from the infoset's debt, which the walk carries along.

    Args:
        tables: with the average and the policies.
        walk: whose stack it is.
        top: the height of the stack.
        at: the node.
        pick: what picks the actions.

    Returns:
        The new height.
    """
    settings, total = pick.settings, 0.0
    for s in range(at.start, at.start + at.num_moves):
        total += tables.average[s] + tables.policy[s] * at.debt
    for child in range(at.num_moves - 1, -1, -1):
        s = at.start + child
        played = tables.average[s] + tables.policy[s] * at.debt
        likelihood = follow_probability(settings, played, total)
        if uniform(pick.stream, child_place(pick.own_place, child)) >= likelihood:
            continue
        walk.node[top] = at.first + child
        walk.sequence[top] = s
        walk.weight[top] = at.weight / likelihood
        walk.debt[top] = at.debt
        if pick.placed:
            walk.place[top] = child_place(at.place, child)
        top += 1
    return top
