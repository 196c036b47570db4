"""Converts policies to the numbering of infosets in another table of the same game.

Trees that grow during walks number infosets by first visit, so two tables of a game may
number the same infosets differently.
"""

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
"""Cache of `numbers_in`: `origin` -> (reference to `goal`, result)."""


def numbers_in(goal: InfosetTable, origin: InfosetTable, count: int) -> np.ndarray:
    """Returns the numbers `[count]` of a policy's infosets in another table.

    The result is cached. If `origin` has grown since the last call, only its new
    infosets are looked up.

    Args:
        goal: the other table of the game.
        origin: the table of the policy.
        count: the number of infosets of the policy, the first ones of `origin`.

    Raises:
        ValueError: `goal` lacks an infoset.
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
    """Converts a policy to a vector `[S]` over the sequences of another table.

    The result is uniform at infosets that the policy lacks.

    Args:
        goal: the other table of the game.
        origin: the table of the policy.
        count: the number of infosets of the policy, the first ones of `origin`.
        vector: the policy, over the sequences of `origin`.

    Raises:
        ValueError: `goal` lacks an infoset, or has other legal actions.
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
