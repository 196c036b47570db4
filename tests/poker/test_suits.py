"""Exchanges of suits. Oracle: the game that has none."""

import functools
import itertools
import random

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.evaluating import complete_table, full_pass
from mccfr_spiel.common.budget import MemoryBudgetError
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HAND_OF, HANDS
from mccfr_spiel.poker.suits import exchanges

pytestmark = pytest.mark.compiled

SUITED = "AKs,QQ,T9s:0.5", "KK:0.25,AQs,77"
SPADES = "AsKs,QhQd,QhQc,JhTh", "AhQh,KdKc,7h7d:0.5,7h7c:0.5"
"""Only diamonds and clubs can be exchanged, unless the board contains a diamond."""

SPOTS = [
    ("9s8s3s2s", SUITED, 6, 22),
    ("9s9h3d3c", SUITED, 4, 24),
    ("9s8h3s2h", SPADES, 2, 35),
    ("9s8h3s2d", SPADES, 1, 48),
]
"""Board, ranges, number of exchanges, and number of representative rivers, counted by
hand.
"""


def spot(board, ranges, *, plain, **more):
    given = {"pot": 2, "stacks": 3, "bets": "a", "raises": "", **more}
    game = ms.poker.subgame(board=board, ranges=ranges, **given)
    if plain:
        game.subgame.exchanges = game.subgame.exchanges[:1]
    return game


@functools.cache
def moves(game_string):
    """Images of the cards under the permutations of suits that fix board and ranges."""
    game, found = pyspiel.load_game(game_string), []
    first, second = game.subgame.ranges
    for order in itertools.permutations(range(4)):
        new = [4 * (card // 4) + order[card % 4] for card in range(52)]
        moved = [HAND_OF[new[a], new[b]] for a, b in HANDS.tolist()]
        keeps = (first[moved] == first).all() and (second[moved] == second).all()
        if {new[card] for card in game.subgame.board} == {
            *game.subgame.board
        } and keeps:
            found.append(new)
    return found


@functools.cache
def smallest(game_string, dealt, hand):
    """The smallest image of a deal and a hand, compared card by card."""
    one, two = HANDS[hand]
    return min(
        (*(new[card] for card in dealt), HAND_OF[new[one], new[two]])
        for new in moves(game_string)
    )


def stands_for(game_string, info_state):
    """The string of the representative."""
    name, _, rest = info_state.partition(" ")
    board, *later = rest.split(" / ")
    dealt = tuple(DECK.index(one[:2]) for one in later)
    *dealt, hand = smallest(game_string, dealt, HAND_NAMES.index(name))
    words = [DECK[card] + one[2:] for card, one in zip(dealt, later, strict=True)]
    return " / ".join((f"{HAND_NAMES[hand]} {board}", *words))


def both(board, ranges, seed, **more):
    """Two games (exchanges on and off), their trees, the sequence in the first tree per
    sequence of the second, and a random policy as a vector of each tree.
    """
    games = [spot(board, ranges, plain=plain, **more) for plain in (False, True)]
    trees = [complete_table(game, store="worlds") for game in games]
    generator, vector = np.random.default_rng(seed), np.ones(trees[0].num_sequences)
    for _, start, _, count, _ in trees[0].infosets.tolist():
        row = generator.exponential(size=count) * (generator.random(count) < 0.7)
        row[generator.integers(count)] += 0.1
        vector[start : start + count] = row / row.sum()
    numbers = np.arange(trees[1].num_sequences)
    for name, (_, start, _, count, player) in zip(
        trees[1].info_states, trees[1].infosets.tolist(), strict=True
    ):
        infoset = trees[0].find(stands_for(str(games[0]), name), player)
        assert infoset >= 0
        first = trees[0].infosets[infoset]["first_sequence"]
        numbers[start : start + count] = first + np.arange(count)
    assert {*numbers.tolist()} == {*range(trees[0].num_sequences)}
    return games, trees, numbers, (vector, vector[numbers])


@pytest.mark.parametrize(("board", "ranges", "count", "rivers"), SPOTS)
def test_gradients_and_values_equal_all_boards(board, ranges, count, rivers):
    games, trees, numbers, policies = both(board, ranges, seed=1)
    assert len(games[0].subgame.exchanges) == count
    public = games[0].public_tree()
    assert public.num_children[public.kind == 1].tolist()[0] == rivers
    merged, plain = map(full_pass, trees)
    for player in (0, 1):
        found = merged.gradient(merged.plan(policies[0]), player)
        expected = plain.gradient(plain.plan(policies[1]), player)
        expected = np.bincount(numbers, expected, trees[0].num_sequences)
        assert found == pytest.approx(expected, abs=1e-12)
    for found, expected in zip(
        merged.values(policies[0]), plain.values(policies[1]), strict=True
    ):
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("board", "ranges"), [("9s8s3s", ("AsKs", "QhQd,QhQc,QdQc"))])
def test_flop_equals_all_boards(board, ranges):
    """Two cards are dealt; the first leaves fewer exchanges for the second."""
    _, trees, _, policies = both(board, ranges, 2, bets="//a", rake=(0.05, 1))
    assert trees[0].num_infosets < 0.75 * trees[1].num_infosets
    found, expected = (
        full_pass(tree).values(policy)
        for tree, policy in zip(trees, policies, strict=True)
    )
    assert np.stack(found) == pytest.approx(np.stack(expected), abs=1e-12)


@pytest.mark.parametrize(("board", "ranges"), [SPOTS[0][:2], SPOTS[3][:2]])
def test_study_reports_the_dealt_cards(board, ranges):
    games, trees, _, policies = both(board, ranges, seed=3, bets="50%,a")
    studies = [
        ms.poker.Study(game, ms.SequencePolicy(tree, policy))
        for game, tree, policy in zip(games, trees, policies, strict=True)
    ]
    assert studies[0].values == pytest.approx(studies[1].values, abs=1e-11)
    decisions = [one.decisions(all_streets=True) for one in studies]
    for found, expected in zip(*decisions, strict=True):
        assert found.words == expected.words
        for name in ("hands", "weights", "frequencies", "action_evs", "evs"):
            one, other = getattr(found, name), getattr(expected, name)
            assert one == pytest.approx(other, abs=1e-10, nan_ok=True), name
        names = [trees[0].info_state(infoset) for infoset in found.infosets.tolist()]
        all_names = map(trees[1].info_state, expected.infosets.tolist())
        assert names == [stands_for(str(games[0]), name) for name in all_names]
    with pytest.raises(ValueError, match="9s cannot be dealt here"):
        studies[0].decision(("Check", "Check", "9s"))


def test_states_have_strings_of_representatives():
    game, generator = spot("9s8h3s", SUITED, plain=False, bets="50%"), random.Random(0)
    tree = complete_table(game, store="worlds")
    policy = ms.SequencePolicy(tree, np.ones(tree.num_sequences))
    changed = 0
    for _ in range(200):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                action = generator.choice(state.chance_outcomes())[0]
            else:
                action = generator.choice(state.legal_actions())
                player = state.current_player()
                found = state.information_state_string(player)
                hand, words = HAND_NAMES[state.hands[player]], state.words
                plain = f"{hand} {game.subgame.board_text}:{words}"
                assert found == stands_for(str(game), plain)
                changed += found != plain
                assert found in policy
                assert (plain in policy) == (found == plain)
            state.apply_action(action)
    assert changed > 50
    for wrong in ("", "AhKh 9s8h3s: Bet", "AhKh 9s8h3s: Check, Check", "AsAh 9s8h3s:"):
        assert wrong not in policy


def test_weights_must_be_equal_to_the_last_bit():
    ranges = np.random.default_rng(0).random((2, 1)) * np.ones((2, 1326))
    assert len(exchanges((0, 4, 8), ranges)) == 6
    ranges[0, HAND_OF[50, 51]] = np.nextafter(ranges[0, 0], 2)  # AdAc
    assert len(exchanges((0, 4, 8), ranges)) == 2


def test_cost_bounds_the_memory():
    game = spot("9s8s3s2s", SUITED, plain=False, bets="50%,a")
    tree = complete_table(game, store="worlds")
    found = ms.poker.cost(game)
    assert found[:2] == (tree.num_infosets, tree.num_sequences)
    solver = ms.Solver(game, ms.DCFR, max_memory=found.bytes, threads=1)
    arrays = (*solver.state.tables, *solver.tree.blocks.layout)
    assert 0 < sum(array.nbytes for array in arrays) <= found.bytes
    with pytest.raises(MemoryBudgetError, match="are left"):
        ms.Solver(game, ms.DCFR, max_memory=found.bytes - 1, threads=1)
    sequences = f"{tree.num_sequences:,} sequences: up to "
    assert sequences in str(found)
    with pytest.raises(ValueError, match="not a game of hands"):
        ms.poker.cost("tic_tac_toe")
