"""What a frame holds is said once, and two arrays cannot be exchanged unnoticed."""

import numpy as np
import pytest

from mccfr_spiel.compiled.frame import entries_of
from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.kernels.tables import (
    LAYOUT,
    Blocks,
    Passes,
    Plans,
    Tables,
    Task,
    TreeArrays,
    Walk,
    frame_of,
    views,
)

pytestmark = pytest.mark.both


def records():
    """One record of each class, every array with a length of its own."""
    length, made = 1, []
    for kind in LAYOUT.kinds:
        arrays = {}
        for name, entry in entries_of(kind).items():
            length += 1
            shape = (length, 2) if entry.num_dimensions == 2 else (length,)
            arrays[name] = np.zeros(shape, entry.dtype)
        made.append(kind(**arrays))
    return made


@jit
def all_views(frame):
    return (
        views(frame, Task),
        views(frame, TreeArrays),
        views(frame, Tables),
        views(frame, Walk),
        views(frame, Passes),
        views(frame, Plans),
        views(frame, Blocks),
    )


def test_compiled_code_sees_every_array_by_its_name():
    given = records()
    seen = all_views(frame_of(*given))
    for record, view in zip(given, seen, strict=True):
        assert type(view) is type(record)
        for name, array in record._asdict().items():
            same = getattr(view, name)
            assert (same.dtype, same.shape) == (array.dtype, array.shape)
            assert same.ctypes.data == array.ctypes.data, name


@pytest.mark.parametrize("place", range(5))
def test_records_in_another_order_are_refused(place):
    exchanged = records()
    exchanged[place : place + 2] = exchanged[place + 1], exchanged[place]
    with pytest.raises(TypeError, match="stands where"):
        frame_of(*exchanged)


@pytest.mark.parametrize("kind", [Task, TreeArrays, Tables, Walk, Passes])
def test_an_array_of_another_type_is_refused(kind):
    for name, entry in entries_of(kind).items():
        given = records()
        number = LAYOUT.kinds.index(kind)
        shape = (3, 2) if entry.num_dimensions == 2 else (3,)
        other = np.zeros(shape, np.float32)
        given[number] = given[number]._replace(**{name: other})
        with pytest.raises(TypeError, match=f"{kind.__name__}.{name}"):
            frame_of(*given)
