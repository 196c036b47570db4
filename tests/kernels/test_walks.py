"""Walks with batches, baselines and partial samplings equal the textbook.

test_estimators.py tests that estimates are unbiased. golden_bits.json tests that all
sources of nodes give identical results.
"""

import math
from typing import Any

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.algorithms import full, predictive_regret_matching_plus
from mccfr_spiel.arenas.tree.growth import Growth
from mccfr_spiel.common import checkpoint
from mccfr_spiel.evaluation.theory import nash_conv_bound
from mccfr_spiel.kernels.batches import GROWING, plain_walks_at
from mccfr_spiel.kernels.regret_rules import SKIPPED
from mccfr_spiel.kernels.selection import FLOOR
from mccfr_spiel.solving import state
from tests.kernels.test_estimators import SourceOfWalk
from tests.pruned_reference import PrunedTextbook
from tests.reference import Textbook, enumerate_draws, full_gradient, random_policy
from tests.small_games import leaf, move, named, small_game
from tests.vectors import (
    GOOFSPIEL,
    KUHN_3,
    LEDUC,
    follow_textbook,
    gradient_of,
    largest_difference,
)

START = ms.regret_matching(initial_regret=0.1)  # no ties
GIBSON = ms.average_strategy(0.1, 1.5, 0.5)
SOON = ms.EXTERNAL._replace(prune_below=-1.0)


def walks(sampling, batch: Any = 1, *, rule: Any = START, alternating=True):
    return ms.Algorithm(sampling, rule, ms.LINEAR, alternating, batch)


def with_baseline(sampling, kind="learned"):
    return sampling._replace(baseline=kind, baseline_rate=0.3)


LEARNED, LEARNED_ALL = map(with_baseline, (ms.outcome(0.4), ms.EXTERNAL))
PREDICTED, PREDICTED_ALL = (
    with_baseline(sampling, "predictive") for sampling in (ms.outcome(0.4), ms.EXTERNAL)
)
BALANCED = ms.BALANCED_OUTCOME._replace(baseline="learned")
PLUS = ms.regret_matching_plus()
ROWS = [
    ("kuhn_poker", walks(ms.CHANCE, 2)),
    ("kuhn_poker", walks(ms.EXTERNAL, 5, alternating=False)),
    (KUHN_3, walks(ms.OUTCOME, 5)),
    (KUHN_3, walks(ms.EXTERNAL, 2)),
    ("kuhn_poker", walks(LEARNED)),
    ("kuhn_poker", walks(LEARNED, 3, rule=PLUS)),
    (KUHN_3, walks(LEARNED_ALL, 3)),
    (KUHN_3, walks(LEARNED_ALL, alternating=False)),
    (LEDUC, walks(PREDICTED)),
    ("three_players", walks(PREDICTED_ALL)),
    ("three_players", walks(PREDICTED_ALL, rule=PLUS)),
    ("kuhn_poker", walks(BALANCED)),
    ("kuhn_poker", walks(GIBSON, alternating=False)),
    (KUHN_3, walks(GIBSON, 3)),
    (KUHN_3, walks(GIBSON._replace(chance=False))),
    (KUHN_3, walks(GIBSON._replace(opponents=False), 2)),
    (KUHN_3, walks(ms.average_strategy(0.05, 0.5, 0.0))),
    (LEDUC, walks(ms.AVERAGE_STRATEGY)),
    ("three_players", walks(SOON, alternating=False)),
    (KUHN_3, walks(SOON)),
    ("kuhn_poker", walks(ms.EXTERNAL._replace(prune_below=-3.0))),
]


@pytest.mark.parametrize(("game", "algorithm"), ROWS)
def test_solver_equals_textbook(game, algorithm):
    solver, textbook = follow_textbook(named(game), algorithm, 1, 1, 18)
    assert solver.num_iterations == 20
    assert bool(textbook.baseline) == bool(algorithm.sampling.baseline)


@pytest.mark.parametrize("alternating", [True, False])
def test_growing_batches_equal_textbook(alternating):
    for sampling in (ms.CHANCE, ms.EXTERNAL, ms.OUTCOME):
        algorithm = walks(sampling, "auto", alternating=alternating)
        # Batches have 2 walks from iteration 128, 4 walks from iteration 256.
        follow_textbook("kuhn_poker", algorithm, 127, 1, 1, 140)


def test_growing_batches_have_expected_sizes_and_distinct_streams():
    sizes = [1] * 127 + [2] * 128 + [4] * 44
    for t, size in enumerate(sizes, 1):
        assert plain_walks_at(GROWING, t) == (sum(sizes[: t - 1]), size)
    assert plain_walks_at(GROWING, 2**18 - 1)[1] == 2048
    (before, size), (after, _) = (plain_walks_at(GROWING, 2**30 + k) for k in (0, 1))
    assert after - before == size == 4096


def told(state, player):
    return state.information_state_string(player)


def test_batches_work_with_an_abstraction():
    algorithm = walks(ms.EXTERNAL, 3, rule=ms.regret_matching())
    tree = GameTree("leduc_poker", abstraction=told).expand_all()
    whole, plain, small = (
        Solver(tree, algorithm, seed=6),
        Solver("leduc_poker", algorithm, seed=6),
        Solver("leduc_poker", algorithm, seed=6, max_nodes=300, abstraction=told),
    )
    for solver in (whole, plain, small):
        solver.iterate(15)
    table = plain.current_policy().to_dict()
    for solver in (whole, small):
        rows = solver.current_policy().to_dict()
        assert largest_difference({k: rows[k] for k in table}, table) < 1e-9
    averages = [one.average_policy().to_dict() for one in (small, whole)]
    assert {name: averages[1][name] for name in averages[0]} == averages[0]


@pytest.mark.parametrize(
    ("game", "base"),
    [
        ("kuhn_poker", ms.EXTERNAL),
        ("three_players", ms.EXTERNAL),
        (LEDUC, ms.outcome(0.3)),
        (KUHN_3, ms.BALANCED_OUTCOME),
    ],
)
def test_gradient_is_unbiased_with_any_baselines(game, base, monkeypatch):
    game, sampling = named(game), base._replace(baseline="learned")
    policy = random_policy(game, seed=2)
    for player in range(GameTree(game).num_players):
        walk = SourceOfWalk(game, sampling, policy, player, monkeypatch)
        baseline = walk.solver.state.tables.baseline
        given = np.random.default_rng(player).uniform(-3.0, 3.0, baseline.shape)

        def estimate(draw, walk=walk, baseline=baseline, given=given):
            baseline[:] = given  # the previous walk has changed it
            return walk.estimate(draw)

        textbook = Textbook(game, sampling, ms.regret_matching(), ms.UNIFORM)
        textbook.play(policy)
        distribution = textbook.distributions(player).__getitem__
        mean = np.zeros(walk.tree.num_sequences)
        for probability, gradient in enumerate_draws(estimate, distribution):
            mean += probability * gradient
        exact = full_gradient(game, policy, player)
        assert gradient_of(walk.tree, player, mean) == pytest.approx(exact, abs=1e-12)


def test_stack_growth_during_a_walk_keeps_results(monkeypatch):
    tree = GameTree(GOOFSPIEL).expand_all()
    algorithm = ms.Algorithm(algorithms.external(baseline="learned"), START)
    baselines = []
    for height in (state.HEIGHT, 8):
        monkeypatch.setattr(state, "HEIGHT", height)
        solver = Solver(tree, algorithm, seed=2)
        solver.iterate(1)
        baselines.append(solver.state.tables.baseline.copy())
    assert len(solver.state.walk.node) > height
    assert np.abs(baselines[0]).max() > 1
    assert (baselines[0] == baselines[1]).all()


@pytest.mark.parametrize("most", [None, 90])
def test_one_stop_of_a_cold_walk_expands_many_nodes(monkeypatch, most):
    algorithm = walks(SOON, rule=ms.regret_matching())
    whole = Solver(GameTree(LEDUC).expand_all(), algorithm, seed=3)
    whole.iterate(60)
    grow, stops = Growth.grow, []
    monkeypatch.setattr(Growth, "grow", lambda *given: stops.append(grow(*given)))
    cold = Solver(GameTree(LEDUC, max_nodes=most or 10**6), algorithm, seed=3)
    cold.iterate(60)
    gap = largest_difference(*(one.average_policy().to_dict() for one in (cold, whole)))
    assert not gap
    assert most or len(stops) < cold.tree.num_nodes / 2


@pytest.mark.compiled
def test_regrets_stay_above_floor_and_gradient_has_no_skip_marks():
    pruned = ms.EXTERNAL._replace(prune_below=-3.0)
    solver = Solver("leduc_poker", ms.Algorithm(pruned, ms.regret_matching()), seed=1)
    solver.iterate(3_000)
    tables = solver.state.tables
    assert tables.memory.min() == pytest.approx(FLOOR * -3.0, rel=1e-15)
    assert (tables.memory == tables.memory.min()).sum() > 50
    assert not np.any(tables.gradient == SKIPPED)


# --- refusals ------------------------------------------------------------------------

NAN = float("nan")
OUTSIDE = [
    (lambda: ms.average_strategy(0.0), "epsilon=0.0"),
    (lambda: ms.average_strategy(0.05, -1.0), "threshold=-1.0"),
    (lambda: ms.average_strategy(0.05, 1.0, NAN), "bonus=nan"),
    (lambda: ms.EXTERNAL._replace(bonus=1.0), "requires average-strategy sampling"),
    (lambda: ms.EXTERNAL._replace(prune_below=0), "prune_below=0 must be negative"),
    (lambda: ms.EXTERNAL._replace(prune_below=NAN), "prune_below=nan"),
    (lambda: ms.OUTCOME._replace(prune_below=-1), "requires external sampling"),
    (lambda: ms.outcome(0.6, baseline="other"), "baseline='other' must be"),
    (lambda: ms.CHANCE._replace(baseline="learned"), "requires outcome, balanced"),
    (lambda: GIBSON._replace(baseline="learned"), "requires outcome, balanced"),
    (lambda: LEARNED_ALL._replace(prune_below=-9.0), "walks that skip actions"),
    (lambda: ms.OUTCOME._replace(baseline_rate=0.2), "requires a baseline"),
    (lambda: ms.OUTCOME._replace(baseline_rate=0.0), "baseline_rate=0.0"),
]
TOGETHER = [
    (walks(SOON, rule=PLUS), "requires regret_matching"),
    (walks(SOON, rule=ms.ftrl(1.0)), "requires regret_matching"),
    (walks(SOON, 2), "walks of a batch"),
    (walks(PREDICTED, 2), 'Set baseline="learned"'),
    (walks(PREDICTED, alternating=False), 'Set baseline="learned"'),
    (walks(ms.EXTERNAL, 0), "batch=0 must be an integer >= 1"),
    (walks(ms.EXTERNAL, 2**40), "batch=1099511627776 must be"),
    (walks(ms.EXTERNAL, "big"), "batch='big' must be"),
    (ms.CFR._replace(batch=2), "batch=2 requires a sampling"),
    (ms.CFR._replace(batch="auto"), "batch=auto requires a sampling"),
]


@pytest.mark.parametrize(("make", "words"), OUTSIDE)
def test_invalid_parameters_raise(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(("algorithm", "words"), TOGETHER)
def test_incompatible_parts_raise(algorithm, words):
    with pytest.raises(ValueError, match=words):
        Solver("kuhn_poker", algorithm)


@pytest.mark.parametrize(
    ("sampling", "words"), [(SOON, "prune_below"), (GIBSON, 'player="average"')]
)
def test_partial_samplings_refuse_abstractions_and_bounds(sampling, words):
    algorithm = ms.Algorithm(sampling, ms.regret_matching())
    with pytest.raises(ValueError, match=words):
        Solver("kuhn_poker", algorithm, abstraction=told)
    with pytest.raises(ValueError, match="sampling, not about"):
        nash_conv_bound("kuhn_poker", algorithm)
    several = ms.OUTCOME_SAMPLING._replace(batch=3)
    with pytest.raises(ValueError, match="about one walk per player, not 3"):
        nash_conv_bound("kuhn_poker", several)


# --- overflow ----------------------------------------------------------------

OF_EXTREMES = [ms.FULL, ms.CHANCE, ms.EXTERNAL, ms.OUTCOME]


def is_plain(solver):
    """Returns True if the solver's policies are probability distributions."""
    for vector in (solver.average_vector(), solver.current_vector()):
        first = solver.tree.infosets["first_sequence"]
        sums = np.add.reduceat(vector, first)
        if not (np.abs(sums - 1) < 1e-9).all() or (vector < 0).any():
            return False
    return True


@pytest.mark.parametrize("sampling", [ms.FULL, ms.OUTCOME])
def test_overflowing_weights_raise(sampling):
    algorithm = ms.Algorithm(sampling, ms.regret_matching(), ms.polynomial(100))
    solver = ms.Solver("kuhn_poker", algorithm)
    solver.iterate(743)
    before = solver.average_vector()
    for more in (1, 10_000):
        with pytest.raises(ValueError, match=r"t \*\* 100"):
            solver.iterate(more)
    with pytest.raises(ValueError, match="after 743 iterations"):
        solver.iterate_until(10**9)
    assert solver.num_iterations == 743
    assert (solver.average_vector() == before).all()  # and it can be asked and saved
    assert is_plain(solver)
    # The uniform policy has 11 / 12; the worst of these runs has 0.643.
    assert ms.nash_conv("kuhn_poker", solver.average_policy()) < 0.7


@pytest.mark.parametrize("step", [1e-100, 1e100])
@pytest.mark.parametrize("rule", [ms.ftrl, ms.omd])
@pytest.mark.parametrize(
    ("sampling", "scale"), [*zip(OF_EXTREMES, (1e-100, 3e99, 1.0, 3e99), strict=True)]
)
def test_extreme_step_sizes_and_payoffs_give_policies(step, rule, sampling, scale):
    solver = ms.Solver(scaled_pennies(scale), ms.Algorithm(sampling, rule(step)))
    solver.iterate(100)
    assert is_plain(solver)


def scaled_pennies(scale):
    replies = [
        move(1, "1", leaf(scale, -scale), leaf(-2 * scale, 2 * scale)),
        move(1, "1", leaf(-scale, scale), leaf(3 * scale, -3 * scale)),
    ]
    twice = move(0, "0", *replies, *replies)  # equal moves get equal probabilities
    return small_game(twice, name="scaled_pennies", max_utility=3 * scale)


def test_overflowed_averages_raise():
    solver = ms.Solver("kuhn_poker", ms.CFR)
    solver.iterate(3)
    solver.state.tables.memory[5] = math.inf
    for ask in (solver.average_policy, solver.current_policy):
        with pytest.raises(ValueError, match="no longer fit"):
            ask()


@pytest.mark.parametrize(
    ("table", "value"), [("policy", math.nan), ("average", math.nan)]
)
def test_checkpoint_with_non_finite_values_raises(table, value, tmp_path):
    solver = ms.Solver("kuhn_poker", seed=1)
    solver.iterate(5)
    header, arrays = solver.contents()
    odd = arrays[table].copy()
    odd[-1] = value
    contents = checkpoint.Contents(header, arrays | {table: odd})
    checkpoint.save(tmp_path / "solver", contents)
    with pytest.raises(checkpoint.DamagedError, match="non-finite"):
        ms.Solver.load(tmp_path / "solver")


# --- regret-based pruning of whole passes ------------------------------------

PRUNED = ms.Algorithm(full(prune="regret"), ms.regret_matching())
LIARS = "liars_dice(dice_sides=3)"


@pytest.mark.parametrize(
    ("game", "iterations", "alternating"),
    [("kuhn_poker", 60, True), (LIARS, 50, False), (GOOFSPIEL, 20, True)],
)
def test_regret_pruning_equals_textbook(game, iterations, alternating):
    algorithm = ms.Algorithm(full(prune="regret"), START, ms.LINEAR, alternating)
    pieces = 1, 1, iterations - 2
    _, textbook = follow_textbook(game, algorithm, *pieces, kind=PrunedTextbook)
    if game == LIARS:
        assert textbook.seen == {"followed", "skipped", "resumed"}


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "iterations", "share", "most"),
    [("liars_dice(dice_sides=4)", 2_000, 0.4, 0.003), (LEDUC, 2_000, 0.9, 0.03)],
)
def test_regret_pruning_converges_like_cfr_with_fewer_nodes(
    game, iterations, share, most
):
    tree = GameTree(game).expand_all()
    touched, nash_conv = [], []
    for algorithm in (ms.algorithms.PRUNED_CFR, PRUNED):
        solver = Solver(tree, algorithm)
        solver.iterate(iterations)
        touched.append(solver.nodes_touched)
        nash_conv.append(ms.nash_conv(tree, solver.average_policy()))
    assert touched[1] < share * touched[0]
    assert nash_conv[1] < most
    assert nash_conv[1] < 1.5 * nash_conv[0]


def test_unsupported_regret_pruning_raises():
    for make, words in (
        (lambda: full(prune="regrets"), "prune='regrets' must be True or False, or \""),
        (lambda: ms.EXTERNAL._replace(prune="regret"), "sample nothing"),
        (lambda: ms.OUTCOME._replace(prune="regret"), "sample nothing"),
        (lambda: full(prune="regret")._replace(prune_below=-1.0), "requires external"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    for rule in (
        ms.regret_matching_plus(),
        ms.discounted_regret_matching(),
        predictive_regret_matching_plus(),
        ms.ftrl(1.0),
    ):
        words = r'prune="regret" requires|moves the policy everywhere'
        with pytest.raises(ValueError, match=words):
            Solver("kuhn_poker", PRUNED._replace(minimizer=rule))
    with pytest.raises(ValueError, match="batch=2"):
        Solver("kuhn_poker", PRUNED._replace(batch=2))
    with pytest.raises(ValueError, match=r"has 3 players\. Use ms\.algorithms\.PRUNED"):
        Solver("kuhn_poker(players=3)", PRUNED)

    def told(state, player):
        return state.information_state_string(player)

    with pytest.raises(ValueError, match='prune="regret" prunes by regrets'):
        Solver("kuhn_poker", PRUNED, abstraction=told)
