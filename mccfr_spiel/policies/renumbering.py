"""Policies over the sequences of another table of the same game."""

import itertools
import weakref

import numpy as np

from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common.arrays import sequences_at
from mccfr_spiel.common.display import brief
from mccfr_spiel.policies.vectors import uniform_vector

_found: weakref.WeakKeyDictionary[
    InfosetTable, tuple[weakref.ref[InfosetTable], np.ndarray]
] = weakref.WeakKeyDictionary()
"""For a policy's tree: another tree of its game, and its infosets' numbers there."""


def numbers_in(goal: InfosetTable, origin: InfosetTable, count: int) -> np.ndarray:
    """`[count]` the numbers that a policy's infosets have in another tree of its game.

    They are kept for the next call with the same trees, when the policy's may have met
    more.

    Raises:
        ValueError: the other tree lacks one of them.
    """
    if goal is origin:
        return np.arange(count)
    tree, numbers = _found.get(origin, (lambda: None, np.zeros(0, np.int64)))
    known = len(numbers) if tree() is goal else 0
    if count > known:
        names = itertools.islice(origin.infoset_names, known, count)
        players = origin.infosets["player"][known:count].tolist()
        more = np.array(list(map(goal.find, names, players)), np.int64)
        if (more < 0).any():
            name = origin.info_state(known + int(np.argmin(more)))
            raise ValueError(
                f"The policy knows the information state {name!r}, which "
                f"{brief(goal.source)} has not: it was made for another game of that "
                "name, or the game's strings vary, which ms.check_game finds."
            )
        numbers = np.concatenate((numbers[:known], more))
        _found[origin] = weakref.ref(goal), numbers
    return numbers[:count]


def moved(
    goal: InfosetTable, origin: InfosetTable, count: int, vector: np.ndarray
) -> np.ndarray:
    """`[S]` a policy over another tree's sequences, uniform where it knows nothing.

    Args:
        goal: the other tree.
        origin: where the policy's names come from.
        count: how many infosets it knows.
        vector: the policy, over the sequences of `origin`.

    Raises:
        ValueError: the other tree lacks an infoset, or has other legal actions.
    """
    infosets, theirs = numbers_in(goal, origin, count), origin.infosets[:count]
    sizes = goal.infosets["num_actions"][infosets]
    policy = uniform_vector(goal)
    if (theirs["num_actions"] == sizes).all():
        to, of = sequences_at(goal.infosets[infosets]), sequences_at(theirs)
        if (goal.actions[to] == origin.actions[of]).all():
            policy[to] = vector[of]
            return policy
    raise ValueError(
        f"The policy knows other legal actions than {brief(goal.source)} has: it was "
        "made for another game of that name."
    )
