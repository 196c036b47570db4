"""Arrays handed to compiled code by their addresses.

Numba spends a sixth of a microsecond on each array of a call, so thirty arrays cost
more than an iteration of a small game. A kernel therefore takes a single array, the
frame, which holds the address and the shape of every other array, and makes views of
the same memory for itself.

A `Layout` says which arrays a frame holds. They are grouped in records: NamedTuples
whose fields are annotated with an `Entry`, the type and the shape of one array. Both
sides of a call go by these classes. `Layout.frame_of` takes one value of each class,
and compiled code gets the same class back from the function that `Layout.viewer` makes.
So an array is known by its name everywhere and by its position nowhere.

Compiled code can also ask the processor for memory before it is needed, by `prefetch`.
Which node a walk visits next depends on the draw at the present one. In a tree much
larger than the processor's caches it would wait for memory at every step. So all
children are asked for before the draw is made, and arrive while it is.
"""

import ctypes
import functools
import math
import sys
import typing
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import carray, from_dtype

from mccfr_spiel.kernels.drafts import PASTED

_WIDTH = 3
"""The numbers in a slot, one slot for each array: address, rows, columns."""


class Entry(NamedTuple):
    """An array of a record, whose docstring says what the array holds.

    Attributes:
        dtype: of its elements.
        shape: in words, such as "[S]" or "[L P, P - 1]"; it has a comma if the array
            has two dimensions.
        is_optional: whether the array has length 0 for those that do not need it.
    """

    dtype: np.dtype
    shape: str
    is_optional: bool = False

    @property
    def num_dimensions(self) -> int:
        """1 or 2."""
        return 1 + self.shape.count(",")


@functools.cache
def entries_of(kind: type) -> dict[str, Entry]:
    """The entries of a record class by the names of its fields, in their order."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name: typing.get_args(hint)[1] for name, hint in hints.items()}


def new_record(
    kind: type, needed: Collection[str] = (), *, spare: int = 0, **sizes: int
) -> Any:
    """A record whose arrays hold zeros, with room as their entries say.

    Args:
        kind: the class of the record.
        needed: the names of optional arrays that are wanted; others have length 0.
        spare: how many rows of zeros lie in memory behind each array.
        sizes: what each letter in the shapes stands for. Names of constants stand for
            those of the module that has the class.
    """
    known = {**vars(sys.modules[kind.__module__]), **sizes}

    def size_of(part: str) -> int:
        product, _, more = part.partition("+")
        return math.prod(int(known.get(k, k)) for k in product.split()) + int(more or 0)

    arrays = []
    for name, entry in entries_of(kind).items():
        count, *others = map(size_of, entry.shape.strip("[]").split(","))
        if entry.is_optional and name not in needed:
            count = 0
        array = np.zeros((count + spare, *others), entry.dtype)
        arrays.append(array[:count] if spare else array)
    return kind(*arrays)


class Layout:
    """The records in a frame, in the order of their slots.

    Attributes:
        kinds: the record classes.
    """

    def __init__(self, *kinds: type) -> None:
        self.kinds = kinds
        self._first_slots: dict[type, int] = {}
        slot = 0
        for kind in kinds:
            self._first_slots[kind] = slot
            slot += len(entries_of(kind))

    def frame_of(self, *records: Any) -> np.ndarray:
        """`[3 K]` int64, a frame of the K arrays in some records.

        The caller keeps the arrays alive.

        Args:
            records: one of each class, in the layout's order; some of the last may be
                missing if compiled code does not look at them.

        Raises:
            TypeError: a record is of another class, or one of its arrays does not match
                its entry or is not contiguous and aligned.
        """
        slots = []
        for record, kind in zip(records, self.kinds, strict=False):
            if type(record) is not kind:
                raise TypeError(
                    f"{type(record).__name__} stands where {kind.__name__} should be."
                )
            for (name, entry), array in zip(
                entries_of(kind).items(), record, strict=True
            ):
                _check_array(array, entry, f"{kind.__name__}.{name}")
                slots.append((array.ctypes.data, *array.shape, 1)[:_WIDTH])
        return np.array(slots, np.int64).ravel()

    def viewer(self) -> Callable[[np.ndarray, Any], Any]:
        """Makes `views(frame, kind)`, which gives the record of a class in a frame.

        Compiled code can call it, too. Its arrays are views of the memory that
        `frame_of` was given.
        """
        first_slots = self._first_slots

        def views(frame, kind):
            slots = enumerate(entries_of(kind).values(), first_slots[kind])
            return kind(*(_view(frame, slot, entry) for slot, entry in slots))

        @overload(views, jit_options=PASTED)
        def compiled_views(frame, kind):
            make = _view_maker(kind.instance_class, first_slots[kind.instance_class])
            return lambda frame, kind: make(frame)

        return views


def _check_array(array: np.ndarray, entry: Entry, name: str) -> None:
    is_plain = array.flags.c_contiguous and array.flags.aligned
    fits = (array.dtype, array.ndim) == (entry.dtype, entry.num_dimensions)
    if not (is_plain and fits):
        raise TypeError(
            f"An array of {array.dtype}, shape {array.shape}, strides {array.strides}, "
            f"cannot be handed over as {name}, {entry.shape} of {entry.dtype}."
        )


def _view(frame: np.ndarray, slot: int, entry: Entry) -> np.ndarray:
    """The array in a slot, as plain Python makes it."""
    address, *shape = frame[_WIDTH * slot : _WIDTH * (slot + 1)].tolist()
    pointer = ctypes.c_void_p(address)
    return carray(pointer, tuple(shape[: entry.num_dimensions]), entry.dtype)


def _view_maker(kind: type, first_slot: int) -> Any:
    """The intrinsic that makes a record of views out of the slots from one on."""
    entries = list(entries_of(kind).values())

    def emit(context: Any, frame: Any) -> Any:
        arrays = [
            types.Array(from_dtype(entry.dtype), entry.num_dimensions, "C")
            for entry in entries
        ]

        def generate(context, builder, signature, arguments):
            numbers = context.make_array(frame)(context, builder, arguments[0]).data
            values = [
                _emit_view(context, builder, array, numbers, _WIDTH * slot)
                for slot, array in enumerate(arrays, first_slot)
            ]
            return context.make_tuple(builder, signature.return_type, values)

        record: Any = types.BaseTuple.from_types(arrays, kind)
        return record(frame), generate

    return intrinsic(emit)


def _emit_view(context: Any, builder: Any, array: Any, numbers: Any, at: int) -> Any:
    """Emits the code that makes a view by a slot's numbers, which begin at `at`."""
    address, *shape = (
        builder.load(cgutils.gep_inbounds(builder, numbers, at + k))
        for k in range(1 + array.ndim)
    )
    item = context.get_data_type(array.dtype)
    stride = context.get_constant(types.intp, context.get_abi_sizeof(item))
    strides = []
    for length in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, length)
    view = context.make_array(array)(context, builder)
    populate_array(
        view,
        data=builder.inttoptr(address, item.as_pointer()),
        shape=shape,
        strides=strides,
        itemsize=strides[-1],
        meminfo=None,  # the view owns no memory, so that references are never counted
    )
    return view._getvalue()
