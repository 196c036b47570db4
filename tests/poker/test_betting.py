"""Legal bets. Oracle: cases computed by hand."""

from collections import Counter

import pytest

from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION, FOLD, SHOWDOWN
from mccfr_spiel.poker.betting import (
    Betting,
    betting_tree,
    read_sizes,
)

pytestmark = pytest.mark.interpreted


def tree_of(pot, stack, bets, raises, streets=1, donk=None, **more):
    sizes = [read_sizes(text, streets, "raises") for text in (bets, raises)]
    if donk is not None:
        more["donk"] = read_sizes(donk, streets, "donk")
    more = {"first": 0, "min_bet": 1, **more}
    return betting_tree(
        Betting(pot, stack, streets, bets=sizes[0], raises=sizes[1], **more)
    )


def walk(nodes, *words):
    """Follows actions through the tree, skipping deals."""
    at = nodes[0]
    for word in words:
        at = nodes[at.children[at.words.index(word)]]
        while at.kind == DEAL:
            at = nodes[at.children[0]]
    return at


def test_river_tree_has_published_size():
    nodes = tree_of(500, 19_750, "50%,100%,a", "100%,a", min_bet=100)
    kinds = Counter(node.kind for node in nodes)
    assert kinds[DECISION] == 32
    assert kinds[FOLD] + kinds[SHOWDOWN] == 61


@pytest.mark.parametrize(
    ("tree", "before", "words"),
    [
        (
            (500, 19_750, "50%,100%,a", "100%,a"),
            ("Bet 250",),
            "Fold,Call,Raise to 1250,All-in 19750",
        ),
        ((180, 910, "52%", "1%"), ("Bet 94", "Raise to 188"), "Fold,Call,Raise to 282"),
        ((5, 100, "50%,10%", ""), (), "Check,Bet 1,Bet 3"),
        ((100, 90, "200%,a,90%,95%,50%", ""), (), "Check,Bet 50,All-in 90"),
        ((100, 90, "a", "a"), ("All-in 90",), "Fold,Call"),
        (
            (100, 900, "120c", "2.5x,500c"),
            ("Bet 120",),
            "Fold,Call,Raise to 300,Raise to 500",
        ),
        ((100, 400, "e", "e"), (), "Check,All-in 400"),
        ((100, 400, "e", "e", 2), ("Bet 100", "Call"), "Check,All-in 300"),
        ((10, 7.25, "e", ""), (), "Check,All-in 7.25"),
        ((7.3, 7.25, "pot,5c", "pot"), (), "Check,Bet 5,All-in 7.25"),
        ((10, 7.25, "2c", "7.3c"), ("Bet 2",), "Fold,Call,All-in 7.25"),
        ((10, 7.75, "7.2c,7.6c", ""), (), "Check,Bet 7,All-in 7.75"),
        (
            (100, 900, "10%/20%/30%|50%", "", 3),
            ("Check", "Check", "Check"),
            "Check,Bet 50",
        ),
    ],
)
def test_action_names_and_sizes(tree, before, words):
    assert ",".join(walk(tree_of(*tree), *before).words) == words


def test_donk_bets_have_their_own_sizes():
    nodes = tree_of(100, 900, "50%", "50%", streets=2, donk="20%")
    called = walk(nodes, "Check", "Bet 50", "Call")
    assert called.words == ("Check", "Bet 40")
    own = walk(nodes, "Bet 50", "Call")
    assert own.words == ("Check", "Bet 100")
    checked = walk(nodes, "Check", "Check")
    assert checked.words == ("Check", "Bet 50")
    behind = walk(nodes, "Check", "Bet 50", "Call", "Check")
    assert behind.words == ("Check", "Bet 100")


@pytest.mark.parametrize(("most", "bets"), [(0, 1), (1, 2), (2, 3)])
def test_max_raises_limits_raises(most, bets):
    at = tree_of(100, 90_000, "50%", "50%", max_raises=most)
    node, seen = at[0], 0
    while len(node.words) > 1 and node.words[-1].startswith(("Bet", "Raise")):
        seen += 1
        node = at[node.children[-1]]
    assert seen == bets


def test_called_all_in_is_followed_by_deals():
    nodes = tree_of(100, 90, "a", "", streets=3)
    at = nodes[nodes[0].children[1]]
    kinds = []
    at = nodes[at.children[1]]
    while at.children:
        kinds.append(at.kind)
        at = nodes[at.children[0]]
    assert (kinds, at.kind) == ([DEAL, DEAL], SHOWDOWN)
    assert at.paid == (90, 90)


def test_rake_is_a_capped_share_of_matched_bets():
    betting = Betting(100, 900, 1, 0, 1, (), (), rake=(0.05, 30))
    assert betting.payoffs((50, 300)) == (100 - 10, -100, -5)
    assert betting.payoffs((300, 300)) == (350 - 30, -350, -15)
    free = betting._replace(rake=(0, 0))
    assert str(free.payoffs((50, 300))) == "(100.0, -100.0, 0.0)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("50%,b", "unknown size 'b'"),
        ("2.5x", "nobody has bet yet"),
        ("1%/2%", "for 2 streets, expected 3"),
        ("1%|2%|3%", "for 3 players, expected 1 or 2"),
    ],
)
def test_unknown_size_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_sizes(text, 3, "bets")
