"""Policies as JSON, which people and other programs can read.

    {"game": "kuhn_poker()", "players": [{"0": {"0": 0.8, "1": 0.2}, ...}, {...}]}

Each player has a table information-state string -> action -> probability. States that
are not listed were never met, and the policy is uniform there. Files of earlier
versions hold one such table for all players and no name of the game.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arrays import INFOSET
from mccfr_spiel.compiled.randomness import infoset_place
from mccfr_spiel.policies.names import Names
from mccfr_spiel.policies.tabular import OWNED
from mccfr_spiel.storage.checkpoint import DamagedError, pack_strings
from mccfr_spiel.tree.game_tree import GameTree

SMALL = 20_000
"""The most nodes of a game that is expanded to check a policy that was read, which
takes a fraction of a second."""


class Row(NamedTuple):
    """A policy at an information state.

    Attributes:
        player: the player who acts; None if the file does not say.
        info_state: the information-state string.
        probabilities: action -> probability.
    """

    player: int | None
    info_state: str
    probabilities: dict[int, float]


def to_json(policy: Any) -> dict[str, Any]:
    """A SequencePolicy in the form that is written into a file."""
    actions, vector = policy.tree.actions.tolist(), policy.vector.tolist()
    players: list[dict[str, Any]] = [{} for _ in range(policy.tree.num_players)]
    infosets = policy.tree.infosets[: policy.num_infosets].tolist()
    for name, infoset in zip(policy.info_states, infosets, strict=True):
        _, start, _, count, player = infoset
        row = slice(start, start + count)
        players[player][name] = dict(zip(actions[row], vector[row], strict=True))
    return {"game": str(policy.game), "players": players}


def is_of_file(value: Any) -> bool:
    """Whether a value has the form that `to_json` makes, not that of one table."""
    return isinstance(value, dict) and value.keys() == {"game", "players"}


def with_int_actions(table: dict[str, Any]) -> dict[str, Any]:
    """Converts the actions of a table from strings, as JSON has them, to integers.

    Raises:
        ValueError: an action is neither an integer nor the string of one.
    """
    return {
        name: _row_of(name, row) if _has_strings(row) else row
        for name, row in table.items()
    }


def _has_strings(row: Any) -> bool:
    return isinstance(row, dict) and any(isinstance(key, str) for key in row)


def from_json(
    value: Any, source: pyspiel.Game, tree: GameTree | None
) -> tuple[Names, np.ndarray]:
    """Reads the names of a policy and its vector `[S]` from the value of a file.

    Args:
        value: what `to_json` made, or a table for all players.
        source: the game.
        tree: the game's whole tree, if it is small enough. A table for all players does
            not say which player acts at a state, but the tree does.

    Raises:
        DamagedError: the value is neither, or belongs to another game.
    """
    num_players = source.num_players()
    if is_of_file(value):
        rows = list(_rows_of_file(value, num_players))
    else:
        rows = list(_rows_of(None, value))
    if any(row.player is None for row in rows):
        rows = list(_with_players(rows, tree, num_players))
    kind = Names(source, _arrays(rows, num_players))
    most = kind.game.num_distinct_actions()
    for row in rows:
        if row.player is None or row.player >= num_players:
            raise DamagedError(f"{source} has no player {row.player}.")
        if not all(0 <= action < most for action in row.probabilities):
            raise DamagedError(
                f"The actions {list(row.probabilities)} at the state "
                f"{row.info_state!r} are not all among the {most} of {source}."
            )
    values = [p for row in rows for _, p in sorted(row.probabilities.items())]
    return kind, np.array([1.0] * num_players + values)


def small_tree(source: pyspiel.Game) -> GameTree | None:
    """The game's whole tree if it has no more than SMALL nodes, else None."""
    try:
        return GameTree(source, max_nodes=SMALL).expand_all()
    except Exception:  # games raise what they like, and this is only for a check
        return None


def _rows_of_file(value: dict[str, Any], num_players: int) -> Iterator[Row]:
    if not isinstance(value["players"], list):
        raise DamagedError("The policy has no list of players.")
    if len(value["players"]) != num_players:
        raise DamagedError(
            f"The policy has tables for {len(value['players'])} players; the game has "
            f"{num_players} players."
        )
    for player, table in enumerate(value["players"]):
        yield from _rows_of(player, table)


def _rows_of(player: int | None, table: Any) -> Iterator[Row]:
    if not isinstance(table, dict):
        raise DamagedError("This is no table information state -> action -> number.")
    for name, row in table.items():
        yield Row(player, name, _row_of(name, row))


def _row_of(name: str, row: Any) -> dict[int, float]:
    if not isinstance(row, dict) or not row:
        raise DamagedError(f"There are no probabilities of actions at {name!r}: {row}")
    found: dict[int, float] = {}
    for key, value in row.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not re.fullmatch(r"\d{1,18}", str(key)) or not is_number:
            raise DamagedError(
                f"At the state {name!r} {key!r}: {value!r} is no action with its "
                "probability."
            )
        found[int(key)] = float(value)
    if len(found) != len(row):
        raise DamagedError(f"An action is listed twice at the state {name!r}.")
    if not all(math.isfinite(value) for value in found.values()):
        raise DamagedError(f"The state {name!r} has probabilities that are not finite.")
    return found


def _with_players(
    rows: list[Row], tree: GameTree | None, num_players: int
) -> Iterator[Row]:
    """Gives each row its player.

    If the game is too large to look the players up, every player gets the row. That
    does no harm: the string belongs to one of them, and only that one will ask for it.
    """
    owners: dict[str, list[int]] = {}
    if tree is not None:
        players = tree.infosets["player"].tolist()
        for name, player in zip(tree.info_states, players, strict=True):
            owners.setdefault(name, []).append(player)
    for row in rows:
        name, players = row.info_state, owners.get(row.info_state)
        owned = OWNED.fullmatch(name)
        if players is None and owned is not None:
            name, players = owned[2], [int(owned[1])]
        for player in range(num_players) if players is None else players:
            yield Row(player, name, row.probabilities)


def _arrays(rows: list[Row], num_players: int) -> dict[str, np.ndarray]:
    """The arrays of Names.

    A file does not say which sequence leads to an infoset, and nothing asks for it, so
    every infoset has the player's empty sequence for a parent.
    """
    counts = np.array([len(row.probabilities) for row in rows], np.int64)
    players = np.array([row.player for row in rows], np.int64)
    infosets = np.zeros(len(rows), INFOSET)
    infosets["first_sequence"] = num_players + np.cumsum(counts) - counts
    infosets["num_actions"], infosets["player"] = counts, players
    infosets["parent"] = players
    names = [row.info_state for row in rows]
    infosets["place"] = np.fromiter(
        map(infoset_place, players.tolist(), names), np.uint64, len(rows)
    )
    actions = [action for row in rows for action in sorted(row.probabilities)]
    numbers = np.array([0] * num_players + actions, np.int64)
    return {"infosets": infosets, "actions": numbers} | pack_strings(names)
