"""Hand strengths, against full enumeration and an evaluator of the rule book; ranges in
the notation of players."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from mccfr_spiel.arenas.worlds.public_tree import CLASS_UNIT, strengths
from mccfr_spiel.poker.cards import (
    DECK,
    HAND_NAMES,
    HAND_OF,
    HANDS,
    RangeError,
    cards_of,
    text_of,
    weights_of,
)

pytestmark = pytest.mark.interpreted


@pytest.fixture(scope="module")
def fives():
    """All hands of five cards, `[2598960, 5]`, and their strengths."""
    hands = np.array([*itertools.combinations(range(52), 5)], np.int8)
    return hands, strengths(hands)


def by_the_book(cards):
    """How five cards compare, as the rules of poker say it."""
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


def test_all_five_card_hands_fall_into_the_known_classes(fives):
    _, found = fives
    counts = np.bincount(found // CLASS_UNIT).tolist()
    assert counts == [*(1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40)]
    assert len(np.unique(found)) == 7462


def test_the_order_of_strengths_is_that_of_the_rule_book(fives):
    hands, found = fives
    _, one_each = np.unique(found, return_index=True)  # ascending
    for shift in (0, 1, -1):  # the first of each strength, and their neighbours
        chosen = np.clip(one_each + shift, 0, len(hands) - 1)
        chosen = chosen[np.argsort(found[chosen], kind="stable")]
        book = [by_the_book(hands[at]) for at in chosen]
        pairs = zip(chosen, book, strict=True)
        for (at, one), (after, other) in itertools.pairwise(pairs):
            assert (one < other) == (found[at] < found[after])
            assert (one == other) == (found[at] == found[after])


def test_seven_cards_are_worth_the_best_five_of_them(fives):
    hands, found = fives
    generator = np.random.default_rng(3)
    place = np.zeros((5, 53), np.int64)  # of a five: sums of binomials
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


def test_hands_stand_in_the_order_of_the_endgame_files():
    names = [DECK[a] + DECK[b] for a, b in HANDS[[0, 1, 2, 3, 51, 1325]]]
    assert names == ["2s2h", "2s2d", "2s2c", "2s3s", "2h2d", "AdAc"]
    assert HAND_NAMES[3] == "3s2s"
    assert HAND_OF[HANDS[700, 1], HANDS[700, 0]] == 700


@pytest.mark.parametrize(
    ("text", "message"),
    [("4s8x", "'8x' is no card"), ("4s4S", "has 4s twice"), ("4s8", "'8 ' is no")],
)
def test_a_list_of_cards_that_is_none_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        cards_of(text, "board")


# --- ranges ------------------------------------------------------------------


def kinds_in(text):
    """The kinds of hands that a range has, as players call them."""
    found = set()
    for at in np.flatnonzero(weights_of(text, "range0")):
        high, suit, low, other = HAND_NAMES[at]
        suits = "" if high == low else "s" if suit == other else "o"
        found.add(high + low + suits)
    return found


@pytest.mark.parametrize(
    ("text", "kinds", "hands"),
    [
        ("QQ+", "QQ KK AA", 18),
        ("AKs", "AKs", 4),
        ("KA", "AKs AKo", 16),
        ("75s+", "75s 76s", 8),
        ("TT-77", "77 88 99 TT", 24),
        ("A5s-A2s", "A5s A4s A3s A2s", 16),
        ("qq+, aks", "QQ KK AA AKs", 22),
        ("22;33,", "22 33", 12),
    ],
)
def test_an_entry_names_the_hands_that_players_mean(text, kinds, hands):
    assert kinds_in(text) == {*kinds.split()}
    assert np.count_nonzero(weights_of(text, "range0")) == hands


def test_weights_follow_a_colon_and_the_last_entry_for_a_hand_wins():
    weights = weights_of("random:0.25, AhKh:0.3, AA, AhAs:0", "range1")
    by_name = dict(zip(HAND_NAMES, weights, strict=True))
    found = [by_name[name] for name in ("7c2d", "AhKh", "AcAd", "AhAs")]
    assert found == [0.25, 0.3, 1, 0]
    assert weights.sum() == pytest.approx(0.25 * (1326 - 7) + 0.3 + 5)


def test_an_array_goes_into_a_text_and_back_to_the_bit():
    weights = np.random.default_rng(1).random(1326) ** 9
    weights[::5] = 0
    weights[1] = 1e-300
    assert (weights_of(text_of(weights), "range0") == weights).all()
    assert (weights_of(weights, "range0") == weights).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("QQ,AKx", "range0: 'AKx' is no hand"),
        ("AhAh:0.5", "'AhAh:0.5' has one card twice"),
        ("QQ:x", "'x' in 'QQ:x' is no weight"),
        ("TT-A2s", "'TT-A2s' is no run"),
        (np.ones(1325), r"shape \(1325,\)"),
        (np.full(1326, -0.5), "weight -0.5 of hand 0"),
    ],
)
def test_what_is_no_range_is_refused_by_its_entry(given, message):
    with pytest.raises(RangeError, match=message):
        weights_of(given, "range0")
