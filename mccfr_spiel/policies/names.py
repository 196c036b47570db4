"""The part of a tree that a policy takes along into a file, JSON or a pickle."""

import functools
import hashlib
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import (
    has_name,
    load_game,
    saved_game,
    turn_based,
)
from mccfr_spiel.arenas.infosets.names import TextNames
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.arrays import INFOSET, sequences_at
from mccfr_spiel.common.checkpoint import Contents, DamagedError
from mccfr_spiel.common.display import brief

_ARRAYS = {
    "infosets": INFOSET,
    "actions": np.dtype(np.int64),
    "text": np.dtype(np.uint8),
    "ends": np.dtype(np.int64),
    "vector": np.dtype(np.float64),
}
"""What the file of a policy holds."""


MOST_OFF = 1e-6
"""How far from 1 the probabilities at an infoset may add up to."""


Maker = Callable[[pyspiel.Game, int], InfosetTable | None]
"""Makes the whole tree of a game, up to a number of nodes; None if there is none."""


class Names(InfosetTable):
    """The infosets that an arena had met, with their names, in a few arrays.

    The places of infosets are 0, since a policy draws nothing.
    """

    def __init__(
        self,
        source: pyspiel.Game,
        arrays: dict[str, np.ndarray],
        abstraction: Abstraction | None = None,
        maker: Maker | None = None,
    ) -> None:
        """Keeps the arrays.

        Args:
            source: the game.
            arrays: `infosets` `[I]` of dtype INFOSET; `actions` `[S]`; and the strings
                as `pack_strings` makes them.
            abstraction: the arena's abstraction, if it has one.
            maker: makes the tree from which `SequencePolicy.table` takes the order and
                the reach of infosets; without one, reach is not known.
        """
        super().__init__(source, turn_based(source), abstraction)
        self.arrays, self.maker = arrays, maker
        self.infosets = arrays["infosets"]
        self.actions = arrays["actions"]
        players = self.infosets["player"]
        self.infoset_names = TextNames(arrays["text"], arrays["ends"], players)

    def __reduce__(self) -> tuple[Any, ...]:
        return Names, (self.source, self.arrays, self.abstraction, self.maker)

    @property
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings, kept from call to call."""
        return self._info_states

    @functools.cached_property
    def _info_states(self) -> list[str]:
        return self.infoset_names.strings()

    @property
    def shared_strings(self) -> set[str]:
        """The information-state strings that several players have."""
        return self._shared_strings

    @functools.cached_property
    def _shared_strings(self) -> set[str]:
        return self.infoset_names.shared()

    def whole(self, max_nodes: int) -> InfosetTable | None:
        """See InfosetTable."""
        if self.maker is None or self.abstraction is not None:
            return None
        return self.maker(self.source, max_nodes)


def names_of(tree: Any, num_infosets: int, num_sequences: int) -> Names:
    """Makes Names of the first infosets of a table; returns Names as they are."""
    if isinstance(tree, Names):
        return tree
    infosets = tree.infosets[:num_infosets].copy()
    infosets["place"] = 0
    # One by one: a list of all strings might not fit into memory.
    strings = itertools.islice(tree.infoset_names, num_infosets)
    arrays = {"infosets": infosets, "actions": tree.actions[:num_sequences]}
    arrays |= checkpoint.pack_strings(strings)
    return Names(tree.source, arrays, tree.abstraction, tree.maker)


def checked_vector(tree: InfosetTable, vector: np.ndarray) -> np.ndarray:
    """Returns the vector `[S]`; raises ValueError unless it is a distribution at every
    infoset of the tree."""
    check_shape(tree, vector, vector)
    if tree.num_infosets == 0:
        return vector
    first = tree.infosets["first_sequence"]
    is_right = np.abs(np.add.reduceat(vector, first) - 1) < MOST_OFF
    is_right &= np.minimum.reduceat(vector, first) >= 0
    if not is_right.all():
        infoset = int(np.argmin(is_right))
        start = first[infoset]
        values = vector[start : start + tree.infosets[infoset]["num_actions"]]
        raise ValueError(
            f"The policy is no distribution over the {len(values)} legal actions at "
            f"the state {tree.info_state(infoset)!r}: {values.tolist()}"
        )
    return vector


def check_shape(tree: InfosetTable, vector: np.ndarray, given: Any) -> None:
    """Raises ValueError, which shows what was given, unless a vector `[S]` is over a
    tree's sequences."""
    if vector.shape != (tree.num_sequences,):
        raise ValueError(
            f"A policy vector for {brief(tree.source)} has the shape "
            f"({tree.num_sequences},), not {vector.shape}: {given!r}."
        )


def uniform_vector(tree: InfosetTable) -> np.ndarray:
    """`[S]` the policy that plays all legal actions alike, over a tree's sequences."""
    counts = tree.infosets["num_actions"]
    return np.concatenate((np.ones(tree.num_players), np.repeat(1 / counts, counts)))


def sequences_of(tree: InfosetTable, player: int) -> np.ndarray:
    """The numbers of a player's sequences, the empty one excepted."""
    owners = np.repeat(tree.infosets["player"], tree.infosets["num_actions"])
    return tree.num_players + np.flatnonzero(owners == player)


def to_contents(names: Names, vector: np.ndarray) -> Contents:
    """A policy in the form that common/checkpoint.py writes."""
    header = {
        "version": checkpoint.POLICY.version,
        "game": str(names.source),
        "abstracted": checkpoint.saved_abstraction(names.abstraction),
    }
    return Contents(header, names.arrays | {"vector": np.asarray(vector, np.float64)})


def from_contents(
    contents: Contents,
    game: pyspiel.Game | str | None,
    abstraction: Abstraction | None,
    maker: Maker | None = None,
) -> tuple[Names, np.ndarray]:
    """Reads the names and the vector `[S]` from what `to_contents` made.

    Args:
        contents: the contents of a file, which may hold anything.
        game: the game, if its load string is not enough to make it.
        abstraction: the abstraction that the policy had, if it had one.
        maker: see `Names`.

    Raises:
        CheckpointError: the contents make no policy, or one for another game.
        ValueError: the game cannot be loaded.
    """
    with checkpoint.odd_contents_in_words(checkpoint.POLICY):
        header, arrays = contents
        source = saved_game(header["game"]) if game is None else load_game(game)
        if not has_name(source, header["game"]):
            raise checkpoint.CheckpointError(
                f"The file has a policy for {header['game']}, not for {brief(source)}."
            )
        abstraction = checkpoint.loaded_abstraction(header["abstracted"], abstraction)
        arrays = {name: arrays[name] for name in _ARRAYS}
        for name, array in arrays.items():
            if array.dtype != _ARRAYS[name] or array.ndim != 1:
                raise DamagedError(
                    f"The file's array {name!r} is {array.dtype} {array.shape}."
                )
        vector = arrays.pop("vector")
        names = Names(source, arrays, abstraction, maker)
        checkpoint.check_strings(arrays["text"], arrays["ends"])
        checkpoint.check_infosets(
            len(arrays["ends"]), names.infosets, names.actions, names.num_players
        )
        try:
            return _checked(names, vector)
        except ValueError as error:
            raise DamagedError(str(error)) from error


def _checked(names: Names, vector: np.ndarray) -> tuple[Names, np.ndarray]:
    """The names and the vector of a file, if they make a policy of the game; raises
    ValueError."""
    actions, most = names.actions, names.game.num_distinct_actions()
    wrong = np.flatnonzero((actions < 0) | (actions >= most))
    wrong = wrong[wrong >= names.num_players]
    if len(wrong):
        first = names.infosets["first_sequence"]
        infoset = int(np.searchsorted(first, wrong[0], side="right")) - 1
        here = sequences_at(names.infosets[[infoset]])
        raise DamagedError(
            f"The actions {actions[here].tolist()} at the state "
            f"{names.info_state(infoset)!r} are not all among the {most} of "
            f"{brief(names.source)}: the game's rules are not those of the policy."
        )
    return names, checked_vector(names, vector)


# --- a policy as JSON, which people and other programs can read -----------------------
#
#     {"game": "kuhn_poker()", "players": [{"0": {"0": 0.8, "1": 0.2}, ...}, {...}],
#      "sha256": "..."}
#
# Each player has a table information-state string -> action -> probability. States that
# are not listed were never met, and the policy is uniform there.


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
) -> tuple[Names, np.ndarray]:
    """Reads the names of a policy and its vector `[S]` from what `write_policy` wrote.

    A file does not say which sequence leads to an infoset, and nothing asks for it, so
    every infoset has the player's empty sequence for a parent.

    Args:
        value: has the form of one, see `is_of_file`.
        game: the game, if its load string in the value is not enough to make it.
        maker: see `Names`.

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
    return _checked(Names(source, arrays, None, maker), vector)


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
