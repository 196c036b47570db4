"""Policies as JSON."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import has_name, load_game, turn_based
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.arrays import INFOSET
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.display import brief
from mccfr_spiel.policies.frozen_table import FrozenTable, Maker
from mccfr_spiel.policies.policy_files import checked_policy


def is_of_file(value: Any) -> bool:
    """Whether a value has the form of a policy in JSON, not that of one table."""
    return isinstance(value, dict) and {"game", "players"} <= value.keys()


def digest_of(value: Mapping[str, Any]) -> str:
    """SHA-256 of the game and the players of a policy in JSON, whatever the spaces."""
    parts = {"game": value["game"], "players": value["players"]}
    text = json.dumps(parts, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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
    value: Any, game: pyspiel.Game | None = None, maker: Maker | None = None
) -> tuple[FrozenTable, np.ndarray]:
    """Reads the names of a policy and its vector `[S]` from what `write_policy` wrote.

    A file does not say which sequence leads to an infoset, and nothing asks for it, so
    every infoset has the player's empty sequence for a parent.

    Args:
        value: has the form of one, see `is_of_file`.
        game: the game, if its load string in the value is not enough to make it.
        maker: see `FrozenTable`.

    Raises:
        ValueError: a state has no distribution, or the policy is for another game.
        DamagedError: the value is no policy.
    """
    name, tables = value["game"], value["players"]
    if value.get("sha256") != digest_of(value):
        state = "is missing" if "sha256" not in value else "does not match"
        raise DamagedError(
            f'The entry "sha256" of the policy {state}: the file was changed or '
            "damaged. Write it again with mccfr_spiel, or pass a dictionary of "
            "information states with the probability of each action."
        )
    source = load_game(name) if game is None else game
    if not any(has_name(one, name) for one in (source, turn_based(source))):
        raise ValueError(f"This is a policy for {name}, not for {brief(source)}.")
    num_players = source.num_players()
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
    pairs = [pair for row in rows for pair in row]
    actions = np.array([0] * num_players + [action for action, _ in pairs], np.int64)
    arrays = {"infosets": infosets, "actions": actions} | checkpoint.pack_strings(names)
    vector = np.array([1.0] * num_players + [value for _, value in pairs])
    return checked_policy(FrozenTable(source, arrays, None, maker), vector)


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
