"""Evaluations have the same bits with any number of threads, also concurrently."""

import threading

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.kernels.jit import IS_COMPILED
from tests.small_games import named
from tests.vectors import GOOFSPIEL, KUHN_3

THREADS = (1, 3)
LIARS_DICE = "liars_dice(dice_sides=3)"
GAMES = KUHN_3, GOOFSPIEL, LIARS_DICE, "uneven_deal", "three_players"


@pytest.fixture(autouse=True)
def share_small_trees(monkeypatch):
    """Cuts small trees into blocks of a few infosets; stacks are too small at first."""
    monkeypatch.setattr("mccfr_spiel.kernels.traversal.HEIGHT", 2)
    monkeypatch.setattr(cutting, "LEAST_BLOCK", 40)
    monkeypatch.setattr("mccfr_spiel.arenas.tree.cutting.LEAST_WORK_AT_ONCE", 1)


def policy_of(tree, seed=2) -> np.ndarray:
    """Returns a random policy that is 0 at some sequences."""
    generator = np.random.default_rng(seed)
    vector = generator.random(tree.num_sequences)
    vector[generator.random(tree.num_sequences) < 0.2] = 0
    vector[tree.infosets["first_sequence"]] += 0.1
    sums = np.add.reduceat(vector, tree.infosets["first_sequence"])
    vector[tree.num_players :] /= np.repeat(sums, tree.infosets["num_actions"])
    vector[: tree.num_players] = 1
    return vector


@pytest.mark.parametrize("game", GAMES)
def test_values_do_not_depend_on_threads(game):
    tree = GameTree(named(game)).expand_all()
    vector, players = policy_of(tree), range(tree.num_players)
    alone = full_pass(tree)
    returns, bests = alone.values(vector)
    plan = alone.plan(vector)
    sums = [float(np.sum(alone.gradient(plan, p) * plan)) for p in players]
    assert returns == pytest.approx(sums, abs=1e-13)
    for threads in THREADS:
        passes = full_pass(tree, threads)
        assert passes.num_threads == threads
        on_policy, best = passes.values(vector)
        assert on_policy.tolist() == returns.tolist()
        assert best.tolist() == bests.tolist()
        for p in players:
            response, expected = passes.respond(vector, p), alone.respond(vector, p)
            assert response.value == bests[p]
            assert response.choice.tobytes() == expected.choice.tobytes()


def test_concurrent_evaluations_do_not_interfere():
    tree = GameTree(LIARS_DICE).expand_all()
    policies = [policy_of(tree, seed) for seed in range(3)]
    alone = [ms.nash_conv(tree, policy) for policy in policies]
    assert len(set(alone)) == 3
    rounds = 100 if IS_COMPILED else 2
    gaps: list[set[float]] = [set() for _ in policies]

    def evaluate(index):
        for turn in range(rounds):
            threads = 1 + (index + turn) % 3
            gaps[index].add(ms.nash_conv(tree, policies[index], threads=threads))

    users = [threading.Thread(target=evaluate, args=(index,)) for index in range(3)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert gaps == [{gap} for gap in alone]


def test_invalid_policies_are_refused():
    tree = GameTree(KUHN_3).expand_all()
    vector = policy_of(tree)
    for infoset in (0, tree.num_infosets // 2, tree.num_infosets - 1):
        first = tree.infosets["first_sequence"][infoset]
        for change in (1e-3, -1e-3, np.nan, np.inf):
            wrong = vector.copy()
            wrong[first] += change
            with pytest.raises(
                ValueError, match="expected a distribution over the"
            ) as error:
                ms.nash_conv(tree, wrong)
            assert repr(tree.info_state(infoset)) in str(error.value)
        wrong = vector.copy()
        wrong[first : first + 2] = -0.5, 1.5
        with pytest.raises(ValueError, match="expected a distribution over the"):
            ms.nash_conv(tree, wrong)
        almost = vector.copy()
        almost[first] += 0.95e-6
        ms.nash_conv(tree, almost)
