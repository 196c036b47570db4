"""Clusters give the bits of one process, also with lost workers and interruptions.

The workers are objects in this process; arguments and results are pickled.
`test_ray.py` tests Ray workers.
"""

import warnings

import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.solving import cluster_batches as batches
from mccfr_spiel.solving.cluster import Ray
from mccfr_spiel.solving.crews import Crew
from tests.small_games import uneven_deal
from tests.solving.in_this_process import InThisProcess
from tests.vectors import GOOFSPIEL, KUHN_3, LEDUC, batched, bits

GAMES = {
    "kuhn_3": KUHN_3,
    "goofspiel": GOOFSPIEL,
    "leduc": LEDUC,
    "liars_dice": "liars_dice(dice_sides=3)",
    "auction": "first_sealed_auction(max_value=4)",
}
SPLIT = {
    name: algorithm._replace(batch=3)
    for name, algorithm in ms.ALGORITHMS.items()
    if algorithm.sampling.is_sampled and name != "average_strategy_sampling"
}
"""Every named algorithm whose batches can be split."""


@pytest.fixture(autouse=True)
def split_small_batches(monkeypatch):
    """Has clusters split batches of every size, over blocks of a few infosets."""
    monkeypatch.setattr(batches, "LEAST_NODES", 1)
    monkeypatch.setattr(cutting, "LEAST_BLOCK_OF_BATCH", 24)
    monkeypatch.setattr(cutting, "NUM_BLOCKS_OF_BATCH", 12)


def solvers_of(algorithm, *clusters, game=KUHN_3, threads=1):
    """Solvers on one tree; the first has no cluster."""
    tree = GameTree(game).expand_all()
    return [
        Solver(tree, algorithm, seed=3, cluster=cluster, threads=threads)
        for cluster in (None, *clusters)
    ]


def assert_same_bits(solvers, iterations):
    """Asserts equal bits after several pieces of the run."""
    for more in iterations:
        for solver in solvers:
            solver.iterate(more)
        alone, *others = map(bits, solvers)
        assert all(other == alone for other in others)


def assert_equal(solvers, iterations):
    """Asserts equal bits, and that all solvers with a cluster have split batches."""
    assert_same_bits(solvers, iterations)
    for solver in solvers[1:]:
        assert solver.cluster.num_shared > 0


class Lossy(Crew):
    """A crew that loses workers at given turns.

    Attributes:
        losing: the indices, among all calls of `gather`, at which the worker is lost.
            Workers are lost after the work at negative indices.
        hidden: workers that `is_ready` does not report yet.
        turns: the number of `gather` calls.
        begun: the number of started workers.
        parcels: the number of tables or packs sent by the driver.
    """

    def __init__(self, num_workers: int, losing=()) -> None:
        super().__init__(num_workers)
        self.losing = set(losing)
        self.turns = self.begun = self.parcels = 0
        self.hidden: set[int] = set()

    def begin(self, nth, recipe):
        self.begun += 1
        super().begin(nth, recipe)

    def is_ready(self, nth):
        return nth not in self.hidden and super().is_ready(nth)

    def parcel(self, content):
        self.parcels += 1
        return super().parcel(content)

    def ask(self, nth, method, *arguments):
        if method != "gather":
            return super().ask(nth, method, *arguments)
        self.turns += 1
        if self.turns in self.losing:
            del self.workers[nth]
        parcel = super().ask(nth, method, *arguments)
        if -self.turns in self.losing:
            del self.workers[nth]
            return None
        return parcel


class LossyCluster:
    """A cluster with an accessible crew."""

    def __init__(self, workers, losing=()):
        self.crew = Lossy(workers, losing)

    def connect(self):
        return self.crew


# --- the bits ------------------------------------------------------------------------


ROWS = [("external_sampling", game) for game in GAMES] + [
    (name, list(GAMES)[k % len(GAMES)]) for k, name in enumerate(SPLIT)
]
"""External sampling with every game, and every algorithm with one game."""


@pytest.mark.parametrize(("name", "game"), list(dict.fromkeys(ROWS)))
def test_workers_give_the_bits_of_one_process(name, game):
    for alternating in (True, False):
        algorithm = SPLIT[name]._replace(alternating=alternating)
        clusters = [*map(InThisProcess, (1, 2, 3)), LossyCluster(2, {3, -6})]
        solvers = solvers_of(algorithm, *clusters, game=GAMES[game])
        assert_equal(solvers, (1, 1, 1))


# --- what is refused -----------------------------------------------------------------


def plain(policy, memory, gradient, parameters, t):
    return 0.0


@pytest.mark.parametrize(
    ("algorithm", "more", "words"),
    [
        (ms.CFR_PLUS, {}, "samples nothing"),
        (ms.EXTERNAL_SAMPLING, {}, r"has batch=1.*_replace\(batch=512\)"),
        (batched(ms.AVERAGE_STRATEGY), {}, "each walk depends on the previous walk"),
        (batched(), {"store": "none"}, "store='none' keeps no tree"),
        (
            batched(rule=algorithms.own_rule(plain, compiled=False)),
            {},
            "is plain Python",
        ),
    ],
)
def test_unsplittable_algorithms_are_refused(algorithm, more, words):
    with pytest.raises(ValueError, match=words):
        Solver("kuhn_poker", algorithm, cluster=InThisProcess(2), **more)


def test_a_game_that_no_string_makes_is_refused_in_words():
    with pytest.raises(ValueError, match="load the game from a string, but"):
        Solver(uneven_deal(), batched(), cluster=InThisProcess(2))


def test_invalid_clusters_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="workers=0"):
        Ray(workers=0)
    with pytest.raises(ValueError, match="threads=0"):
        Ray(threads=0)
    with pytest.raises(ValueError, match="patience=-1"):
        Ray(patience=-1)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ValueError, match=r"pip install 'mccfr_spiel\[ray\]'"):
        Solver("kuhn_poker", batched(), cluster=Ray(workers=2))


# --- losses, errors and interruptions ------------------------------------------------


@pytest.mark.parametrize("first", [3, 6])
def test_lost_worker_is_replaced(first):
    for losing in ({first}, {-first}, {first, first + 1}, {-first, first + 2}):
        cluster = LossyCluster(2, losing)
        assert_equal(solvers_of(batched(), cluster), (1, 1, 2, 2))
        assert cluster.crew.begun == 2 + len(losing)


def test_repeatedly_lost_worker_is_abandoned_with_warning():
    cluster = LossyCluster(2)
    solvers = solvers_of(batched(), cluster)
    cluster.crew.losing = set(range(1, 99))
    with pytest.warns(RuntimeWarning, match=r"Worker [01] .* 4 times in a row"):
        assert_equal(solvers, (1, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_equal(solvers, (3,))  # the driver alone
    assert cluster.crew.begun == 8
