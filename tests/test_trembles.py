"""Trembles: least probabilities of actions. Oracles: the textbook, linear programs."""

from typing import Any

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import Solver, algorithms
from mccfr_spiel.algorithms import external, full
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.kernels import regret_rules
from mccfr_spiel.kernels.discounts import LEAST
from tests.arenas.rules.twins.broken import take_places_from_keys
from tests.sequence_program import Part, even, value_against
from tests.test_solver import COMBINATIONS, ESTIMATORS, RULES
from tests.vectors import KUHN_3, bits, follow_textbook

LEDUC = "leduc_poker"


def trembling(algorithm: ms.Algorithm, tremble: float) -> ms.Algorithm:
    return algorithm._replace(minimizer=algorithm.minimizer.trembling(tremble))


def stay(policy, memory, gradient, parameters, t):
    """A rule that never changes the policy."""
    return float((policy * gradient).sum())


FOLLOWED = [pair for pair in COMBINATIONS if not pair[0].startswith("optimistic")]


@pytest.mark.interpreted
@pytest.mark.parametrize(("rule", "estimator"), FOLLOWED)
def test_trembling_solver_equals_textbook(rule, estimator):
    """Leduc's infosets have two and three actions; 0.3 is clamped at both."""
    parts = ESTIMATORS[estimator], RULES[rule]
    for game, tremble in (("kuhn_poker", 0.05), (KUHN_3, 0.3)):
        algorithm = trembling(ms.Algorithm(*parts, ms.LINEAR), tremble)
        follow_textbook(game, algorithm, 1, 2, 10, seed=3)


def value_within(game: str, tremble: float) -> float:
    """Player 0's value of the game with trembles, by a linear program of its own."""
    known = even(game)

    def share(key: Any) -> float:
        count = len(known(key))
        return count * min(tremble, 0.5 / count)

    return value_against(game, 0, [Part(1.0, share, known)], tremble)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("game", "tremble", "published"),
    [
        ("kuhn_poker", 0.01, -0.052767),
        ("kuhn_poker", 0.2, None),
        ("leduc_poker", 0.001, -0.0857549246),
    ],
)
def test_linear_program_has_the_value_of_the_game_with_trembles(
    game, tremble, published
):
    solution = ms.solve_lp(game, tremble=tremble)
    assert solution.value == pytest.approx(value_within(game, tremble), abs=1e-8)
    if published is not None:
        assert solution.value == pytest.approx(published, abs=1e-9)
    assert solution.nash_conv < 1e-9
    starts = solution.policy.tree.infosets["first_sequence"]
    assert solution.policy.vector[starts[0] :].min() >= min(tremble, 1 / 6) - 1e-9


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "tremble", "iterations", "value", "error", "gap"),
    [
        ("kuhn_poker", 0.01, 20_000, -0.052767, 1e-6, 1e-4),
        ("leduc_poker", 0.001, 1_500, -0.0857549246, 1e-4, 3e-4),
    ],
)
def test_cfr_plus_converges_within_trembles(
    game, tremble, iterations, value, error, gap
):
    solver = Solver(game, trembling(ms.CFR_PLUS, tremble))
    solver.iterate(iterations)
    policy = solver.average_policy()
    assert ms.expected_returns(game, policy)[0] == pytest.approx(value, abs=error)
    within = ms.nash_conv(game, policy, tremble=tremble)
    assert 0 < within < gap
    assert within == pytest.approx(ms.metrics.trembling_nash_conv(solver))
    assert ms.nash_conv(game, policy) > 10 * within


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["optimistic_ftrl", "optimistic_omd"])
def test_optimistic_rules_converge_within_trembles(name):
    kind: Any = algorithms.RULES[name]
    rule = kind(0.3).trembling(0.05)
    solver = Solver("kuhn_poker", ms.Algorithm(ms.FULL, rule, alternating=False))
    gaps = []
    for iterations in (100, 1_900):
        solver.iterate(iterations)
        gaps.append(ms.metrics.trembling_nash_conv(solver))
    assert gaps[1] < gaps[0] / 8
    assert solver.current_vector().min() >= 0.05 - 1e-12


def run(algorithm, *pieces, game: Any = LEDUC, **arguments: Any):
    solver = Solver(game, algorithm, seed=4, **arguments)
    for more in pieces:
        solver.iterate(more)
    return solver


@pytest.mark.interpreted
@pytest.mark.parametrize("sampling", [ms.EXTERNAL, ms.OUTCOME, ms.CHANCE])
def test_pieces_files_and_growing_trees_change_no_bit(sampling, tmp_path):
    """Threads: see the trembling rows in the tests of shared walks and groups."""
    rule = ms.regret_matching().trembling(0.03)
    algorithm = ms.Algorithm(sampling, rule, batch=3)
    tree = ms.GameTree("kuhn_poker").expand_all()
    alone = run(algorithm, 30, game=tree)
    assert bits(run(algorithm, 1, 9, 20, game=tree)) == bits(alone)
    solver = run(algorithm, 12, game=tree)
    solver.save(tmp_path / "checkpoint")
    resumed = Solver.load(tmp_path / "checkpoint")
    assert resumed.algorithm == algorithm
    resumed.iterate(18)
    grown = run(algorithm, 30, game="kuhn_poker", twin=False)
    table = alone.average_policy().to_dict()
    assert table == resumed.average_policy().to_dict()
    assert table == grown.average_policy().to_dict()


@pytest.mark.interpreted
@pytest.mark.parametrize("sampling", [ms.EXTERNAL, ms.OUTCOME])
def test_walks_over_rules_with_trembles_equal_walks_over_trees(sampling, monkeypatch):
    take_places_from_keys(monkeypatch)
    algorithm = ms.Algorithm(sampling, ms.regret_matching().trembling(0.03), batch=3)
    walking = run(algorithm, 1, 9, store="none")
    tree = ms.GameTree(LEDUC, twin=False).expand_all()
    whole = run(algorithm, 10, game=tree)
    assert (walking.store, walking.nodes_touched) == ("none", whole.nodes_touched)
    table = whole.average_policy().to_dict()
    visited = walking.average_policy().to_dict()
    assert len(visited) > 100
    assert visited == {name: table[name] for name in visited}


DICE = "liars_dice(dice_sides=2)"


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("game", "store", "arena"),
    [
        ("kuhn_poker", "worlds", "HandArena"),
        ("kuhn_poker", "none", "HistoryArena"),
        (DICE, "worlds", "WorldArena"),
        (DICE, "none", "HistoryArena"),
    ],
)
def test_passes_with_trembles_agree_in_all_arenas(game, store, arena):
    algorithm = trembling(ms.CFR_PLUS, 0.02)
    solver = run(algorithm, 12, game=game, store=store)
    assert type(solver.tree).__name__ == arena
    assert bits(run(algorithm, 5, 7, game=game, store=store)) == bits(solver)
    whole = run(algorithm, 12, game=ms.GameTree(game).expand_all())
    table = solver.average_policy().to_dict()
    for name, row in whole.average_policy().to_dict().items():
        assert table[name] == pytest.approx(row, abs=1e-9)
    assert solver.average_vector().min() >= 0.02 - 1e-12
    policy = whole.average_policy()
    within = ms.nash_conv(game, policy, tremble=0.02)
    assert ms.nash_conv(solver.tree, solver.average_policy(), tremble=0.02) == (
        pytest.approx(within, abs=1e-9)
    )


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("game", "alternating", "num_threads"),
    [("kuhn_poker", True, 3), (LEDUC, True, 3), (DICE, False, 2)],
)
def test_threads_of_worlds_and_hands_change_no_bit(
    game, alternating, num_threads, monkeypatch
):
    """Kuhn and Leduc poker use hands. Worlds have one thread per updated player."""
    monkeypatch.setattr(cutting, "LEAST_BLOCK", 8)
    algorithm = trembling(ms.CFR_PLUS, 0.03)._replace(alternating=alternating)
    alone, two, three = (
        run(algorithm, 2, game=game, store="worlds", threads=threads)
        for threads in (1, 2, 3)
    )
    assert two.state.engine.num_threads == 2
    assert three.state.engine.num_threads == num_threads
    assert bits(alone) == bits(two) == bits(three)


@pytest.mark.parametrize("regret", [0.0, 1e-320, LEAST, 1e-300, 1.0, 1e300])
def test_policies_from_tiny_regrets_stay_within_trembles(regret):
    policy = np.zeros(4)
    play_positive = regret_rules.plain_play_positive
    play_positive(policy, [0.0, -1.0, regret, -1e300], 0, 4, regret, 0.05)
    expected = [0.05, 0.05, 0.85, 0.05] if regret >= LEAST else [0.25] * 4
    assert policy == pytest.approx(np.array(expected), abs=1e-15)


@pytest.mark.interpreted
def test_locked_infosets_stay_as_given():
    locked = {"0": [1.0, 0.0]}
    algorithm = trembling(ms.CFR_PLUS, 0.1)
    solver = Solver("kuhn_poker", algorithm, locked=locked)
    solver.iterate(10)
    table = solver.average_policy().to_dict()
    assert table["0"] == {0: 1.0, 1: 0.0}
    assert min(min(row.values()) for key, row in table.items() if key != "0") > 0.0999


@pytest.mark.interpreted
def test_own_rules_receive_the_free_policy_and_the_scaled_gradient():
    seen = []

    def record(policy, memory, gradient, parameters, t):
        seen.append((policy.copy(), gradient.copy(), len(parameters)))
        policy[:] = [1.0] + [0.0] * (len(policy) - 1)
        return float(gradient[0])

    rule = ms.own_rule(record, compiled=False).trembling(0.1)
    solver = Solver("kuhn_poker", ms.Algorithm(ms.FULL, rule))
    del seen[:]
    solver.iterate(2)
    policies = {tuple(policy) for policy, _, _ in seen}
    assert policies == {(0.5, 0.5), (1.0, 0.0)}
    assert {number for *_, number in seen} == {0}
    vector = solver.current_vector()
    assert {*vector[2:].round(12).tolist()} == {0.9, 0.1}


@pytest.mark.parametrize("tremble", [-0.1, 0.5, float("nan"), "x", None])
def test_invalid_trembles_are_refused(tremble):
    uniform = Solver("kuhn_poker", ms.CFR).average_policy()
    for call in (
        lambda: ms.regret_matching().trembling(tremble),
        lambda: ms.own_rule(stay, compiled=False).trembling(tremble),
        lambda: ms.regret_matching(tremble=tremble),
        lambda: ms.solve_lp("kuhn_poker", tremble=tremble),
        lambda: ms.nash_conv("kuhn_poker", uniform, tremble=tremble),
    ):
        with pytest.raises(ValueError, match=r"tremble=.*must be a number in \[0, 0.5"):
            call()


@pytest.mark.parametrize(
    "algorithm",
    [
        ms.Algorithm(full(prune="regret"), ms.regret_matching(tremble=0.1)),
        ms.Algorithm(
            external()._replace(prune_below=-5.0), ms.regret_matching(tremble=0.1)
        ),
    ],
)
def test_pruning_by_regrets_is_refused(algorithm):
    with pytest.raises(ValueError, match="every action is played"):
        Solver("kuhn_poker", algorithm)


def test_abstractions_sparsification_and_bounds_are_refused():
    def same(state, player):
        return state.information_state_string(player)

    algorithm = trembling(ms.EXTERNAL_SAMPLING, 0.1)
    with pytest.raises(ValueError, match=r"tremble=0\.1 requires perfect recall"):
        Solver("kuhn_poker", algorithm, abstraction=same)
    with pytest.raises(ValueError, match="does not support tremble"):
        ms.solve_lp("kuhn_poker", sparsify=True, tremble=0.1)
    with pytest.raises(ValueError, match=r"NashConv with tremble=0\.1"):
        ms.theory.nash_conv_bound("kuhn_poker", algorithm, 100)


def test_tremble_is_part_of_names_and_texts():
    assert repr(ms.ftrl(0.1).trembling(0.01)) == "ftrl(tremble=0.01, step_size=0.1)"
    assert "tremble 0.01" in str(trembling(ms.CFR_PLUS, 0.01))
    rule = ms.own_rule(stay, compiled=False).trembling(0.01)
    assert str(rule) == "stay (tremble 0.01)"
    assert "tremble=0.01" in repr(rule)
    assert ms.regret_matching().trembling(0.0) == ms.regret_matching()
