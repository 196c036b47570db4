"""What nobody holds goes, and what solvers take is given back."""

import gc
import pickle
import weakref

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.arenas.infosets.walk_sizes import WalkTooLargeError
from mccfr_spiel.arenas.tree.expansion import expand
from mccfr_spiel.arenas.tree.nodes import OUTCOMES


def _solve(name):
    def make(_):
        solver = Solver("kuhn_poker", ms.ALGORITHMS[name])
        solver.iterate(3)
        return solver, solver.tree, solver.average_policy()

    return make


def _evaluate(_):
    tree = GameTree("kuhn_poker").expand_all()
    policy = Solver(tree, ms.CFR).average_policy()
    ms.nash_conv(tree, policy)
    ms.expected_returns("kuhn_poker", policy)
    response = ms.evaluation.best_response_policy(tree, policy, 0)
    return tree, policy, response, policy.to_tabular()


def _abstract(_):
    solver = Solver(
        "kuhn_poker", ms.CFR, abstraction=pyspiel.State.information_state_string
    )
    solver.iterate(2)
    return solver, solver.tree


def _drop_nodes(_):
    solver = Solver("leduc_poker", ms.EXTERNAL_SAMPLING, max_nodes=500)
    solver.iterate(30)
    return solver, solver.tree


def _refuse(_):
    solver = Solver("leduc_poker", ms.EXTERNAL_SAMPLING, max_nodes=20)
    with pytest.raises(WalkTooLargeError):
        solver.iterate(30)
    return solver, solver.tree


def _save(folder):
    solver = Solver("kuhn_poker", ms.CFR)
    solver.save(folder / "solver")
    loaded = Solver.load(folder / "solver")
    copied = pickle.loads(pickle.dumps(loaded))
    return solver.tree, loaded, loaded.tree, copied, copied.tree


def _save_tree(folder):
    path = folder / f"tree{len(list(folder.iterdir()))}"
    saved = GameTree("kuhn_poker").expand_all()
    ms.save_tree(saved, path)
    loaded = ms.load_tree(path)
    return saved, loaded, Solver(loaded, ms.CFR)


def _put_in_openspiel_s_place(_):
    solver = ms.CFRPlusSolver(pyspiel.load_game("kuhn_poker"))
    solver.evaluate_and_update_policy()
    return solver, solver.average_policy(), solver._solver.tree


@pytest.mark.parametrize(
    "make",
    [
        *map(_solve, ms.ALGORITHMS),
        _evaluate,
        _abstract,
        _drop_nodes,
        _refuse,
        _save,
        _save_tree,
        _put_in_openspiel_s_place,
        lambda _: (ms.solve_lp("kuhn_poker").policy.tree,),
    ],
)
def test_what_nobody_holds_goes_without_the_garbage_collector(make, tmp_path):
    make(tmp_path)  # what is imported once
    gc.collect()
    gc.disable()
    try:
        dropped = [weakref.ref(made) for made in make(tmp_path)]
        assert [made() for made in dropped if made() is not None] == []
    finally:
        gc.enable()


def test_outcomes_that_are_kept_for_replays_are_counted_until_nodes_are_dropped():
    cards = ";".join(f"{rank}2+" for rank in "23456789TJQKA")
    name = "python_holdem_subgame(board=Ks7d4c2s9h,pot=100,stacks=300,bets=50%"
    tree = GameTree(f"{name},range0={cards},range1={cards})")
    outcomes, *_ = expand(tree, 0, *tree.state_at(0))
    assert tree.budget.held(OUTCOMES) > 8 * len(outcomes) > 8000
    last = len(outcomes)
    assert tree.state_at(last)[0].history() == [outcomes[last - 1][0]]
    tree.forget_nodes()
    assert tree.budget.held(OUTCOMES) == 0
