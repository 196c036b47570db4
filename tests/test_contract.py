"""A solver always stands between two updates, whoever looks at it or stops it.

A walk writes its scratch only, and one place applies what it found. So what was learned
is, at any moment, exactly what it was after one of the updates of a run that nobody
disturbs, and going on gives that run's bits. That is claimed of every engine below.
`python -m benchmarks.interruptions` does the same for much longer.
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
from mccfr_spiel.arenas.tree import whole
from mccfr_spiel.common.limits import MemoryBudgetError
from mccfr_spiel.kernels.tables import PER_INFOSET, TOP, TOUCHED, Tables
from mccfr_spiel.solving import cluster as cluster_batches
from mccfr_spiel.solving import running
from tests.solving.in_this_process import InThisProcess

ITERATIONS = 20
MANY_SECONDS = 60
"""What takes longer waits for ever."""

LEDUC = "leduc_poker"
EXTERNAL = ms.EXTERNAL_SAMPLING
BATCHED = EXTERNAL._replace(batch=4)
IN_GROUPS = EXTERNAL._replace(batch=400)
RULES = {"store": "none", "twin": True}
GROWS = {"store": "tree", "twin": False, "max_nodes": 300}
"""A few walks fill such a tree, whose nodes are dropped then."""


@functools.cache
def whole_tree() -> GameTree:
    """All of Leduc poker, which its solvers share."""
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
"""Engines that call a game's methods. Nodes are dropped and made again all the time."""

METHODS = "_apply_action", "_legal_actions", "returns", "current_player", "is_terminal"


def disturb_more_often(put: Callable[..., None] = setattr) -> None:
    """Ends slices as soon as they may end, and shares work however short it is."""
    put(running, "SLICE_SECONDS", 0.0)
    put(whole, "LEAST_WORK", 1)
    put(whole, "LEAST_BLOCK", 40)
    put(whole, "LEAST_BLOCK_OF_BATCH", 40)
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
    """Where a solver stands, and the rows of its tables by information state. Infosets
    are left out where no update has been: a stopped walk may have met more of them."""
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
    """A solver whose first slices are short, too."""
    solver = ENGINES[engine]()
    solver._slice = 1
    return solver


@functools.cache
def undisturbed(engine: str, iterations: int) -> dict[Any, Any]:
    """What an engine has learned by then if nobody disturbs it."""
    solver = (ENGINES | IN_PYTHON)[engine]()
    solver.iterate(iterations)
    assert solver.num_iterations == iterations
    return learned(solver)


UPDATES: collections.defaultdict[str, dict[Any, Any]]
UPDATES = collections.defaultdict(dict)
"""What each engine was found to have learned after an update."""


def stands_alike(solver: Solver, engine: str) -> bool:
    """Whether a solver has learned what others had at the same place."""
    found = learned(solver)
    return found == UPDATES[engine].setdefault(tuple(found["cursor"]), found)


def finishes_alike(solver: Solver, engine: str) -> bool:
    """Whether going on gives what the undisturbed engine has learned in the end."""
    solver.iterate(ITERATIONS - solver.num_iterations)
    return learned(solver) == undisturbed(engine, ITERATIONS)


# --- others look ---------------------------------------------------------------------


def looks(solver: Solver, path: Any) -> list[Callable[[], Any]]:
    """What may be asked of a solver at any time, without making it go on."""
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
    """A thread that does something again and again, until the block is over."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do, self._is_over = do, threading.Event()
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._do()
        except BaseException as error:  # for the thread that waits
            self._errors.append(error)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(MANY_SECONDS)
        assert not self._thread.is_alive(), "waits for ever"
        assert not self._errors, self._errors


def look_beside(engine: str, seed: int, path: Any) -> int:
    """Makes the iterations of a run while another thread asks for all there is.

    Returns:
        How many answers came in the midst of them.
    """
    undisturbed(engine, ITERATIONS)  # and all is compiled
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
        if solver.num_iterations != done.pop():  # so that many look at a fast engine
            time.sleep(4e-3)
        done.append(solver.num_iterations)
        return Solver._iterate_slice(solver, *limits)

    done = [0]
    solver._iterate_slice = run_late
    with Beside(look):
        solver.iterate(ITERATIONS)
    assert solver.num_iterations == ITERATIONS
    solver.save(path)
    for one in (solver, Solver.load(path), *others[:3]):
        assert finishes_alike(one, engine)
    return midway


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("engine", ENGINES)
def test_iterate_makes_as_many_iterations_as_it_says_whoever_looks(engine, tmp_path):
    looks = 0
    for seed in range(1, 31):  # a busy machine lets few look during a fast run
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
def test_whoever_looks_in_the_midst_of_a_long_walk_has_an_answer_soon(
    engine, tmp_path, monkeypatch
):
    undisturbed(engine, 1)  # compiles its loop
    monkeypatch.setattr(running, "SLICE_SECONDS", 0.005)
    solver = LONG_WALKS[engine]()
    asked, seconds, midway = looks(solver, tmp_path / "solver"), [], set()
    solver._slice = 1000
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
            solver.iterate(1)  # a busy machine lets few look during one walk
    assert midway == {*range(len(asked))}
    assert statistics.median(seconds) < 1


@pytest.mark.interpreted
@pytest.mark.usefixtures("often")
def test_threads_that_wait_change_the_numbers_of_infosets_and_no_policy():
    """As docs/scaling.md says: policies are equal by state, vectors may not be."""
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
def test_the_walk_for_which_the_tree_was_emptied_ends_before_others_come_in():
    """Somebody always waits, so one solver is stopped wherever it may be, and then the
    other one empties the tree. A walk that could be stopped again would never end."""
    tree = GameTree("kuhn_poker", max_nodes=24, twin=False)
    first, second = (Solver(tree, ms.CHANCE_SAMPLING, seed=seed) for seed in (0, 1))
    generations = set()
    for _ in range(60):
        first._slice = 1
        tree.lock.waiting.add(-1)
        first._iterate_slice(1, 2**62)
        tree.lock.waiting.clear()
        second.iterate(1)
        generations.add(tree.generation)
    assert len(generations) > 30
    assert first.num_iterations >= 3
    first.iterate(1)  # the rest of a walk, if it stands in one
    alone = Solver("kuhn_poker", ms.CHANCE_SAMPLING, seed=0)
    alone.iterate(first.num_iterations)
    assert learned(first) == learned(alone)


# --- something stops a walk ----------------------------------------------------------


class Alarm(BaseException):
    """What the timer raises, as Ctrl-C raises KeyboardInterrupt."""


def interrupt(engine: str, times: int, seed: int) -> int:
    """Runs an engine that a signal stops so many times, at any moment, and compares
    each finished run with an undisturbed one. A run goes on as a copy now and then.

    Returns:
        How many signals came in the midst of a walk.
    """
    draws, solver, done, midway = random.Random(seed), started(engine), 0, 0
    for one in (started(engine), copy.copy(solver)):
        assert finishes_alike(one, engine)  # and all is compiled

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
def test_a_signal_at_any_moment_changes_nothing(engine):
    interrupt(engine, 30, seed=1)


class GameFault(Exception):  # noqa: N818
    """What the game's methods raise now and then."""


class Faults:
    """Has the methods of Kuhn poker in Python raise GameFault, at random."""

    def __init__(self, seed: int) -> None:
        self.draws, self.raised, self.are_on = random.Random(seed), 0, True

    @contextlib.contextmanager
    def all_over(self) -> Iterator[None]:
        """While the block lasts."""
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
        """Whether a call ends by a fault."""
        try:
            do()
        except Exception as error:
            if "GameFault" not in repr(error) + repr(error.__cause__):
                raise
            self.raised += 1
            return True
        return False

    def without(self, do: Callable[[], Any]) -> Any:
        """What a call gives in which there are none."""
        self.are_on = False
        try:
            return do()
        finally:
            self.are_on = True


def raise_in_game(engine: str, times: int, seed: int) -> None:
    """Runs an engine while the game's methods raise so many exceptions, as `interrupt`
    does. Each leaves what the last update left."""
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
def test_an_exception_in_a_game_s_method_leaves_what_was_learned(engine):
    raise_in_game(engine, 200, seed=3)


def test_an_expansion_that_exceptions_end_can_be_repeated():
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
def test_full_memory_leaves_what_was_learned(algorithm, game, most, more):
    """A solver that is given more memory goes on."""
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
