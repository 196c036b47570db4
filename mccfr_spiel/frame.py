"""Arrays handed to compiled code by their addresses.

Numba takes a sixth of a microsecond for each array of a call; thirty of them cost more
than an iteration of a small game. So a kernel gets a single array, the frame, with the
address and the shape of each of them, and makes views of the same memory.
"""

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.numpy_support import carray

from mccfr_spiel.compile import jit

_WIDTH = 3
"""What a slot has of an array: address, rows, columns."""


def frame_of(arrays: Iterable[np.ndarray], dtypes: Iterable[np.dtype]) -> np.ndarray:
    """`[3 K]` int64, a frame of arrays of one or two dimensions.

    The caller keeps them alive.

    Args:
        arrays: one for each slot.
        dtypes: what compiled code takes them for; there may be more.

    Raises:
        TypeError: an array is of another type, or not contiguous and aligned.
    """
    slots = []
    for array, dtype in zip(arrays, dtypes, strict=False):
        is_plain = array.flags.c_contiguous and array.flags.aligned
        if array.dtype != dtype or not is_plain:
            raise TypeError(
                f"An array of {array.dtype}, strides {array.strides}, cannot be "
                f"handed over as one of {dtype}."
            )
        slots.append((array.ctypes.data, *array.shape, 1)[:_WIDTH])
    return np.array(slots, np.int64).ravel()


def _pointer(address):
    return ctypes.c_void_p(int(address))


def _cast(context: Any, address: Any) -> Any:
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


_to_pointer: Any = intrinsic(_cast)


@overload(_pointer)
def _compiled_pointer(address):
    return lambda address: _to_pointer(address)


@jit
def vector(frame, slot, dtype):
    """The array of one dimension in a slot of a frame."""
    at = _WIDTH * slot
    return carray(_pointer(frame[at]), (frame[at + 1],), dtype)


@jit
def matrix(frame, slot, dtype):
    """The array of two dimensions in a slot of a frame."""
    at = _WIDTH * slot
    return carray(_pointer(frame[at]), (frame[at + 1], frame[at + 2]), dtype)
