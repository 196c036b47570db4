"""Threads, signal handlers and callbacks: each gets its turn or an error in words.

What runs here at the same time crashed the process or changed results before there was
a lock. The oracle for bits is a solver that nobody disturbs.
"""

import copy
import multiprocessing
import os
import pickle
import signal
import threading
import time

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.compiled.jit import IS_COMPILED
from mccfr_spiel.kernels.tables import TOP
from mccfr_spiel.tree.growth import Growth
from mccfr_spiel.tree.lock import READING, TreeLock, changes, reads
from tests.small_games import chance, leaf, move, small_game

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


# --- other threads wait ------------------------------------------------------


def test_two_threads_that_iterate_one_solver_do_the_sum():
    solver, expected = (
        Solver("leduc_poker", ms.EXTERNAL_SAMPLING, seed=4) for _ in range(2)
    )
    expected.iterate(300)  # compiles, too
    waits = [in_thread(lambda: solver.iterate(150)) for _ in range(2)]
    for wait in waits:
        wait()
    assert bits(solver) == bits(expected)


@pytest.mark.parametrize("algorithm", [ms.CFR, ms.EXTERNAL_SAMPLING])
def test_a_policy_comes_while_a_long_iterate_runs(algorithm):
    tree = GameTree("kuhn_poker")
    solver = Solver(tree, algorithm)
    other = Solver(tree, ms.OUTCOME_SAMPLING)
    for compiles in (solver, other):
        compiles.iterate(1)
    stop = threading.Event()

    def run():
        while not stop.is_set():
            solver.iterate(10**4 if IS_COMPILED else 10)

    wait = in_thread(run)
    try:
        for turn in range(5):
            in_thread(solver.average_policy)()
            in_thread(lambda: other.iterate(1))()
            assert other.num_iterations == turn + 2
    finally:
        stop.set()
        wait()


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
        lambda solver, path: solver.memory(),
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


def test_an_abstraction_s_call_of_its_own_solver_ends_the_iteration_in_words():
    def abstraction(state, player):
        if is_asking and state.history():
            solver.average_policy()
        return state.information_state_string(player)

    is_asking = False
    solver = Solver("kuhn_poker", ms.EXTERNAL_SAMPLING, abstraction=abstraction)
    is_asking = True
    with pytest.raises(ms.TreeInUseError, match="average_policy was called"):
        solver.iterate(1)
    is_asking = False
    solver.iterate(20)
    plain = Solver("kuhn_poker", ms.EXTERNAL_SAMPLING, abstraction=abstraction)
    plain.iterate(20)
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


@pytest.mark.skipif(not IS_COMPILED, reason="hears signals in the middle of a kernel")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="has no interval timer")
def test_a_signal_handler_gets_a_policy_while_a_whole_tree_is_iterated():
    answers = []

    def handle(number, frame):
        answers.append(solver.average_policy())

    solver = Solver("kuhn_poker", ms.CFR)
    solver.iterate(1)
    solver.average_policy()
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        until = time.monotonic() + SECONDS
        while not answers and time.monotonic() < until:
            solver.iterate(1000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(answers) == 1


def test_reading_inside_of_reading_is_allowed_and_changing_is_not():
    class Tree:
        def __init__(self):
            self.lock = TreeLock()

        @reads
        def read(self, inside=None):
            return inside() if inside else self.lock.level

        @changes
        def change(self, inside=None):
            return inside() if inside else "changed"

    tree = Tree()
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


# --- a walk that was left in the middle --------------------------------------


def leave_midway(solver, monkeypatch, steps):
    """Runs an iteration that an error stops where the walk has grown `steps` times."""
    grow, left = Growth.grow, steps

    def interrupted(self, *arguments):
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return grow(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Growth, "grow", interrupted)
        try:
            solver.iterate(1)
        except KeyboardInterrupt:
            return bool(solver.state.marks[TOP])
    return False


@pytest.mark.parametrize(
    ("algorithm", "alternating"),
    [
        pytest.param(ms.EXTERNAL_SAMPLING, True, id="external"),
        pytest.param(ms.OUTCOME_SAMPLING, False, id="outcome at once"),
        pytest.param(ms.CHANCE_SAMPLING, True, id="chance"),
    ],
)
def test_a_walk_left_in_the_middle_outlives_its_nodes(
    algorithm, alternating, monkeypatch
):
    algorithm = algorithm._replace(alternating=alternating)
    max_nodes = 200 if algorithm.sampling.opponents else 1500
    tree = GameTree("leduc_poker", max_nodes=max_nodes)
    first = Solver(tree, algorithm, seed=1)
    second = Solver(tree, algorithm, seed=2)
    lost = 0
    for turn in range(60):
        midway = leave_midway(first, monkeypatch, turn % 7)
        generation = tree.generation
        second.iterate(1 + turn % 5)
        lost += midway and tree.generation > generation
        if turn % 3 == 0:
            first.average_policy()
    assert lost >= 5
    first.iterate(100 - first.num_iterations)
    second.iterate(300 - second.num_iterations)
    for solver, seed, iterations in ((first, 1, 100), (second, 2, 300)):
        alone = Solver("leduc_poker", algorithm, seed=seed)
        alone.iterate(iterations)
        assert solver.nodes_touched == alone.nodes_touched
        met = by_name(alone, alone.average_vector())
        assert met.items() <= by_name(solver, solver.average_vector()).items()


def test_a_walk_left_in_the_middle_outlives_the_trees_expansion(monkeypatch):
    tree = GameTree("leduc_poker")
    solver = Solver(tree, ms.EXTERNAL_SAMPLING, seed=1)
    solver.iterate(3)
    assert leave_midway(solver, monkeypatch, 1)
    tree.expand_all()
    solver.iterate(47 - solver.num_iterations)
    alone = Solver("leduc_poker", ms.EXTERNAL_SAMPLING, seed=1)
    alone.iterate(47)
    met = by_name(alone, alone.average_vector())
    assert met.items() <= by_name(solver, solver.average_vector()).items()
    assert solver.nodes_touched == alone.nodes_touched


def test_a_tree_in_use_is_not_renumbered():
    tree = GameTree("kuhn_poker").expand_all()
    other = GameTree("kuhn_poker").expand_all()
    with pytest.raises(ValueError, match="take a new one"):
        tree.recall(other.info_states, other.infosets, other.actions)
    with pytest.raises(ValueError, match="take a new one"):
        tree.take_over(None, None, None)  # pyright: ignore[reportArgumentType]


# --- copies, pickles, forks --------------------------------------------------


def test_a_tree_is_neither_copied_nor_pickled():
    tree = GameTree("kuhn_poker")
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="Solvers and policies can"):
            duplicate(tree)


@pytest.mark.parametrize(
    ("duplicate", "name"),
    [
        (copy.copy, "external_sampling"),
        (copy.deepcopy, "cfr_plus"),
        (copy.deepcopy, "balanced"),
    ],
)
def test_a_copied_solver_goes_on_by_itself(duplicate, name):
    game = pyspiel.create_matrix_game("m", "m", ["a", "b"], ["a", "b"], *PAYOFFS)
    algorithm = {**ms.ALGORITHMS, "balanced": ms.BALANCED_OUTCOME_SAMPLING}[name]
    solver = Solver(game, algorithm, seed=1)
    solver.iterate(10)
    copied = duplicate(solver)
    assert bits(copied) == bits(solver)
    copied.iterate(20)
    alone = Solver(game, algorithm, seed=1)
    alone.iterate(10)
    assert bits(solver) == bits(alone)  # the first one is as it was
    solver.iterate(20)
    assert bits(copied) == bits(solver)


PAYOFFS = [[1.0, -2.0], [-1.0, 3.0]], [[-1.0, 2.0], [1.0, -3.0]]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copied_policy_is_another_one(duplicate):
    solver = Solver("kuhn_poker", ms.EXTERNAL_SAMPLING)
    solver.iterate(2)
    policy = solver.average_policy()
    before = policy.to_dict()
    policy.action_probability_array  # noqa: B018  is made now
    solver.iterate(50)  # meets more
    copied = duplicate(policy)
    copied.vector[2:] = 0.5
    assert policy.to_dict() == before
    assert set(copied.to_dict()) == set(before)
    assert (copied.action_probability_array == 0.5).all()


def test_a_policy_does_not_change_when_its_tree_meets_a_string_s_other_owner():
    game = small_game(
        chance(
            (0.5, move(0, "same", leaf(1, -1), leaf(0, 0))),
            (0.5, move(1, "same", leaf(1, -1), leaf(2, -2))),
        )
    )
    tree = GameTree(game)
    root = tree.game.new_initial_state()
    _, _, first, _, _ = tree.expand(0, root, (0, 1))
    tree.expand(first, root.child(root.legal_actions()[0]), [0, 1])
    early = ms.SequencePolicy(tree, np.array([1, 1, 0.5, 0.5]))
    tree.expand_all()
    assert set(early.to_dict()) == {"same"}
    late = ms.SequencePolicy(tree, np.array([1, 1, 0.5, 0.5, 0.5, 0.5]))
    assert set(late.to_dict()) == {"player 0: same", "player 1: same"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="cannot fork")
@pytest.mark.parametrize("is_torn", [False, True])
def test_a_forked_process_does_not_wait_for_threads_it_has_not(is_torn):
    class Tree:
        def __init__(self):
            self.lock = TreeLock()

        @reads
        def read(self, inside=lambda: None):
            inside()

        @changes
        def change(self, inside=lambda: None):
            inside()

    tree, entered, leave = Tree(), threading.Event(), threading.Event()

    def stay():
        entered.set()
        leave.wait(SECONDS)

    wait = in_thread(lambda: (tree.change if is_torn else tree.read)(stay))
    entered.wait(SECONDS)
    child = multiprocessing.get_context("fork").Process(target=_use, args=[tree])
    child.start()
    child.join(SECONDS)
    leave.set()
    wait()
    assert child.exitcode == (3 if is_torn else 0)
    tree.change()


def _use(tree):
    try:
        tree.change()
    except ms.TreeInUseError as error:
        os._exit(3 if "forked" in str(error) else 4)
    os._exit(0)


# --- Ctrl-C and the lock -----------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="has no interval timer")
def test_ctrl_c_never_leaves_the_lock_taken(no_collection):
    solver = Solver("kuhn_poker", ms.OUTCOME_SAMPLING)
    solver.iterate(1)
    solver.average_policy()
    generator = np.random.default_rng(0)

    def handle(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    interrupted = 0
    try:
        for _ in range(2000):
            try:
                signal.setitimer(signal.ITIMER_REAL, generator.uniform(1e-5, 5e-4), 1)
                while True:
                    solver.iterate(1)
                    solver.current_vector()
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 2000
    assert solver.lock.level == 0
    assert not solver.lock.waiting
    in_thread(solver.average_policy)()
