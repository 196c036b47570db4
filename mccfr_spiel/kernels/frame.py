"""Frames: many arrays passed to compiled code as one array of addresses.

Numba spends 0.17 us per array of a call, so thirty arrays cost more than an iteration
of a small game. Therefore a kernel receives a single array, the frame, which holds the
address and the shape of each array, and creates views of the same memory.

A `Layout` lists the arrays of a frame, grouped in records: NamedTuples whose fields are
annotated with an `Entry`, the type and shape of an array.

    LAYOUT = Layout(Task, Tables)
    frame = LAYOUT.frame_of(task, tables)  # in Python
    views = LAYOUT.viewer()
    tables = views(frame, Tables)  # in compiled code, or in Python

So arrays are identified by the names of fields, never by positions.
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
"""Integers per array in a frame: address, number of rows, number of columns.

These three integers are the *slot* of the array.
"""


class Entry(NamedTuple):
    """The type and shape of an array of a record.

    Attributes:
        dtype: type of the elements.
        shape: shape as text, such as "[S]" or "[L P, P - 1]". A comma means that the
            array has two dimensions.
        is_optional: whether the array is empty unless it is needed.
    """

    dtype: np.dtype
    shape: str
    is_optional: bool = False

    @property
    def num_dimensions(self) -> int:
        """Number of dimensions of the array, 1 or 2."""
        return 1 + self.shape.count(",")


@functools.cache
def entries_of(record_class: type) -> dict[str, Entry]:
    """Returns the `Entry` of each field of a record class, by field name, in order."""
    hints = typing.get_type_hints(record_class, include_extras=True)
    return {name: typing.get_args(hint)[1] for name, hint in hints.items()}


def new_record(
    record_class: type, needed: Collection[str] = (), *, spare: int = 0, **sizes: int
) -> Any:
    """Allocates a record whose arrays are zero and have the shapes in the annotations.

    Args:
        record_class: the record class.
        needed: names of the optional arrays to allocate. Other optional arrays are
            empty.
        spare: number of additional rows of zeros in memory behind each array.
        sizes: values of the letters in shapes. Other names in a shape are constants of
            the module that defines the class.
    """
    values = {**vars(sys.modules[record_class.__module__]), **sizes}

    def size_of(part: str) -> int:
        product, _, addend = part.partition("+")
        return math.prod(int(values.get(k, k)) for k in product.split()) + int(
            addend or 0
        )

    arrays = []
    for name, entry in entries_of(record_class).items():
        count, *trailing = map(size_of, entry.shape.strip("[]").split(","))
        if entry.is_optional and name not in needed:
            count = 0
        # A slice keeps the whole array alive, including the spare rows.
        array = np.zeros((count + spare, *trailing), entry.dtype)
        arrays.append(array[:count] if spare else array)
    return record_class(*arrays)


class Layout:
    """Lists the records of a frame, and makes and reads such frames.

    Attributes:
        kinds: the classes of the records, in order.
    """

    def __init__(self, *kinds: type) -> None:
        self.kinds = kinds
        self._first_slots: dict[type, int] = {}
        slot = 0
        for record_class in kinds:
            self._first_slots[record_class] = slot
            slot += len(entries_of(record_class))

    def frame_of(self, *records: Any) -> np.ndarray:
        """Returns the frame: an int64 array `[3 K]` that describes K arrays.

        It contains addresses, so the caller must keep the arrays alive.

        Args:
            records: one record per class, in the order of the layout. The last records
                may be omitted if compiled code does not read them.

        Raises:
            TypeError: the class of a record is wrong, or an array has a type or number
                of dimensions other than annotated, or is not contiguous and aligned.
        """
        slots = []
        for record, record_class in zip(records, self.kinds, strict=False):
            if type(record) is not record_class:
                raise TypeError(
                    f"Expected a record of class {record_class.__name__}, not "
                    f"{type(record).__name__}. Pass the records in the order of the "
                    "layout."
                )
            for (name, entry), array in zip(
                entries_of(record_class).items(), record, strict=True
            ):
                _check_array(array, entry, f"{record_class.__name__}.{name}")
                # For one-dimensional arrays the number of columns is 1 and not used.
                slots.append((array.ctypes.data, *array.shape, 1)[:_WIDTH])
        return np.array(slots, np.int64).ravel()

    def viewer(self) -> Callable[[np.ndarray, Any], Any]:
        """Makes `views(frame, record_class)`, which returns a record of a frame.

        Python and compiled code can call `views`. The arrays of the record are views of
        the memory passed to `frame_of`.
        """
        first_slots = self._first_slots

        def views(frame, record_class):
            slots = enumerate(
                entries_of(record_class).values(), first_slots[record_class]
            )
            return record_class(*(_view(frame, slot, entry) for slot, entry in slots))

        # The class is a constant at compile time, so each class gets its own intrinsic
        # (a function that generates LLVM code).
        @overload(views, jit_options=PASTED)
        def compiled_views(frame, record_class):
            make = _view_maker(
                record_class.instance_class, first_slots[record_class.instance_class]
            )
            return lambda frame, record_class: make(frame)

        return views


def _check_array(array: np.ndarray, entry: Entry, name: str) -> None:
    # Views are built in C order from an address and a shape, without strides.
    is_plain = array.flags.c_contiguous and array.flags.aligned
    fits = (array.dtype, array.ndim) == (entry.dtype, entry.num_dimensions)
    if not (is_plain and fits):
        raise TypeError(
            f"{name} must be a contiguous, aligned array {entry.shape} of "
            f"{entry.dtype}, not one of {array.dtype} with shape {array.shape} and "
            f"strides {array.strides}."
        )


def _view(frame: np.ndarray, slot: int, entry: Entry) -> np.ndarray:
    """Returns the array that a slot describes; for calls from Python."""
    address, *shape = frame[_WIDTH * slot : _WIDTH * (slot + 1)].tolist()
    pointer = ctypes.c_void_p(address)
    return carray(pointer, tuple(shape[: entry.num_dimensions]), entry.dtype)


def _view_maker(record_class: type, first_slot: int) -> Any:
    """Makes the numba intrinsic that returns a record of views.

    Args:
        record_class: the class of the record.
        first_slot: the slot of its first array in the frame.
    """
    entries = list(entries_of(record_class).values())

    def emit(context: Any, frame: Any) -> Any:
        arrays = [
            types.Array(from_dtype(entry.dtype), entry.num_dimensions, "C")
            for entry in entries
        ]

        # LLVM drops all fields that the caller does not use.
        def generate(context, builder, signature, arguments):
            numbers = context.make_array(frame)(context, builder, arguments[0]).data
            values = [
                _emit_view(context, builder, array, numbers, _WIDTH * slot)
                for slot, array in enumerate(arrays, first_slot)
            ]
            return context.make_tuple(builder, signature.return_type, values)

        record: Any = types.BaseTuple.from_types(arrays, record_class)
        return record(frame), generate

    return intrinsic(emit)


def _emit_view(context: Any, builder: Any, array: Any, numbers: Any, at: int) -> Any:
    """Emits code that makes a view from the slot at `numbers[at]`; returns the view."""
    address, *shape = (
        builder.load(cgutils.gep_inbounds(builder, numbers, at + k))
        for k in range(1 + array.ndim)
    )
    item = context.get_data_type(array.dtype)
    stride = context.get_constant(types.intp, context.get_abi_sizeof(item))
    # C order: the last dimension is contiguous.
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
        meminfo=None,  # the view owns no memory, so references are never counted
    )
    return view._getvalue()
