"""An evaluation has the same bits however its work is shared, and evaluations at once
do not write to the same memory."""

import threading

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.tree import whole
from mccfr_spiel.kernels.jit import IS_COMPILED
from tests.small_games import named
from tests.vectors import GOOFSPIEL, KUHN_3

THREADS = (1, 3)
LIARS_DICE = "liars_dice(dice_sides=3)"
GAMES = KUHN_3, GOOFSPIEL, LIARS_DICE, "uneven_deal", "three_players"


@pytest.fixture(autouse=True)
def share_small_trees(monkeypatch):
    """Lets trees of every size be cut, into blocks of a few infosets, and no stack be
    high enough at first."""
    monkeypatch.setattr("mccfr_spiel.kernels.passes.HEIGHT", 2)
    monkeypatch.setattr(whole, "LEAST_BLOCK", 40)
    monkeypatch.setattr("mccfr_spiel.arenas.tree.whole.LEAST_WORK_AT_ONCE", 1)


def policy_of(tree, seed=2) -> np.ndarray:
    """A policy that is 0 at some sequences and takes all digits elsewhere."""
    generator = np.random.default_rng(seed)
    vector = generator.random(tree.num_sequences)
    vector[generator.random(tree.num_sequences) < 0.2] = 0
    vector[tree.infosets["first_sequence"]] += 0.1
    sums = np.add.reduceat(vector, tree.infosets["first_sequence"])
    vector[tree.num_players :] /= np.repeat(sums, tree.infosets["num_actions"])
    vector[: tree.num_players] = 1
    return vector


@pytest.mark.parametrize("game", GAMES)
def test_any_number_of_threads_has_the_bits_of_one(game):
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
            found, expected = passes.respond(vector, p), alone.respond(vector, p)
            assert found.value == bests[p]
            assert found.choice.tobytes() == expected.choice.tobytes()


def test_evaluations_at_once_have_vectors_of_their_own():
    tree = GameTree(LIARS_DICE).expand_all()
    policies = [policy_of(tree, seed) for seed in range(3)]
    alone = [ms.nash_conv(tree, policy) for policy in policies]
    assert len(set(alone)) == 3
    rounds = 100 if IS_COMPILED else 2
    found: dict[int, set[float]] = {number: set() for number in range(3)}

    def evaluate(number):
        for turn in range(rounds):
            threads = 1 + (number + turn) % 3
            gap = ms.nash_conv(tree, policies[number], threads=threads)
            found[number].add(gap)

    users = [threading.Thread(target=evaluate, args=(number,)) for number in range(3)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert found == {number: {gap} for number, gap in enumerate(alone)}


def test_what_is_no_policy_is_found():
    tree = GameTree(KUHN_3).expand_all()
    vector = policy_of(tree)
    for infoset in (0, tree.num_infosets // 2, tree.num_infosets - 1):
        first = tree.infosets["first_sequence"][infoset]
        for change in (1e-3, -1e-3, np.nan, np.inf):
            wrong = vector.copy()
            wrong[first] += change
            with pytest.raises(ValueError, match="no distribution over the") as error:
                ms.nash_conv(tree, wrong)
            assert repr(tree.info_state(infoset)) in str(error.value)
        wrong = vector.copy()
        wrong[first : first + 2] = -0.5, 1.5
        with pytest.raises(ValueError, match="no distribution over the"):
            ms.nash_conv(tree, wrong)
        almost = vector.copy()
        almost[first] += 0.95e-6
        ms.nash_conv(tree, almost)
