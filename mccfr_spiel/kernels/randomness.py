"""Random draws as hashes of (seed, iteration, updated player, place).

A *place* is the key of a draw: a 64-bit hash of an infoset or, for chance, of a
history. There is no generator with a state. In a walk, all draws with the same place
are equal. Hence external sampling draws one action per infoset, even if the walk visits
several of its histories (Lanctot et al. 2009). Results do not depend on the order in
which the tree grows, nor on interruptions and checkpoints.

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

ROOT_PLACE = np.uint64(0x243F6A8885A308D3)
"""Place of the empty history."""


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
