"""The argument `twin` does what it says, wherever it is taken."""

import pickle

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.tree import twin_choice
from mccfr_spiel.evaluation.responses import evaluated_by_play
from mccfr_spiel.experiments import Settings, runs, sweeps
from mccfr_spiel.experiments.sweeps import in_this_process

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
    return runs.load_solver(settings, folder / "solver")


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
"""What expands the whole tree."""


def policy_of(game):
    return ms.Solver(game, ms.CFR, twin=False).average_policy()


def play(game, twin, folder):
    return ms.sampled_returns(game, policy_of(game), plays=20, twin=twin)


def respond(game, twin, folder):
    policy = policy_of(game)
    found = ms.learned_response(game, policy, 0, iterations=5, plays=20, twin=twin)
    return found[:4]


def evaluate(game, twin, folder):
    return evaluated_by_play(policy_of(game), plays=20, seconds=0, twin=twin)


PLAYS = {"sampled_returns": play, "learned_response": respond, "evaluation": evaluate}
"""What plays the game."""

TAKERS = EXPANDS | PLAYS


@pytest.fixture
def uses(monkeypatch):
    """A list that gets an entry each time that a twin is compared with its game."""
    found, real = [], twin_choice.difference_to

    def noted(game, twin, **options):
        found.append(twin)
        return real(game, twin, **options)

    monkeypatch.setattr(twin_choice, "difference_to", noted)
    return found


@pytest.mark.parametrize("name", TAKERS)
def test_true_uses_the_twin_and_false_does_not(name, uses, tmp_path):
    TAKERS[name](KUHN, False, tmp_path / "a")
    assert not uses
    TAKERS[name](KUHN, True, tmp_path / "b")
    assert uses
