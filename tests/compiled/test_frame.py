"""Arrays that compiled code gets by their addresses are the arrays themselves."""

import gc
from typing import Annotated, NamedTuple

import numba
import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arrays import NODE
from mccfr_spiel.compiled.atomics import prefetch
from mccfr_spiel.compiled.frame import Entry, Layout, entries_of
from mccfr_spiel.compiled.jit import IS_COMPILED, jit

pytestmark = pytest.mark.both

FLOAT = np.dtype(np.float64)


class Floats(NamedTuple):
    table: Annotated[np.ndarray, Entry(FLOAT, "[A, B]", "two dimensions")]
    empty: Annotated[np.ndarray, Entry(FLOAT, "[C]", "nothing")]


class Nodes(NamedTuple):
    nodes: Annotated[np.ndarray, Entry(NODE, "[N]", "records")]
    values: Annotated[np.ndarray, Entry(FLOAT, "[N]", "numbers")]


LAYOUT = Layout(Floats, Nodes)
views = LAYOUT.viewer()


@jit
def change(frame):
    """Writes into three arrays and returns the sizes it saw."""
    floats, nodes = views(frame, Floats), views(frame, Nodes).nodes
    nodes[1]["player"] = nodes[0]["player"] + 1
    floats.table[1, 2] = 7.0
    return len(nodes), *floats.table.shape, len(floats.empty)


def test_a_frame_leads_to_the_same_memory():
    floats = Floats(table=np.zeros((2, 3)), empty=np.zeros(0))
    nodes = Nodes(nodes=np.zeros(4, NODE), values=np.zeros(4))
    nodes.nodes["player"][0] = 4
    assert change(LAYOUT.frame_of(floats, nodes)) == (4, 2, 3, 0)
    assert nodes.nodes["player"].tolist() == [4, 5, 0, 0]
    assert floats.table.tolist() == [[0, 0, 0], [0, 0, 7]]


def test_arrays_that_no_address_and_shape_describe_are_refused():
    packed = np.zeros(3, np.dtype([("flag", "u1"), ("value", "f8")]))
    single, square = np.zeros(3, np.float32), np.zeros((3, 3))
    for array in (np.zeros((4, 4))[:, 1], packed["value"], single, square):
        floats = Floats(table=np.zeros((2, 3)), empty=array)
        with pytest.raises(TypeError, match=r"Floats\.empty, \[C\] of float64"):
            LAYOUT.frame_of(floats)


def test_records_that_are_exchanged_are_refused():
    floats = Floats(table=np.zeros((2, 3)), empty=np.zeros(0))
    nodes = Nodes(nodes=np.zeros(4, NODE), values=np.zeros(4))
    with pytest.raises(TypeError, match="Nodes stands where Floats should be"):
        LAYOUT.frame_of(nodes, floats)


def test_the_order_of_the_fields_in_a_record_decides_nothing():
    class Exchanged(NamedTuple):
        empty: Annotated[np.ndarray, entries_of(Floats)["empty"]]
        table: Annotated[np.ndarray, entries_of(Floats)["table"]]

    layout = Layout(Exchanged)
    views = layout.viewer()
    array = np.zeros((2, 3))
    record = Exchanged(table=array, empty=np.zeros(0))
    views(layout.frame_of(record), Exchanged).table[1, 2] = 7.0
    assert array[1, 2] == 7.0


@numba.njit  # in no cache, which does not keep the code that is looked at below
def fetch(frame, index):
    """Prefetches an entry, in range or not."""
    record = views(frame, Nodes)
    prefetch(record.values, index)
    prefetch(record.nodes, index)


def test_prefetching_does_nothing_else():
    floats, nodes = np.arange(3.0), np.zeros(3, NODE)
    others = Floats(table=np.zeros((0, 0)), empty=np.zeros(0))
    frame = LAYOUT.frame_of(others, Nodes(nodes=nodes, values=floats))
    for index in (0, 2, 3, 10**9, -5):
        fetch(frame, index)
    assert floats.tolist() == [0, 1, 2]
    assert not nodes["player"].any()
    if hasattr(fetch, "inspect_llvm"):
        (code,) = fetch.inspect_llvm().values()
        assert code.count("call void @llvm.prefetch") == 2


def test_solvers_that_take_turns_on_a_growing_tree_do_not_disturb_each_other():
    """Each meets arrays that the other has replaced by larger ones."""
    game = "leduc_poker(players=3)"
    tree = ms.GameTree(game, twin=False)
    together = [ms.Solver(tree, ms.OUTCOME_SAMPLING, seed=seed) for seed in (1, 2)]
    rounds = 12 if IS_COMPILED else 8
    for _ in range(rounds):
        for solver in together:
            solver.iterate(5)
        gc.collect()
    for solver in together:
        own = ms.GameTree(game, twin=False)
        alone = ms.Solver(own, ms.OUTCOME_SAMPLING, seed=solver.seed)
        alone.iterate(5 * rounds)
        mine = solver.average_policy().to_dict()
        for info_state, probs in alone.average_policy().to_dict().items():
            assert mine[info_state] == probs
