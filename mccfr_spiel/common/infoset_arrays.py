"""Arrays of strings and infosets in files, and checks of such arrays."""

import itertools
from array import array
from collections.abc import Iterable

import numpy as np

from mccfr_spiel.common.checkpoint import DamagedError


def pack_strings(strings: Iterable[str]) -> dict[str, np.ndarray]:
    """Packs strings into two arrays.

    Returns:
        "text" -> the concatenated strings in UTF-8 (uint8), and "ends" -> `[K]` the end
        of each string in it (int64).
    """
    text, lengths = bytearray(), array("q")
    # The strings are not collected in a list, because millions of Python strings need
    # several times the memory of the text.
    for string in strings:
        encoded = string.encode("utf-8", "surrogateescape")
        text += encoded
        lengths.append(len(encoded))
    ends = np.cumsum(np.frombuffer(lengths, np.int64), dtype=np.int64)
    return {"text": np.frombuffer(text, np.uint8), "ends": ends}


def unpack_strings(text: np.ndarray, ends: np.ndarray) -> list[str]:
    """Unpacks the arrays of `pack_strings`; raises DamagedError if they are
    inconsistent."""
    check_strings(text, ends)
    data, bounds = text.tobytes(), [0, *ends.tolist()]
    return [
        data[start:stop].decode("utf-8", "surrogateescape")
        for start, stop in itertools.pairwise(bounds)
    ]


def check_strings(text: np.ndarray, ends: np.ndarray) -> None:
    """Raises DamagedError unless `pack_strings` could return these arrays."""
    fits = text.ndim == ends.ndim == 1
    fits = fits and (ends[1:] >= ends[:-1]).all() and (ends >= 0).all()
    if not fits or text.nbytes != (ends[-1] if len(ends) else 0):
        raise DamagedError("The strings of the file are inconsistent.")


def check_infosets(
    num_names: int, infosets: np.ndarray, actions: np.ndarray, num_players: int
) -> None:
    """Raises DamagedError unless the infosets are numbered as those of a tree.

    common/arrays.py describes the numbering. Compiled loops do not check indices, so a
    wrong index would access memory outside of the arrays.

    Args:
        num_names: the number of information-state strings.
        infosets: `[I]` of dtype INFOSET.
        actions: `[S]` the actions of the sequences.
        num_players: the number of players.
    """
    counts = infosets["num_actions"]
    first = num_players + np.cumsum(counts, dtype=np.int64) - counts
    fits = (
        num_names == len(infosets)
        and actions.dtype == np.int64
        and actions.shape == (num_players + counts.sum(dtype=np.int64),)
        and (counts > 0).all()
        and (infosets["first_sequence"] == first).all()
        and (infosets["parent"] >= 0).all()
        and (infosets["parent"] < first).all()
        and (infosets["player"] >= 0).all()
        and (infosets["player"] < num_players).all()
    )
    if not fits:
        raise DamagedError("The infosets of the file are inconsistent.")
