"""Passes shared by threads have the bits of one thread, and no two write one place."""

import copy
import itertools
import pickle
import signal
import threading
from typing import Any

import numpy as np
import pytest
from open_spiel.python.algorithms import expected_game_score, exploitability

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.compiled.jit import IS_COMPILED
from mccfr_spiel.tree import blocks
from mccfr_spiel.tree.full_pass import full_pass
from tests.kernels.interruptions import iterate_interrupted
from tests.reference import Textbook
from tests.small_games import three_players, uneven_deal
from tests.test_solver import GOOFSPIEL, KUHN_3, LEDUC, RULES, assert_same, modern

THREADS = (1, 2, 3, 7)
GAMES = {
    "kuhn_3": lambda: KUHN_3,
    "goofspiel": lambda: GOOFSPIEL,
    "leduc": lambda: LEDUC,
    "liars_dice": lambda: "liars_dice(dice_sides=3)",
    "uneven_deal": uneven_deal,
    "three_players": three_players,
}
ONLY_COMPILED = pytest.mark.skipif(not IS_COMPILED, reason="takes long without the JIT")
ALL_GAMES = [
    pytest.param(name, marks=[ONLY_COMPILED] if name == "leduc" else [])
    for name in GAMES
]
FULL_ALGORITHMS = {
    **{f"rule {name}": ms.Algorithm(ms.FULL, rule) for name, rule in RULES.items()},
    **{
        name: algorithm
        for name, algorithm in (ms.ALGORITHMS | modern()).items()
        if not (algorithm.sampling.is_sampled or algorithm.sampling.prune)
    },
}


@pytest.fixture(autouse=True)
def cut_small_trees(monkeypatch):
    """Lets trees of every size be cut, into blocks of a few infosets."""
    monkeypatch.setattr(blocks, "BLOCK_WORK", (40, 400))
    monkeypatch.setattr(blocks, "NUM_BLOCKS", 12)
    monkeypatch.setattr("mccfr_spiel.tree.ranges.LEAST_RANGE", 40)
    monkeypatch.setattr("mccfr_spiel.solving.state.LEAST_WORK", 1)
    monkeypatch.setattr("mccfr_spiel.tree.full_pass.LEAST_WORK_AT_ONCE", 1)


def bits(solver) -> dict[str, bytes]:
    """All that a solver has learned, and where it is."""
    return {name: array.tobytes() for name, array in solver.state.saved().items()}


# --- the bits ----------------------------------------------------------------------


@pytest.mark.parametrize("game", ALL_GAMES)
@pytest.mark.parametrize("name", FULL_ALGORITHMS)
def test_any_number_of_threads_has_the_bits_of_one(name, game):
    tree = GameTree(GAMES[game]()).expand_all()
    for alternating in (True, False):
        algorithm = FULL_ALGORITHMS[name]._replace(alternating=alternating)
        solvers = [Solver(tree, algorithm, seed=3, threads=count) for count in THREADS]
        assert [solver.state.num_threads for solver in solvers] == [*THREADS]
        for more in (1, 1, 5):
            for solver in solvers:
                solver.iterate(more)
            alone, *others = map(bits, solvers)
            assert all(other == alone for other in others)
        assert len({solver.nodes_touched for solver in solvers}) == 1


def test_a_pass_of_three_threads_is_the_textbooks():
    for name, rule in RULES.items():
        if name in ("regret_matching_plus", "optimistic_omd"):
            solver = Solver(KUHN_3, ms.Algorithm(ms.FULL, rule), threads=3)
            textbook = Textbook(KUHN_3, ms.FULL, rule, ms.UNIFORM, True)
            solver.iterate(20)
            textbook.run(20)
            assert_same(solver, textbook)


@ONLY_COMPILED
def test_a_thousand_runs_have_the_same_bits():
    tree = GameTree("liars_dice(dice_sides=3)").expand_all()
    alone = Solver(tree, ms.CFR_PLUS)
    alone.iterate(3)
    for run in range(1000):
        solver = Solver(tree, ms.CFR_PLUS, threads=2 + run % 3)
        solver.iterate(3)
        assert bits(solver) == bits(alone), run


def test_limits_of_nodes_end_a_run_where_one_thread_ends():
    for alternating in (True, False):
        algorithm = ms.CFR_PLUS._replace(alternating=alternating)
        alone, shared = (Solver(KUHN_3, algorithm, threads=k) for k in (1, 3))
        for nodes in (1, 5000, 5001, 12_345):
            alone.iterate_until(nodes)
            shared.iterate_until(nodes)
            assert shared.nodes_touched == alone.nodes_touched
            assert bits(shared) == bits(alone)


def test_a_checkpoint_goes_on_with_another_number_of_threads(tmp_path):
    alone, shared = (Solver(KUHN_3, ms.PCFR_PLUS, threads=k) for k in (1, 3))
    alone.iterate(9)
    shared.iterate(4)
    shared.save(tmp_path / "checkpoint")
    loaded = Solver.load(tmp_path / "checkpoint", threads=2)
    copied, pickled = copy.copy(shared), pickle.loads(pickle.dumps(shared))
    assert [s.state.num_threads for s in (loaded, copied, pickled)] == [2, 3, 3]
    for solver in (loaded, copied, pickled):
        solver.iterate(5)
        assert bits(solver) == bits(alone)


def test_algorithms_that_sample_and_abstractions_have_one_thread():
    def everything(state, player):
        return state.information_state_string(player)

    for solver in (
        Solver(KUHN_3, ms.EXTERNAL_SAMPLING, threads=3),
        Solver(KUHN_3, ms.CFR_PLUS, threads=3, abstraction=everything),
    ):
        solver.iterate(3)
        assert solver.state.num_threads == 1


def test_trees_that_gain_nothing_have_one_thread(monkeypatch):
    monkeypatch.undo()
    for game in ("kuhn_poker", "leduc_poker"):
        solver = Solver(game, ms.CFR_PLUS, threads=None)
        assert solver.state.num_threads == 1
        assert full_pass(solver.tree, None).num_threads == 1


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_a_wrong_number_of_threads_is_refused_by_name(threads):
    with pytest.raises(ValueError, match="threads"):
        Solver("kuhn_poker", threads=threads)
    with pytest.raises(ValueError, match="threads"):
        ms.nash_conv(
            "kuhn_poker", ms.Solver("kuhn_poker").average_policy(), threads=threads
        )


# --- the cut -------------------------------------------------------------------------


def sequences(tree: GameTree, infoset: int) -> range:
    record = tree.infosets[infoset]
    first = int(record["first_sequence"])
    return range(first, first + int(record["num_actions"]))


@pytest.mark.parametrize("game", ALL_GAMES)
def test_no_two_blocks_write_one_place(game):
    """By the tree alone: which sequences each block's update and plans change."""
    tree = GameTree(GAMES[game]()).expand_all()
    cut, passes = tree.list_blocks(), tree.list_leaves()
    owner = {s: i for i in range(tree.num_infosets) for s in sequences(tree, i)}
    top: set[int] = {int(i) for i in cut.top if i >= 0}
    roots = {int(~i) for i in cut.top if i < 0}
    members = [
        cut.members[begin:end].tolist() for begin, end in itertools.pairwise(cut.ends)
    ]
    assert len(members) > tree.num_players
    written: set[int] = set()
    met: list[int] = []
    for block in members:
        infosets = [i if i >= 0 else ~i for i in block]
        assert infosets == sorted(infosets)
        met += infosets
        places = {s for i in infosets for s in sequences(tree, i)}
        for i, infoset in zip(block, infosets, strict=True):
            parent = int(tree.infosets[infoset]["parent"])
            if i < 0:  # the root leaves its value in its own first sequence
                assert infoset in roots
                assert parent < tree.num_players or owner[parent] in top
            else:
                assert parent in places
        assert not places & written
        written |= places
        rows = sum(int(passes.ends[s + 1] - passes.ends[s]) + 8 for s in places)
        assert rows <= blocks.work_of_block(passes)
    is_deep = game in ("leduc", "liars_dice")
    assert (
        any(len(block) > sum(i < 0 for i in block) for block in members) or not is_deep
    )
    assert sorted([*met, *top]) == list(range(tree.num_infosets))
    for player in range(tree.num_players):
        first, last = cut.player_ends[player : player + 2]
        mine = cut.members[cut.ends[first] : cut.ends[last]]
        of_top = cut.top[slice(*cut.top_ends[player : player + 2])]
        for part in (
            np.where(mine < 0, ~mine, mine),
            np.where(of_top < 0, ~of_top, of_top),
        ):
            assert (tree.infosets[part]["player"] == player).all()
        numbers = [i if i >= 0 else ~i for i in of_top.tolist()]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize("game", ALL_GAMES)
def test_blocks_may_be_done_in_any_order(game):
    """What one block writes no other one reads, or an order would change the bits."""
    tree = GameTree(GAMES[game]()).expand_all()
    generator = np.random.default_rng(5)
    alone = Solver(tree, ms.PCFR_PLUS)
    alone.iterate(4)
    cut = tree.list_blocks()
    for threads in (2, 3):
        solver = Solver(tree, ms.PCFR_PLUS, threads=threads)
        order: list[int] = []
        for first, last in itertools.pairwise(cut.player_ends.tolist()):
            order += generator.permutation(np.arange(first, last)).tolist()
        parts = [cut.members[cut.ends[b] : cut.ends[b + 1]] for b in order]
        cut.members[:] = np.concatenate(parts)
        cut.ends[1:] = np.cumsum([len(part) for part in parts])
        solver.iterate(4)
        assert bits(solver) == bits(alone)


def test_the_cut_does_not_depend_on_the_number_of_threads():
    cuts = []
    for threads in (2, 7):
        tree = GameTree(KUHN_3).expand_all()
        Solver(tree, ms.CFR, threads=threads).iterate(2)
        cuts.append([array.tobytes() for array in tree.list_blocks()])
    assert cuts[0] == cuts[1]


# --- evaluation ----------------------------------------------------------------------


@pytest.mark.parametrize("game", ALL_GAMES)
def test_evaluation_in_threads_has_the_bits_of_one_and_openspiels_values(game):
    tree = GameTree(GAMES[game]()).expand_all()
    solver = Solver(tree, ms.EXTERNAL_SAMPLING, seed=2)
    solver.iterate(20)
    policy = solver.average_policy()
    alone = [ms.nash_conv(tree, policy), *ms.expected_returns(tree, policy)]
    for threads in (2, 3, 7):
        returns = ms.expected_returns(tree, policy, threads=threads)
        assert [ms.nash_conv(tree, policy, threads=threads), *returns] == alone
        for player in range(tree.num_players):
            best, found = (
                ms.best_response_policy(tree, policy, player, threads=count).vector
                for count in (1, threads)
            )
            assert best.tobytes() == found.tobytes()
    theirs = exploitability.nash_conv(tree.game, policy)
    assert alone[0] == pytest.approx(theirs, abs=1e-12)
    state = tree.game.new_initial_state()
    each: Any = [policy] * tree.num_players
    expected = expected_game_score.policy_value(state, each)
    assert alone[1:] == pytest.approx(list(expected), abs=1e-12)


def test_the_metrics_of_a_solver_take_its_threads():
    solver = Solver(KUHN_3, ms.CFR_PLUS, threads=3)
    solver.run(10, metrics=[ms.metrics.nash_conv, ms.metrics.last_iterate])
    alone = Solver(KUHN_3, ms.CFR_PLUS)
    alone.run(10, metrics=[ms.metrics.nash_conv, ms.metrics.last_iterate])
    for mine, theirs in zip(solver.history, alone.history, strict=True):
        assert mine | {"seconds": 0} == theirs | {"seconds": 0}


# --- interruptions and errors --------------------------------------------------------


@ONLY_COMPILED
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="has no interval timer")
def test_ctrl_c_at_any_moment_loses_nothing(no_collection):
    tree = GameTree("liars_dice(dice_sides=3)").expand_all()
    alone, shared = (Solver(tree, ms.CFR_PLUS, threads=k) for k in (1, 3))
    shared.iterate(1)
    assert iterate_interrupted(shared) > 30
    alone.iterate(shared.num_iterations)
    assert bits(shared) == bits(alone)


def raising(policy, memory, gradient, parameters, t):
    if t == 3:
        raise ValueError("the third iteration")
    value = 0.0
    for a in range(len(policy)):
        value += policy[a] * gradient[a]
    return value


@pytest.mark.parametrize("threads", [2, 3])
def test_an_error_in_a_rule_is_raised_whatever_thread_met_it(threads):
    rule = algorithms.own_rule(raising)
    solver = Solver(KUHN_3, ms.Algorithm(ms.FULL, rule), threads=threads)
    solver.iterate(2)
    with pytest.raises(ValueError, match="the third iteration"):
        solver.iterate(5)
    another = Solver(KUHN_3, ms.CFR, threads=threads)  # the threads are there still
    another.iterate(3)
    assert another.num_iterations == 3


def test_solvers_on_one_tree_in_two_threads_of_the_user(no_collection):
    tree = GameTree(KUHN_3).expand_all()
    alone = Solver(tree, ms.DCFR)
    alone.iterate(40)
    solvers = [Solver(tree, ms.DCFR, threads=2) for _ in range(3)]

    def run(solver):
        for _ in range(20):
            solver.iterate(2)

    users = [threading.Thread(target=run, args=(solver,)) for solver in solvers]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert all(bits(solver) == bits(alone) for solver in solvers)
