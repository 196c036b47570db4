"""Batches shared by threads give identical results and have no data races."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.arenas import sharing, tree_arenas
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.kernels import batches, shared_walks, teams, tickets
from mccfr_spiel.kernels.jit import IS_COMPILED
from mccfr_spiel.kernels.tables import PAUSED
from tests.small_games import named
from tests.test_solver import RULES
from tests.vectors import GOOFSPIEL, KUHN_3, LEDUC, batched, bits

THREADS = (1, 3)
LIARS_DICE = "liars_dice(dice_sides=3)"


@pytest.fixture(autouse=True)
def helped(monkeypatch) -> list[int]:
    """Makes batches of all sizes shared, in blocks of a few infosets.

    Returns:
        The number of threads of each shared call.
    """
    for name in ("LEAST_NODES", "SMALL_TREE", "LEAST_NODES_AT_ONCE"):
        monkeypatch.setattr(sharing, name, int(name == "LEAST_NODES"))
    monkeypatch.setattr(tree_arenas, "LEAST_TREE", 0)
    monkeypatch.setattr(cutting, "LEAST_BLOCK_OF_BATCH", 24)
    monkeypatch.setattr(cutting, "NUM_BLOCKS_OF_BATCH", 12)
    threads, run = [], teams.run

    def counted(work, num_threads, *arguments, **more):
        threads.append(num_threads)
        return run(work, num_threads, *arguments, **more)

    monkeypatch.setattr(teams, "run", counted)
    return threads


def whole(game):
    return GameTree(named(game)).expand_all()


def assert_equal_for_all(tree, algorithm, iterations, helped):
    """Asserts that solvers with 1 and 3 threads agree after each of `iterations`."""
    solvers = [Solver(tree, algorithm, seed=3, threads=count) for count in THREADS]
    helped.clear()
    for more in iterations:
        for solver in solvers:
            solver.iterate(more)
        assert bits(solvers[0]) == bits(solvers[1])
    assert set(helped) == {3}


# --- the bits ------------------------------------------------------------------------

ROWS = [
    (KUHN_3, ms.EXTERNAL, "regret_matching", True, 10),
    (LIARS_DICE, ms.OUTCOME, "regret_matching_plus", True, 33),
    (LEDUC, ms.CHANCE, "discounted_regret_matching", False, 3),
    ("uneven_deal", ms.OPPONENT, "ftrl", True, 10),
    ("three_players", ms.OUTCOME, "regret_matching", False, "auto"),
    (GOOFSPIEL, ms.EXTERNAL, "ftrl", True, 1),
    (GOOFSPIEL, ms.CHANCE, "regret_matching_plus", True, 1),
    (GOOFSPIEL, ms.BALANCED_OUTCOME, "regret_matching", True, 40),
    (LIARS_DICE, ms.OPPONENT, "regret_matching", False, 1),
    ("kuhn_poker", ms.EXTERNAL, "regret_matching_plus", False, "auto"),
    ("matrix_rps", ms.OUTCOME, "regret_matching", True, 90),
    (LEDUC, ms.EXTERNAL, "trembling", True, 10),
]


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_threads_do_not_change_results(row, helped):
    game, sampling, rule, alternating, batch = ROWS[row]
    if IS_COMPILED and row > 1:
        pytest.skip("each takes long to compile")
    rules = RULES | {"trembling": ms.regret_matching(tremble=0.03)}
    algorithm = batched(sampling, batch, rules[rule], alternating=alternating)
    many = 130 if batch == "auto" else 30 if IS_COMPILED else 3
    assert_equal_for_all(whole(game), algorithm, (1, 1, many), helped)


@pytest.mark.parametrize(
    ("nodes", "room", "batch"), [((1, 1), (2, 2), 40), ((3, 7), (9, 40), 2)]
)
def test_sizes_of_slices_stretches_and_logs_do_not_change_results(
    nodes, room, batch, helped, monkeypatch
):
    monkeypatch.setattr(sharing, "_NODES_OF_SLICE", nodes)
    monkeypatch.setattr(sharing, "STACK_HEIGHT", room[0])
    monkeypatch.setattr(sharing, "_ROOM", room[1])
    for sampling in (ms.EXTERNAL, ms.OUTCOME):
        assert_equal_for_all(whole(KUHN_3), batched(sampling, batch), (1, 3), helped)


@pytest.mark.compiled
def test_repeated_runs_give_identical_results():
    tree, algorithm = whole(LIARS_DICE), batched(ms.EXTERNAL, 40)
    alone = Solver(tree, algorithm)
    alone.iterate(3)
    for run in range(100):
        solver = Solver(tree, algorithm, threads=2 + run % 3)
        solver.iterate(3)
        assert bits(solver) == bits(alone), run


# --- where threads do not share ------------------------------------------------------


def test_unshareable_walks_run_in_one_thread(helped):
    def everything(state, player):
        return state.information_state_string(player)

    baselines = algorithms.Sampling(True, True, baseline="learned")
    for game, algorithm, abstraction in (
        (KUHN_3, batched(ms.EXTERNAL), everything),
        (KUHN_3, batched(ms.AVERAGE_STRATEGY_SAMPLING.sampling), None),
        (KUHN_3, batched(baselines), None),
        (LEDUC, batched(ms.EXTERNAL), None),  # grows with the walks
    ):
        alone, shared = (
            Solver(game, algorithm, threads=k, abstraction=abstraction) for k in (1, 3)
        )
        for solver in (alone, shared):
            for more in (1, 2):
                solver.iterate(more)
        assert bits(shared) == bits(alone)
    assert not helped


# --- interruptions --------------------------------------------------------------


@pytest.mark.skipif(IS_COMPILED, reason="stretches are too long to be cut")
@pytest.mark.parametrize("engine", ["blocks", "groups"])
@pytest.mark.parametrize("alternating", [True, False])
def test_batch_resumes_after_ctrl_c_at_the_end_of_a_call(
    engine, alternating, monkeypatch
):
    """The exception discards the status of the call."""
    monkeypatch.setattr(sharing, "_NODES_OF_SLICE", (1, 1))  # several stretches
    algorithm = batched(ms.EXTERNAL, 70, alternating=alternating)

    def make(threads):
        if engine == "groups":
            return Solver("leduc_poker", algorithm, store="none")
        return Solver(whole(KUHN_3), algorithm, threads=threads)

    alone, cut = make(1), make(3)
    for solver in (alone, cut):
        solver.iterate(1)
    mean = alone.nodes_touched // (2 * 70)
    monkeypatch.setattr(batches, "NODES_OF_GROUP", (1, mean + 1))  # of one walk
    pauses, run = [], teams.run

    def interrupted(*arguments, **more):
        status = run(*arguments, **more)
        if status == PAUSED:
            pauses.append(status)
            if len(pauses) % 3 == 1:
                raise KeyboardInterrupt
        return status

    monkeypatch.setattr(teams, "run", interrupted)
    cut.slices.size = 100
    while cut.num_iterations < 3:
        try:
            cut.iterate(1)
        except KeyboardInterrupt:
            cut.slices.size = 10**6
    alone.iterate(2)
    assert pauses
    assert bits(cut) == bits(alone)


# --- who writes where ----------------------------------------------------------------


class Watched(np.ndarray):
    """An array that records which ticket reads or writes which address."""

    notes: Any = None
    stage = shared_walks.IN_TOP

    def _note(self, key, wrote):
        if isinstance(key, int | np.integer) and self.ndim == 1:
            assert 0 <= key < len(self)
            address = self.__array_interface__["data"][0] + int(key) * self.strides[0]
            Watched.notes(address, wrote)

    def __getitem__(self, key):
        # The first stage writes to fields of the records that it reads.
        is_made = Watched.stage == shared_walks.IN_TOP
        self._note(key, self.dtype.names is not None and is_made)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._note(key, True)
        super().__setitem__(key, value)


@pytest.mark.skipif(IS_COMPILED, reason="watches plain Python (NUMBA_DISABLE_JIT=1)")
@pytest.mark.parametrize(
    ("game", "sampling"), [(KUHN_3, ms.EXTERNAL), (LIARS_DICE, ms.OUTCOME)]
)
def test_tickets_of_a_stage_write_disjoint_memory(game, sampling, monkeypatch):
    reading: dict[int, set[int]] = defaultdict(set)
    writing: dict[int, set[int]] = defaultdict(set)
    now: list[int] = [-1]  # the ticket; the leader between two stages is -1
    stages: list[int] = []

    def note(address, wrote):
        if now[0] >= 0:
            (writing if wrote else reading)[address].add(now[0])

    def check():
        for address, writers in writing.items():
            assert len(writers | reading[address]) == 1
        if len({w for writers in writing.values() for w in writers}) > 1:
            stages.append(Watched.stage)
        reading.clear()
        writing.clear()

    next_ticket, views = tickets.next_ticket, shared_walks.shared_views

    def next_and_noted(desk, leads):
        now[0] = next_ticket(desk, leads)
        if now[0] < 0:
            check()
        Watched.stage = int(desk[shared_walks.STAGE])
        return now[0]

    def watched(frame, kind):
        return kind(*(array.view(Watched) for array in views(frame, kind)))

    monkeypatch.setattr(Watched, "notes", staticmethod(note))
    monkeypatch.setattr(tickets, "next_ticket", next_and_noted)
    monkeypatch.setattr(shared_walks, "shared_views", watched)
    # One thread processes all tickets, because only their addresses matter.
    run = teams.run
    monkeypatch.setattr(
        teams,
        "run",
        lambda work, threads, *arguments, **more: run(work, 1, *arguments, **more),
    )
    solver = Solver(whole(game), batched(sampling, 12), threads=2)
    solver.iterate(1)
    solver.iterate(2)
    assert set(stages) == {
        shared_walks.IN_TOP,
        shared_walks.IN_BLOCKS,
        shared_walks.APPLYING,
    }
