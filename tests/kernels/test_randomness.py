"""Draws are independent between seeds, iterations, players and places.

Frames share memory with their arrays.
"""

import itertools
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from mccfr_spiel.common.arrays import NODE
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.randomness import (
    ROOT_PLACE,
    child_place,
    infoset_place,
    mix,
    stream_key,
    uniform,
)

pytestmark = pytest.mark.both


def key(seed, iteration, player, num_players):
    return np.uint64(stream_key(np.uint64(seed), iteration, player, num_players))


def test_mixer_equals_splitmix64():
    # The first two outputs of splitmix64 from the seed 0 (Vigna's reference program).
    golden = 0x9E3779B97F4A7C15
    outputs = [int(mix(np.uint64(golden * n % 2**64))) for n in (1, 2)]
    assert [output % 2**64 for output in outputs] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
    ]


def test_keys_of_walks_are_distinct():
    for players in (1, 2, 3):
        walks = itertools.product(range(4), range(1, 500), range(players))
        keys = [int(key(*walk, players)) for walk in walks]
        assert len(set(keys)) == 4 * 499 * players


def test_draws_are_uniform_and_uncorrelated():
    place = np.uint64(infoset_place(0, "a state"))
    other = np.uint64(infoset_place(1, "a state"))
    iterations = range(1, 10_001)
    series = [
        [uniform(key(0, t, 0, 2), place) for t in iterations],
        [uniform(key(0, t, 1, 2), place) for t in iterations],
        [uniform(key(1, t, 0, 2), place) for t in iterations],
        [uniform(key(0, t, 0, 2), other) for t in iterations],
        [uniform(key(0, t + 1, 0, 2), place) for t in iterations],
    ]
    draws = np.array(series)
    assert draws.min() >= 0
    assert draws.max() < 1
    for row in draws:
        counts = np.bincount((row * 20).astype(int), minlength=20)
        # chi-square with 19 degrees of freedom exceeds 50 once in 7000 times
        assert ((counts - 500) ** 2 / 500).sum() < 50
    correlations = np.corrcoef(draws) - np.eye(len(draws))
    assert np.abs(correlations).max() < 0.05  # five standard errors


def test_places_are_distinct():
    root = np.uint64(ROOT_PLACE)
    places = [root]
    level = [root]
    for _ in range(5):
        level = [np.uint64(child_place(p, k)) for p in level for k in range(6)]
        places += level
    assert len({int(place) for place in places}) == sum(6**depth for depth in range(6))
    names = {infoset_place(player, f"{n}") for player in range(3) for n in range(1000)}
    assert len(names) == 3000


# --- frames ------------------------------------------------------------------


FLOAT = np.dtype(np.float64)


class Floats(NamedTuple):
    table: Annotated[np.ndarray, Entry(FLOAT, "[A, B]")]
    empty: Annotated[np.ndarray, Entry(FLOAT, "[C]")]


class Nodes(NamedTuple):
    nodes: Annotated[np.ndarray, Entry(NODE, "[N]")]
    values: Annotated[np.ndarray, Entry(FLOAT, "[N]")]


LAYOUT = Layout(Floats, Nodes)
views = LAYOUT.viewer()


@jit
def change(frame):
    """Writes to two arrays of the frame and returns the sizes of three."""
    floats, nodes = views(frame, Floats), views(frame, Nodes).nodes
    nodes[1]["player"] = nodes[0]["player"] + 1
    floats.table[1, 2] = 7.0
    return len(nodes), *floats.table.shape, len(floats.empty)


def test_views_of_a_frame_share_memory_with_its_arrays():
    floats = Floats(table=np.zeros((2, 3)), empty=np.zeros(0))
    nodes = Nodes(nodes=np.zeros(4, NODE), values=np.zeros(4))
    nodes.nodes["player"][0] = 4
    assert change(LAYOUT.frame_of(floats, nodes)) == (4, 2, 3, 0)
    assert nodes.nodes["player"].tolist() == [4, 5, 0, 0]
    assert floats.table.tolist() == [[0, 0, 0], [0, 0, 7]]


def test_unsupported_arrays_raise():
    packed = np.zeros(3, np.dtype([("flag", "u1"), ("value", "f8")]))
    single, square = np.zeros(3, np.float32), np.zeros((3, 3))
    for array in (np.zeros((4, 4))[:, 1], packed["value"], single, square):
        floats = Floats(table=np.zeros((2, 3)), empty=array)
        with pytest.raises(
            TypeError, match=r"Floats\.empty must be .* \[C\] of float64"
        ):
            LAYOUT.frame_of(floats)
