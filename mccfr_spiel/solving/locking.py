"""Policies that a user gives at some infosets, where a solver keeps them fixed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common import refusals

Locks = Mapping[str, Mapping[int, float] | Sequence[float]]
"""For information-state strings the probabilities of legal actions: in their order, or
by OpenSpiel's actions, of which those left out have 0."""

_SUM = 1e-6
"""How far the sum of given probabilities may be from 1."""


def locked_rows(tree: InfosetTable, locked: Locks) -> tuple[np.ndarray, np.ndarray]:
    """`[L]` the infosets that are locked, and `[S]` a vector with their probabilities.

    Raises:
        ValueError: an information state is not the game's, or belongs to several
            players; or what is given is no distribution over its legal actions.
    """
    if not isinstance(locked, Mapping):
        raise ValueError(
            f"locked={locked!r} is no dictionary: information state -> probabilities."
        )
    infosets, vector = [], np.ones(tree.num_sequences)
    for info_state, given in locked.items():
        found = [tree.find(info_state, player) for player in range(tree.num_players)]
        found = [infoset for infoset in found if infoset >= 0]
        if len(found) != 1:
            who = "no player has" if not found else "several players have"
            raise ValueError(
                f"locked: {who} the information state {info_state!r} in {tree.source}."
            )
        _, start, _, count, _ = tree.infosets[found[0]].item()
        actions = tree.actions[start : start + count].tolist()
        vector[start : start + count] = _row(info_state, given, actions)
        infosets.append(found[0])
    return np.array(infosets, np.int64), vector


def _row(info_state: str, given: Any, actions: list[int]) -> np.ndarray:
    """The probabilities of the actions, which sum to 1 to all digits."""
    if isinstance(given, Mapping):
        if given.keys() - {*actions}:
            raise ValueError(
                f"locked: {info_state!r} has the actions {actions}, and not "
                f"{sorted(given.keys() - {*actions})}."
            )
        given = [given.get(action, 0.0) for action in actions]
    row = refusals.numbers(given, f"locked: {info_state!r}")
    if row.shape != (len(actions),) or not (row >= 0).all():
        raise ValueError(
            f"locked: {given} are not the probabilities of the {len(actions)} actions "
            f"{actions} of {info_state!r}."
        )
    if not abs(row.sum() - 1) <= _SUM:
        raise ValueError(
            f"locked: the probabilities {given} of {info_state!r} sum to "
            f"{row.sum():.9g}, not to 1."
        )
    return row / row.sum()
