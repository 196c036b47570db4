"""The enumeration accepts correct declarations of worlds and refuses wrong ones."""

import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.rules import BoundRules, GameError, compiled, rules_of
from mccfr_spiel.arenas.rules.twins import hidden_board, twin_of
from mccfr_spiel.arenas.worlds.finding import find_worlds
from mccfr_spiel.arenas.worlds.independence import check_independence
from mccfr_spiel.arenas.worlds.world_lists import Leaves
from mccfr_spiel.common.budget import (
    Budget,
)
from tests.arenas.worlds.test_worlds import GAMES, LARGER, LISTED


@compiled
def without_tries(settings, state, key):
    """Correct for the plain form only."""
    return hidden_board.world_of(settings, state, key, False)


@compiled
def with_tries(settings, state, key):
    """Correct for both forms, but finer than necessary for the plain form."""
    return hidden_board.world_of(settings, state, key, True)


@compiled
def betting(settings, state, key):
    """Number of cards, raises, calls and player in leduc_poker.

    The cards are not dealt independently.
    """
    key[0], key[1], key[2], key[3] = state[0], state[3], state[4], state[5]
    return 4


@compiled
def num_moves(settings, state, key):
    """Number of moves in kuhn_poker; the cards are not independent."""
    key[0] = state[0]
    return 1


@compiled
def no_class(settings, state, player):
    """A single class."""
    return 0


@compiled
def no_bids(settings, state, key):
    """Dice and last bid, which do not determine the acting player."""
    key[0], key[1] = state[0], state[2]
    return 2


@compiled
def nothing(settings, state, key):
    """A single world, in which private moves are not independent."""
    return 0


@compiled
def stones_only(settings, state, key):
    """The stones, which do not determine the acting player in the abrupt form."""
    key[0], key[1] = state[3], state[4]
    return 2


@compiled
def hears_nothing(settings, state, player):
    """A constant answer."""
    return 0


def declared(name, **functions) -> BoundRules:
    game = load_game(name)
    rules = rules_of(game) or twin_of(game)
    assert rules is not None
    rules.description = rules.description._replace(**functions)
    return rules


@pytest.mark.parametrize("name", [*GAMES, LARGER, *LISTED, "phantom_ttt"])
def test_declarations_of_games_are_correct(name):
    assert check_independence(declared(name), 2000) > 10


def test_finer_worlds_are_accepted():
    assert check_independence(declared("phantom_ttt", world_key=with_tries), 2000) > 20


@pytest.mark.parametrize(
    ("name", "functions", "message"),
    [
        ("phantom_ttt(gameversion=abrupt)", {"world_key": without_tries}, "leads to"),
        (GAMES[1], {"world_key": without_tries}, "leads to"),
        (GAMES[0], {"world_key": nothing}, "leads to|acts and"),
        ("kuhn_poker", {"world_key": num_moves, "leaf_class": no_class}, "product"),
        (
            "leduc_poker(suit_isomorphism=true)",
            {"world_key": betting, "leaf_class": no_class},
            "product",
        ),
        (LISTED[0], {"leaf_class": no_class}, "class_returns gives"),
        (LISTED[-1], {"leaf_class": no_class}, "class_returns gives"),
        (LISTED[0], {"world_key": no_bids}, "acts and"),
    ],
)
def test_wrong_declaration_is_refused_with_two_histories(name, functions, message):
    rules = declared(name, **functions)
    pattern = rf"histories \[.*\] and \[.*\] one world(.|\n)*({message})"
    with pytest.raises(GameError, match=pattern):
        check_independence(rules, 20_000)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"position_key": stones_only}, "player [01] acts and player [01] acts"),
        ({"position_key": nothing}, "acts and|follow"),
        ({"heard": hears_nothing}, r"\[\d+\] and \[\d+\] follow"),
    ],
)
def test_wrong_position_is_refused_with_two_histories(functions, message):
    rules = declared(GAMES[1], **functions)
    pattern = rf"the histories \[.*\] and \[.*\], at (.|\n)*({message})"
    with pytest.raises(GameError, match=pattern):
        check_independence(rules, 20_000)


@pytest.mark.parametrize("name", GAMES)
def test_world_key_suffices_without_positions(name):
    plain = declared(name, position_key=None, heard=None)
    found = find_worlds(plain, Budget(10**9))
    by_places = find_worlds(declared(name), Budget(10**9))
    assert isinstance(found.worlds, Leaves)
    assert len(found.infosets) == len(by_places.infosets)
    check_independence(plain, 20_000)


def test_check_game_checks_worlds(monkeypatch):
    game = load_game(GAMES[0])
    ms.check_game(game, histories=5)
    monkeypatch.setattr(game, "rules", declared(GAMES[0], world_key=nothing))
    with pytest.raises(GameError, match="one world"):
        ms.check_game(game, histories=5)
