"""Arrays that compiled code gets by their addresses are the arrays themselves."""

import gc

import numba
import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.compile import jit
from mccfr_spiel.frame import frame_of, matrix, vector
from mccfr_spiel.game_tree import NODE
from mccfr_spiel.prefetch import prefetch

FLOAT = np.dtype(np.float64)


@jit
def change(frame):
    """Writes into three arrays and returns the sizes it saw."""
    nodes = vector(frame, 0, NODE)
    table = matrix(frame, 1, FLOAT)
    empty = vector(frame, 2, FLOAT)
    nodes[1]["player"] = nodes[0]["player"] + 1
    table[1, 2] = 7.0
    return len(nodes), table.shape[0], table.shape[1], len(empty)


def test_a_frame_leads_to_the_same_memory():
    nodes, table, empty = np.zeros(4, NODE), np.zeros((2, 3)), np.zeros(0)
    nodes["player"][0] = 4
    assert change(frame_of((nodes, table, empty), (NODE, FLOAT, FLOAT))) == (4, 2, 3, 0)
    assert nodes["player"].tolist() == [4, 5, 0, 0]
    assert table.tolist() == [[0, 0, 0], [0, 0, 7]]


def test_arrays_that_no_address_and_shape_describe_are_refused():
    packed = np.zeros(3, np.dtype([("flag", "u1"), ("value", "f8")]))
    single = np.zeros(3, np.float32)
    for array in (np.zeros((4, 4))[:, 1], packed["value"], single):
        with pytest.raises(TypeError, match="cannot be handed over as one of float64"):
            frame_of([array], [FLOAT])


@numba.njit  # in no cache, which does not keep the code that is looked at below
def fetch(frame, index):
    """Prefetches an entry, in range or not."""
    prefetch(vector(frame, 0, FLOAT), index)
    prefetch(vector(frame, 1, NODE), index)


def test_prefetching_does_nothing_else():
    floats, nodes = np.arange(3.0), np.zeros(3, NODE)
    frame = frame_of((floats, nodes), (FLOAT, NODE))
    for index in (0, 2, 3, 10**9, -5):
        fetch(frame, index)
    assert floats.tolist() == [0, 1, 2]
    assert not nodes["player"].any()
    if hasattr(fetch, "inspect_llvm"):
        (code,) = fetch.inspect_llvm().values()
        assert code.count("call void @llvm.prefetch") == 2


@pytest.mark.parametrize("algorithm", [ms.EXTERNAL_SAMPLING, ms.OUTCOME_SAMPLING])
def test_solvers_that_take_turns_on_a_growing_tree_do_not_disturb_each_other(algorithm):
    """Each meets arrays that the other has replaced by larger ones."""
    game = "leduc_poker(players=3)"
    tree = ms.GameTree(game)
    together = [ms.Solver(tree, algorithm, seed=seed) for seed in (1, 2)]
    for _ in range(40):
        for solver in together:
            solver.iterate(5)
        gc.collect()
    for solver in together:
        alone = ms.Solver(game, algorithm, seed=solver.seed)
        alone.iterate(200)
        mine = solver.average_policy().to_dict()
        for info_state, probs in alone.average_policy().to_dict().items():
            assert mine[info_state] == probs
