"""Random draws as hashes of (seed, iteration, updated player, place).

A *place* is the key of a draw: a 64-bit hash of an infoset or, for chance, of a
history. There is no generator with a state. In a walk, all draws with the same place
are equal. Hence external sampling draws one action per infoset, even if the walk visits
several of its histories (Lanctot et al. 2009). Results do not depend on the order in
which the tree grows, nor on interruptions and checkpoints.

If draws of chance are correlated between walks (sobol.py), the place of a history is
*counted*: its lowest 16 bits are the number of chance moves so far.

The *stream* of a walk is a hash of seed, iteration (or number of the walk) and updated
player. A draw is a hash of stream and place.

Compiled functions require `np.uint64` arguments for streams and places.
"""

import hashlib

import numpy as np

from mccfr_spiel.kernels.jit import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_PATH = np.uint64(0xD1342543DE82EF95)
_ONE = np.uint64(1)
_TO_UNIT = 2.0**-53
_COUNT_BITS = np.uint64(16)
_COUNT = np.uint64(0xFFFF)

ROOT_PLACE = np.uint64(0x243F6A8885A308D3)
"""Place of the empty history."""

COUNTED_ROOT = ROOT_PLACE & ~_COUNT
"""Place of the empty history if places count chance moves."""

NO_PLACES, PLACES, COUNTED_PLACES = range(3)
"""Kinds of places of histories that a walk keeps:

- NO_PLACES: none, because no chance move is drawn;
- PLACES: hashes;
- COUNTED_PLACES: hashes whose lowest 16 bits count chance moves.
"""


@jit
def mix(x):
    """Returns a hash of a 64-bit integer: the finalizer of splitmix64 (Steele, Lea,
    Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


@jit
def stream_key(seed, iteration, player, num_players):
    """Returns the stream of a walk, a 64-bit hash. Walks use iterations from 1 on."""
    # The seed is hashed first. Otherwise seeds that differ by a multiple of _GOLDEN
    # would have streams in common.
    walk = np.uint64(iteration * num_players + player)
    return mix(mix(seed + _GOLDEN) + walk * _GOLDEN)


@jit
def uniform(stream, place):
    """Returns the draw, in [0, 1), at a place in the walk with this stream."""
    # The upper 53 bits fill a double. Signed integers convert to doubles faster.
    return np.float64(np.int64(mix(stream ^ place) >> np.uint64(11))) * _TO_UNIT


@jit
def child_place(place, child):
    """Returns the place after child number `child` of a history with this place."""
    return place * _PATH + (np.uint64(child) + _ONE)


@jit
def place_below(place, child, places):
    """Returns the place of the history that continues with child number `child`.

    `places` is PLACES or COUNTED_PLACES. With the latter, the count stays the same,
    and the caller adds 1 after a chance move.
    """
    if places == COUNTED_PLACES:
        # `child` comes last, so that loops over children compute the first part once.
        hashed = (place * _PATH & ~_COUNT) | (place & _COUNT)
        return hashed + ((np.uint64(child) + _ONE) << _COUNT_BITS)
    return child_place(place, child)


@jit
def chance_moves_of(place):
    """Returns the number of chance moves that a counted place contains."""
    return np.int64(place & _COUNT)


def infoset_place(player: int, info_state: str) -> int:
    """Returns the place of an infoset: a 64-bit hash of its player and string.

    Raises:
        ValueError: the string contains a lone surrogate. All infoset strings of stored
            trees pass through this function, so other code need not check them.
    """
    try:
        text = f"{player} {info_state}".encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"The information-state string {info_state!r} of player {player} contains "
            "a lone surrogate, which cannot be encoded as UTF-8. Change the game or "
            "the abstraction so that it escapes such characters, for example by repr()."
        ) from error
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
