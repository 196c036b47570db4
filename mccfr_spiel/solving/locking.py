"""The argument `locked` of `Solver`: fixed policies at some infosets."""

import difflib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common import refusals
from mccfr_spiel.kernels.tables import Tables

Locks = Mapping[str, Mapping[int, float] | Sequence[float]]
"""Information-state string -> probabilities of the legal actions: a list in the order
of the legal actions, or a mapping OpenSpiel action -> probability. Actions that are
missing in a mapping have probability 0."""

_MOST_NAMES, _FEW_NAMES = 200_000, 10_000
"""To suggest a string for an unknown one, at most `_MOST_NAMES` strings are searched
for an anagram, and at most `_FEW_NAMES` for a similar spelling."""

_SUM = 1e-6
"""Tolerance for the sum of given probabilities."""


def with_locks(table: InfosetTable, tables: Tables, locked: Locks) -> Tables:
    """Fixes the policy at some infosets.

    Args:
        table: the infosets, all of which must be known.
        tables: the solver's tables. The given policies are written into `policy`.
        locked: the user's argument, see `Locks`.

    Returns:
        `tables` with the array `locked`, which is 1 at these infosets.

    Raises:
        ValueError: see `rows_of_locks`.
    """
    is_locked = np.zeros(table.num_infosets, np.uint8)
    for infoset, row in rows_of_locks(table, locked).items():
        start = int(table.infosets[infoset]["first_sequence"])
        tables.policy[start : start + len(row)] = row
        is_locked[infoset] = 1
    return tables._replace(locked=is_locked)


def rows_of_locks(table: InfosetTable, locked: Locks) -> dict[int, np.ndarray]:
    """Infoset -> probabilities of the legal actions, for all fixed policies.

    Args:
        table: the infosets, all of which must be known.
        locked: the user's argument, see `Locks`.

    Raises:
        ValueError: an information state is unknown, several players have it, or its
            probabilities are not a distribution over the legal actions.
    """
    if not isinstance(locked, Mapping):
        raise ValueError(
            f"locked={locked!r} must be a dictionary information state -> "
            "probabilities."
        )
    rows = {}
    for info_state, given in locked.items():
        players = range(table.num_players)
        owned = [table.find(info_state, player) for player in players]
        infosets = [infoset for infoset in owned if infoset >= 0]
        if len(infosets) != 1:
            who = "several players have" if infosets else "no player has"
            hint = "" if infosets else _nearest(info_state, table)
            raise ValueError(
                f"locked: {who} the information state {info_state!r} in "
                f"{table.source}; expected exactly one player.{hint}"
            )
        actions = table.actions_at(infosets[0])
        rows[infosets[0]] = _row(info_state, given, actions)
    return rows


def _nearest(info_state: str, table: InfosetTable) -> str:
    """The end of an error message: the known string most similar to an unknown one.

    Empty if there is no similar string.
    """
    names = list(itertools.islice(table.infoset_names, _MOST_NAMES))
    characters = sorted(info_state)
    match = [name for name in names if sorted(name) == characters][:1]
    match = match or difflib.get_close_matches(info_state, names[:_FEW_NAMES], 1)
    return f" Did you mean {match[0]!r}?" if match else ""


def _row(info_state: str, given: Any, actions: list[int]) -> np.ndarray:
    """Returns the given probabilities of the legal actions, checked and normalized.

    Args:
        info_state: the information-state string, for messages.
        given: the user's probabilities, see `Locks`.
        actions: the legal actions.
    """
    if isinstance(given, Mapping):
        if given.keys() - {*actions}:
            raise ValueError(
                f"locked: unknown actions {sorted(given.keys() - {*actions})} of "
                f"{info_state!r}, expected {actions}."
            )
        given = [given.get(action, 0.0) for action in actions]
    row = refusals.numbers(given, f"locked: {info_state!r}")
    if row.shape != (len(actions),) or not (row >= 0).all():
        raise ValueError(
            f"locked: {given} must be the probabilities of the {len(actions)} actions "
            f"{actions} of {info_state!r}."
        )
    if not abs(row.sum() - 1) <= _SUM:
        raise ValueError(
            f"locked: the probabilities {given} of {info_state!r} must sum to 1, but "
            f"their sum is {row.sum():.9g}."
        )
    return row / row.sum()
