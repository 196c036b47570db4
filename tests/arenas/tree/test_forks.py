"""Forked children of a process whose other threads run solvers.

Each call returns the result of an undisturbed solver, or raises TreeInUseError.
"""

import contextlib
import functools
import hashlib
import multiprocessing
import os
import pickle
import signal
import threading
import time

import pytest

import mccfr_spiel as ms
from mccfr_spiel.kernels.interruptions import signals_deferred

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]

BATCHES = ms.EXTERNAL_SAMPLING._replace(batch=4096)

SOLVERS = {
    "growing tree": functools.partial(
        ms.Solver, "leduc_poker", ms.EXTERNAL_SAMPLING, twin=False, max_nodes=2_000
    ),
    "CFR": functools.partial(ms.Solver, "leduc_poker", ms.CFR),
    "walks over rules": functools.partial(
        ms.Solver, "leduc_poker", ms.OUTCOME_SAMPLING, store="none"
    ),
    "CFR over rules": functools.partial(ms.Solver, "leduc_poker", ms.CFR, store="none"),
    "batches in two threads": functools.partial(
        ms.Solver, "liars_dice(numdice=1,dice_sides=3)", BATCHES, threads=2
    ),
}
NUM_FORKS = 6
SECONDS = 60


def digest(solver):
    """A hash of the average policy by state, independent of numbering."""
    rows = sorted(solver.average_policy().to_dict().items())
    return hashlib.sha256(pickle.dumps(rows)).hexdigest()


@contextlib.contextmanager
def iterated_elsewhere(solver):
    """Iterates the solver in a second thread."""
    is_over = threading.Event()

    def iterate():
        while not is_over.is_set():
            solver.iterate(20)

    thread = threading.Thread(target=iterate)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def answer_of_child(ask):
    """Result of a function in a forked child, or the name of the raised exception.

    Kills the child after SECONDS."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            answer = ask()
        except Exception as error:
            answer = type(error).__name__, str(error)
        os.write(writing, pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"The child ended with the status {status}."
    return pickle.loads(data)


@pytest.mark.parametrize("name", SOLVERS)
def test_child_returns_undisturbed_policy_or_raises(name):
    solver = SOLVERS[name]()
    solver.iterate(50)
    digest(solver)  # compiles everything for the child

    def ask():
        solver.average_vector()
        solver.iterate(1)  # finishes the current iteration
        return solver.num_iterations, digest(solver)

    answers = []
    with iterated_elsewhere(solver):
        for k in range(NUM_FORKS):
            time.sleep(0.01 + 0.02 * k)
            answers.append(answer_of_child(ask))
    undisturbed = SOLVERS[name]()
    for first, second in answers:
        if first == "TreeInUseError":
            assert "spawn" in second
            continue
        undisturbed.iterate(first - undisturbed.num_iterations)
        assert second == digest(undisturbed)


def test_child_forked_inside_step_raises_and_parent_continues():
    started, may_go_on = threading.Event(), threading.Event()

    def abstraction(state, player):
        started.set()
        may_go_on.wait(SECONDS)
        return state.information_state_string(player)

    solver = ms.Solver("kuhn_poker", ms.OUTCOME_SAMPLING, abstraction=abstraction)
    other = ms.Solver("kuhn_poker", ms.OUTCOME_SAMPLING)
    other.iterate(10)
    thread = threading.Thread(target=solver.iterate, args=(10,))
    thread.start()
    started.wait(SECONDS)
    for ask in (
        solver.average_vector,
        lambda: solver.iterate(1),
        lambda: solver.tree.info_states,
    ):
        name, words = answer_of_child(ask)
        assert name == "TreeInUseError"
        assert "forked child" in words
        assert "spawn" in words
    # A tree that no other thread changes works as in the parent.
    assert answer_of_child(lambda: digest(other)) == digest(other)
    may_go_on.set()
    thread.join()
    assert solver.num_iterations == 10


def test_child_forked_by_lock_holder_continues():
    answers = []

    def abstraction(state, player):
        if not answers:
            answers.append(None)
            answers[0] = answer_of_child(solver.average_vector)
        return state.information_state_string(player)

    solver = ms.Solver("kuhn_poker", ms.OUTCOME_SAMPLING, abstraction=abstraction)
    solver.iterate(10)
    name, words = answers[0]
    assert name == "TreeInUseError"
    # As in the parent, the step is not over.
    assert "Wait until the outer call" in words


def ask_in_pool(_):
    try:
        return len(IN_POOL[0].average_vector())
    except ms.TreeInUseError:
        return None


IN_POOL: list[ms.Solver] = []


def test_forked_process_pools_work():
    solver = SOLVERS["growing tree"]()
    solver.iterate(500)
    solver.average_vector()
    IN_POOL[:] = [solver]
    with iterated_elsewhere(solver):
        context = multiprocessing.get_context("fork")
        for _ in range(4):
            with context.Pool(2) as pool:
                sizes = pool.map_async(ask_in_pool, range(4)).get(SECONDS)
            assert all(size in (None, *range(1, 10_000)) for size in sizes)


def test_child_handles_ctrl_c_that_parent_defers():
    answers = []

    def ask():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            return "heard"
        return "deferred"

    with signals_deferred():
        thread = threading.Thread(target=lambda: answers.append(answer_of_child(ask)))
        thread.start()
        thread.join()
    assert answers == ["heard"]
