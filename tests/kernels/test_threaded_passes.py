"""Passes have the same bits with any number of threads."""

import itertools

import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.arenas.tree import cutting
from tests.small_games import named
from tests.test_solver import RULES, modern
from tests.vectors import GOOFSPIEL, KUHN_3, bits

THREADS = (1, 3)
LIARS_DICE = "liars_dice(dice_sides=3)"
GAMES = KUHN_3, GOOFSPIEL, LIARS_DICE, "uneven_deal", "three_players"
FULL_ALGORITHMS = {
    **{f"rule {name}": ms.Algorithm(ms.FULL, rule) for name, rule in RULES.items()},
    **{
        name: algorithm
        for name, algorithm in (ms.ALGORITHMS | modern()).items()
        if not (algorithm.sampling.is_sampled or algorithm.sampling.prune)
    },
    **{
        f"trembling {name}": ms.Algorithm(ms.FULL, RULES[name].trembling(0.03))
        for name in ("regret_matching_plus", "optimistic_ftrl", "mmd")
    },
}


@pytest.fixture(autouse=True)
def cut_small_trees(monkeypatch):
    """Cuts small trees into blocks of a few infosets."""
    monkeypatch.setattr(cutting, "LEAST_BLOCK", 40)
    monkeypatch.setattr(cutting, "MOST_BLOCKS", 12)
    monkeypatch.setattr("mccfr_spiel.arenas.tree.cutting.LEAST_WORK", 1)
    monkeypatch.setattr("mccfr_spiel.arenas.tree.cutting.LEAST_WORK_AT_ONCE", 1)


@pytest.mark.parametrize(
    ("name", "game"), [*zip(FULL_ALGORITHMS, itertools.cycle(GAMES), strict=False)]
)
def test_solvers_do_not_depend_on_threads(name, game):
    tree = GameTree(named(game)).expand_all()
    for alternating in (True, False):
        algorithm = FULL_ALGORITHMS[name]._replace(alternating=alternating)
        solvers = [Solver(tree, algorithm, seed=3, threads=count) for count in THREADS]
        assert [solver.state.engine.num_threads for solver in solvers] == [*THREADS]
        for count in (1, 2):
            for solver in solvers:
                solver.iterate(count)
            alone, *others = map(bits, solvers)
            assert all(other == alone for other in others)
        assert len({solver.nodes_touched for solver in solvers}) == 1


@pytest.mark.compiled
def test_a_thousand_runs_have_equal_bits():
    tree = GameTree(LIARS_DICE).expand_all()
    alone = Solver(tree, ms.CFR_PLUS)
    alone.iterate(3)
    for run in range(1000):
        solver = Solver(tree, ms.CFR_PLUS, threads=2 + run % 3)
        solver.iterate(3)
        assert bits(solver) == bits(alone), run


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_invalid_number_of_threads_is_refused(threads):
    with pytest.raises(ValueError, match="threads"):
        Solver("kuhn_poker", threads=threads)
    with pytest.raises(ValueError, match="threads"):
        ms.nash_conv(
            "kuhn_poker", ms.Solver("kuhn_poker").average_policy(), threads=threads
        )


def raising(policy, memory, gradient, parameters, t):
    if t == 3:
        raise ValueError("the third iteration")
    value = 0.0
    for a in range(len(policy)):
        value += policy[a] * gradient[a]
    return value


def test_error_in_a_rule_is_raised_from_any_thread():
    threads = 3
    rule = algorithms.own_rule(raising)
    solver = Solver(KUHN_3, ms.Algorithm(ms.FULL, rule), threads=threads)
    solver.iterate(2)
    with pytest.raises(ValueError, match="the third iteration"):
        solver.iterate(5)
    another = Solver(KUHN_3, ms.CFR, threads=threads)  # the same threads
    another.iterate(3)
    assert another.num_iterations == 3
