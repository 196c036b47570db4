"""Policies as JSON, for people and for other programs.

    {"game": "kuhn_poker()", "players": [{"0": {"0": 0.8, "1": 0.2}, ...}, {...}],
     "sha256": "..."}

The list `players` has a table per player: information-state string -> action ->
probability. States that are missing in the table were not visited; the policy is
uniform there. `sha256` is a checksum, see `digest_of`.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.identity import has_name
from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.common.arrays import INFOSET
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.infoset_arrays import pack_strings
from mccfr_spiel.policies.frozen_table import FrozenTable, Maker
from mccfr_spiel.policies.policy_files import checked_policy


def is_of_file(value: Any) -> bool:
    """Whether a parsed JSON value is that of a policy file.

    False for a bare table information-state string -> action -> probability.
    """
    return isinstance(value, dict) and {"game", "players"} <= value.keys()


def digest_of(value: Mapping[str, Any]) -> str:
    """Hex digits of the SHA-256 of a policy's game and tables.

    White space in the file does not matter, because the parsed value is hashed.
    """
    parts = {"game": value["game"], "players": value["players"]}
    text = json.dumps(parts, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def with_int_actions(table: dict[str, Any]) -> dict[str, Any]:
    """Converts the actions of a table to integers.

    In JSON, keys are strings. Rows with integer actions are returned unchanged.

    Args:
        table: information-state string -> action -> probability.

    Raises:
        ValueError: an action is neither an integer nor the string of an integer.
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
    """Converts parsed JSON, as written by `write_policy`, to a policy.

    The file does not contain the parent sequences of infosets, which policies do not
    need. All parents are set to the player's empty sequence.

    Args:
        value: a value for which `is_of_file` is true.
        game: the game, if the load string in the value is not sufficient.
        maker: see `FrozenTable`.

    Returns:
        The infosets, and the vector `[S]` of probabilities of the sequences.

    Raises:
        ValueError: the probabilities at a state are not a distribution, or the policy
            belongs to another game.
        DamagedError: the value is not a policy, or the checksum is wrong.
    """
    name, tables = value["game"], value["players"]
    if value.get("sha256") != digest_of(value):
        state = "is missing" if "sha256" not in value else "does not match"
        raise DamagedError(
            f'The entry "sha256" of the policy {state}, so the file was changed or '
            "damaged. Write it again with mccfr_spiel, or pass a dictionary "
            "information state -> action -> probability."
        )
    source = load_game(name) if game is None else game
    if not any(has_name(form, name) for form in (source, turn_based(source))):
        raise ValueError(f"The policy is for {name}, expected {brief(source)}.")
    num_players = source.num_players()
    if not isinstance(tables, list):
        raise DamagedError('The entry "players" of the policy must be a list.')
    if len(tables) != num_players:
        raise DamagedError(
            f"The policy contains tables for {len(tables)} players, expected "
            f"{num_players} players."
        )
    if not all(isinstance(table, dict) for table in tables):
        raise DamagedError(
            "A player's table must be information state -> action -> probability."
        )
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
    arrays = {"infosets": infosets, "actions": actions} | pack_strings(names)
    vector = np.array([1.0] * num_players + [value for _, value in pairs])
    return checked_policy(FrozenTable(source, arrays, None, maker), vector)


def _row_of(name: str, row: Any) -> dict[int, float]:
    if not isinstance(row, dict) or not row:
        raise DamagedError(
            f"The entry of state {name!r} is {row!r}, expected action -> probability."
        )
    policy: dict[int, float] = {}
    for key, value in row.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not re.fullmatch(r"\d{1,18}", str(key)) or not is_number:
            raise DamagedError(
                f"State {name!r}: {key!r}: {value!r} must be an action "
                "and a probability."
            )
        policy[int(key)] = float(value)
    if len(policy) != len(row):
        raise DamagedError(f"State {name!r}: duplicate action.")
    if not all(math.isfinite(value) for value in policy.values()):
        raise DamagedError(f"State {name!r}: probabilities must be finite.")
    return policy
