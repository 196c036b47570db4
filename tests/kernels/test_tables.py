"""What a frame holds is said once, and two arrays cannot be exchanged unnoticed."""

import typing
from typing import Any, NamedTuple

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.compiled.frame import entries_of
from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.kernels.tables import (
    LAYOUT,
    OPTIONAL,
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


def test_a_record_with_two_entries_exchanged_is_refused():
    first, second, *rest = Tables._fields  # the first two have one type
    hints = typing.get_type_hints(Tables, include_extras=True)
    fields = [(name, hints[name]) for name in (second, first, *rest)]
    exchanged_tables: Any = NamedTuple("ExchangedTables", fields)
    task, tree, tables, *others = records()
    exchanged = exchanged_tables(**tables._asdict())
    with pytest.raises(TypeError, match="ExchangedTables stands where Tables should"):
        frame_of(task, tree, exchanged, *others)


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


def test_a_tree_stores_its_arrays_in_the_order_of_their_record():
    tree = ms.GameTree(
        "kuhn_poker",
        abstraction=lambda state, player: state.information_state_string(player),
    )
    tree.expand_all()
    stored = TreeArrays(*tree.storage)
    for name, array in stored._asdict().items():
        assert np.shares_memory(array, getattr(tree, name)), name
    assert len({array.ctypes.data for array in stored}) == len(stored)


def test_a_solver_has_the_tables_that_its_algorithm_needs():
    for minimizer, sampling, needed in (
        (ms.regret_matching(), ms.EXTERNAL, set()),
        (ms.ftrl(1.0), ms.EXTERNAL, {"weight"}),
        (ms.omd(1.0), ms.BALANCED_OUTCOME, {"weight", "balance"}),
    ):
        tree = ms.GameTree("kuhn_poker").expand_all()
        tables = ms.Solver(tree, ms.Algorithm(sampling, minimizer)).state.tables
        for name, entry in entries_of(Tables).items():
            size = tree.num_infosets if entry.shape == "[I]" else tree.num_sequences
            is_used = name in needed or name not in OPTIONAL
            assert len(getattr(tables, name)) == (size if is_used else 0)
