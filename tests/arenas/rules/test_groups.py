"""Batches over compiled rules, walked in groups, have the bits of one thread for any
number of threads, new infosets included."""

from typing import Any

import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameError, GameTree, Solver, algorithms
from mccfr_spiel.arenas import sharing
from mccfr_spiel.arenas.rules import store, walks
from mccfr_spiel.kernels import apply, teams
from mccfr_spiel.kernels.jit import IS_COMPILED
from mccfr_spiel.kernels.tables import GROW, LOG_FULL, STACK_FULL
from tests.arenas.rules.mistaken import EXPANDED, FAULT, FAULTS, of_fault

THREADS = (1, 3)
LARGE = "python_goofspiel(num_cards=6)"
MANY = 400 if IS_COMPILED else 10
"""The walks of a batch that is cut into groups."""


@pytest.fixture(autouse=True)
def calls(monkeypatch) -> list[tuple[int, int]]:
    """Cuts small batches into groups, too, where loops are not compiled already.

    Returns:
        The number of threads and the status of each call for groups.
    """
    if not IS_COMPILED:
        monkeypatch.setattr(apply, "NODES_OF_GROUP", (1, 2**18))
    found, run = [], teams.run

    def noted(work, num_threads, *arguments, **more):
        status = run(work, num_threads, *arguments, **more)
        found.append((num_threads, int(status)))
        return status

    monkeypatch.setattr(teams, "run", noted)
    return found


def batched(sampling, batch: Any = MANY, rule: Any = None, *, alternating=True):
    rule = ms.regret_matching() if rule is None else rule
    return ms.Algorithm(sampling, rule, ms.LINEAR, alternating, batch)


def started(game, algorithm, threads, **more) -> Any:
    return Solver(game, algorithm, seed=5, threads=threads, store="none", **more)


def bits(solver) -> dict[str, bytes]:
    """All that a solver has learned, where it is, and the infosets that it has met."""
    arrays = solver.state.saved() | solver.arena.known.saved()
    return {name: array.tobytes() for name, array in arrays.items()}


def assert_equal_for_all(game, algorithm, iterations, calls):
    """Solvers with 1 and 3 threads have the same bits on the way and then."""
    solvers = [started(game, algorithm, threads) for threads in THREADS]
    calls.clear()
    for more in iterations:
        for solver in solvers:
            solver.iterate(more)
        assert bits(solvers[0]) == bits(solvers[1])
    assert {threads for threads, _ in calls} == {1, 3}


# --- the bits ------------------------------------------------------------------------

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
]


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_any_number_of_threads_has_the_bits_of_one(row, calls):
    if IS_COMPILED and row > 1:
        pytest.skip("each takes long to compile")
    game, sampling, rule, alternating = ROWS[row]
    algorithm = batched(sampling, MANY, rule, alternating=alternating)
    assert_equal_for_all(game, algorithm, (1, 1, 20 if IS_COMPILED else 2), calls)


@pytest.mark.parametrize("room", [1, 8])
def test_room_of_any_size_changes_no_bit(room, calls, monkeypatch):
    monkeypatch.setattr(sharing, "_ROOM_OF_GROUP", room)
    monkeypatch.setattr(sharing, "_HEIGHT", 2)
    for batch in (MANY, 4 * MANY):  # one stretch, and several
        algorithm = batched(ms.EXTERNAL, batch)
        assert_equal_for_all("leduc_poker", algorithm, (1, 1), calls)
        assert {STACK_FULL, LOG_FULL} <= {status for _, status in calls}


# --- room, memory, pauses, errors ----------------------------------------------------


def test_ctrl_c_while_threads_are_given_more_room_changes_no_bit(monkeypatch):
    """What the threads write must fit when the solver goes on."""
    monkeypatch.setattr(sharing, "_ROOM_OF_GROUP", 1)
    one, other = (started("leduc_poker", batched(ms.EXTERNAL), 3) for _ in range(2))
    one.iterate(3)
    frame_of, left = walks.frame_of, iter([0, 0, 0, 0, 1])  # of 3 threads, and 2

    def interrupted(task, *records):
        if task is sharing._NO_TASK and next(left, 0):
            raise KeyboardInterrupt
        return frame_of(task, *records)

    monkeypatch.setattr(walks, "frame_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        other.iterate(3)
    other.iterate(3 - other.num_iterations)
    assert bits(other) == bits(one)


def test_the_store_grows_amid_a_merge_as_for_one_thread(calls, monkeypatch):
    monkeypatch.setattr(store, "_FACTORS", (1.25, 1.015))
    assert_equal_for_all(LARGE, batched(ms.OUTCOME, 4 * MANY), (1, 1, 2), calls)
    assert GROW in {status for _, status in calls}


@pytest.mark.parametrize("fault", sorted(set(EXPANDED) - {"overflow"}))
def test_a_mistake_of_rules_is_told_in_the_words_of_one_thread(
    fault, calls, monkeypatch
):
    """The game makes no mistake until it is known how long its walks are."""
    found = []
    for threads in (1, 3):
        tree = GameTree("python_mistaken")
        monkeypatch.setattr(tree, "rules", of_fault("none"))
        solver = started(tree, batched(ms.OUTCOME, 3 * MANY), threads)
        solver.iterate(1)
        solver.iterate(1)
        before = solver.state.saved()["average"].copy()
        solver.arena.known.game.settings[FAULT] = FAULTS.index(fault)
        words = ""
        for _ in range(2):  # it is met again
            with pytest.raises(GameError) as error:
                solver.iterate(1)
            words = str(error.value)
        assert (solver.state.saved()["average"][: len(before)] == before).all()
        found.append((words, solver.num_iterations, bits(solver)))
    assert {threads for threads, _ in calls} == {1, 3}
    assert found[0] == found[1]
    assert "The history" in found[0][0]
