"""The argument `twin` of each public function decides whether the twin is used."""

import pickle

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.tree import twin_choice
from mccfr_spiel.evaluation.play_reports import evaluated_by_play
from mccfr_spiel.experiments import Settings, sweeps
from mccfr_spiel.experiments.executors import in_this_process
from mccfr_spiel.experiments.run_solvers import load_solver

KUHN = "kuhn_poker"


def uniform(game):
    return pyspiel.UniformRandomPolicy(pyspiel.load_game(game))


def load(game, twin, folder):
    folder.mkdir(exist_ok=True)
    ms.Solver(game, ms.CFR, twin=False).save(folder / "solver")
    return ms.Solver.load(folder / "solver", twin=twin)


def best_response(game, twin, folder):
    return ms.evaluation.best_response_policy(game, uniform(game), 0, twin=twin)


def compare(game, twin, folder):
    metric = {"nodes": lambda solver: solver.tree.num_nodes}
    return ms.compare(
        game, ms.CFR, 1, metrics=metric, iterations=1, workers=1, twin=twin,
        progress=False,
    )  # fmt: skip


def sweep(game, twin, folder):
    table = {"one": Settings(game, ms.CFR, iterations=1, twin=twin)}
    return sweeps.run_sweep(table, folder, in_this_process, trees=folder / "trees")


def resume(game, twin, folder):
    folder.mkdir(exist_ok=True)
    ms.Solver(game, ms.CFR, twin=False).save(folder / "solver")
    settings = Settings(game, ms.CFR, iterations=1, twin=twin)
    return load_solver(settings, folder / "solver")


def copied(game, twin, _):
    solver = ms.Solver(game, ms.CFR, twin=twin)
    return pickle.loads(pickle.dumps(solver))


EXPANDS = {
    "GameTree": lambda game, twin, _: ms.GameTree(game, twin=twin).expand_all(),
    "Solver": lambda game, twin, _: ms.Solver(game, ms.CFR, twin=twin),
    "load": load,
    "nash_conv": lambda game, twin, _: ms.nash_conv(game, uniform(game), twin=twin),
    "exploitability": lambda game, twin, _: ms.exploitability(
        game, uniform(game), twin=twin
    ),
    "expected_returns": lambda game, twin, _: ms.expected_returns(
        game, uniform(game), twin=twin
    ),
    "best_response_policy": best_response,
    "game_value": lambda game, twin, _: ms.evaluation.game_value(
        game, uniform(game), twin=twin
    ),
    "compare": compare,
    "run_sweep": sweep,
    "resume": resume,
    "pickle": copied,
}
"""Functions that expand the whole tree."""


def policy_of(game):
    return ms.Solver(game, ms.CFR, twin=False).average_policy()


def play(game, twin, folder):
    return ms.sampled_returns(game, policy_of(game), plays=20, twin=twin)


def respond(game, twin, folder):
    policy = policy_of(game)
    response = ms.learned_response(game, policy, 0, iterations=5, plays=20, twin=twin)
    return response[:4]


def evaluate(game, twin, folder):
    return evaluated_by_play(policy_of(game), plays=20, seconds=0, twin=twin)


PLAYS = {"sampled_returns": play, "learned_response": respond, "evaluation": evaluate}
"""Functions that play the game."""

FUNCTIONS = EXPANDS | PLAYS


@pytest.fixture
def uses(monkeypatch):
    """A list with an entry for each comparison of a twin with its game."""
    twins, original = [], twin_choice.difference_to

    def recorded(game, twin, **options):
        twins.append(twin)
        return original(game, twin, **options)

    monkeypatch.setattr(twin_choice, "difference_to", recorded)
    return twins


@pytest.mark.parametrize("name", FUNCTIONS)
def test_true_uses_the_twin_and_false_does_not(name, uses, tmp_path):
    FUNCTIONS[name](KUHN, False, tmp_path / "a")
    assert not uses
    FUNCTIONS[name](KUHN, True, tmp_path / "b")
    assert uses
