"""Vectors of hands over a public tree. Oracle: enumerated histories."""

import copy
import itertools
from typing import Any

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.evaluating import complete_table, full_pass
from mccfr_spiel.arenas.rules import GameError
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.worlds import public_tree_reader
from mccfr_spiel.common.budget import (
    MemoryBudgetError,
)
from mccfr_spiel.kernels.traversal import add_reaches
from mccfr_spiel.policies.vectors import (
    uniform_vector,
)
from tests.arenas.worlds.test_worlds import broken_ties

NO_LIMIT = (
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=2,blind=1 1,firstPlayer=1 1"
    ",stack={stack} {stack},numSuits=2,numRanks=4,numHoleCards={hole},"
    "numBoardCards=0 {board},bettingAbstraction={sizes})"
)
LIMIT = (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,firstPlayer=1 1,"
    "raiseSize=2 4,maxRaises=1 1,numSuits=2,numRanks=4,numHoleCards=1,numBoardCards=0 1"
    ",bettingAbstraction=fcpa)"
)
SMALL = "kuhn_poker", "leduc_poker", "python_one_card_poker(cards=13)"
LARGER = (
    NO_LIMIT.format(stack=6, hole=2, board=1, sizes="fcpa"),
    NO_LIMIT.format(stack=6, hole=1, board=2, sizes="fchpa"),
    LIMIT,
)


def both_trees(name):
    """Both trees, and the sequence of the second for each sequence of the first."""
    hands, histories = complete_table(name, store="worlds"), GameTree(name).expand_all()
    players = histories.infosets["player"].tolist()
    numbers = {
        key: number
        for number, key in enumerate(zip(players, histories.info_states, strict=True))
    }
    sequences = np.arange(hands.num_sequences)
    for key, (_, start, _, count, player) in zip(
        hands.info_states, hands.infosets.tolist(), strict=True
    ):
        _, first, _, same, _ = histories.infosets[numbers.pop((player, key))].item()
        assert count == same
        sequences[start : start + count] = first + np.arange(count)
    assert not numbers
    assert (hands.actions == histories.actions[sequences]).all()
    return hands, histories, sequences


def random_vector(tree, seed):
    """A random policy; seeds above 2 include probabilities of 0."""
    rng, vector = np.random.default_rng(seed), np.ones(tree.num_sequences)
    for _, start, _, count, _ in tree.infosets.tolist():
        row = rng.exponential(size=count)
        if seed > 2:
            row *= rng.random(count) < 0.5
            row[rng.integers(count)] += 1.0
        vector[start : start + count] = row / row.sum()
    return vector


@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(one, marks=pytest.mark.compiled) for one in LARGER)]
)
def test_gradients_and_best_responses_equal_histories(name):
    hands, histories, sequences = both_trees(name)
    by_hands, by_histories = full_pass(hands), full_pass(histories)
    for seed in range(5):
        vector = random_vector(hands, seed)
        other = np.ones_like(vector)
        other[sequences] = vector
        for player in (0, 1):
            found = by_hands.gradient(by_hands.plan(vector), player)
            expected = by_histories.gradient(by_histories.plan(other), player)
            assert found == pytest.approx(expected[sequences], abs=1e-12)
        for found, expected in zip(
            by_hands.values(vector), by_histories.values(other), strict=True
        ):
            assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", SMALL[:2])
def test_distinct_returns_equal_those_of_the_tree(name):
    """Kuhn poker has no draw, so returns of 0 must not appear."""
    found = complete_table(name, store="worlds").utilities
    expected = np.unique(GameTree(name).expand_all().utilities, axis=0)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        *itertools.product(SMALL[::2], (ms.CFR, ms.CFR_PLUS, ms.DCFR, ms.PCFR_PLUS)),
        *((SMALL[1], algorithm) for algorithm in (ms.CFR_PLUS, ms.DCFR)),
    ],
)
def test_solvers_agree_on_hands_and_histories(name, algorithm):
    by_hands = broken_ties(name, algorithm, "worlds")
    by_histories = broken_ties(name, algorithm, "tree")
    for solver in (by_hands, by_histories):
        solver.iterate(50)
    policy, other = by_hands.average_policy(), by_histories.average_policy()
    found = ms.nash_conv(name, policy, store="worlds")
    assert found == pytest.approx(ms.nash_conv(name, other), abs=1e-9)
    tree = by_histories.tree
    reach = np.zeros(tree.num_infosets)
    add_reaches(tree.arrays, full_pass(tree).plan(other.vector), reach)
    for infoset in np.flatnonzero(reach > 1e-6).tolist():
        _, start, _, count, player = tree.infosets[infoset].item()
        number = policy.tree.find(tree.info_state(infoset), player)
        first = policy.tree.infosets[number]["first_sequence"]
        expected = other.vector[start : start + count]
        found = policy.vector[first : first + count]
        assert found == pytest.approx(expected, abs=1e-6), tree.info_state(infoset)
    _, best = full_pass(by_hands.tree).values(policy.vector)
    assert -best[1] <= ms.solve_lp(name).value <= best[0]


def test_hand_without_compatible_hand_gets_exactly_zero():
    """Differences of sums would contain rounding errors."""
    ranges = "AK,AQ,KK", "AK,AA,KK"
    spot = {"board": "2s3h4d6c7c", "pot": 20, "stacks": 10, "bets": "a", "raises": ""}
    tree = complete_table(ms.poker.subgame(ranges=ranges, **spot), store="worlds")
    plan, rows = full_pass(tree).plan(random_vector(tree, 0)), []
    for name, (_, start, _, count, player) in zip(
        tree.info_states, tree.infosets.tolist(), strict=True
    ):
        if player == 0 and "As" not in name:
            plan[start : start + count] = 0.0
        elif player == 1 and "As" in name:
            rows += range(start, start + count)
    assert len(rows) > 20
    assert not full_pass(tree).gradient(plan, 1)[rows].any()


@pytest.mark.compiled
def test_threads_and_blocks_give_identical_bits(monkeypatch):
    """A flop cut into blocks; folds and all-ins on every street."""
    ranges = "AA,AQs,A5s", "JJ,KTs,T9s"
    sizes = {"bets": "a/50%,a/a", "raises": "", "pot": 100, "stacks": 300}
    game = ms.poker.subgame(board="9s8h3s", ranges=ranges, **sizes)
    found = []
    for least, threads in ((2**40, 1), (5000, 1), (5000, 3)):
        monkeypatch.setattr(cutting, "LEAST_BLOCK", least)
        solver = ms.Solver(game, ms.CFR_PLUS, threads=threads, store="worlds")
        engine: Any = solver.state.engine
        assert engine.num_threads == threads
        assert (len(engine.full_pass.blocks.ends) > 5) == (threads > 1)
        solver.iterate(5)
        vector = solver.average_vector()
        found.append((vector, *full_pass(solver.tree, threads).values(vector)))
    for one in found[1:]:
        assert all(map(np.array_equal, one, found[0]))


def reaches(first, second):
    """The argument `handReaches` for weights of some hands."""
    weights = np.zeros((2, 1326))
    weights[0, list(first)], weights[1, list(second)] = (
        list(first.values()),
        list(second.values()),
    )
    return " ".join(map(repr, weights.ravel().tolist()))


@pytest.fixture(scope="module")
def one_deal():
    return pyspiel.load_game(
        "universal_poker(betting=nolimit,numPlayers=2,numRounds=4,blind=10 10,"
        "firstPlayer=1 1 1 1,stack=40 40,numSuits=4,numRanks=13,numHoleCards=2,"
        "numBoardCards=0 3 1 1,bettingAbstraction=fcpa,potSize=20,"
        "boardCards=4s8hTc9h2s,handReaches="
        f"{reaches({0: 0.5, 77: 0.25, 900: 1.0}, {78: 1.0, 901: 0.125, 902: 0.5})})"
    )


def test_universal_poker_with_a_single_deal_node(one_deal):
    """Oracle: uniform play over pyspiel's outcomes with positive probability."""
    game, solver = one_deal, ms.Solver(one_deal, ms.CFR)
    assert solver.store == "worlds"
    expected, stack = np.zeros(2), [(game.new_initial_state(), 1.0)]
    while stack:
        state, prob = stack.pop()
        if state.is_terminal():
            expected += prob * np.array(state.returns())
        elif state.is_chance_node():
            outcomes = state.chance_outcomes()
            stack += [(state.child(a), prob * p) for a, p in outcomes if p > 0]
        else:
            legal = state.legal_actions()
            stack += [(state.child(a), prob / len(legal)) for a in legal]
    returns, _ = full_pass(solver.tree).values(uniform_vector(solver.tree))
    assert returns == pytest.approx(expected, abs=1e-12)
    for infoset, state in enumerate(
        solver.tree.states(range(solver.tree.num_infosets))
    ):
        assert state.information_state_string() == solver.tree.info_state(infoset)


def test_unsuitable_games_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="merged suits"):
        ms.Solver("leduc_poker(suit_isomorphism=True)", ms.CFR, store="worlds")
    with pytest.raises(ValueError, match="declares no worlds"):
        ms.Solver("kuhn_poker(players=3)", ms.CFR, store="worlds")
    with pytest.raises(MemoryBudgetError, match="936 infosets of hands at 186 public"):
        complete_table("leduc_poker", "9KB", store="worlds")
    full = (
        "universal_poker(betting=limit,numPlayers=2,numRounds=4,blind=1 2,firstPlayer="
        "2 1 1 1,numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,raiseSize="
        "2 2 4 4,maxRaises=3 4 4 4)"
    )
    with pytest.raises(MemoryBudgetError, match="since 51,979,200 boards may be dealt"):
        ms.Solver(full, ms.CFR)
    wrong = {"kuhn_poker": lambda game, hands, board: hands[:, 0] % 2}
    monkeypatch.setattr(public_tree_reader, "_STRENGTHS", wrong)
    with pytest.raises(GameError, match="by the strengths of hands"):
        complete_table("kuhn_poker", store="worlds")


def test_locked_infoset_stays_and_others_adapt(tmp_path):
    """A river solved by hand (pot 20, stacks 10). AsAh and QsQh act first; KK folds to
    all-in as locked, 1/4 or 1/2.
    """
    keywords = {"board": "2s3h4d6c7c", "pot": 20, "stacks": 10}
    ranges = "AsAh,QsQh", "KsKh"
    game = ms.poker.subgame(**keywords, ranges=ranges, bets="a", raises="")
    plain = ms.Solver(game, ms.CFR_PLUS)
    facing = [
        name
        for name, player in zip(
            plain.tree.info_states, plain.tree.infosets["player"], strict=True
        )
        if player == 1 and "All-in" in name
    ]
    assert len(facing) == 1
    for fold, expected in ((0.25, (0.0, 27.5, 6.25)), (0.5, (5.0, 25.0, 5.0))):
        locked = {facing[0]: {0: fold, 1: 1 - fold}}
        solver = ms.Solver(game, ms.CFR_PLUS, locked=locked)
        solver.iterate(100)
        solver.save(tmp_path / "solver")
        for one in (solver, ms.Solver.load(tmp_path / "solver"), copy.copy(solver)):
            one.iterate(100)
            policy = one.average_policy()
            assert policy.to_dict()[facing[0]] == {0: fold, 1: 1 - fold}
            returns = ms.expected_returns(game, policy) + 10
            queens, aces, kings = expected
            assert returns[0] == pytest.approx((queens + aces) / 2, abs=0.01)
            assert returns[1] == pytest.approx(20 - (queens + aces) / 2, abs=0.01)
            assert 20 - (queens + aces) / 2 == kings
    for wrong, words in (
        ({"AA": [1.0, 0.0]}, "no player has the information state 'AA'"),
        ({facing[0]: [0.5, 0.25]}, "must sum to 1.*0.75"),
        ({facing[0]: [1.0]}, "must be the probabilities of the 2 actions"),
        ({facing[0]: {7: 1.0}}, r"unknown actions \[7\] of .*expected \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=words):
            ms.Solver(game, ms.CFR_PLUS, locked=wrong)
    with pytest.raises(ValueError, match="sample and prune nothing"):
        ms.Solver(game, ms.EXTERNAL_SAMPLING, locked={facing[0]: [0.5, 0.5]})


@pytest.mark.parametrize("store", ["tree", "worlds"])
def test_locks_hold_on_trees_and_worlds(store):
    """Kuhn poker, locked to bet every jack. The lock loses value: player 1 cannot gain,
    but player 0 gains by ignoring the lock.
    """
    solver = ms.Solver("kuhn_poker", ms.CFR_PLUS, store=store, locked={"0": [0, 1]})
    solver.iterate(500)
    policy = solver.average_policy()
    assert policy.to_dict()["0"] == {0: 0.0, 1: 1.0}
    returns, best = full_pass(solver.tree).values(policy.vector)
    assert returns[0] < -1 / 18 - 0.01
    assert best[1] - returns[1] < 1e-3
    assert best[0] - returns[0] > 0.01
