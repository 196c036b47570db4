"""Ray workers on this machine give the bits of one process, also after a kill."""

import time

import pytest

from mccfr_spiel import GameTree, Solver
from mccfr_spiel.solving import cluster_batches
from mccfr_spiel.solving.cluster import Ray
from tests.vectors import batched, bits

pytestmark = pytest.mark.filterwarnings("ignore")  # raised by Ray
GAME = "kuhn_poker"


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    yield ray
    ray.shutdown()


@pytest.fixture(autouse=True)
def split_small_batches(monkeypatch):
    monkeypatch.setattr(cluster_batches, "LEAST_NODES", 1)


def test_ray_workers_give_the_bits_of_one_process_after_a_kill(ray):
    tree = GameTree(GAME).expand_all()
    algorithm = batched(batch=40)
    alone = Solver(tree, algorithm, seed=3)
    split = Solver(tree, algorithm, seed=3, cluster=Ray(workers=2))
    driver = split.cluster
    assert driver is not None
    crew = driver.crew
    for more in (1, 9):
        for solver in (alone, split):
            solver.iterate(more)
        assert bits(split) == bits(alone)
    assert sorted(crew.workers) == [0, 1]
    killed = crew.workers[1]
    ray.kill(killed)
    # Each pass makes an iteration. The new worker joins after some iterations.
    last = time.monotonic() + 120
    while crew.workers[1] is killed or not driver._is_present[1]:
        assert time.monotonic() < last
        time.sleep(1.0)  # frees a core
        for solver in (alone, split):
            solver.iterate(5)
    for solver in (alone, split):
        solver.iterate(5)
    assert crew.workers[1] is not killed
    assert bits(split) == bits(alone)
