"""Passes shared by threads have the bits of one thread, and no two write one place."""

import copy
import itertools
import pickle
import threading

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.kernels import passes as kernel_blocks
from mccfr_spiel.kernels.passes import IN_TOP, INNER, ROOT
from mccfr_spiel.tree import whole
from tests.reference import Textbook
from tests.small_games import three_players, uneven_deal
from tests.test_solver import GOOFSPIEL, KUHN_3, RULES, assert_same, modern
from tests.vectors import bits

THREADS = (1, 3)
GAMES = {
    "kuhn_3": lambda: KUHN_3,
    "goofspiel": lambda: GOOFSPIEL,
    "liars_dice": lambda: "liars_dice(dice_sides=3)",
    "uneven_deal": uneven_deal,
    "three_players": three_players,
}
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
    monkeypatch.setattr(whole, "LEAST_BLOCK", 40)
    monkeypatch.setattr(whole, "MOST_BLOCKS", 12)
    monkeypatch.setattr("mccfr_spiel.solving.state.LEAST_WORK", 1)
    monkeypatch.setattr("mccfr_spiel.tree.full_pass.LEAST_WORK_AT_ONCE", 1)


# --- the bits ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "game"), [*zip(FULL_ALGORITHMS, itertools.cycle(GAMES), strict=False)]
)
def test_any_number_of_threads_has_the_bits_of_one(name, game):
    tree = GameTree(GAMES[game]()).expand_all()
    for alternating in (True, False):
        algorithm = FULL_ALGORITHMS[name]._replace(alternating=alternating)
        solvers = [Solver(tree, algorithm, seed=3, threads=count) for count in THREADS]
        assert [solver.state.num_threads for solver in solvers] == [*THREADS]
        for more in (1, 2):
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


@pytest.mark.compiled
def test_a_thousand_runs_have_the_same_bits():
    tree = GameTree("liars_dice(dice_sides=3)").expand_all()
    alone = Solver(tree, ms.CFR_PLUS)
    alone.iterate(3)
    for run in range(1000):
        solver = Solver(tree, ms.CFR_PLUS, threads=2 + run % 3)
        solver.iterate(3)
        assert bits(solver) == bits(alone), run


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


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("most", [5, 40])
def test_no_two_pieces_write_one_place(game, most, monkeypatch):
    """By the tree alone: which sequences each piece's update and plans change."""
    monkeypatch.setattr(whole, "MOST_BLOCKS", most)
    monkeypatch.setattr(whole, "LEAST_BLOCK", 1)
    monkeypatch.setattr(kernel_blocks, "_WINDOW", 0.01)  # cuts in the midst of subtrees
    tree = GameTree(GAMES[game]()).expand_all()
    cut, members = tree.list_blocks(), tree.list_leaves().members
    num_blocks = len(cut.ends) - 1
    assert 1 <= num_blocks <= most
    is_cut = most > 1 and game in ("goofspiel", "liars_dice")
    assert num_blocks > 1 or not is_cut
    assert (cut.ends[0], cut.ends[-1]) == (0, tree.num_infosets)
    owner = {s: i for i in range(tree.num_infosets) for s in sequences(tree, i)}
    above = [owner.get(int(record["parent"]), -1) for record in tree.infosets]
    home = np.searchsorted(cut.ends, np.arange(tree.num_infosets), side="right")
    in_top: set[int] = set()
    for i in reversed(range(tree.num_infosets)):
        if above[i] >= 0 and (i in in_top or home[i] != home[above[i]]):
            in_top.add(above[i])
    assert in_top or not is_cut
    written: set[int] = set()
    met: list[int] = []
    for piece, (begin, end) in enumerate(itertools.pairwise(cut.starts.tolist())):
        player, block = divmod(piece, num_blocks)
        mine = members[begin:end].tolist()
        met += mine
        assert (tree.infosets[mine]["player"] == player).all()
        assert (home[mine] == block + 1).all()
        moved = [i for i in mine if i not in in_top]
        places = {s for i in moved for s in sequences(tree, i)}
        for i in moved:  # a root leaves its value in its own first sequence
            is_root = above[i] < 0 or above[i] in in_top
            assert cut.kinds[i] == (ROOT if is_root else INNER)
            assert is_root or int(tree.infosets[i]["parent"]) in places
        assert not places & written
        written |= places
    assert sorted(met) == list(range(tree.num_infosets))
    assert set(np.flatnonzero(cut.kinds == IN_TOP).tolist()) == in_top
    for player, (begin, end) in enumerate(itertools.pairwise(cut.top_ends.tolist())):
        top = cut.top[begin:end].tolist()
        numbers = [i if i >= 0 else ~i for i in top]
        assert numbers == sorted(numbers)
        assert (tree.infosets[numbers]["player"] == player).all()
        assert all((i >= 0) == (cut.kinds[max(i, ~i)] == IN_TOP) for i in top)
    assert len(cut.top) == np.count_nonzero(cut.kinds != INNER)


# --- interruptions and errors --------------------------------------------------------


def raising(policy, memory, gradient, parameters, t):
    if t == 3:
        raise ValueError("the third iteration")
    value = 0.0
    for a in range(len(policy)):
        value += policy[a] * gradient[a]
    return value


def test_an_error_in_a_rule_is_raised_whatever_thread_met_it():
    threads = 3
    rule = algorithms.own_rule(raising)
    solver = Solver(KUHN_3, ms.Algorithm(ms.FULL, rule), threads=threads)
    solver.iterate(2)
    with pytest.raises(ValueError, match="the third iteration"):
        solver.iterate(5)
    another = Solver(KUHN_3, ms.CFR, threads=threads)  # the threads are there still
    another.iterate(3)
    assert another.num_iterations == 3


def test_solvers_on_one_tree_in_two_threads_of_the_user(no_collection):
    tree = GameTree("kuhn_poker").expand_all()
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
