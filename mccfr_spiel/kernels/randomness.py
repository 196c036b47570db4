"""Draws as a pure function of (seed, iteration, updating player, place).

There is no generator whose state would advance. A *place* is an information set or, for
chance, a history, and a walk draws at most one number at each place. Hence external
sampling draws one action per information set, however many of its histories it meets
(Lanctot et al. 2009), and neither the growth of the tree nor a checkpoint can change a
result.

Compiled functions take `np.uint64`.
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
"""The place of the empty history."""


@jit
def mix(x):
    """The finalizer of splitmix64 (Steele, Lea, Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


@jit
def stream_key(seed, iteration, player, num_players):
    """The key of one walk: `seed` is uint64, `iteration` counts from 1."""
    walk = np.uint64(iteration * num_players + player)
    return mix(mix(seed + _GOLDEN) + walk * _GOLDEN)


@jit
def uniform(stream, place):
    """The number in [0, 1) that the walk with the key `stream` draws at a place."""
    return np.float64(np.int64(mix(stream ^ place) >> np.uint64(11))) * _TO_UNIT


@jit
def child_place(place, child):
    """The place of a history that goes on to child number `child`."""
    return place * _PATH + (np.uint64(child) + _ONE)


def infoset_place(player: int, info_state: str) -> int:
    """The place of an information set: 64 bits of a hash of its player and string.

    Raises:
        ValueError: the string has a lone surrogate. Every infoset that is met is asked
            for its place, so no other code meets such a string.
    """
    try:
        text = f"{player} {info_state}".encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"The information-state string {info_state!r} of player {player} has a "
            "lone surrogate, which neither a hash nor a file can take. Have the game "
            "or the abstraction write it otherwise, as by repr()."
        ) from error
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
