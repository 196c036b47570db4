"""The part of a tree that a policy takes along into a file or a pickle."""

import functools
import itertools
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arrays import INFOSET
from mccfr_spiel.compiled import teams
from mccfr_spiel.display.lines import brief, counted, line, never_raises, title
from mccfr_spiel.kernels.evaluation import are_distributions
from mccfr_spiel.storage.checkpoint import (
    POLICY,
    VERSION,
    CheckpointError,
    Contents,
    DamagedError,
    check_infosets,
    check_strings,
    loaded_abstraction,
    odd_contents_in_words,
    pack_strings,
    saved_abstraction,
)
from mccfr_spiel.tree.game_tree import (
    Abstraction,
    GameTree,
    load_game,
    saved_game,
    turn_based,
)
from mccfr_spiel.tree.identity import has_name
from mccfr_spiel.tree.names import TextNames

_ARRAYS = {
    "infosets": INFOSET,
    "actions": np.dtype(np.int64),
    "text": np.dtype(np.uint8),
    "ends": np.dtype(np.int64),
}


_MOST_OFF = 1e-6
"""How far from 1 the probabilities at an infoset may add up to."""

MANY_INFOSETS = 2**13
"""From so many on, compiled code looks at a policy's vector."""

LEAST_PART = 2**17
"""Each of several threads looks at so many infosets at least: a third of a millisecond,
about what it takes to wake a thread and to wait for it."""


class Names:
    """The infosets that a tree had met, with their names, in a few arrays.

    The attributes have the same names and meanings as those of a GameTree; places are
    those of nobody, since a policy draws nothing.
    """

    def __init__(
        self,
        source: pyspiel.Game,
        arrays: dict[str, np.ndarray],
        abstraction: Abstraction | None = None,
    ) -> None:
        """Keeps the arrays.

        Args:
            source: the game.
            arrays: `infosets` `[I]` of dtype INFOSET; `actions` `[S]`; and the strings
                as `pack_strings` makes them.
            abstraction: the tree's abstraction, if it has one.
        """
        self.source = source
        self.abstraction = abstraction
        self.game = turn_based(source)
        self.num_players: int = self.game.num_players()
        self.arrays = arrays
        self.infosets = arrays["infosets"]
        self.actions = arrays["actions"]
        self.num_infosets = len(self.infosets)
        self.num_sequences = len(self.actions)
        players = self.infosets["player"]
        self.infoset_names = TextNames(arrays["text"], arrays["ends"], players)
        self.find = self.infoset_names.find
        self.info_state = self.infoset_names.info_state

    @never_raises
    def __repr__(self) -> str:
        return line(self, title(self.source), counted(self.num_infosets, "infoset"))

    def __reduce__(self) -> tuple[Any, ...]:
        return Names, (self.source, self.arrays, self.abstraction)

    @functools.cached_property
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings."""
        return self.infoset_names.strings()

    @functools.cached_property
    def shared_strings(self) -> set[str]:
        """The information-state strings that several players have."""
        return self.infoset_names.shared()


def names_of(tree: Any, num_infosets: int, num_sequences: int) -> Names:
    """Makes Names of the first infosets of a GameTree; returns Names as they are."""
    if isinstance(tree, Names):
        return tree
    infosets = tree.infosets[:num_infosets].copy()
    infosets["place"] = 0
    # One by one: a list of all strings might not fit into memory.
    strings = itertools.islice(tree.infoset_names, num_infosets)
    arrays = {"infosets": infosets, "actions": tree.actions[:num_sequences]}
    return Names(tree.source, arrays | pack_strings(strings), tree.abstraction)


def checked_vector(
    tree: GameTree | Names, vector: np.ndarray, threads: int | None = 1
) -> np.ndarray:
    """Returns the vector `[S]`; raises ValueError unless it is a distribution at every
    infoset.

    Args:
        tree: with these infosets.
        vector: the probability of each sequence's action.
        threads: at most so many share the work; None for one for each core.
    """
    if vector.shape != (tree.num_sequences,):
        raise ValueError(
            f"A policy vector for {brief(tree.source)} has the shape "
            f"({tree.num_sequences},), "
            f"not {vector.shape}."
        )
    if tree.num_infosets == 0:
        return vector
    infosets = tree.infosets
    if tree.num_infosets >= MANY_INFOSETS and vector.dtype == np.float64:
        policy = np.ascontiguousarray(vector)

        def is_right(part: tuple[int, int]) -> bool:
            # NumPy may round its sums in another way, and has the last word below.
            return are_distributions(infosets, policy, *part, 0.9 * _MOST_OFF)

        if all(teams.in_parts(threads, len(infosets), LEAST_PART, is_right)):
            return vector
    first = infosets["first_sequence"]
    sums = np.add.reduceat(vector, first)
    wrong = np.flatnonzero(~(np.abs(sums - 1) < _MOST_OFF))
    if len(wrong) or not (vector >= 0).all():
        infoset = (
            int(wrong[0])
            if len(wrong)
            else int(np.searchsorted(first, np.argmin(vector), side="right")) - 1
        )
        start = first[infoset]
        values = vector[start : start + tree.infosets[infoset]["num_actions"]]
        raise ValueError(
            f"The policy is no distribution over the {len(values)} legal actions at "
            f"the state {tree.info_state(infoset)!r}: {values.tolist()}"
        )
    return vector


def to_contents(names: Names, vector: np.ndarray) -> Contents:
    """A policy in the form that storage/checkpoint.py writes."""
    header = {
        "version": VERSION,
        "game": str(names.source),
        "abstracted": saved_abstraction(names.abstraction),
    }
    return Contents(header, names.arrays | {"vector": np.asarray(vector, np.float64)})


def from_contents(
    contents: Contents,
    game: pyspiel.Game | str | None,
    abstraction: Abstraction | None,
) -> tuple[Names, np.ndarray]:
    """Reads the names and the vector `[S]` from what `to_contents` made.

    Args:
        contents: the contents of a file, which may hold anything.
        game: the game, if its load string is not enough to make it.
        abstraction: the abstraction that the policy had, if it had one.

    Raises:
        CheckpointError: the contents make no policy, or one for another game.
        ValueError: the game cannot be loaded.
    """
    with odd_contents_in_words(POLICY):
        header, arrays = contents
        source = saved_game(header["game"]) if game is None else load_game(game)
        if not has_name(source, header["game"]):
            raise CheckpointError(
                f"The file has a policy for {header['game']}, not for {brief(source)}."
            )
        abstraction = loaded_abstraction(header["abstracted"], abstraction)
        vector = arrays["vector"]
        arrays = {name: arrays[name] for name in _ARRAYS}
        for name, dtype in (_ARRAYS | {"vector": np.dtype(float)}).items():
            array = vector if name == "vector" else arrays[name]
            if array.dtype != dtype or array.ndim != 1:
                raise DamagedError(
                    f"The file's array {name!r} is {array.dtype} {array.shape}."
                )
        names = Names(source, arrays, abstraction)
        check_strings(arrays["text"], arrays["ends"])
        check_infosets(
            len(arrays["ends"]), names.infosets, names.actions, names.num_players
        )
        actions = names.actions[names.num_players :]
        most = names.game.num_distinct_actions()
        if len(vector) != names.num_sequences:
            raise DamagedError("The file's policy does not fit its actions.")
        if ((actions < 0) | (actions >= most)).any():
            raise CheckpointError(
                f"The rules of {brief(source)} are not those that the policy was made "
                "for: "
                f"it has {most} actions, the file names one outside of them."
            )
    return names, vector
