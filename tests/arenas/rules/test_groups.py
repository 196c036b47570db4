"""Groups of walks over compiled rules give equal bits for any number of threads."""

from typing import Any

import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameError, GameTree, Solver, algorithms
from mccfr_spiel.arenas import grouped_walks
from mccfr_spiel.arenas.rules import rule_store, walks
from mccfr_spiel.kernels import batches, teams
from mccfr_spiel.kernels.jit import IS_COMPILED
from mccfr_spiel.kernels.tables import GROW, LOG_FULL, STACK_FULL
from tests.arenas.rules.mistaken import EXPANDED, FAULT, FAULTS, of_fault

THREADS = (1, 3)
LARGE = "python_goofspiel(num_cards=6)"
MANY = 400 if IS_COMPILED else 10
"""Walks per batch, enough for several groups."""


@pytest.fixture(autouse=True)
def calls(monkeypatch) -> list[tuple[int, int]]:
    """Records the calls for groups; without the JIT, also cuts small batches.

    Returns:
        The number of threads and the status of each call.
    """
    if not IS_COMPILED:
        monkeypatch.setattr(batches, "NODES_OF_GROUP", (1, 2**18))
    calls, run = [], teams.run

    def recorded_run(work, num_threads, *arguments, **more):
        status = run(work, num_threads, *arguments, **more)
        calls.append((num_threads, int(status)))
        return status

    monkeypatch.setattr(teams, "run", recorded_run)
    return calls


def batched(sampling, batch: Any = MANY, rule: Any = None, *, alternating=True):
    rule = ms.regret_matching() if rule is None else rule
    return ms.Algorithm(sampling, rule, ms.LINEAR, alternating, batch)


def started(game, algorithm, threads, **more) -> Any:
    return Solver(game, algorithm, seed=5, threads=threads, store="none", **more)


def bits(solver) -> dict[str, bytes]:
    """The state of a solver and the infosets met, as bytes."""
    arrays = solver.state.saved() | solver.arena.known.saved()
    return {name: array.tobytes() for name, array in arrays.items()}


def assert_equal_for_all(game, algorithm, iterations, calls):
    """Asserts equal bits of solvers with 1 and 3 threads, call by call."""
    solvers = [started(game, algorithm, threads) for threads in THREADS]
    calls.clear()
    for more in iterations:
        for solver in solvers:
            solver.iterate(more)
        assert bits(solvers[0]) == bits(solvers[1])
    assert {threads for threads, _ in calls} == {1, 3}


ROWS = [
    ("leduc_poker", ms.EXTERNAL, ms.regret_matching(), True),
    ("python_leduc_ranks(ranks=2)", ms.OUTCOME, ms.regret_matching_plus(), False),
    ("liars_dice(dice_sides=3)", ms.OUTCOME, ms.regret_matching(), True),
    ("kuhn_poker(players=3)", ms.EXTERNAL, ms.regret_matching_plus(), False),
    ("python_one_card_poker", ms.CHANCE, ms.ftrl(0.3), True),
    (
        "python_princess_and_monster(rows=2,cols=3,horizon=4,evader=1)",
        ms.OPPONENT,
        algorithms.discounted_regret_matching(1.5, -0.5),
        False,
    ),
    ("python_goofspiel(num_cards=3,points_order=random)", ms.EXTERNAL, None, False),
    ("leduc_poker", ms.EXTERNAL, ms.regret_matching(tremble=0.03), True),
]


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_three_threads_equal_one_thread(row, calls):
    if IS_COMPILED and row > 1:
        pytest.skip("each takes long to compile")
    game, sampling, rule, alternating = ROWS[row]
    algorithm = batched(sampling, MANY, rule, alternating=alternating)
    assert_equal_for_all(game, algorithm, (1, 1, 20 if IS_COMPILED else 2), calls)


@pytest.mark.parametrize("room", [1, 8])
def test_initial_capacity_changes_no_bit(room, calls, monkeypatch):
    monkeypatch.setattr(grouped_walks, "_ROOM_OF_GROUP", room)
    monkeypatch.setattr(grouped_walks, "STACK_HEIGHT", 2)
    for batch in (MANY, 4 * MANY):  # one stretch, several stretches
        algorithm = batched(ms.EXTERNAL, batch)
        assert_equal_for_all("leduc_poker", algorithm, (1, 1), calls)
        assert {STACK_FULL, LOG_FULL} <= {status for _, status in calls}


def test_ctrl_c_during_growth_changes_no_bit(monkeypatch):
    """The enlarged arrays must fit when the solver continues."""
    monkeypatch.setattr(grouped_walks, "_ROOM_OF_GROUP", 1)
    solvers = [started("leduc_poker", batched(ms.EXTERNAL), 3) for _ in range(2)]
    uninterrupted, other = solvers
    uninterrupted.iterate(3)
    frame_of, left = walks.frame_of, iter([0, 0, 0, 0, 1])  # in the second growth

    def interrupted(task, *records):
        if task is grouped_walks._NO_TASK and next(left, 0):
            raise KeyboardInterrupt
        return frame_of(task, *records)

    monkeypatch.setattr(walks, "frame_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        other.iterate(3)
    other.iterate(3 - other.num_iterations)
    assert bits(other) == bits(uninterrupted)


def test_growth_during_a_merge_changes_no_bit(calls, monkeypatch):
    monkeypatch.setattr(rule_store, "_FACTORS", (1.25, 1.015))
    assert_equal_for_all(LARGE, batched(ms.OUTCOME, 4 * MANY), (1, 1, 2), calls)
    assert GROW in {status for _, status in calls}


@pytest.mark.parametrize("fault", sorted(set(EXPANDED) - {"overflow"}))
def test_threads_raise_the_error_of_one_thread(fault, calls, monkeypatch):
    """The fault begins in the third iteration, in which walks form groups."""
    results = []
    for threads in (1, 3):
        tree = GameTree("python_mistaken")
        monkeypatch.setattr(tree, "rules", of_fault("none"))
        solver = started(tree, batched(ms.OUTCOME, 3 * MANY), threads)
        solver.iterate(1)
        solver.iterate(1)
        before = solver.state.saved()["average"].copy()
        solver.arena.known.game.settings[FAULT] = FAULTS.index(fault)
        message = ""
        for _ in range(2):  # the same error again
            with pytest.raises(GameError) as error:
                solver.iterate(1)
            message = str(error.value)
        assert (solver.state.saved()["average"][: len(before)] == before).all()
        results.append((message, solver.num_iterations, bits(solver)))
    assert {threads for threads, _ in calls} == {1, 3}
    assert results[0] == results[1]
    assert "The history" in results[0][0]
