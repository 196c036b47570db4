"""Policies that a user gives at some infosets, where a solver keeps them fixed."""

import difflib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common import refusals
from mccfr_spiel.kernels.tables import Tables

Locks = Mapping[str, Mapping[int, float] | Sequence[float]]
"""For information-state strings the probabilities of legal actions: in their order, or
by OpenSpiel's actions, of which those left out have 0."""

_MOST_NAMES, _FEW_NAMES = 200_000, 10_000
"""Names that are searched for the same characters, and for a similar spelling."""

_SUM = 1e-6
"""How far the sum of given probabilities may be from 1."""


def with_locks(table: InfosetTable, tables: Tables, locked: Locks) -> Tables:
    """The tables of a solver that keeps a policy fixed at some infosets.

    Args:
        table: the information sets, all of which are known.
        tables: the solver's, to whose policy the given one is written.
        locked: what is given.

    Raises:
        ValueError: an information state is not the game's, or belongs to several
            players; or what is given is no distribution over its legal actions.
    """
    if not isinstance(locked, Mapping):
        raise ValueError(
            f"locked={locked!r} is no dictionary: information state -> probabilities."
        )
    is_locked = np.zeros(table.num_infosets, np.uint8)
    for info_state, given in locked.items():
        players = range(table.num_players)
        owned = [table.find(info_state, player) for player in players]
        infosets = [infoset for infoset in owned if infoset >= 0]
        if len(infosets) != 1:
            who = "several players have" if infosets else "no player has"
            hint = "" if infosets else _nearest(info_state, table)
            raise ValueError(
                f"locked: {who} the information state {info_state!r} in "
                f"{table.source}.{hint}"
            )
        _, start, _, count, _ = table.infosets[infosets[0]].item()
        row = slice(start, start + count)
        tables.policy[row] = _row(info_state, given, table.actions[row].tolist())
        is_locked[infosets[0]] = 1
    return tables._replace(locked=is_locked)


def _nearest(info_state: str, table: InfosetTable) -> str:
    """A hint at the information state that the user may have meant."""
    names = list(itertools.islice(table.infoset_names, _MOST_NAMES))
    characters = sorted(info_state)
    match = [name for name in names if sorted(name) == characters][:1]
    match = match or difflib.get_close_matches(info_state, names[:_FEW_NAMES], 1)
    return f" Did you mean {match[0]!r}?" if match else ""


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
