"""Threads, signal handlers and callbacks: each gets its turn or an error in words.

What runs here at the same time crashed the process or changed results before there was
a lock. The oracle for bits is a solver that nobody disturbs.
"""

import copy
import pickle
import signal
import threading

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.compiled.jit import IS_COMPILED
from mccfr_spiel.tree.lock import READING, TreeLock, changes, reads

pytestmark = pytest.mark.compiled

SECONDS = 60
"""What waits for so long waits for ever."""


def bits(solver):
    return (
        solver.num_iterations,
        solver.nodes_touched,
        by_name(solver, solver.average_vector()),
        by_name(solver, solver.current_vector()),
    )


def by_name(solver, vector):
    """A vector's values by information state, however the tree numbers them."""
    tree = solver.tree
    rows = zip(tree.info_states, tree.infosets.tolist(), strict=True)
    return {
        name: vector[start : start + count].tobytes()
        for name, (_, start, _, count, _) in rows
    }


def in_thread(function):
    """Starts a thread; the function returned waits for it and hands on its result."""
    results, errors = [], []

    def run():
        try:
            results.append(function())
        except BaseException as error:  # handed to the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait():
        thread.join(SECONDS)
        assert not thread.is_alive(), "waits for ever"
        if errors:
            raise errors[0]
        return results[0]

    return wait


# --- the same thread comes in again ------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda solver, path: solver.average_policy(),
        lambda solver, path: solver.current_vector(),
        lambda solver, path: solver.iterate(1),
        lambda solver, path: solver.iterate_until(1e9),
        lambda solver, path: solver.save(path),
        lambda solver, path: pickle.dumps(solver),
        lambda solver, path: copy.copy(solver),
        lambda solver, path: solver.tree.expand_all(),
        lambda solver, path: solver.tree.forget_nodes(),
        lambda solver, path: solver.tree.state_at(0),
        lambda solver, path: solver.tree.info_states,
        lambda solver, path: solver.tree.actions,
        lambda solver, path: Solver(solver.tree, ms.CFR),
    ],
)
def test_an_abstraction_that_calls_the_solver_is_told_so(call, tmp_path):
    def abstraction(state, player):
        nonlocal times
        times += 1
        if times % 5 == 0:
            with pytest.raises(ms.TreeInUseError, match="after that one"):
                call(solver, tmp_path / "solver")
        return state.information_state_string(player)

    times = 0
    solver = Solver("kuhn_poker", ms.OUTCOME_SAMPLING, abstraction=abstraction)
    solver.iterate(200)
    assert times >= 10
    plain = Solver(
        "kuhn_poker",
        ms.OUTCOME_SAMPLING,
        abstraction=pyspiel.State.information_state_string,
    )
    plain.iterate(200)
    assert bits(solver) == bits(plain)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="has no interval timer")
@pytest.mark.parametrize("what", ["policy", "iterate", "save"])
def test_a_signal_handler_gets_a_policy_or_an_error_in_words(what, tmp_path):
    def handle(number, frame):
        try:
            if what == "policy":
                answers.append(solver.average_policy().to_dict())
            elif what == "iterate":
                solver.iterate(1)
                answers.append("ran")
            else:
                solver.save(tmp_path / "solver")
                answers.append(Solver.load(tmp_path / "solver").num_iterations)
        except ms.TreeInUseError as error:
            answers.append(error)
        signal.setitimer(signal.ITIMER_REAL, 0.003)  # not inside this one

    answers = []
    enough = 300 if IS_COMPILED else 40
    solver = Solver("leduc_poker", ms.EXTERNAL_SAMPLING, seed=5)
    solver.iterate(1)
    solver.average_policy()  # compiles
    solver.save(tmp_path / "solver")
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.003)
    try:
        while len(answers) < 20 or solver.num_iterations < enough:
            solver.iterate(20)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    expected = Solver("leduc_poker", ms.EXTERNAL_SAMPLING, seed=5)
    expected.iterate(solver.num_iterations)
    assert bits(solver) == bits(expected)
    for answer in answers:
        if what == "policy" and not isinstance(answer, ms.TreeInUseError):
            for row in answer.values():
                assert sum(row.values()) == pytest.approx(1, abs=1e-9)


class Locked:
    """What a lock guards: two methods that call another function inside."""

    def __init__(self):
        self.lock = TreeLock()

    @reads
    def read(self, inside=None):
        return inside() if inside else self.lock.level

    @changes
    def change(self, inside=None):
        return inside() if inside else "changed"


def test_reading_inside_of_reading_is_allowed_and_changing_is_not():
    tree = Locked()
    assert tree.read() == READING
    assert tree.read(tree.read) > READING
    for outer, inner in (
        (tree.read, tree.change),
        (tree.change, tree.read),
        (tree.change, tree.change),
    ):
        with pytest.raises(ms.TreeInUseError, match=f"{inner.__name__} was called"):
            outer(inner)
    assert tree.change() == "changed"  # an error leaves the lock free
    assert in_thread(tree.change)() == "changed"


# --- copies, pickles, forks --------------------------------------------------


def test_a_tree_is_neither_copied_nor_pickled():
    tree = GameTree("kuhn_poker")
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="Solvers and policies can"):
            duplicate(tree)
