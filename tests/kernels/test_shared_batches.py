"""Walks shared by threads have the bits of one thread, and no two write one place."""

import pickle
import signal
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms, kernels
from mccfr_spiel.compiled.jit import IS_COMPILED
from mccfr_spiel.kernels import batch_logs, forked_walks
from mccfr_spiel.solving import forking
from mccfr_spiel.tree import blocks
from tests.kernels.interruptions import contents_midway, iterate_interrupted
from tests.reference import Textbook
from tests.small_games import three_players, uneven_deal
from tests.test_solver import GOOFSPIEL, KUHN_3, LEDUC, RULES, assert_same
from tests.vectors import start_together

THREADS = (1, 2, 3, 7)
GAMES = {
    "kuhn_3": lambda: KUHN_3,
    "goofspiel": lambda: GOOFSPIEL,
    "leduc": lambda: LEDUC,
    "liars_dice": lambda: "liars_dice(dice_sides=3)",
    "uneven_deal": uneven_deal,
    "three_players": three_players,
}
SAMPLINGS = {
    "external": ms.EXTERNAL,
    "outcome": ms.OUTCOME,
    "chance": ms.CHANCE,
    "opponent": ms.OPPONENT,
    "balanced": ms.BALANCED_OUTCOME,
}
ONLY_COMPILED = pytest.mark.skipif(not IS_COMPILED, reason="takes long without the JIT")
STALE = [kernels.NUM_MET_BEFORE, kernels.NODES_TOUCHED_BEFORE]
"""Between two iterations these entries of the cursor are about a walk that is over."""


@pytest.fixture(autouse=True)
def share_small_batches(monkeypatch):
    """Lets batches of every size be shared, in blocks of a few infosets."""
    monkeypatch.setattr(forking, "LEAST_NODES", 1)
    monkeypatch.setattr(forking, "SMALL_TREE", 0)
    monkeypatch.setattr(forking, "LEAST_NODES_AT_ONCE", 0)
    monkeypatch.setattr(forking, "LEAST_TREE", 0)
    monkeypatch.setattr(forking, "LEAST_QUEUED_TREE", 0)
    monkeypatch.setattr(blocks, "LEAST_BLOCK_OF_BATCH", 24)
    monkeypatch.setattr(blocks, "NUM_BLOCKS_OF_BATCH", 12)


def batched(sampling, batch: Any = 10, rule=None, *, alternating=True):
    rule = ms.regret_matching() if rule is None else rule
    return ms.Algorithm(sampling, rule, ms.LINEAR, alternating, batch)


def bits(solver) -> dict[str, bytes]:
    """All that a solver has learned, and where it is."""
    arrays = solver.state.saved()
    cursor = arrays["cursor"].copy()
    if not cursor[kernels.TOP]:
        cursor[STALE] = 0
    return {
        name: array.tobytes() for name, array in (arrays | {"cursor": cursor}).items()
    }


def are_shared(solver) -> bool:
    """Whether threads have shared a batch."""
    return solver.state.forking is not None and solver.state.forking.cut is not None


def assert_equal_for_all(tree, algorithm, iterations):
    """Solvers with 1, 2, 3, ... threads have the same bits on the way and then."""
    solvers = [Solver(tree, algorithm, seed=3, threads=count) for count in THREADS]
    for more in iterations:
        for solver in solvers:
            solver.iterate(more)
        alone, *others = map(bits, solvers)
        assert all(other == alone for other in others)
    assert [are_shared(solver) for solver in solvers] == [False, True, True, True]


# --- the bits ------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_any_number_of_threads_has_the_bits_of_one(sampling, game):
    tree = GameTree(GAMES[game]()).expand_all()
    for alternating in (True, False):
        algorithm = batched(SAMPLINGS[sampling], alternating=alternating)
        many = 30 if IS_COMPILED else 2
        assert_equal_for_all(tree, algorithm, (1, 1, many))


@pytest.mark.parametrize("game", ["goofspiel", "liars_dice", "uneven_deal"])
def test_a_stack_in_place_of_queues_changes_no_bit(game, monkeypatch):
    monkeypatch.setattr(forking, "LEAST_QUEUED_TREE", 10**6)
    tree = GameTree(GAMES[game]()).expand_all()
    assert_equal_for_all(tree, batched(ms.EXTERNAL), (1, 1, 30 if IS_COMPILED else 2))


@pytest.mark.parametrize("sampling", ["external", "chance", "opponent"])
def test_a_single_walk_forks_with_the_bits_of_one_thread(sampling):
    for game in ("goofspiel", "uneven_deal", "three_players"):
        tree = GameTree(GAMES[game]()).expand_all()
        for alternating in (True, False):
            algorithm = batched(SAMPLINGS[sampling], 1, alternating=alternating)
            many = 60 if IS_COMPILED else 3
            assert_equal_for_all(tree, algorithm, (1, 1, many))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["regret_matching_plus", "discounted_regret_matching", "ftrl"]
)
def test_other_rules_have_the_bits_of_one_thread(name):
    """With averages, discounts and weights of their own; each takes long to compile."""
    tree = GameTree("liars_dice(dice_sides=3)").expand_all()
    assert_equal_for_all(tree, batched(ms.OUTCOME, 33, RULES[name]), (1, 1, 40))


@pytest.mark.parametrize("sampling", ["external", "outcome"])
def test_a_batch_shared_by_three_threads_is_the_textbooks(sampling):
    for alternating in (True, False):
        algorithm = batched(SAMPLINGS[sampling], 6, alternating=alternating)
        solver = Solver(GameTree(KUHN_3).expand_all(), algorithm, seed=11, threads=3)
        textbook = Textbook(KUHN_3, *algorithm, seed=11)
        start_together(solver, textbook)
        for more in (1, 1, 8):
            solver.iterate(more)
            textbook.run(more)
            assert_same(solver, textbook)
        assert are_shared(solver)


@ONLY_COMPILED
def test_repeated_runs_have_the_same_bits():
    tree = GameTree("liars_dice(dice_sides=3)").expand_all()
    algorithm = batched(ms.EXTERNAL, 40)
    alone = Solver(tree, algorithm)
    alone.iterate(3)
    for run in range(300):
        solver = Solver(tree, algorithm, threads=2 + run % 3)
        solver.iterate(3)
        assert bits(solver) == bits(alone), run


@pytest.mark.parametrize("room", [(2, 2), (9, 40)])
@pytest.mark.parametrize("nodes", [(1, 1), (3, 7), (10**6, 10**6)])
def test_how_walks_and_blocks_go_into_tickets_changes_no_bit(nodes, room, monkeypatch):
    monkeypatch.setattr(forking, "_NODES_OF_TICKET", nodes)
    monkeypatch.setattr(forking, "_NODES_OF_BLOCKS", nodes[0])
    monkeypatch.setattr(forking, "_HEIGHT", room[0])
    monkeypatch.setattr(forking, "_ROOM", room[1])
    tree = GameTree(KUHN_3).expand_all()
    for batch in (2, 90 if IS_COMPILED else 40):  # more than there are slots
        for sampling in (ms.EXTERNAL, ms.OUTCOME):
            assert_equal_for_all(tree, batched(sampling, batch), (1, 3))


def test_queues_grow_until_they_hold_a_walk(monkeypatch):
    monkeypatch.setattr(forking, "_NODES_IN_QUEUE", 1)
    monkeypatch.setattr(forking, "_ROOM", 64)
    monkeypatch.setattr(forking, "_HEIGHT", 2)
    monkeypatch.setattr(blocks, "NUM_BLOCKS_OF_BATCH", 1)
    tree = GameTree("liars_dice(dice_sides=4)").expand_all()
    assert_equal_for_all(tree, batched(ms.EXTERNAL, 90), (1, 1, 2))
    solver = Solver(tree, batched(ms.EXTERNAL, 90), threads=2)
    solver.iterate(1)
    solver.iterate(1)
    made = solver.state.forking
    assert made is not None
    assert made.forks is not None
    assert made.cut is not None
    assert len(made.forks.queue) > 64 * len(made.cut.num_met)


def test_walks_too_large_for_logs_stay_in_one_thread(monkeypatch):
    monkeypatch.setattr(forking, "_ROOM", 2)
    monkeypatch.setattr(forking, "_MOST_ROOM", 8)
    alone, shared = (
        Solver(GameTree(KUHN_3).expand_all(), batched(ms.CHANCE), threads=k)
        for k in (1, 2)
    )
    for solver in (alone, shared):
        solver.iterate(1)
        solver.iterate(5)
    assert shared.state.forking is not None
    assert shared.state.forking.forks is not None
    assert len(shared.state.forking.forks.leaf) == 8 * kernels.NUM_SLOTS
    assert bits(shared) == bits(alone)


def test_a_growing_batch_has_the_bits_of_one_thread(monkeypatch):
    tree = GameTree(KUHN_3).expand_all()
    many = 300 if IS_COMPILED else 130
    algorithm = batched(ms.EXTERNAL, "auto")
    assert_equal_for_all(tree, algorithm, (1, 1, many))


# --- where threads do not share ------------------------------------------------------


def test_what_cannot_be_shared_runs_in_one_thread_with_its_bits():
    def everything(state, player):
        return state.information_state_string(player)

    def plain(policy, memory, gradient, parameters, t):
        return 0.0

    baselines = algorithms.Sampling(True, True, baseline="learned")
    for game, algorithm, abstraction in (
        (KUHN_3, batched(ms.EXTERNAL), everything),
        (KUHN_3, batched(ms.AVERAGE_STRATEGY_SAMPLING.sampling), None),
        (KUHN_3, batched(baselines), None),
        (KUHN_3, batched(ms.AVERAGE_STRATEGY_SAMPLING.sampling, 1), None),
        (LEDUC, batched(ms.EXTERNAL), None),  # grows with the walks
    ):
        alone, shared = (
            Solver(game, algorithm, threads=k, abstraction=abstraction) for k in (1, 3)
        )
        for solver in (alone, shared):
            for more in (1, 4):
                solver.iterate(more)
        assert not are_shared(shared)
        assert bits(shared) == bits(alone)


def test_short_batches_are_not_shared(monkeypatch):
    monkeypatch.undo()
    for game in ("kuhn_poker", "leduc_poker"):
        tree = GameTree(game).expand_all()
        for sampling in (ms.EXTERNAL, ms.OUTCOME):
            for batch in (16, 512) if IS_COMPILED else (16,):
                solver = Solver(tree, batched(sampling, batch), threads=3)
                for _ in range(2):
                    solver.iterate(100 if IS_COMPILED else 5)
                assert not are_shared(solver)


# --- interruptions and errors --------------------------------------------------------


def test_a_pause_amid_a_batch_is_saved_and_one_thread_goes_on(monkeypatch):
    monkeypatch.setattr(forking, "_NODES_OF_TICKET", (1, 30))  # several segments
    algorithm = batched(ms.EXTERNAL, 300, alternating=False)
    tree = GameTree(KUHN_3).expand_all()
    alone, shared = (Solver(tree, algorithm, seed=4, threads=k) for k in (1, 3))
    alone.iterate(3)
    shared.iterate(1)
    shared.iterate_until(shared.nodes_touched + 1)  # now the threads know the batch
    cut = shared.state
    assert cut.forking is not None
    places = set()
    shared._slice = 400
    run = cut.forking.run

    def interrupted(*arguments):
        status = run(*arguments)
        if status == kernels.PAUSED:
            assert are_shared(shared)
            places.add(int(cut.walk.cursor[kernels.PLAYER]))
            if len(places) == 3:
                raise KeyboardInterrupt
        return status

    cut.forking.run = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        shared.iterate(1)
    assert cut.is_midway
    assert cut.walk.cursor[kernels.WALK]
    again = Solver.from_contents(
        pickle.loads(pickle.dumps(contents_midway(shared))), tree
    )
    again.iterate(3 - again.num_iterations)
    assert bits(again) == bits(alone)
    cut.forking.run = run  # type: ignore[method-assign]
    shared.iterate(3 - shared.num_iterations)
    assert bits(shared) == bits(alone)


@ONLY_COMPILED
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="has no interval timer")
def test_ctrl_c_at_any_moment_loses_nothing(no_collection):
    tree = GameTree("liars_dice(dice_sides=3)").expand_all()
    alone, shared = (Solver(tree, batched(ms.OUTCOME, 200), threads=k) for k in (1, 3))
    for _ in range(3):
        shared.iterate(1)
    assert are_shared(shared)
    assert iterate_interrupted(shared) > 30
    alone.iterate(shared.num_iterations)
    assert bits(shared) == bits(alone)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_walk_that_ends_the_run_does_so_with_the_state_of_one_thread(
    seed, monkeypatch
):
    monkeypatch.setattr(forking, "_NODES_OF_TICKET", (1, 1))  # several segments
    states, words = [], []
    for threads in (1, 3):
        tree = GameTree(KUHN_3).expand_all()
        solver = Solver(tree, batched(ms.OUTCOME, 100), seed=seed, threads=threads)
        solver.iterate(1)
        tree.arrays.utilities[-1] = 1e295  # as no game is allowed to pay
        with pytest.raises(
            ValueError, match="no longer fits a floating-point"
        ) as caught:
            solver.iterate(100_000)
        assert are_shared(solver) == (threads > 1)
        words.append(str(caught.value))
        states.append(bits(solver))
    assert words[0] == words[1]
    assert states[0] == states[1]


def raising(policy, memory, gradient, parameters, t):
    if t == 3:
        raise ValueError("the third iteration")
    value = 0.0
    for a in range(len(policy)):
        value += policy[a] * gradient[a]
    return value


@pytest.mark.parametrize("threads", [2, 3])
def test_an_error_in_a_rule_is_raised_whatever_thread_met_it(threads):
    tree = GameTree(KUHN_3).expand_all()
    rule = algorithms.own_rule(raising)
    solver = Solver(tree, batched(ms.CHANCE, 4, rule), threads=threads)
    for _ in range(2):
        solver.iterate(1)
    assert are_shared(solver)
    with pytest.raises(ValueError, match="the third iteration"):
        solver.iterate(5)
    another = Solver(tree, batched(ms.EXTERNAL), threads=threads)
    another.iterate(1)
    another.iterate(3)  # the threads are there still
    assert another.num_iterations == 4


# --- who writes where ----------------------------------------------------------------


class Watched(np.ndarray):
    """An array that notes which ticket reads or writes which address."""

    notes: Any = None
    stage = batch_logs.BEFORE

    def _note(self, key, wrote):
        if isinstance(key, int | np.integer) and self.ndim == 1:
            assert 0 <= key < len(self)
            address = self.__array_interface__["data"][0] + int(key) * self.strides[0]
            Watched.notes(address, wrote)

    def __getitem__(self, key):
        # What is got of a record may be written to, so it counts as written while logs
        # are made. When they are read, they are compared instead. Queues are written
        # to where they are read.
        is_record = self.dtype.names is not None and self.flags.writeable
        is_made = Watched.stage == forked_walks.IN_TOP or self.dtype == kernels.BRANCH
        self._note(key, is_record and is_made)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._note(key, True)
        super().__setitem__(key, value)


@pytest.mark.skipif(IS_COMPILED, reason="watches plain Python (NUMBA_DISABLE_JIT=1)")
@pytest.mark.parametrize("game", [KUHN_3, "liars_dice(dice_sides=2)"])
@pytest.mark.parametrize("sampling", ["external", "outcome"])
def test_no_ticket_touches_what_another_of_its_stage_writes(
    sampling, game, monkeypatch
):
    reading: dict[int, set[int]] = defaultdict(set)
    writing: dict[int, set[int]] = defaultdict(set)
    now: list[int] = [-1]  # the ticket; the leader between two stages is -1
    stages, before = 0, []

    def note(address, wrote):
        if now[0] >= 0:
            (writing if wrote else reading)[address].add(now[0])

    def check():
        nonlocal stages
        for address, writers in writing.items():
            assert len(writers | reading[address]) == 1
        stages += len({w for writers in writing.values() for w in writers}) > 1
        reading.clear()
        writing.clear()

    next_ticket, views = forked_walks.next_in_lanes, forked_walks.fork_views

    def logs():
        made = solver.state.forking
        assert made is not None
        assert made.forks is not None
        forks = made.forks
        logged = forks.event, forks.leaf, forks.fork, forks.order, forks.part_ends
        return [array.tobytes() for array in logged]

    def next_and_noted(desk, at, lane, leads):
        nonlocal before
        was_leader = now[0] < 0
        now[0] = next_ticket(desk, at, lane, leads)
        if now[0] < 0:
            assert Watched.stage < forked_walks.IN_BLOCKS or logs() == before
            check()
        elif was_leader:
            Watched.stage, before = desk[batch_logs.STAGE], logs()
        return now[0]

    def watched(frame, kind):
        record = views(frame, kind)
        shown = [array.view(Watched) for array in record]
        if kind in (kernels.TreeArrays, kernels.Task):
            for array in shown:
                array.flags.writeable = False
        return kind(*shown)

    monkeypatch.setattr(Watched, "notes", staticmethod(note))
    monkeypatch.setattr(Watched, "stage", batch_logs.BEFORE)
    monkeypatch.setattr(forked_walks, "next_in_lanes", next_and_noted)
    monkeypatch.setattr(forked_walks, "fork_views", watched)
    # One thread does all tickets: what counts is what each touches.
    run = forking.teams.run
    monkeypatch.setattr(
        forking.teams,
        "run",
        lambda work, threads, *arguments, **more: run(work, 1, *arguments, **more),
    )
    solver = Solver(
        GameTree(game).expand_all(), batched(SAMPLINGS[sampling], 12), threads=2
    )
    solver.iterate(1)
    solver.iterate(2)
    assert are_shared(solver)
    assert stages >= 8


def test_trees_without_blocks_have_one_thread():
    tree = GameTree("matrix_rps").expand_all()
    assert_equal_for_all(tree, batched(ms.OUTCOME, 300), (1, 3))
