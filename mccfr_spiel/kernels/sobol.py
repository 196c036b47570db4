"""Correlated chance draws: a scrambled Sobol sequence over the walks of a player.

The chance move after d other chance moves uses dimension d of the sequence, and the
walk's number selects the point. Draws of many walks therefore cover the outcomes more
evenly than independent draws (Li, Chen, Huang 2026). The result is a pure function of
seed, player, number of the walk and place, like every draw.

From dimension NUM_DIMENSIONS on, draws are independent. Other draws must stay
independent: correlating the opponents' draws with the same number prevents convergence.
"""

import functools

import numpy as np

from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.randomness import (
    COUNTED_ROOT,
    MAX_COUNTED,
    ROOT_PLACE,
    chance_moves_of,
    mix,
)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SCRAMBLED_PLACE = np.uint64(0xA4093822299F31D0)
_TO_UNIT = 2.0**-53
_NUM_BITS = 32

_DIRECTIONS = """
1:1  3:1  7:1,3  11:1,3,1  13:1,1,1  19:1,1,3,3  25:1,3,5,13  37:1,1,5,5,17
41:1,1,5,5,5  47:1,1,7,11,19  55:1,1,5,1,1  59:1,1,1,3,11  61:1,3,5,5,31
67:1,3,3,9,7,49  91:1,1,1,15,21,21  97:1,3,1,13,27,49  103:1,1,1,15,7,5
109:1,3,1,15,13,25  115:1,1,5,5,19,61  131:1,3,7,11,23,15,103
137:1,3,7,13,13,15,69  143:1,1,3,13,7,35,63  145:1,3,5,9,1,25,53
157:1,3,1,13,9,35,107  167:1,3,1,5,27,61,31  171:1,1,5,11,19,41,61
185:1,3,5,3,3,13,69  191:1,1,7,13,1,19,1  193:1,3,7,5,13,19,59
203:1,1,3,9,25,29,41  211:1,3,5,13,23,1,55  213:1,3,7,3,13,59,17
"""
"""Primitive polynomial and initial direction numbers of each dimension (Joe, Kuo 2008).

The bits of the number before the colon are the coefficients of the polynomial.
"""

NUM_DIMENSIONS = MAX_COUNTED
"""Number of dimensions."""


def _directions(text: str) -> list[int]:
    """Returns the 32 direction numbers of a dimension, as 32-bit fractions."""
    polynomial, _, initial = text.partition(":")
    coefficients = int(polynomial)
    degree = coefficients.bit_length() - 1
    if degree == 0:  # the van der Corput sequence
        return [1 << (_NUM_BITS - 1 - k) for k in range(_NUM_BITS)]
    v = [int(m) << (_NUM_BITS - 1 - k) for k, m in enumerate(initial.split(","))]
    # The recurrence of Bratley and Fox 1988.
    for k in range(degree, _NUM_BITS):
        number = v[k - degree] ^ (v[k - degree] >> degree)
        for j in range(1, degree):
            number ^= (coefficients >> (degree - j) & 1) * v[k - j]
        v.append(number)
    return v


NO_POINTS = np.zeros((0, 1024), np.uint32)
"""The table of walks without correlated draws."""


@functools.cache
def points() -> np.ndarray:
    """`[NUM_DIMENSIONS, 4 * 256]` uint32: parts of Sobol points, with reversed bits.

    Point t is the exclusive or of four entries of a row, one per byte of t. The entry
    of value x in byte k has the index 256 k + x. Bits are reversed, because the
    scramble works on reversed bits.
    """
    table = np.zeros((NUM_DIMENSIONS, 1024), np.uint32)
    for row, text in zip(table, _DIRECTIONS.split(), strict=True):
        for bit, number in enumerate(_directions(text)):
            byte, shift = divmod(bit, 8)
            reverse = np.uint32(int(f"{number:032b}"[::-1], 2))
            values = np.arange(256, dtype=np.uint32)
            row[256 * byte : 256 * byte + 256] ^= (values >> shift & 1) * reverse
    table.flags.writeable = False
    return table


def root_place(correlates: bool) -> np.uint64:
    """Returns the place of the empty history."""
    return COUNTED_ROOT if correlates else ROOT_PLACE


@jit
def scramble_key(seed, serial, player):
    """Returns the key that scrambles the points of a walk.

    The key is constant for 2^32 walks of a player, after which the points repeat.
    `serial` is the number of the walk, starting at 1.
    """
    epoch = np.uint64(serial - 1) >> np.uint64(32)
    part = (epoch << np.uint64(8)) + np.uint64(player)
    return mix(mix(seed + _SCRAMBLED_PLACE) + part * _GOLDEN)


@jit
def scrambled(point, key):
    """Returns a 32-bit fraction: a point, scrambled as a nested uniform scramble.

    This is the hash of Laine and Karras 2011 with Vegdahl's constants. `point` has
    reversed bits, so that each operation propagates bits of higher significance to bits
    of lower significance only. Bits from 32 on are ignored.
    """
    x = point ^ (point * np.uint64(0x3D20ADEA))
    x = (x + key) * ((key >> np.uint64(32)) | np.uint64(1))
    x ^= x * np.uint64(0x05526C56)
    x ^= x * np.uint64(0x53A22864)
    # Reverses 32 bits.
    ones, pairs = np.uint64(0x55555555), np.uint64(0x33333333)
    halves, full = np.uint64(0x0F0F0F0F), np.uint64(0x00FF00FF)
    x = ((x >> np.uint64(1)) & ones) | ((x & ones) << np.uint64(1))
    x = ((x >> np.uint64(2)) & pairs) | ((x & pairs) << np.uint64(2))
    x = ((x >> np.uint64(4)) & halves) | ((x & halves) << np.uint64(4))
    x = ((x >> np.uint64(8)) & full) | ((x & full) << np.uint64(8))
    return ((x >> np.uint64(16)) | (x << np.uint64(16))) & np.uint64(0xFFFFFFFF)


@jit
def correlated_draw(points, serial, scramble, stream, place):
    """Returns the draw in [0, 1) of a chance move.

    Args:
        points: see the function `points`.
        serial: number of the walk, starting at 1.
        scramble: result of `scramble_key`.
        stream: key of the walk's independent draws, see randomness.py.
        place: counted place of the history.
    """
    low, dimension = mix(stream ^ place), chance_moves_of(place)
    if dimension >= len(points):
        return np.float64(np.int64(low >> np.uint64(11))) * _TO_UNIT
    walk = np.int64(serial) - 1
    point = (
        points[dimension, walk & 255]
        ^ points[dimension, 256 + ((walk >> 8) & 255)]
        ^ points[dimension, 512 + ((walk >> 16) & 255)]
        ^ points[dimension, 768 + ((walk >> 24) & 255)]
    )
    key = mix(scramble + np.uint64(dimension) * _GOLDEN)
    high = scrambled(np.uint64(point), key)
    # An independent draw fills the 21 bits of a double below the 32 bits of the point.
    bits = (high << np.uint64(21)) | (low >> np.uint64(43))
    return np.float64(np.int64(bits)) * _TO_UNIT
