"""A solver always stands between two updates, whoever looks at it or stops it.

A walk writes its scratch only, and one place applies what it found. So what was learned
is, at any moment, exactly what it was after one of the updates of a run that nobody
disturbs, and going on gives that run's bits.
"""

import copy
import pickle
import random
import signal
import threading
import time

import pytest
from open_spiel.python.games import kuhn_poker

import mccfr_spiel as ms
from mccfr_spiel import Solver
from mccfr_spiel.limits.budget import MemoryBudgetError

ROUNDS = 3
"""How often each test disturbs a run; a long test of the contract sets more."""

BATCHED = ms.EXTERNAL_SAMPLING._replace(batch=40)
ENGINES = {
    "tree": lambda: Solver("leduc_poker", ms.OUTCOME_SAMPLING, seed=1),
    "growing tree": lambda: Solver(
        "leduc_poker", ms.EXTERNAL_SAMPLING, seed=1, max_nodes=700, twin=False
    ),
    "batch on a growing tree": lambda: Solver(
        "leduc_poker", BATCHED, seed=1, max_nodes=700, twin=False
    ),
    "blocks": lambda: Solver("leduc_poker", BATCHED, seed=1, threads=2),
    "rules": lambda: Solver("liars_dice", ms.EXTERNAL_SAMPLING, seed=1, store="none"),
    "groups": lambda: Solver("liars_dice", BATCHED, seed=1, store="none", threads=2),
    "passes": lambda: Solver("leduc_poker", ms.CFR_PLUS, seed=1, threads=2),
    "pruned passes": lambda: Solver("kuhn_poker", ms.PRUNED_CFR, seed=1),
}


def learned(solver: Solver) -> tuple[int, dict[str, bytes]]:
    """The nodes touched, and both policies by information state where a walk has been:
    infosets that a stopped walk has met stay known."""
    policies = {"average": solver.average_policy(), "current": solver.current_policy()}
    met = {
        f"{name} {info_state}": repr(policy)
        for name, table in policies.items()
        for info_state, policy in table.to_dict().items()
        if len({round(one, 15) for one in policy.values()}) > 1
    }
    return solver.nodes_touched, met


class Updates:
    """What an undisturbed run has learned after each of its iterations."""

    def __init__(self, start) -> None:
        self._solver, self._after = start(), {}

    def after(self, iterations: int):
        """What it has learned by then."""
        while (done := self._solver.num_iterations) <= iterations:
            self._after[done] = learned(self._solver)
            self._solver.iterate(1)
        return self._after[iterations]


class Alarm(BaseException):
    """What the timer raises, as Ctrl-C raises KeyboardInterrupt."""


def looks(solver: Solver, path) -> list:
    """What may be asked of a solver at any time, without making it go on."""
    return [
        lambda: solver.save(path),
        lambda: copy.copy(solver),
        lambda: pickle.dumps(solver),
        solver.average_policy,
        solver.current_vector,
        solver.memory,
        lambda: repr(solver),
        solver.contents,
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_iterate_makes_as_many_iterations_as_it_says_whoever_looks(engine, tmp_path):
    start = ENGINES[engine]
    updates = Updates(start)
    for _ in range(ROUNDS):
        solver, is_over, slowest = start(), threading.Event(), [0.0]

        def look(solver=solver, is_over=is_over, slowest=slowest):
            asked = looks(solver, tmp_path / "solver")
            while not is_over.is_set():
                for ask in asked:
                    began = time.perf_counter()
                    ask()
                    slowest[0] = max(slowest[0], time.perf_counter() - began)
                time.sleep(0.01)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            solver.iterate(20)
        finally:
            is_over.set()
            looking.join()
        assert solver.num_iterations == 20
        assert learned(solver) == updates.after(20)
        loaded = Solver.load(tmp_path / "solver")
        assert learned(loaded) == updates.after(loaded.num_iterations)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interruption_at_any_moment_changes_nothing(engine):
    start, draws = ENGINES[engine], random.Random(1)
    updates, solver, interruptions = Updates(start), start(), 0
    solver.iterate(1)

    def interrupt(number, frame):
        raise Alarm

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        while interruptions < 10 * ROUNDS:
            try:
                signal.setitimer(signal.ITIMER_REAL, draws.uniform(1e-5, 5e-3))
                while True:
                    solver.iterate(1)
            except Alarm:
                interruptions += 1
            if solver.num_iterations > 60:
                solver = start()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    solver.iterate(2)
    assert learned(solver) == updates.after(solver.num_iterations)


METHODS = ["_apply_action", "_legal_actions", "returns", "current_player", "is_terminal"]


@pytest.mark.parametrize("batch", [1, 20])
def test_an_exception_in_a_game_s_method_leaves_what_was_learned(monkeypatch, batch):
    """The tree is so small that nodes are dropped and made again all the time."""
    algorithm = ms.EXTERNAL_SAMPLING._replace(batch=batch)

    def start():
        return Solver("python_kuhn_poker", algorithm, seed=2, max_nodes=25)

    updates, solver, draws, raised = Updates(start), start(), random.Random(3), 0
    updates.after(300)
    solver.iterate(1)

    class GameFault(Exception):
        """What the game's methods raise now and then."""

    def faulty(method):
        def called(self, *arguments):
            if draws.random() < 0.002:
                raise GameFault
            return method(self, *arguments)

        return called

    for name in METHODS:
        method = getattr(kuhn_poker.KuhnPokerState, name)
        monkeypatch.setattr(kuhn_poker.KuhnPokerState, name, faulty(method))
    while raised < 100 * ROUNDS:
        done = solver.num_iterations
        try:
            solver.iterate(1)
        except Exception as error:
            assert "GameFault" in repr(error) + repr(error.__cause__)
            raised += 1
        assert solver.num_iterations - done in (0, 1)
        if solver.num_iterations == done and draws.random() < 0.1:
            solver = pickle.loads(pickle.dumps(solver))
        if solver.num_iterations == 300:
            assert learned(solver) == updates.after(300)
            solver = start()
            solver.iterate(1)
    monkeypatch.undo()
    solver.iterate(1)
    assert learned(solver) == updates.after(solver.num_iterations)


@pytest.mark.parametrize("store", ["tree", "none"])
def test_full_memory_leaves_what_was_learned(store):
    def start(max_memory="1GiB"):
        game = "goofspiel(num_cards=6,imp_info=True,points_order=descending)"
        return Solver(
            game, ms.OUTCOME_SAMPLING, seed=2, store=store, max_memory=max_memory
        )

    solver = start("4MB")
    with pytest.raises(MemoryBudgetError):
        solver.iterate(10**6)
    done, found = solver.num_iterations, learned(solver)
    for _ in range(ROUNDS):
        with pytest.raises(MemoryBudgetError):
            solver.iterate(1)
        assert learned(solver) == found
    more = Solver.from_contents(solver.contents(), max_memory="1GiB")
    whole = start()
    for one in (more, whole):
        one.iterate(done + 5 - one.num_iterations)
    assert learned(more) == learned(whole)
