"""Correlated chance draws: a scrambled Sobol sequence over the walks of a player.

The chance move after d other chance moves uses dimension d of the sequence, and the
number of the walk selects the point. Draws of many walks therefore cover the outcomes
more evenly than independent draws (Li, Chen, Huang 2026). Each draw is a pure function
of seed, player, number of the walk and place.

From dimension NUM_DIMENSIONS on, draws are independent. Draws of players must stay
independent, too: correlating the opponents' draws with the number of the walk prevents
convergence.

The scramble is a random linear scramble with a random digital shift (Matousek 1998). It
has the variance of Owen's nested scramble (Owen 2003). Linear scrambles can be applied
to the direction numbers in advance, so a draw only looks up four numbers.
"""

import functools

import numpy as np

from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.randomness import (
    COUNTED_ROOT,
    ROOT_PLACE,
    chance_moves_of,
    mix,
)

NUM_DIMENSIONS = 32
"""Number of dimensions of the sequence."""

NUM_COLUMNS = 1026
"""Row length of `points`."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TO_UNIT = 2.0**-53
_NUM_BITS = 32
_NUM_POINTS = 2**_NUM_BITS
_KEY = 1024

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

NO_POINTS = np.zeros((0, NUM_COLUMNS), np.uint32)
"""The table of walks without correlated draws."""


@functools.cache
def directions() -> np.ndarray:
    """`[NUM_DIMENSIONS, 32]` uint32: direction numbers as fractions of 2^32."""
    numbers = np.array([_directions(text) for text in _DIRECTIONS.split()], np.uint32)
    numbers.flags.writeable = False
    return numbers


def _directions(text: str) -> list[int]:
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


def scrambled_points(seed: int, num_players: int) -> np.ndarray:
    """Returns the table from which walks draw.

    Args:
        seed: seed of the solver, in [0, 2^64).
        num_players: number of players, whose sequences are scrambled independently.

    Returns:
        `[num_players * NUM_DIMENSIONS, NUM_COLUMNS]` uint32. Point t of a row's
        dimension is the exclusive or of four entries, one per byte of t: the entry of
        value x in byte k has the index 256 k + x. The last two entries are a key for
        walks after the first 2^32.
    """
    tables = []
    for player in range(num_players):
        # Raw output, because NumPy may change the algorithms of distributions.
        draws = np.random.PCG64([seed, player]).random_raw((NUM_DIMENSIONS, 34))
        digits = _linear_scramble((draws[:, :32] >> 32).astype(np.uint32))
        table = np.zeros((NUM_DIMENSIONS, NUM_COLUMNS), np.uint32)
        values = np.arange(256, dtype=np.uint32)
        for bit in range(_NUM_BITS):
            byte, shift = divmod(bit, 8)
            part = (values >> shift & 1) * digits[:, bit : bit + 1]
            table[:, 256 * byte : 256 * byte + 256] ^= part
        table[:, :256] ^= (draws[:, 32:33] >> 32).astype(np.uint32)  # digital shift
        table[:, _KEY] = draws[:, 33] >> 32
        table[:, _KEY + 1] = draws[:, 33] & 0xFFFFFFFF
        tables.append(table)
    return np.concatenate(tables)


def _linear_scramble(draws: np.ndarray) -> np.ndarray:
    """Returns direction numbers multiplied by random lower triangular matrices.

    `draws` `[NUM_DIMENSIONS, 32]` contains random bits for the rows of the matrices. A
    digit of the result is the digit itself plus random digits of higher significance.
    """
    result = np.zeros((NUM_DIMENSIONS, _NUM_BITS), np.uint32)
    for digit in range(_NUM_BITS):
        bit = _NUM_BITS - 1 - digit
        higher = np.uint32(-(1 << (bit + 1)) % 2**32)
        row = (draws[:, digit : digit + 1] & higher) | np.uint32(1 << bit)
        parity = directions() & row
        for shift in (16, 8, 4, 2, 1):
            parity ^= parity >> np.uint32(shift)
        result |= (parity & np.uint32(1)) << np.uint32(bit)
    return result


def root_place(correlates: bool) -> np.uint64:
    """Returns the place of the empty history."""
    return COUNTED_ROOT if correlates else ROOT_PLACE


@inlined
def correlated_draw(points, player, serial, stream, place):
    """Returns the draw in [0, 1) of a chance move.

    Args:
        points: table of `scrambled_points`.
        player: the updated player.
        serial: number of the walk among all walks of the player, starting at 1.
        stream: key of the walk's independent draws, see randomness.py.
        place: counted place of the history.
    """
    low, dimension = mix(stream ^ place), chance_moves_of(place)
    if dimension >= NUM_DIMENSIONS:
        return np.float64(np.int64(low >> np.uint64(11))) * _TO_UNIT
    # Numba does not check unsigned indices for negative values.
    row = np.uint64(np.int64(player) * NUM_DIMENSIONS + dimension)
    walk = np.int64(serial) - 1
    point = np.uint64(
        points[row, walk & 255]
        ^ points[row, 256 + ((walk >> 8) & 255)]
        ^ points[row, 512 + ((walk >> 16) & 255)]
        ^ points[row, 768 + ((walk >> 24) & 255)]
    )
    if walk >= _NUM_POINTS:  # the points repeat with another digital shift
        key = (np.uint64(points[row, _KEY]) << np.uint64(32)) | points[row, _KEY + 1]
        point ^= mix(key + np.uint64(walk >> 32) * _GOLDEN) >> np.uint64(32)
    # An independent draw fills the 21 bits of a double below the 32 bits of the point.
    bits = (point << np.uint64(21)) | (low >> np.uint64(43))
    return np.float64(np.int64(bits)) * _TO_UNIT
