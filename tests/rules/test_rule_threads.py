"""Batches over compiled rules have in threads the bits that they have in one thread."""

import importlib
import pickle
from typing import Any

import open_spiel.python.games  # noqa: F401
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameError, GameTree, Solver, algorithms, kernels
from mccfr_spiel.compiled.jit import IS_COMPILED
from mccfr_spiel.limits.budget import MemoryBudgetError
from mccfr_spiel.rules import store, threaded_walks
from mccfr_spiel.solving import rule_threads
from tests.kernels.interruptions import contents_midway
from tests.rules.mistaken import EXPANDED, FAULT, FAULTS, of_fault

importlib.import_module("mccfr_spiel.games")

THREADS = (1, 2, 3, 7)
OWN_GAMES = [
    "python_one_card_poker",
    "python_leduc_ranks(ranks=2)",
    "python_goofspiel(num_cards=3,points_order=random)",
    "python_princess_and_monster(rows=2,cols=3,horizon=4,evader=1)",
]
TWINS = ["leduc_poker", "liars_dice(dice_sides=3)", "kuhn_poker(players=3)"]
LARGE = "python_goofspiel(num_cards=5)"
STALE = [*(kernels.NODE_TO_GROW, kernels.NUM_MET_BEFORE, kernels.NODES_TOUCHED_BEFORE)]
"""What a cursor remembers of the last walk; nobody reads it between two iterations."""


@pytest.fixture(autouse=True)
def share_small_batches(monkeypatch):
    """Lets batches of every size be shared."""
    monkeypatch.setattr(rule_threads, "LEAST_NODES", 1)
    monkeypatch.setattr(rule_threads, "LEAST_NODES_AT_ONCE", 0)


def batched(sampling, batch: Any = 10, rule=None, *, alternating=True):
    rule = ms.regret_matching() if rule is None else rule
    return ms.Algorithm(sampling, rule, ms.LINEAR, alternating, batch)


def started(game, algorithm, threads, seed=5, **more) -> Any:
    return Solver(game, algorithm, seed=seed, threads=threads, store="none", **more)


def bits(solver) -> dict[str, bytes]:
    """All that a solver has learned, where it is, and the infosets that it has met."""
    arrays = solver.state.saved()
    cursor = arrays["cursor"].copy()
    if not cursor[kernels.TOP]:
        cursor[STALE] = 0
    arrays |= {"cursor": cursor} | solver.state.store.saved()
    return {name: array.tobytes() for name, array in arrays.items()}


def are_shared(solver) -> bool:
    """Whether threads have shared a batch."""
    shared = solver.state.rule_threads
    return shared is not None and shared.logs is not None


def assert_equal_for_all(game, algorithm, iterations):
    """Solvers with 1, 2, 3, ... threads have the same bits on the way and then."""
    solvers = [started(game, algorithm, threads) for threads in THREADS]
    for more in iterations:
        for solver in solvers:
            solver.iterate(more)
        alone, *others = map(bits, solvers)
        assert all(other == alone for other in others)
    assert [are_shared(solver) for solver in solvers] == [False, True, True, True]


# --- the bits ------------------------------------------------------------------------


@pytest.mark.parametrize("game", OWN_GAMES + TWINS)
@pytest.mark.parametrize("sampling", [ms.EXTERNAL, ms.OUTCOME], ids=["ext", "out"])
def test_any_number_of_threads_has_the_bits_of_one(sampling, game):
    for alternating in (True, False):
        algorithm = batched(sampling, alternating=alternating)
        many = 30 if IS_COMPILED else 2
        assert_equal_for_all(game, algorithm, (1, 1, many))


@pytest.mark.skipif(IS_COMPILED, reason="each takes long to compile")
def test_other_samplings_and_rules_have_the_bits_of_one_thread():
    for sampling, rule in (
        (ms.CHANCE, algorithms.ftrl(0.3)),
        (ms.OPPONENT, algorithms.discounted_regret_matching(1.5, -0.5)),
    ):
        for game in ("python_leduc_ranks(ranks=2)", "leduc_poker"):
            assert_equal_for_all(game, batched(sampling, 3, rule), (1, 1, 1))


@pytest.mark.parametrize("game", ["leduc_poker", "python_leduc_ranks(ranks=2)"])
def test_regrets_that_start_at_random_are_those_of_one_thread(game):
    rule = algorithms.regret_matching(initial_regret=0.5)
    for sampling in (ms.EXTERNAL, ms.OUTCOME):
        assert_equal_for_all(game, batched(sampling, 10, rule), (1, 1, 3))


def test_a_growing_batch_has_the_bits_of_one_thread():
    algorithm = batched(ms.EXTERNAL, "auto")
    assert_equal_for_all("kuhn_poker", algorithm, (128, 1, 170 if IS_COMPILED else 2))


@pytest.mark.parametrize(
    ("nodes", "room"), [((1, 1), 2), ((3, 7), 9), ((10**6, 10**6), 40)]
)
def test_tickets_and_logs_of_any_size_change_no_bit(nodes, room, monkeypatch):
    monkeypatch.setattr(rule_threads, "_NODES_OF_TICKET", nodes)
    monkeypatch.setattr(rule_threads, "_ROOM", room)
    monkeypatch.setattr(rule_threads, "_HEIGHT", 2)
    monkeypatch.setattr(rule_threads, "_SPARE", 0.0)
    monkeypatch.setattr(rule_threads, "_VALUES", 3)
    for batch in (2, 90 if IS_COMPILED else 33):  # more than there are logs
        for sampling in (ms.EXTERNAL, ms.OUTCOME):
            more = 3 if IS_COMPILED else 1
            assert_equal_for_all("kuhn_poker", batched(sampling, batch), (1, more))


def test_walks_too_large_for_logs_stay_in_one_thread(monkeypatch):
    monkeypatch.setattr(rule_threads, "_ROOM", 8)
    monkeypatch.setattr(rule_threads, "_SPARE", 0.0)
    monkeypatch.setattr(rule_threads, "_MOST_BYTES", 20 * 3 * 300)
    game = "python_leduc_ranks(ranks=2)"
    alone, shared = (started(game, batched(ms.EXTERNAL, 40), k) for k in (1, 3))
    for solver in (alone, shared):
        solver.iterate(1)
        solver.iterate(4)
    assert are_shared(shared)
    assert len(shared.state.rule_threads.logs.leaf) == 3 * 16
    assert bits(shared) == bits(alone)


@pytest.mark.skipif(IS_COMPILED, reason="watches plain Python (NUMBA_DISABLE_JIT=1)")
@pytest.mark.parametrize("sampling", [ms.EXTERNAL, ms.OUTCOME], ids=["ext", "out"])
def test_nothing_shared_changes_while_threads_walk(sampling, monkeypatch):
    solver = started("leduc_poker", batched(sampling, 20), 3)
    solver.iterate(1)
    state, kept, seen = solver.state, [], []
    open_lanes, is_over = threaded_walks.open_lanes, threaded_walks.is_over
    begin_call = threaded_walks.begin_call

    def everything():
        met = state.store
        arrays = [met.infosets, *met.known, *state.tables, *state.walk, *state.path]
        return [array.tobytes() for array in arrays]

    def beginning(*arguments):
        kept.clear()  # one thread may have gone on since the last call
        begin_call(*arguments)

    def opening(*arguments):
        kept[:] = everything()
        open_lanes(*arguments)

    def looking(desk):
        if kept and not is_over(desk):  # all tickets are finished
            assert everything() == kept
            seen.append(True)
        return is_over(desk)

    monkeypatch.setattr(threaded_walks, "begin_call", beginning)
    monkeypatch.setattr(threaded_walks, "open_lanes", opening)
    monkeypatch.setattr(threaded_walks, "is_over", looking)
    solver.iterate(1)
    assert are_shared(solver)
    assert seen


# --- where threads do not share ------------------------------------------------------


def test_what_cannot_be_shared_has_one_thread():
    def plain(policy, memory, gradient, parameters, t):
        return 0.0

    baselines = algorithms.Sampling(True, True, baseline="learned")
    for algorithm in (
        batched(ms.EXTERNAL, 1),
        batched(ms.AVERAGE_STRATEGY_SAMPLING.sampling),
        batched(baselines),
        batched(ms.EXTERNAL, rule=algorithms.own_rule(plain, compiled=False)),
    ):
        solver = started("python_one_card_poker", algorithm, 3)
        assert solver.state.rule_threads is None


def test_short_batches_are_not_shared(monkeypatch):
    monkeypatch.undo()
    for sampling in (ms.EXTERNAL, ms.OUTCOME):
        solver = started("kuhn_poker", batched(sampling, 16), None)
        for _ in range(2):
            solver.iterate(50 if IS_COMPILED else 5)
        assert not are_shared(solver)


# --- room, memory, interruptions, errors ---------------------------------------------


@pytest.mark.long_without_jit
@pytest.mark.parametrize("sampling", [ms.EXTERNAL, ms.OUTCOME], ids=["ext", "out"])
def test_the_store_grows_in_mid_batch_as_in_one_thread(sampling, monkeypatch):
    monkeypatch.setattr(store, "_FACTORS", (1.25, 1.015))
    alone, shared = (started(LARGE, batched(sampling, 60), k) for k in (1, 3))
    rooms = set()
    for more in (1, 1, 2, 20):
        for solver in (alone, shared):
            solver.iterate(more)
        assert bits(shared) == bits(alone)
        rooms.add(shared.state.store.room())
        assert alone.state.store.room() in rooms
    assert are_shared(shared)
    assert len(rooms) > 2


@pytest.mark.long_without_jit
@pytest.mark.parametrize("sampling", [ms.EXTERNAL, ms.OUTCOME], ids=["ext", "out"])
def test_full_memory_ends_a_run_at_the_walk_of_one_thread(sampling, monkeypatch):
    monkeypatch.setattr(rule_threads, "_BYTES", 1)
    solvers, words = [], []
    for threads in (1, 3):
        algorithm = batched(sampling, 4)
        solver = started(LARGE, algorithm, threads, max_memory="1500KB")
        solver.iterate(1)
        with pytest.raises(MemoryBudgetError, match="met so far") as caught:
            solver.iterate(3000)
        assert are_shared(solver) == (threads > 1)
        words.append(str(caught.value))
        solvers.append(solver)
    assert words[0] == words[1]
    assert bits(solvers[0]) == bits(solvers[1])
    more = [
        Solver.from_contents(solver.contents(), max_memory="100MB", threads=threads)
        for solver, threads in zip(solvers, (3, 1), strict=True)
    ]
    for solver in more:
        solver.iterate(solvers[0].num_iterations + 3 - solver.num_iterations)
    assert bits(more[0]) == bits(more[1])


def test_a_pause_amid_a_batch_is_saved_and_another_number_goes_on(monkeypatch):
    monkeypatch.setattr(rule_threads, "_NODES_OF_TICKET", (1, 30))  # several segments
    many = 300 if IS_COMPILED else 130
    algorithm = batched(ms.EXTERNAL, many, alternating=False)
    game = "kuhn_poker(players=3)"
    alone, shared = (started(game, algorithm, k) for k in (1, 3))
    alone.iterate(3)
    shared.iterate(1)
    shared.iterate_until(shared.nodes_touched + 1)  # now the threads know the batch
    assert are_shared(shared)
    shared._slice = many
    state, run = shared.state, shared.state.rule_threads.run
    players = set()

    def interrupted(*arguments):
        status = run(*arguments)
        if status == kernels.PAUSED:
            players.add(int(state.walk.cursor[kernels.PLAYER]))
            if len(players) == 3:
                raise KeyboardInterrupt
        return status

    state.rule_threads.run = interrupted
    with pytest.raises(KeyboardInterrupt):
        shared.iterate(1)
    assert state.is_midway
    assert state.walk.cursor[kernels.WALK]
    contents = pickle.loads(pickle.dumps(contents_midway(shared)))
    for threads in (1, 2):
        again = Solver.from_contents(contents, threads=threads)
        again.iterate(3 - again.num_iterations)
        assert bits(again) == bits(alone)
    state.rule_threads.run = run
    shared.iterate(3 - shared.num_iterations)
    assert bits(shared) == bits(alone)


@pytest.mark.parametrize("fault", sorted(set(EXPANDED) - {"overflow"}))
def test_a_mistake_of_rules_is_told_in_the_words_of_one_thread(fault, monkeypatch):
    """The game makes no mistake until the threads know how long its walks are."""
    found = []
    for threads in (1, 3):
        tree = GameTree("python_mistaken")
        monkeypatch.setattr(tree, "rules", of_fault("none"))
        solver = started(tree, batched(ms.OUTCOME, 8), threads)
        solver.iterate(1)
        solver.iterate(1)
        assert are_shared(solver) == (threads > 1)
        solver.state.store.game.settings[FAULT] = FAULTS.index(fault)
        with pytest.raises(GameError) as error:
            solver.iterate(300)
        with pytest.raises(GameError):  # it is met again
            solver.iterate(1)
        found.append((str(error.value), solver.num_iterations, bits(solver)))
    assert found[0] == found[1]
    assert "The history" in found[0][0]
