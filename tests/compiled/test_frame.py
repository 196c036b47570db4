"""Arrays that compiled code gets by their addresses are the arrays themselves."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest

from mccfr_spiel.arrays import NODE
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import jit

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
