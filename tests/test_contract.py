"""Interrupted and observed solvers equal undisturbed solvers bit by bit.

Walks only write to scratch memory, and one function applies their results. Therefore,
at any moment, the results are those after some update of an undisturbed run, and
continuing reproduces that run. These tests check every engine. `python -m
benchmarks.interruptions` runs the same checks for much longer.
"""

import collections
import contextlib
import copy
import functools
import pickle
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from open_spiel.python.games import kuhn_poker

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.arenas import sharing
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.common.budget import (
    MemoryBudgetError,
)
from mccfr_spiel.kernels.tables import PER_INFOSET, TOP, TOUCHED, Tables
from mccfr_spiel.solving import cluster_batches, due_rows
from mccfr_spiel.solving.slices import SliceRunner
from tests.solving.in_this_process import InThisProcess

ITERATIONS = 20
MANY_SECONDS = 60
"""Timeout for threads that should finish sooner."""

LEDUC = "leduc_poker"
EXTERNAL = ms.EXTERNAL_SAMPLING
BATCHED = EXTERNAL._replace(batch=4)
IN_GROUPS = EXTERNAL._replace(batch=400)
RULES = {"store": "none", "twin": True}
GROWS = {"store": "tree", "twin": False, "max_nodes": 300}
"""Tree limits that a few walks exceed, so that nodes are dropped."""


@functools.cache
def whole_tree() -> GameTree:
    """The complete tree of Leduc poker, shared by its solvers."""
    return GameTree(LEDUC).expand_all()


ENGINES: dict[str, Callable[[], Solver]] = {
    "whole passes": lambda: Solver(LEDUC, ms.CFR_PLUS),
    "whole passes, threads": lambda: Solver(LEDUC, ms.CFR_PLUS, threads=2),
    "pruned passes": lambda: Solver("kuhn_poker", ms.algorithms.PRUNED_CFR),
    "whole tree": lambda: Solver(whole_tree(), EXTERNAL),
    "batches": lambda: Solver(whole_tree(), BATCHED),
    "batches, threads": lambda: Solver(whole_tree(), BATCHED, threads=2),
    "batches, cluster": lambda: Solver(LEDUC, BATCHED, cluster=InThisProcess(2)),
    "growing tree": lambda: Solver(LEDUC, EXTERNAL, **GROWS),
    "growing tree, batches": lambda: Solver(LEDUC, BATCHED, **GROWS),
    "rules": lambda: Solver(LEDUC, EXTERNAL, **RULES),
    "rules, groups": lambda: Solver(LEDUC, IN_GROUPS, threads=2, **RULES),
}

PYTHON_KUHN = "python_kuhn_poker"
SMALL = {"store": "tree", "max_nodes": 25}
IN_PYTHON: dict[str, Callable[[], Solver]] = {
    "Python": lambda: Solver(PYTHON_KUHN, EXTERNAL, **SMALL),
    "Python, batches": lambda: Solver(PYTHON_KUHN, BATCHED, **SMALL),
}
"""Engines that call a Python game's methods and drop nodes frequently."""

METHODS = "_apply_action", "_legal_actions", "returns", "current_player", "is_terminal"


def disturb_more_often(put: Callable[..., None] = setattr) -> None:
    """Ends slices as early as possible and shares work of any length."""
    put(due_rows, "SLICE_SECONDS", 0.0)
    put(cutting, "LEAST_WORK", 1)
    put(cutting, "LEAST_BLOCK", 40)
    put(cutting, "LEAST_BLOCK_OF_BATCH", 40)
    put(sharing, "SMALL_TREE", 0)
    for module, name in (
        (sharing, "LEAST_NODES"),
        (sharing, "LEAST_NODES_AT_ONCE"),
        (cluster_batches, "LEAST_NODES"),
    ):
        put(module, name, 1)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    disturb_more_often(monkeypatch.setattr)


def learned(solver: Solver) -> dict[Any, Any]:
    """The position of a solver, and the rows of its tables by information state.

    Infosets without an update are omitted, because a stopped walk may have met more of
    them.
    """
    arrays, tree = solver.contents().arrays, solver.tree
    names = [name for name in Tables._fields if len(arrays.get(name, ()))]
    found: dict[Any, Any] = {
        name: arrays[name][: tree.num_players].tolist() for name in ("cursor", "clock")
    }
    found["empty"] = arrays["average"][: tree.num_players].tolist()
    rows = zip(tree.info_states, tree.infosets.tolist(), strict=True)
    for infoset, (info_state, (_, start, _, count, player)) in enumerate(rows):
        sequences, one = slice(start, start + count), slice(infoset, infoset + 1)
        if arrays["memory"][sequences].any() or arrays["paid"][infoset]:
            found[player, info_state] = [
                arrays[name][one if name in PER_INFOSET else sequences].tobytes()
                for name in names
            ]
    return found


def started(engine: str) -> Solver:
    """A solver with a short first slice."""
    solver = ENGINES[engine]()
    solver.slices.size = 1
    return solver


@functools.cache
def undisturbed(engine: str, iterations: int) -> dict[Any, Any]:
    """The results of an engine after some iterations without disturbance."""
    solver = (ENGINES | IN_PYTHON)[engine]()
    solver.iterate(iterations)
    assert solver.num_iterations == iterations
    return learned(solver)


UPDATES: collections.defaultdict[str, dict[Any, Any]]
UPDATES = collections.defaultdict(dict)
"""Results of each engine by position of the solver."""


def stands_alike(solver: Solver, engine: str) -> bool:
    """Whether a solver's results equal those of earlier solvers at the same
    position."""
    found = learned(solver)
    return found == UPDATES[engine].setdefault(tuple(found["cursor"]), found)


def finishes_alike(solver: Solver, engine: str) -> bool:
    """Whether continuing yields the final results of the undisturbed engine."""
    solver.iterate(ITERATIONS - solver.num_iterations)
    return learned(solver) == undisturbed(engine, ITERATIONS)


# --- concurrent reads ----------------------------------------------------------------


def looks(solver: Solver, path: Any) -> list[Callable[[], Any]]:
    """Calls that read a solver without continuing it."""
    return [
        lambda: solver.save(path),
        lambda: copy.copy(solver),
        lambda: copy.deepcopy(solver),
        lambda: pickle.dumps(solver),
        solver.average_policy,
        solver.average_vector,
        solver.current_policy,
        solver.current_vector,
        solver.regret_vector,
        lambda: repr(solver),
        solver._repr_html_,
    ]


class Beside:
    """A thread that repeats a call until the end of a `with` block."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do, self._is_over = do, threading.Event()
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._do()
        except BaseException as error:  # raised again in the main thread
            self._errors.append(error)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(MANY_SECONDS)
        assert not self._thread.is_alive(), "the thread does not finish"
        assert not self._errors, self._errors


def look_beside(engine: str, seed: int, path: Any) -> int:
    """Runs a solver while another thread reads it.

    Returns:
        Number of reads between the first and the last iteration.
    """
    undisturbed(engine, ITERATIONS)  # compiles everything
    solver: Any = started(engine)
    draws = random.Random(seed)
    others: list[Solver] = []
    asked, midway = looks(solver, path), 0

    def look() -> None:
        nonlocal midway
        answer = draws.choice(asked)()
        midway += 0 < solver.num_iterations < ITERATIONS
        if isinstance(answer, bytes):
            answer = pickle.loads(answer)
        if isinstance(answer, Solver):
            assert stands_alike(answer, engine)
            others.append(answer)
        time.sleep(draws.uniform(0, 4e-3))

    def run_late(*limits: Any) -> int:
        if solver.num_iterations != done.pop():  # leaves time to read fast engines
            time.sleep(4e-3)
        done.append(solver.num_iterations)
        return SliceRunner.run(solver.slices, *limits)

    done = [0]
    solver.slices.run = run_late
    with Beside(look):
        solver.iterate(ITERATIONS)
    assert solver.num_iterations == ITERATIONS
    solver.save(path)
    for one in (solver, Solver.load(path), *others[:3]):
        assert finishes_alike(one, engine)
    return midway


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("engine", ENGINES)
def test_concurrent_reads_do_not_change_iterations(engine, tmp_path):
    looks = 0
    for seed in range(1, 31):  # a busy machine allows few reads during a fast run
        looks += look_beside(engine, seed, tmp_path / "solver")
        if looks >= 5:
            break
    assert looks >= 5


GOOFSPIEL = "goofspiel(imp_info=True,points_order=random,num_cards={})"
LONG_WALKS = {
    "growing tree": lambda: Solver(GOOFSPIEL.format(6), EXTERNAL, twin=False),
    "rules": lambda: Solver(GOOFSPIEL.format(8), EXTERNAL, **RULES),
}


@pytest.mark.parametrize("engine", LONG_WALKS)
def test_reads_during_long_walks_return_soon(engine, tmp_path, monkeypatch):
    undisturbed(engine, 1)  # compiles its loop
    monkeypatch.setattr(due_rows, "SLICE_SECONDS", 0.005)
    solver = LONG_WALKS[engine]()
    asked, seconds, midway = looks(solver, tmp_path / "solver"), [], set()
    solver.slices.size = 1000
    for ask in asked:  # compiles
        ask()

    def walk() -> int | None:
        """Which walk stands in its midst."""
        return solver.num_iterations if solver.state.marks[TOP] > 0 else None

    def look() -> None:
        began, nth, before = time.perf_counter(), len(seconds) % len(asked), walk()
        asked[nth]()
        if before is not None and walk() == before:
            midway.add(nth)
        seconds.append(time.perf_counter() - began)

    with Beside(look):
        while len(midway) < len(asked) and solver.num_iterations < 50:
            solver.iterate(1)  # a busy machine allows few reads during one walk
    assert midway == {*range(len(asked))}
    assert statistics.median(seconds) < 1


@pytest.mark.interpreted
@pytest.mark.usefixtures("often")
def test_waiting_threads_change_numbering_but_no_policy():
    """Policies are equal by state, but vectors may differ (docs/scaling.md)."""
    game = "goofspiel(imp_info=True,points_order=random,num_cards=4)"
    solvers = [Solver(game, ms.EXTERNAL_SAMPLING, twin=False) for _ in range(2)]
    alone, watched = solvers
    watched.tree.lock.waiting.add(-1)
    for solver in solvers:
        solver.iterate(20)
    assert watched.tree.info_states != alone.tree.info_states
    assert sorted(watched.tree.info_states) == sorted(alone.tree.info_states)
    assert learned(watched) == learned(alone)
    policies = [solver.average_policy().to_dict() for solver in solvers]
    assert policies[0] == policies[1]


@pytest.mark.interpreted
@pytest.mark.usefixtures("often")
def test_walk_that_emptied_the_tree_finishes_first():
    """A waiting thread interrupts one solver at arbitrary points, and then the other
    solver empties the tree. If the walk could be interrupted again, the run would
    never end."""
    tree = GameTree("kuhn_poker", max_nodes=24, twin=False)
    first, second = (Solver(tree, ms.CHANCE_SAMPLING, seed=seed) for seed in (0, 1))
    generations = set()
    for _ in range(60):
        first.slices.size = 1
        tree.lock.waiting.add(-1)
        first.slices.run(1, 2**62)
        tree.lock.waiting.clear()
        second.iterate(1)
        generations.add(tree.generation)
    assert len(generations) > 30
    assert first.num_iterations >= 3
    first.iterate(1)  # finishes an interrupted walk
    alone = Solver("kuhn_poker", ms.CHANCE_SAMPLING, seed=0)
    alone.iterate(first.num_iterations)
    assert learned(first) == learned(alone)


# --- interrupted walks ---------------------------------------------------------------


class Alarm(BaseException):
    """The exception of the timer, which plays the role of KeyboardInterrupt."""


def interrupt(engine: str, times: int, seed: int) -> int:
    """Interrupts an engine by signals at random moments.

    Every finished run must equal an undisturbed run. Some runs continue as a copy.

    Returns:
        Number of signals during a walk.
    """
    draws, solver, done, midway = random.Random(seed), started(engine), 0, 0
    for one in (started(engine), copy.copy(solver)):
        assert finishes_alike(one, engine)  # compiles everything

    def handle(number: int, frame: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, handle)
    try:
        while done < times:
            try:
                signal.setitimer(signal.ITIMER_REAL, draws.uniform(1e-5, 3e-3), 1.0)
                while solver.num_iterations < ITERATIONS:
                    solver.iterate(1)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Alarm:
                done += 1
                midway += solver.state.marks[TOUCHED] > 0
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert stands_alike(solver, engine)
            if solver.num_iterations == ITERATIONS:
                assert finishes_alike(solver, engine)
                solver = started(engine)
            elif draws.random() < 0.1:
                solver = copy.copy(solver)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert finishes_alike(solver, engine)
    return midway


@pytest.mark.usefixtures("often", "no_collection")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="has no interval timer")
@pytest.mark.parametrize("engine", ENGINES)
def test_signals_at_any_moment_change_nothing(engine):
    interrupt(engine, 30, seed=1)


class GameFault(Exception):  # noqa: N818
    """The exception that methods of the game raise at random."""


class Faults:
    """Makes methods of Kuhn poker in Python raise GameFault at random."""

    def __init__(self, seed: int) -> None:
        self.draws, self.raised, self.are_on = random.Random(seed), 0, True

    @contextlib.contextmanager
    def all_over(self) -> Iterator[None]:
        """Patches the methods inside a `with` block."""
        with pytest.MonkeyPatch.context() as patch:
            for name in METHODS:
                method = getattr(kuhn_poker.KuhnPokerState, name)
                patch.setattr(kuhn_poker.KuhnPokerState, name, self._faulty(method))
            yield

    def _faulty(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            if self.are_on and self.draws.random() < 0.01:
                raise GameFault
            return method(*arguments)

        return called

    def comes(self, do: Callable[[], object]) -> bool:
        """Whether a call raises a fault."""
        try:
            do()
        except Exception as error:
            if "GameFault" not in repr(error) + repr(error.__cause__):
                raise
            self.raised += 1
            return True
        return False

    def without(self, do: Callable[[], Any]) -> Any:
        """The result of a call without faults."""
        self.are_on = False
        try:
            return do()
        finally:
            self.are_on = True


def raise_in_game(engine: str, times: int, seed: int) -> None:
    """Runs an engine while methods of the game raise exceptions, see `interrupt`.

    Every exception must leave the results of the last update unchanged."""
    start, faults = IN_PYTHON[engine], Faults(seed)
    solver = start()
    assert finishes_alike(start(), engine)
    with faults.all_over():
        while faults.raised < times:
            if faults.comes(solver.iteration):
                assert stands_alike(solver, engine)
            if solver.num_iterations == ITERATIONS:
                assert finishes_alike(solver, engine)
                solver = faults.without(start)
            elif faults.draws.random() < 0.1:
                solver = faults.without(functools.partial(copy.copy, solver))
    assert finishes_alike(solver, engine)


@pytest.mark.parametrize("engine", IN_PYTHON)
def test_exceptions_in_games_keep_results(engine):
    raise_in_game(engine, 200, seed=3)


def test_failed_expansion_can_be_repeated():
    tree, faults = GameTree(PYTHON_KUHN), Faults(seed=4)
    with faults.all_over():
        while faults.comes(tree.expand_all):
            pass
    assert faults.raised > 3
    solvers = [Solver(game, ms.CFR_PLUS) for game in (tree, PYTHON_KUHN)]
    for solver in solvers:
        solver.iterate(ITERATIONS)
    assert learned(solvers[0]) == learned(solvers[1])


@pytest.mark.parametrize("algorithm", [EXTERNAL, BATCHED], ids=["walk", "batch"])
@pytest.mark.parametrize(
    ("game", "most", "more"),
    [
        (GOOFSPIEL.format(5), "1MB", RULES),
        (LEDUC, "400KB", {"store": "tree", "twin": False}),
    ],
    ids=["rules", "growing tree"],
)
def test_full_memory_keeps_results(algorithm, game, most, more):
    """A solver continues after it receives more memory."""
    solver = Solver(game, algorithm, max_memory=most, **more)
    with pytest.raises(MemoryBudgetError):
        solver.iterate(1000)
    done, found = solver.num_iterations, learned(solver)
    with pytest.raises(MemoryBudgetError):
        solver.iterate(1000)
    assert learned(solver) == found
    whole = Solver(game, algorithm, **more)
    larger = Solver.from_contents(solver.contents(), max_memory="1GiB", twin=True)
    for one in (larger, whole):
        one.iterate(done + ITERATIONS - one.num_iterations)
    assert learned(larger) == learned(whole)
