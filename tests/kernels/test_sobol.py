"""Correlated chance draws: their distribution, their bits, and what they gain."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, qmc

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.arenas import sharing, tree_arenas
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.kernels import sobol
from mccfr_spiel.kernels.randomness import (
    COUNTED_PLACES,
    COUNTED_ROOT,
    chance_moves_of,
    place_below,
    stream_key,
    uniform,
)
from mccfr_spiel.kernels.sampling import plain_draw_chance
from tests.reference import Draw, Node, Textbook
from tests.solving.in_this_process import InThisProcess
from tests.vectors import GOOFSPIEL, KUHN_3, LEDUC, batched, bits, follow_textbook
from tests.vectors import tables_by_name as tables_of

EXTERNAL = algorithms.external(chance_draws="sobol")
OUTCOME = ms.OUTCOME._replace(chance_draws="sobol")
SAMPLINGS = {
    "external": EXTERNAL,
    "chance": ms.CHANCE._replace(chance_draws="sobol"),
    "outcome": OUTCOME,
    "balanced": ms.BALANCED_OUTCOME._replace(chance_draws="sobol"),
    "average_strategy": ms.AVERAGE_STRATEGY._replace(chance_draws="sobol"),
    "baselines": OUTCOME._replace(baseline="learned"),
    "pruning": EXTERNAL._replace(prune_below=-0.5),
    "pruning_opponents": ms.CHANCE._replace(prune=True, chance_draws="sobol"),
}


def algorithm_of(sampling: Any, batch: Any = 1) -> ms.Algorithm:
    return ms.Algorithm(sampling, ms.regret_matching(), batch=batch)


# --- draws ---------------------------------------------------------------------------


def place_at(*moves: int) -> np.uint64:
    """The place after chance moves with these outcomes."""
    place = np.uint64(COUNTED_ROOT)
    with np.errstate(over="ignore"):
        for child in moves:
            below = np.uint64(place_below(place, child, COUNTED_PLACES))
            place = below + np.uint64(1)
    return place


def draw(points, serial, place, seed=0, player=0):
    with np.errstate(over="ignore"):
        stream = np.uint64(stream_key(np.uint64(seed), serial, player, 2))
        return sobol.correlated_draw(points, player, serial, stream, place)


@pytest.mark.both
def test_directions_equal_scipys():
    theirs = qmc.Sobol(sobol.NUM_DIMENSIONS, scramble=False, bits=32).random(512)
    numbers = sobol.directions()
    for t in range(512):
        gray = t ^ (t >> 1)  # SciPy's order
        used = [numbers[:, bit] for bit in range(9) if gray >> bit & 1]
        point = np.bitwise_xor.reduce(used, axis=0) if used else np.zeros(32)
        assert (point / 2**32).tolist() == theirs[t].tolist()


@pytest.mark.both
@pytest.mark.parametrize("num_outcomes", [2, 3, 6, 52])
@pytest.mark.parametrize("serial", [1, 12345, 2**32 + 7])
def test_outcomes_of_a_walk_are_uniform_over_seeds(num_outcomes, serial):
    sums = np.cumsum(np.full(num_outcomes, 1 / num_outcomes))
    sums[-1] = 1.0
    places = [place_at(), place_at(0), place_at(1, 0, 2)]
    num_seeds, counts = 600, np.zeros((2, 3, num_outcomes))
    for seed in range(num_seeds):
        points = sobol.scrambled_points(seed, 2)
        for player in range(2):
            for d, place in enumerate(places):
                u = draw(points, serial, place, seed, player)
                counts[player, d, plain_draw_chance(sums, 0, num_outcomes, u)] += 1
    expected = num_seeds / num_outcomes
    statistics = ((counts - expected) ** 2 / expected).sum(axis=2)
    # Each of 72 statistics in this test exceeds the limit with probability 1e-5.
    assert statistics.max() < chi2.isf(1e-5, num_outcomes - 1)


@pytest.mark.both
def test_draws_of_a_path_and_of_players_are_uncorrelated_over_seeds():
    places = [place_at(), place_at(0), place_at(0, 1), place_at(*range(9))]
    rows = []
    for seed in range(1500):
        points = sobol.scrambled_points(seed, 2)
        rows.append(
            [draw(points, 77, place, seed, p) for p in range(2) for place in places]
        )
    correlations = np.corrcoef(np.array(rows).T) - np.eye(8)
    assert np.abs(correlations).max() < 5 / np.sqrt(1500)


@pytest.mark.both
def test_consecutive_walks_are_stratified():
    points = sobol.scrambled_points(5, 2)
    for place in (place_at(), place_at(2), place_at(2, 0, 1)):
        for first in (1, 2**16 + 1, 2**32 + 2**20 + 1):
            draws = [draw(points, first + k, place) for k in range(256)]
            assert sorted(int(256 * u) for u in draws) == [*range(256)]
    # The first two dimensions are a (0, 2)-sequence: boxes of each shape get a point.
    pairs = [(draw(points, k, place_at()), draw(points, k, place_at(1)))
             for k in range(1, 257)]  # fmt: skip
    for rows in (1, 4, 16, 64):
        boxes = {(int(rows * u), int(256 // rows * v)) for u, v in pairs}
        assert len(boxes) == 256


@pytest.mark.both
def test_every_byte_of_the_number_selects_digits():
    """Bits 8 k to 8 k + 7 of the number determine these digits of dimension 0."""
    points = sobol.scrambled_points(5, 2)
    for byte in range(4):
        serials = [1 + (k << 8 * byte) for k in range(256)]
        draws = [
            int(draw(points, n, place_at()) * 2 ** (8 * byte + 8)) for n in serials
        ]
        assert len({u >> 8 for u in draws}) == 1
        assert {u & 255 for u in draws} == {*range(256)}


@pytest.mark.both
def test_points_repeat_with_another_shift():
    points = sobol.scrambled_points(5, 2)
    first = np.array([draw(points, k, place_at()) for k in range(1, 65)])
    later = np.array([draw(points, 2**32 + k, place_at()) for k in range(1, 65)])
    assert not set((first * 2**32).astype(int)) & set((later * 2**32).astype(int))
    shifts = (first * 2**32).astype(np.uint64) ^ (later * 2**32).astype(np.uint64)
    assert len(set(shifts.tolist())) == 1


@pytest.mark.both
def test_draws_beyond_the_last_dimension_are_independent():
    points = sobol.scrambled_points(5, 2)
    last, beyond = (
        place_at(*(sobol.NUM_DIMENSIONS - 1) * (0,)),
        place_at(*sobol.NUM_DIMENSIONS * (0,)),
    )
    later = place_at(*(sobol.NUM_DIMENSIONS + 300) * (0,))
    assert chance_moves_of(last) == sobol.NUM_DIMENSIONS - 1
    assert chance_moves_of(beyond) == sobol.NUM_DIMENSIONS
    assert chance_moves_of(later) == sobol.NUM_DIMENSIONS + 300
    stream = np.uint64(stream_key(np.uint64(0), 9, 0, 2))
    assert draw(points, 9, last) != uniform(stream, last)
    for place in (beyond, later):
        assert draw(points, 9, place) == uniform(stream, place)


@pytest.mark.both
def test_counted_places_are_distinct_and_keep_their_count():
    places = level = [(np.uint64(COUNTED_ROOT), 0)]
    with np.errstate(over="ignore"):
        for depth in range(5):
            below = [
                (np.uint64(place_below(place, child, COUNTED_PLACES)), count)
                for place, count in level
                for child in range(6)
            ]
            if depth % 2:
                below = [(p + np.uint64(1), n + 1) for p, n in below]
            places, level = places + below, below
    assert len({int(place) >> 16 for place, _ in places}) == len(places)
    assert all(chance_moves_of(place) == count for place, count in places)


def test_only_correlated_solvers_allocate_points():
    solvers = [Solver("kuhn_poker", ms.EXTERNAL_SAMPLING), Solver("kuhn_poker", ms.CFR)]
    assert all(len(solver.state.task.points) == 0 for solver in solvers)
    quasi = Solver(KUHN_3, ms.EXTERNAL_SAMPLING_QUASI).state.task.points
    assert len(quasi) == 3 * sobol.NUM_DIMENSIONS


# --- walks ---------------------------------------------------------------------------


class CorrelatedTextbook(Textbook):
    """A textbook whose chance draws are points of the scrambled sequence.

    Points are made bit by bit, and the number of chance moves is counted in the tree.
    """

    def draws(self, player: int, nth: int = 0) -> Draw:
        independent = super().draws(player, nth)
        if not hasattr(self, "chance_moves"):
            self.chance_moves: dict[int, int] = {}
            self.count(self.root, 0)
            self.points = sobol.scrambled_points(self.seed, self.game.num_players())
        t = self.walks_before + nth

        def drawn(place: Any) -> float:
            if int(place) not in self.chance_moves:
                return independent(place)
            dimension = self.chance_moves[int(place)]
            row = self.points[player * sobol.NUM_DIMENSIONS + dimension]
            fraction = row[0]  # the digital shift
            for bit in range(t.bit_length()):
                if t >> bit & 1:
                    byte, shift = divmod(bit, 8)
                    fraction ^= row[256 * byte + (1 << shift)]
                    fraction ^= row[256 * byte]  # only byte 0 contains the shift
            return (int(fraction) + 0.5) / 2**32

        return drawn

    def count(self, node: Node, num_moves: int) -> None:
        is_chance = bool(node.probs)
        if is_chance:
            self.chance_moves[int(node.place)] = num_moves
        for child in node.children:
            self.count(child, num_moves + is_chance)


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("game", [KUHN_3, GOOFSPIEL])
def test_walks_equal_textbook(game, name):
    if name != "average_strategy" or game == KUHN_3:
        algorithm = algorithm_of(SAMPLINGS[name])
        follow_textbook(game, algorithm, 1, 20, kind=CorrelatedTextbook)


def test_batches_equal_textbook():
    for batch, alternating in ((5, True), ("auto", True), (5, False)):
        algorithm = batched(EXTERNAL, batch, alternating=alternating)
        follow_textbook(KUHN_3, algorithm, 1, 20, kind=CorrelatedTextbook)


LEDUC_RANKS = "python_leduc_ranks(ranks=2)"


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", sorted(SAMPLINGS.keys() - {"balanced"}))
def test_sources_of_nodes_do_not_change_results(name, batch):
    if batch > 1 and name.startswith("pruning"):
        pytest.skip("batches exclude pruning")
    algorithm = algorithm_of(SAMPLINGS[name], batch)
    rules: dict[str, Any] = {"store": "none"}
    whole = Solver(GameTree(LEDUC_RANKS).expand_all(), algorithm, seed=4)
    whole.iterate(25)
    small: dict[str, Any] = {"store": "tree", "twin": False, "max_nodes": 150}
    for options in (rules, small):
        other = Solver(LEDUC_RANKS, algorithm, seed=4, **options)
        for more in (1, 3, 21):  # in pieces
            other.iterate(more)
        assert other.nodes_touched == whole.nodes_touched
        theirs = tables_of(whole)
        mine = tables_of(other)
        assert mine
        assert mine == {info_state: theirs[info_state] for info_state in mine}


@pytest.mark.parametrize("store", ["tree", "none"])
def test_resumed_run_equals_uninterrupted_run(store, tmp_path):
    for algorithm in (ms.EXTERNAL_SAMPLING_QUASI, algorithm_of(OUTCOME, 4)):
        solver = Solver("leduc_poker", algorithm, seed=6, store=store)
        solver.iterate(4)
        solver.save(tmp_path / "solver")
        resumed = Solver.load(tmp_path / "solver")
        assert resumed.algorithm == algorithm
        for each in (solver, resumed):
            each.iterate(5)
        assert tables_of(resumed) == tables_of(solver)


@pytest.fixture
def share_small_batches(monkeypatch):
    for name in ("LEAST_NODES", "SMALL_TREE", "LEAST_NODES_AT_ONCE"):
        monkeypatch.setattr(sharing, name, int(name == "LEAST_NODES"))
    monkeypatch.setattr(tree_arenas, "LEAST_TREE", 0)
    monkeypatch.setattr(cutting, "LEAST_BLOCK_OF_BATCH", 24)
    monkeypatch.setattr(cutting, "NUM_BLOCKS_OF_BATCH", 12)


@pytest.mark.usefixtures("share_small_batches")
@pytest.mark.parametrize("name", ["external", "chance", "outcome", "balanced"])
def test_threads_and_clusters_do_not_change_results(name):
    algorithm = algorithm_of(SAMPLINGS[name], 12)
    for game in (KUHN_3, LEDUC) if name == "external" else (KUHN_3,):
        tree = GameTree(game).expand_all()

        def run(*pieces, tree=tree, **options):
            solver = Solver(tree, algorithm, seed=3, **options)
            for more in pieces:
                solver.iterate(more)
            return bits(solver)

        alone = run(3)
        assert run(1, 2, threads=2) == alone
        assert run(2, 1, threads=3) == alone
        assert run(3, cluster=InThisProcess(2)) == alone


def test_groups_of_walks_over_rules_do_not_change_results():
    algorithm = algorithm_of(EXTERNAL, 70)
    solvers = [
        Solver(LEDUC_RANKS, algorithm, seed=3, store="none", threads=threads)
        for threads in (1, 2, 3)
    ]
    for solver in solvers:
        solver.iterate(2)
    alone, *others = map(bits, solvers)
    assert all(other == alone for other in others)
    tree = Solver(GameTree(LEDUC_RANKS).expand_all(), algorithm, seed=3)
    tree.iterate(2)
    assert solvers[0].nodes_touched == tree.nodes_touched


def test_other_draws_stay_independent():
    """Without chance moves, the field changes nothing."""
    game = "matrix_rps"
    results = []
    for draws in ("independent", "sobol"):
        sampling = ms.OUTCOME._replace(chance_draws=draws)
        solver = Solver(game, algorithm_of(sampling), seed=2)
        solver.iterate(50)
        results.append(bits(solver))
    assert results[0] == results[1]


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("plain", "quasi", "most"),
    [
        (ms.EXTERNAL_SAMPLING, ms.EXTERNAL_SAMPLING_QUASI, 0.8),
        (ms.CHANCE_SAMPLING, ms.CHANCE_SAMPLING_QUASI, 0.6),
    ],
)
def test_correlated_draws_reduce_exploitability(plain, quasi, most):
    """Over 100 seeds the ratios are 0.65 and 0.33."""
    tree = GameTree("kuhn_poker").expand_all()
    means = []
    for algorithm in (plain, quasi):
        total = 0.0
        for seed in range(40):
            solver = Solver(tree, algorithm, seed=seed)
            solver.iterate(100_000)
            total += ms.exploitability(tree, solver.average_policy())
        means.append(total / 40)
    assert means[1] < most * means[0]


# --- refusals ------------------------------------------------------------------------


def own_estimate(tree, policy, player, rng):
    return np.zeros(tree.num_sequences), 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ms.FULL._replace(chance_draws="sobol"),
            "a sampling that draws chance",
        ),
        (
            lambda: ms.OPPONENT._replace(chance_draws="sobol"),
            "a sampling that draws chance",
        ),
        (
            lambda: ms.EXTERNAL._replace(chance_draws="sobel"),
            r"chance_draws='sobel' must be .* Did you mean sobol",
        ),
        (lambda: ms.EXTERNAL._replace(chance_draws=True), "chance_draws=True must be"),
        (
            lambda: algorithms.own_estimator(own_estimate)._replace(
                chance_draws="sobol"
            ),
            "own_estimate makes its own draws",
        ),
        (
            lambda: ms.theory.nash_conv_bound("kuhn_poker", ms.EXTERNAL_SAMPLING_QUASI),
            "independent draws of chance",
        ),
    ],
)
def test_impossible_requests_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_algorithms_with_correlated_draws_have_names_and_reprs():
    quasi = ms.EXTERNAL_SAMPLING_QUASI
    assert ms.ALGORITHMS["external_sampling_quasi"] is quasi
    assert ms.ALGORITHMS["chance_sampling_quasi"] is ms.CHANCE_SAMPLING_QUASI
    assert str(quasi) == "external sampling with Sobol draws of chance"
    assert eval(repr(quasi), {**vars(algorithms)}) == quasi
