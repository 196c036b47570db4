"""Solvers with blocks of float32 tables. Oracles: the textbook, OpenSpiel."""

import copy
import pickle
import signal
from typing import Any

import numpy as np
import pytest
from open_spiel.python.algorithms import exploitability
from reference import Textbook

import mccfr_spiel as ms
from mccfr_spiel.algorithms import hs_dcfr
from mccfr_spiel.arenas.hand_sweeps import bytes_of_solver

pytestmark = pytest.mark.interpreted

RIVER: dict[str, Any] = {
    "board": "Ks7d4c2s9h",
    "pot": 100,
    "stacks": 150,
    "ranges": ("AhAd,KhQh:0.5,7c7h", "TcTd,KdTd,9c9d"),
    "bets": "75%",
    "raises": "a",
}
TURN: dict[str, Any] = {
    "board": "9s8h3s2d",
    "pot": 100,
    "stacks": 100,
    "ranges": ("AhKh,QhQd:0.5,AsKs", "JhJd,TsTd,Th9h:0.25"),
    "bets": "a",
    "raises": "a",
}
RULES = {
    "cfr": ms.CFR,
    "cfr_plus": ms.CFR_PLUS,
    "lcfr": ms.algorithms.LCFR,
    "dcfr": ms.DCFR,
    "pcfr_plus": ms.algorithms.PCFR_PLUS,
    "dcfr_plus": ms.algorithms.DCFR_PLUS,
    "pdcfr_plus": ms.algorithms.PDCFR_PLUS,
    "hs_dcfr": hs_dcfr(10),
    **{
        f"{name} with trembles": algorithm._replace(
            minimizer=algorithm.minimizer.trembling(0.1)
        )
        for name, algorithm in (
            ("cfr", ms.CFR),
            ("dcfr", ms.DCFR),
            ("pcfr_plus", ms.algorithms.PCFR_PLUS),
        )
    },
}


def solver_of(spot, algorithm=ms.DCFR, **options):
    return ms.Solver(ms.poker.subgame(**spot), algorithm, **options)


def bits(solver):
    return [array.tobytes() for array in solver.state.saved().values()]


@pytest.mark.parametrize("name", RULES)
def test_average_policy_equals_textbook(name):
    algorithm = RULES[name]
    solver = solver_of(RIVER, algorithm)
    parts = algorithm.minimizer, algorithm.averaging
    textbook = Textbook(solver.tree.game, algorithm.sampling, *parts)
    assert solver.store == "blocks"
    for _ in range(4):
        solver.iterate(1)
        textbook.run(1)
        policy = solver.average_policy()
        for info_state, row in textbook.average_policy().items():
            ours = list(policy[info_state].values())
            assert ours == pytest.approx(list(row.values()), abs=2e-5)


def test_rounded_policies_respect_trembles():
    """Mixed again, a policy with probabilities of 0.0199999 would be far from this
    game's equilibrium."""
    rule = ms.DCFR.minimizer.trembling(0.02)
    solver = solver_of(RIVER, ms.DCFR._replace(minimizer=rule))
    solver.iterate(300)
    assert solver.average_vector().min() < 0.02
    assert ms.metrics.trembling_nash_conv(solver) < 0.03


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_other_games_of_cards_use_blocks_on_request(name):
    solver, other = (
        ms.Solver(name, ms.DCFR, store=store) for store in ("blocks", "worlds")
    )
    for one in (solver, other):
        one.iterate(20)
    assert solver.tree.num_infosets == other.tree.num_infosets
    policy = solver.average_policy()
    theirs = exploitability.nash_conv(solver.tree.game, policy.to_tabular())
    assert ms.metrics.nash_conv(solver) == pytest.approx(theirs, abs=1e-5)
    assert theirs == pytest.approx(ms.metrics.nash_conv(other), rel=0.2)


@pytest.mark.parametrize("spot", [RIVER, TURN | {"rake": (0.05, 10)}])
def test_nash_conv_of_tables_equals_openspiel(spot):
    solver = solver_of(spot, ms.CFR_PLUS)
    solver.iterate(3)
    game, policy = solver.tree.game, solver.average_policy()
    tabular = policy.to_tabular()
    theirs: Any = exploitability.nash_conv(game, tabular, return_only_nash_conv=False)
    found, best = solver.state.returns()
    assert best - found == pytest.approx(theirs.player_improvements, abs=1e-5)
    assert ms.metrics.nash_conv(solver) == pytest.approx(theirs.nash_conv, abs=1e-5)
    assert ms.poker.Study(game, policy).evs == pytest.approx(found + 50, abs=1e-9)


def test_results_do_not_depend_on_threads():
    solvers = [solver_of(TURN, threads=threads) for threads in (1, 2, 3)]
    for solver in solvers:
        solver.iterate(3)
        assert solver.state.engine.sweeps.num_threads == solver.threads
    first, *others = map(bits, solvers)
    assert [first] * 2 == others
    first, *others = (solver.state.returns()[1].tobytes() for solver in solvers)
    assert [first] * 2 == others


@pytest.mark.parametrize("algorithm", [ms.DCFR, ms.algorithms.PCFR_PLUS])
def test_copies_files_and_pickles_continue_with_the_same_bits(algorithm, tmp_path):
    solver = solver_of(RIVER, algorithm)
    solver.iterate(3)
    solver.save(tmp_path / "solver")
    others = [copy.copy(solver), pickle.loads(pickle.dumps(solver))]
    others.append(ms.Solver.load(tmp_path / "solver"))
    for one in [solver, *others]:
        one.iterate(4)
        assert bits(one) == bits(solver)
        assert one.store == "blocks"


def test_interrupted_solver_continues_with_the_same_bits():
    plain, solver = solver_of(TURN), solver_of(TURN)
    plain.iterate(12)
    interrupted = 0
    for delay in np.linspace(1e-4, 3e-2, 25):
        signal.setitimer(signal.ITIMER_REAL, float(delay))
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            solver.iterate(12 - solver.num_iterations)
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    solver.iterate(12 - solver.num_iterations)
    assert interrupted
    assert bits(solver) == bits(plain)


def test_nothing_but_blocks_is_stored_until_a_vector_is_asked_for():
    solver = solver_of(TURN)
    solver.run(until_pot_percent=20, metrics=ms.metrics.nash_conv)
    policy = solver.average_policy()
    names = [solver.tree.info_state(k) for k in (0, 5)]
    rows = [policy[name] for name in names]
    study = ms.poker.Study(solver.tree.game, policy)
    assert sum(1 for _ in study.decisions(all_streets=True)) > 100
    assert "_listed" not in vars(solver.tree)
    assert "vector" not in vars(policy)
    found = solver.average_vector()
    for k, row in zip((0, 5), rows, strict=True):
        start = int(solver.tree.infosets[k]["first_sequence"])
        assert found[start : start + len(row)] == pytest.approx(list(row.values()))


def test_too_little_memory_is_refused():
    solver = solver_of(TURN)
    budget = solver.tree.budget
    with pytest.raises(ms.MemoryBudgetError, match="solver's tables"):
        solver_of(TURN, max_memory=budget.taken - 1)
    budget.take(budget.left - 1000)
    with pytest.raises(ms.MemoryBudgetError, match="vector over"):
        solver.average_vector()
    with pytest.raises(ms.MemoryBudgetError, match="average policy"):
        solver.average_policy()
    assert solver.state.returns()[0].sum() == pytest.approx(0)


def test_cost_is_what_a_solver_takes():
    game = ms.poker.subgame(**TURN)
    forecast = ms.poker.cost(game)
    solver = ms.Solver(game, ms.DCFR)
    assert forecast.bytes == pytest.approx(solver.tree.budget.taken, rel=0.2)
    assert forecast.infosets == solver.tree.num_infosets
    assert forecast.sequences == solver.tree.num_sequences
    blocks = solver.tree.blocks
    size = bytes_of_solver(blocks, 1, 3) - bytes_of_solver(blocks, 1, 2)
    assert size == 4 * blocks.num_entries


@pytest.mark.parametrize("name", ["dcfr", "cfr_plus"])
def test_locked_hands_keep_their_policy_and_others_answer(name):
    game = ms.poker.subgame(**RIVER)
    first = ms.Solver(game, ms.CFR).tree.info_state(0)
    row = [0.25, 0.75]
    solver = ms.Solver(game, RULES[name], locked={first: row})
    rows = ms.Solver(game, RULES[name], locked={first: row}, store="worlds")
    solver.iterate(60)
    rows.iterate(60)
    assert solver.store == "blocks"
    assert list(solver.average_policy()[first].values()) == pytest.approx(row)
    assert list(solver.current_policy()[first].values()) == pytest.approx(row)
    values = ms.expected_returns(game, solver.average_policy())
    theirs = ms.expected_returns(game, rows.average_policy())
    assert values == pytest.approx(theirs, abs=0.02)
    again = pickle.loads(pickle.dumps(solver))
    again.iterate(3)
    assert list(again.average_policy()[first].values()) == pytest.approx(row)


@pytest.mark.parametrize(
    "algorithm",
    [
        ms.CFR._replace(alternating=False),
        ms.CFR._replace(minimizer=ms.algorithms.mmd(1.0, 1.0)),
        ms.CFR._replace(minimizer=ms.algorithms.regret_matching(1.0)),
    ],
)
def test_other_rules_use_lists_of_hands(algorithm):
    solver = solver_of(RIVER, algorithm)
    assert solver.store == "worlds"
    with pytest.raises(ValueError, match="store='worlds'"):
        solver_of(RIVER, algorithm, store="blocks")
