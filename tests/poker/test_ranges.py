"""Ranges in the notation of players."""

import numpy as np
import pytest

from mccfr_spiel.poker.cards import (
    HAND_NAMES,
)
from mccfr_spiel.poker.ranges import (
    RangeError,
    text_of,
    weights_of,
)

pytestmark = pytest.mark.interpreted


def kinds_in(text):
    """The types of hands in a range, such as AKs."""
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
def test_entry_names_hands(text, kinds, hands):
    assert kinds_in(text) == {*kinds.split()}
    assert np.count_nonzero(weights_of(text, "range0")) == hands


def test_last_weight_of_a_hand_wins():
    weights = weights_of("random:0.25, AhKh:0.3, AA, AhAs:0", "range1")
    by_name = dict(zip(HAND_NAMES, weights, strict=True))
    found = [by_name[name] for name in ("7c2d", "AhKh", "AcAd", "AhAs")]
    assert found == [0.25, 0.3, 1, 0]
    assert weights.sum() == pytest.approx(0.25 * (1326 - 7) + 0.3 + 5)


def test_weights_survive_the_text_exactly():
    weights = np.random.default_rng(1).random(1326) ** 9
    weights[::5] = 0
    weights[1] = 1e-300
    assert (weights_of(text_of(weights), "range0") == weights).all()
    assert (weights_of(weights, "range0") == weights).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("QQ,AKx", "range0: unknown entry 'AKx'"),
        ("AhAh:0.5", "'AhAh:0.5' contains a card twice"),
        ("QQ:x", "the weight 'x' in 'QQ:x' must be"),
        ("TT-A2s", "'TT-A2s' is not a run"),
        (np.ones(1325), r"shape \(1325,\)"),
        (np.full(1326, -0.5), "weight -0.5 of hand 0"),
        (np.full(1326, 1j), r"range0=array.* must be a text"),
        (None, "range0=None must be a text"),
        ("AA:1e300,KK", r"largest weight 1e\+300 must be between 1e-09 and 1e\+09"),
        (np.full(1326, 1e-160), "largest weight 1e-160 must be between"),
        ("AA KK", "unknown entry 'AA KK'.*Separate entries by commas"),
    ],
)
def test_invalid_range_is_refused_with_its_entry(given, message):
    with pytest.raises(RangeError, match=message):
        weights_of(given, "range0")
