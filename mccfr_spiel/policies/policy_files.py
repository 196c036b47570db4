"""Policies in the format of `common.checkpoint`."""

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import has_name, load_game, saved_game
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.arrays import INFOSET, sequences_at
from mccfr_spiel.common.checkpoint import Contents, DamagedError
from mccfr_spiel.common.display import brief
from mccfr_spiel.policies.frozen_table import FrozenTable, Maker
from mccfr_spiel.policies.vectors import checked_vector

_ARRAYS = {
    "infosets": INFOSET,
    "actions": np.dtype(np.int64),
    "text": np.dtype(np.uint8),
    "ends": np.dtype(np.int64),
    "vector": np.dtype(np.float64),
}
"""What the file of a policy holds."""


def to_contents(names: FrozenTable, vector: np.ndarray) -> Contents:
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
) -> tuple[FrozenTable, np.ndarray]:
    """Reads the names and the vector `[S]` from what `to_contents` made.

    Args:
        contents: the contents of a file, which may hold anything.
        game: the game, if its load string is not enough to make it.
        abstraction: the abstraction that the policy had, if it had one.
        maker: see `FrozenTable`.

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
        names = FrozenTable(source, arrays, abstraction, maker)
        checkpoint.check_strings(arrays["text"], arrays["ends"])
        checkpoint.check_infosets(
            len(arrays["ends"]), names.infosets, names.actions, names.num_players
        )
        try:
            return checked_policy(names, vector)
        except ValueError as error:
            raise DamagedError(str(error)) from error


def checked_policy(
    names: FrozenTable, vector: np.ndarray
) -> tuple[FrozenTable, np.ndarray]:
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
