"""Reads and writes policies in the binary file format of `common.checkpoint`."""

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.identity import (
    has_name,
)
from mccfr_spiel.arenas.infosets.loading import (
    load_game,
    saved_game,
)
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.arrays import INFOSET, sequences_at
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.functions import loaded_abstraction, saved_abstraction
from mccfr_spiel.common.infoset_arrays import check_infosets, check_strings
from mccfr_spiel.policies.frozen_table import FrozenTable, Maker
from mccfr_spiel.policies.vectors import checked_vector

_ARRAYS = {
    "infosets": INFOSET,
    "actions": np.dtype(np.int64),
    "text": np.dtype(np.uint8),
    "ends": np.dtype(np.int64),
    "vector": np.dtype(np.float64),
}
"""Name of an array in a policy file -> its type."""


def to_contents(names: FrozenTable, vector: np.ndarray) -> checkpoint.Contents:
    """The contents of a policy file.

    Args:
        names: the infosets.
        vector: `[S]` the policy.
    """
    header = {
        "version": checkpoint.POLICY.version,
        "game": str(names.source),
        "abstracted": saved_abstraction(names.abstraction),
    }
    return checkpoint.Contents(
        header, names.arrays | {"vector": np.asarray(vector, np.float64)}
    )


def from_contents(
    contents: checkpoint.Contents,
    game: pyspiel.Game | str | None,
    abstraction: Abstraction | None,
    maker: Maker | None = None,
) -> tuple[FrozenTable, np.ndarray]:
    """Makes a policy from the contents of a policy file.

    Args:
        contents: untrusted contents of a file.
        game: the game, if the load string in the file is not sufficient.
        abstraction: the abstraction of the policy, if there was one.
        maker: see `FrozenTable`.

    Returns:
        The infosets, and the vector `[S]` of probabilities.

    Raises:
        CheckpointError: the contents are damaged or belong to another game.
        ValueError: the game cannot be loaded.
    """
    with checkpoint.odd_contents_in_words(checkpoint.POLICY):
        header, arrays = contents
        source = saved_game(header["game"]) if game is None else load_game(game)
        if not has_name(source, header["game"]):
            raise checkpoint.CheckpointError(
                f"The file contains a policy for {header['game']}, expected "
                f"{brief(source)}."
            )
        abstraction = loaded_abstraction(header["abstracted"], abstraction)
        arrays = {name: arrays[name] for name in _ARRAYS}
        for name, array in arrays.items():
            if array.dtype != _ARRAYS[name] or array.ndim != 1:
                raise checkpoint.DamagedError(
                    f"Array {name!r} of the file is {array.dtype} {array.shape}, "
                    f"expected a vector of {_ARRAYS[name]}."
                )
        vector = arrays.pop("vector")
        names = FrozenTable(source, arrays, abstraction, maker)
        check_strings(arrays["text"], arrays["ends"])
        check_infosets(
            len(arrays["ends"]), names.infosets, names.actions, names.num_players
        )
        try:
            return checked_policy(names, vector)
        except ValueError as error:
            raise checkpoint.DamagedError(str(error)) from error


def checked_policy(
    names: FrozenTable, vector: np.ndarray
) -> tuple[FrozenTable, np.ndarray]:
    """Returns both arguments if they are a policy of the game.

    Raises:
        DamagedError: (a ValueError) an action is not an action of the game.
        ValueError: the vector is not a distribution at every infoset.
    """
    actions, num_actions = names.actions, names.game.num_distinct_actions()
    wrong = np.flatnonzero((actions < 0) | (actions >= num_actions))
    wrong = wrong[wrong >= names.num_players]
    if len(wrong):
        first = names.infosets["first_sequence"]
        infoset = int(np.searchsorted(first, wrong[0], side="right")) - 1
        sequences = sequences_at(names.infosets[[infoset]])
        raise checkpoint.DamagedError(
            f"The actions {actions[sequences].tolist()} at the state "
            f"{names.info_state(infoset)!r} must be below {num_actions}, the number of "
            f"actions of {brief(names.source)}. The rules differ from those of the "
            "policy."
        )
    return names, checked_vector(names, vector)
