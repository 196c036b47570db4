"""The lock of a tree: threads, signal handlers and callbacks wait or raise an error.

The oracle is a solver that runs undisturbed.
"""

import copy
import pickle

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from tests.vectors import tables_by_name

pytestmark = pytest.mark.compiled


# --- nested calls of one thread ----------------------------------------------


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
        lambda solver, path: solver.tree.expand_all(),
        lambda solver, path: solver.tree.forget_nodes(),
        lambda solver, path: solver.tree.state_at(0),
        lambda solver, path: solver.tree.info_states,
        lambda solver, path: solver.tree.actions,
        lambda solver, path: Solver(solver.tree, ms.CFR),
    ],
)
def test_abstraction_that_calls_the_solver_is_refused(call, tmp_path):
    def abstraction(state, player):
        nonlocal times
        times += 1
        if times % 5 == 0:
            with pytest.raises(ms.TreeInUseError, match="Wait until the outer call"):
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
    assert tables_by_name(solver) == tables_by_name(plain)


# --- copies, pickles, forks --------------------------------------------------


def test_trees_cannot_be_copied_or_pickled():
    tree = GameTree("kuhn_poker")
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="Solvers and policies can"):
            duplicate(tree)
