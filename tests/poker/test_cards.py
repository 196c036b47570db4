"""Hand strengths and cards. Oracles: enumeration, a simple evaluator."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from mccfr_spiel.arenas.worlds.hand_strength import CLASS_UNIT, strengths
from mccfr_spiel.poker.cards import (
    DECK,
    HAND_NAMES,
    HAND_OF,
    HANDS,
    cards_of,
)

pytestmark = pytest.mark.interpreted


@pytest.fixture(scope="module")
def fives():
    """All hands of five cards, `[2598960, 5]`, and their strengths."""
    hands = np.array([*itertools.combinations(range(52), 5)], np.int8)
    return hands, strengths(hands)


def by_the_book(cards):
    """Class and ranks of five cards, a direct translation of the rules of poker."""
    ranks = [int(card) // 4 for card in cards]
    groups = sorted(((n, rank) for rank, n in Counter(ranks).items()), reverse=True)
    shape = [n for n, _ in groups]
    order = [rank for _, rank in groups]
    is_flush = len({int(card) % 4 for card in cards}) == 1
    is_straight = len(order) == 5 and order[0] - order[-1] == 4
    if order == [12, 3, 2, 1, 0]:
        is_straight, order = True, [3, 2, 1, 0, -1]
    kinds = [[1] * 5, [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], None, None, [3, 2], [4, 1]]
    kind = kinds.index(shape)
    if is_flush or is_straight:
        kind = {(0, 1): 4, (1, 0): 5, (1, 1): 8}[is_flush, is_straight]
    return kind, order


def test_classes_of_five_cards_have_known_sizes(fives):
    _, found = fives
    counts = np.bincount(found // CLASS_UNIT).tolist()
    assert counts == [*(1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40)]
    assert len(np.unique(found)) == 7462


def test_strengths_are_ordered_by_the_rules(fives):
    hands, found = fives
    _, one_each = np.unique(found, return_index=True)  # ascending
    for shift in (0, 1, -1):  # one hand per strength, and neighbours
        chosen = np.clip(one_each + shift, 0, len(hands) - 1)
        chosen = chosen[np.argsort(found[chosen], kind="stable")]
        book = [by_the_book(hands[at]) for at in chosen]
        pairs = zip(chosen, book, strict=True)
        for (at, one), (after, other) in itertools.pairwise(pairs):
            assert (one < other) == (found[at] < found[after])
            assert (one == other) == (found[at] == found[after])


def test_seven_cards_have_the_strength_of_the_best_five(fives):
    hands, found = fives
    generator = np.random.default_rng(3)
    place = np.zeros((5, 53), np.int64)  # ranks of five cards are sums of binomials
    for k in range(5):
        place[k] = np.cumsum([0, *(math.comb(51 - card, 4 - k) for card in range(52))])
    for _ in range(4):
        deck = generator.random((100_000, 52), np.float32)
        sevens = np.sort(np.argpartition(deck, 7, axis=1)[:, :7], axis=1)
        best = np.zeros(len(sevens), np.int32)
        for chosen in itertools.combinations(range(7), 5):
            five = sevens[:, chosen]
            before = np.hstack((np.full((len(five), 1), -1), five[:, :-1])) + 1
            steps = [place[k][five[:, k]] - place[k][before[:, k]] for k in range(5)]
            at = np.sum(steps, axis=0)
            assert (hands[at[:9]] == five[:9]).all()
            best = np.maximum(best, found[at])
        assert (strengths(sevens) == best).all()
        worst = strengths(sevens[:, :6])
        assert (worst <= best).all()


def test_hands_have_the_order_of_endgame_files():
    names = [DECK[a] + DECK[b] for a, b in HANDS[[0, 1, 2, 3, 51, 1325]]]
    assert names == ["2s2h", "2s2d", "2s2c", "2s3s", "2h2d", "AdAc"]
    assert HAND_NAMES[3] == "3s2s"
    assert HAND_OF[HANDS[700, 1], HANDS[700, 0]] == 700


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4s8x", "unknown card '8x'"),
        ("4s4S", "contains 4s twice"),
        ("4s8", "unknown card '8'"),
    ],
)
def test_invalid_cards_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        cards_of(text, "board")
