"""What `Solver.memory` says is what Python's allocator was asked for."""

import gc
import tracemalloc

import numpy as np
import pytest

import games  # noqa: F401  registers them
import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver

SEARCH = "python_search(turns=4)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "name", "iterations"),
    [
        ("leduc_poker", "external_sampling", 500),
        ("leduc_poker", "cfr", 2),
        ("leduc_poker", "balanced_outcome_sampling", 2),
        ("liars_dice(dice_sides=4)", "omd", 500),
        (SEARCH, "cfr_plus", 2),
    ],
)
def test_memory_is_what_was_allocated(game, name, iterations):
    Solver(game, ms.ALGORITHMS[name]).iterate(iterations)  # whatever is made once
    gc.collect()
    tracemalloc.start()
    try:
        solver = Solver(game, ms.ALGORITHMS[name])
        solver.iterate(iterations)
        gc.collect()
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    memory = solver.memory()
    numba_keeps = 80_000
    assert memory.total == pytest.approx(allocated, rel=0.05, abs=numba_keeps)
    assert memory.total > 5 * numba_keeps
    assert memory.num_nodes == solver.tree.num_nodes


@pytest.mark.parametrize("name", ["cfr", "ftrl", "balanced_outcome_sampling"])
def test_documented_bytes_are_those_of_the_arrays(name):
    tree = GameTree("leduc_poker").expand_all()
    inner = int((tree.nodes["num_children"] > 0).sum())
    leaves = tree.num_nodes - inner
    memory = Solver(tree, ms.ALGORITHMS[name]).memory()
    num_infosets, num_sequences = memory.num_infosets, memory.num_sequences
    slack = 1.5
    nodes = 20 * tree.num_nodes
    assert nodes <= memory.nodes <= slack * nodes
    infosets = 40 * num_infosets + 8 * num_sequences
    assert infosets <= memory.infosets <= slack * infosets
    per_sequence = 40 if name.startswith("balanced") else 32
    per_infoset = 21 if name == "ftrl" else 13
    tables = per_sequence * num_sequences + per_infoset * num_infosets
    stack = 256 * (4 + 4 + 8 + 8)
    assert tables <= memory.tables <= slack * tables + stack
    if name == "cfr":
        passes = 2 * leaves * (8 + 4) + 16 * num_sequences + 4 * num_infosets
        assert memory.passes == pytest.approx(passes, abs=100)
    else:
        assert memory.passes < 100
    assert memory.bytes_per_node == memory.nodes / tree.num_nodes
    assert memory.bytes_per_sequence == pytest.approx(
        (memory.total - memory.nodes - memory.states) / num_sequences
    )


def test_compiled_rules_spare_strings_and_origins():
    tree = GameTree(SEARCH).expand_all()
    memory = Solver(tree).memory()
    assert memory.nodes < 16 * tree.num_nodes + 5000
    assert memory.names < 100 * memory.num_infosets + 5000
    assert memory.infosets == pytest.approx(
        32 * memory.num_infosets + 8 * memory.num_sequences, rel=0.1
    )
    before = memory.names
    tree.find("nothing")  # makes an index: 8 bytes of a hash, 4 of its infoset
    assert tree.memory()["names"] - before == 12 * np.int64(memory.num_infosets)
