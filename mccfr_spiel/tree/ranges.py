"""What evaluations of policies over a complete tree keep from one to the next.

`kernels/evaluation.py` explains ranges of infosets, and the vectors.
"""

import numpy as np

from mccfr_spiel import kernels

RANGES_OF_THREAD, LEAST_RANGES = 4, 16
"""How many ranges there should be for each thread, and at least. The more there are,
the more infosets are in the top or are roots, whose values one thread passes on."""

LEAST_RANGE = 2**14
"""The least work of a range on average, in rows of leaves."""

_WINDOW = 0.25
"""How far a cut may be from where it should be, in lengths of an average range."""


def num_ranges(num_threads: int) -> int:
    """How many ranges so many threads should share."""
    return max(RANGES_OF_THREAD * num_threads, LEAST_RANGES)


def cut_into_ranges(
    infosets: np.ndarray, passes: kernels.Passes, num_sequences: int, most: int
) -> kernels.Ranges:
    """Cuts the infosets of a complete tree.

    The first ranges have three times the work of the last ones, so that all threads end
    at about the same time. A cut is moved to where the fewest infosets behind it follow
    on one before it.

    Args:
        infosets: of the tree.
        passes: the list of its leaves.
        num_sequences: the sequences of all players.
        most: how many ranges there should be; a small tree has fewer.
    """
    count = len(infosets)
    owner = np.full(num_sequences, -1, np.int32)
    jumps = np.zeros(count + 1, np.int32)
    kernels.count_jumps(infosets, owner, jumps)
    stops = infosets["first_sequence"] + infosets["num_actions"]
    work = passes.ends[stops] + kernels.WORK_OF_SEQUENCE * stops
    total = int(work[-1]) if count else 0
    most = max(min(most, total // LEAST_RANGE), 1)
    ends = [0]
    for k in range(1, most):
        goal = (1.5 - 0.5 * k / most) * k / most
        window = total * np.array((goal - _WINDOW / most, goal + _WINDOW / most))
        first, last = np.searchsorted(work, window)
        if first < last:
            ends.append(int(first + np.argmin(jumps[first:last])))
    ends = np.unique(np.array((*ends, count), np.int64))
    kinds = np.zeros(count, np.uint8)
    kernels.mark_kinds(infosets, ends, owner, kinds)
    top = np.flatnonzero(kinds).astype(np.int32)
    is_root = kinds[top] == kernels.ROOT
    top[is_root] = ~top[is_root]
    return kernels.Ranges(ends=ends, kinds=kinds, top=top)


def one_range(num_infosets: int) -> kernels.Ranges:
    """All infosets in one range, for one thread."""
    return kernels.Ranges(
        ends=np.array((0, num_infosets), np.int64),
        kinds=np.zeros(0, np.uint8),
        top=np.zeros(0, np.int32),
    )


def new_vectors(
    infosets: np.ndarray, num_players: int, num_sequences: int
) -> kernels.Vectors:
    """Vectors for an evaluation, whose memory nobody has touched yet.

    Args:
        infosets: of a complete tree.
        num_players: how many players there are.
        num_sequences: of all of them.
    """
    plan, values, products = (np.empty(num_sequences) for _ in range(3))
    owners = np.empty(num_sequences, np.int16)
    owners[:num_players] = np.arange(num_players)
    players = infosets["player"].astype(np.int16)
    owners[num_players:] = np.repeat(players, infosets["num_actions"])
    pieces, sizes = [0], [num_sequences]
    while sizes:
        size = sizes.pop()
        if size <= kernels.PIECE:
            pieces.append(pieces[-1] + size)
        else:
            half = _half(size)
            sizes += size - half, half
    return kernels.Vectors(
        plan=plan,
        values=values,
        products=products,
        owners=owners,
        pieces=np.array(pieces, np.int64),
    )


def add_pieces(sums: list[float], size: int) -> float:
    """The sum of all of a player's products.

    Args:
        sums: of the pieces, in order; is emptied from its end on.
        size: the sequences in all pieces.
    """
    if size <= kernels.PIECE:
        return sums.pop()
    half = _half(size)
    right = add_pieces(sums, size - half)
    return add_pieces(sums, half) + right


def _half(size: int) -> int:
    """How many numbers go into the first half of a sum, as NumPy halves it."""
    half = size // 2
    return half - half % 8


def bytes_of_ranges(num_infosets: int, num_sequences: int) -> int:
    """The bytes of the ranges, and of what is needed to find them."""
    return 40 * num_infosets + 4 * num_sequences
