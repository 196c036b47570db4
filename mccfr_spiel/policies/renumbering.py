"""Converts policies to the numbering of another table of the same game."""

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
"""Cache: table of a policy -> (another table of the game, infoset numbers there)."""


def numbers_in(goal: InfosetTable, origin: InfosetTable, count: int) -> np.ndarray:
    """`[count]` the numbers of a policy's infosets in another table of the game.

    The result is cached. If the policy's table has grown since, only the new infosets
    are looked up.

    Args:
        goal: the other table.
        origin: the table of the policy.
        count: the number of infosets of the policy.

    Raises:
        ValueError: the other table lacks an infoset.
    """
    if goal is origin:
        return np.arange(count)
    tree, numbers = _found.get(origin, (lambda: None, np.zeros(0, np.int64)))
    done = len(numbers) if tree() is goal else 0
    if count > done:
        names = itertools.islice(origin.infoset_names, done, count)
        players = origin.infosets["player"][done:count].tolist()
        new = np.array(list(map(goal.find, names, players)), np.int64)
        if (new < 0).any():
            name = origin.info_state(done + int(np.argmin(new)))
            raise ValueError(
                f"{brief(goal.source)} lacks the information state {name!r} of the "
                "policy. The policy belongs to a different game of the same name, or "
                "the game's strings vary; use ms.check_game to test this."
            )
        numbers = np.concatenate((numbers[:done], new))
        _found[origin] = weakref.ref(goal), numbers
    return numbers[:count]


def moved(
    goal: InfosetTable, origin: InfosetTable, count: int, vector: np.ndarray
) -> np.ndarray:
    """`[S]` a policy over the sequences of another table, uniform at additional
    infosets.

    Args:
        goal: the other table.
        origin: the table of the policy.
        count: the number of infosets of the policy.
        vector: the policy, over the sequences of `origin`.

    Raises:
        ValueError: the other table lacks an infoset, or has other legal actions.
    """
    infosets, original = numbers_in(goal, origin, count), origin.infosets[:count]
    sizes = goal.infosets["num_actions"][infosets]
    policy = uniform_vector(goal)
    if (original["num_actions"] == sizes).all():
        to, of = sequences_at(goal.infosets[infosets]), sequences_at(original)
        if (goal.actions[to] == origin.actions[of]).all():
            policy[to] = vector[of]
            return policy
    raise ValueError(
        f"The legal actions of the policy differ from those of {brief(goal.source)}: "
        "the policy belongs to a different game of the same name."
    )
