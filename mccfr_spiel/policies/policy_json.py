"""Policies as JSON, which people and other programs can read.

    {"game": "kuhn_poker()", "players": [{"0": {"0": 0.8, "1": 0.2}, ...}, {...}]}

Each player has a table information-state string -> action -> probability. States that
are not listed were never met, and the policy is uniform there.
"""

import math
import re
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.common.arrays import INFOSET
from mccfr_spiel.common.checkpoint import DamagedError, pack_strings
from mccfr_spiel.kernels.randomness import infoset_place
from mccfr_spiel.policies.names import Names


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


def from_json(value: Any, source: pyspiel.Game) -> tuple[Names, np.ndarray]:
    """Reads the names of a policy and its vector `[S]` from what `to_json` made.

    A file does not say which sequence leads to an infoset, and nothing asks for it, so
    every infoset has the player's empty sequence for a parent.

    Raises:
        DamagedError: the value is no policy, or belongs to another game.
    """
    num_players, tables = source.num_players(), value["players"]
    if not isinstance(tables, list):
        raise DamagedError("The policy has no list of players.")
    if len(tables) != num_players:
        raise DamagedError(
            f"The policy has tables for {len(tables)} players; the game has "
            f"{num_players} players."
        )
    if not all(isinstance(table, dict) for table in tables):
        raise DamagedError("This is no table information state -> action -> number.")
    names = [name for table in tables for name in table]
    players = [player for player, table in enumerate(tables) for _ in table]
    rows = [
        sorted(_row_of(*pair).items()) for table in tables for pair in table.items()
    ]
    counts = np.array(list(map(len, rows)), np.int64)
    infosets = np.zeros(len(rows), INFOSET)
    infosets["first_sequence"] = num_players + np.cumsum(counts) - counts
    infosets["num_actions"], infosets["player"] = counts, players
    infosets["parent"] = players
    infosets["place"] = np.fromiter(
        map(infoset_place, players, names), np.uint64, len(rows)
    )
    pairs = [pair for row in rows for pair in row]
    actions = np.array([0] * num_players + [action for action, _ in pairs], np.int64)
    arrays = {"infosets": infosets, "actions": actions} | pack_strings(names)
    kind = Names(source, arrays)
    most = kind.game.num_distinct_actions()
    for name, row in zip(names, rows, strict=True):
        if row[-1][0] >= most:
            raise DamagedError(
                f"The actions {[action for action, _ in row]} at the state {name!r} "
                f"are not all among the {most} of {source}."
            )
    return kind, np.array([1.0] * num_players + [value for _, value in pairs])


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
