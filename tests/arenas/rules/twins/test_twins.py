"""Compiled twins play OpenSpiel's games to the letter, and their trees are the games'.

The oracle is pyspiel: its states on random histories, and the trees that are expanded
through it.
"""

import random
import re

import pyspiel
import pytest

from mccfr_spiel import CFR_PLUS, GameTree, Solver
from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.infosets.names import KeyNames
from mccfr_spiel.arenas.rules.game import check_sizes
from mccfr_spiel.arenas.rules.twins import TWINS, difference_to, twin_of
from mccfr_spiel.arenas.tree import twin_choice
from mccfr_spiel.arenas.tree.twin_choice import TwinWarning
from tests.arenas.rules.twins import random_settings as settings
from tests.arenas.rules.twins.broken import broken
from tests.small_games import leaf, move, small_game

GAMES = [
    "kuhn_poker",
    "kuhn_poker(players=4)",
    "leduc_poker(suit_isomorphism=True,starting_player=1)",
    "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)",
    "goofspiel(num_cards=3,imp_info=True,players=3,returns_type=total_points)",
    "dark_hex(num_rows=2,num_cols=2)",
    "oshi_zumo(coins=2,size=1,horizon=2)",
    "battleship(board_height=1,board_width=2,ship_sizes=[1],ship_values=[0.1],"
    "num_shots=2,loss_multiplier=0.3)",
    "sheriff(num_rounds=2,max_items=3,max_bribe=2,item_value=0.3)",
    "python_liars_poker(hand_length=1,num_digits=2)",
]

ARRAYS = (
    *("nodes", "infosets", "actions", "utilities"),
    *("chance_probs", "chance_cdf", "chance_starts"),
)


def is_expanded_by_twin(tree: GameTree) -> bool:
    return isinstance(tree.infoset_names, KeyNames)


def both_trees(text: str) -> tuple[GameTree, GameTree]:
    by_twin = GameTree(text, twin=True).expand_all()
    through_pyspiel = GameTree(text, twin=False).expand_all()
    assert is_expanded_by_twin(by_twin)
    assert not is_expanded_by_twin(through_pyspiel)
    return by_twin, through_pyspiel


def check_trees_are_equal(text: str) -> None:
    ours, theirs = both_trees(text)
    for name in ARRAYS:
        mine, its = getattr(ours, name), getattr(theirs, name)
        assert mine.dtype == its.dtype
        assert mine.shape == its.shape
        assert mine.tobytes() == its.tobytes(), name
    assert ours.info_states == theirs.info_states
    assert ours.shared_strings == theirs.shared_strings
    assert ours.digest() == theirs.digest()


def test_every_game_with_a_twin_has_random_settings():
    assert {*TWINS} == settings.SETTINGS
    assert set(TWINS) <= set(pyspiel.registered_names())


@pytest.mark.parametrize("name", TWINS)
def test_random_histories_are_equal_at_random_settings(name):
    for text in settings.random_games(name, 5, seed=1):
        assert settings.check(text, 8, seed=2) is None, text


@pytest.mark.parametrize("name", TWINS)
def test_rules_and_strings_keep_to_the_sizes_that_they_declare(name):
    """Compiled code does not check that; here the rules run as plain Python."""
    for text in settings.random_games(name, 5, seed=4):
        game = turn_based(pyspiel.load_game(text))
        twin = twin_of(game)
        assert twin is not None
        check_sizes(twin)
        generator, state = random.Random(5), game.new_initial_state()
        longest = 0
        while not state.is_terminal():
            player = state.current_player()
            if player >= 0:
                longest = max(longest, len(state.information_state_string(player)))
            state.apply_action(generator.choice(state.legal_actions()))
        assert 0 < longest <= twin.text_size


@pytest.mark.parametrize("text", GAMES)
def test_trees_are_equal_node_for_node(text):
    check_trees_are_equal(text)


# --- twins that differ -----------------------------------------------------------


def test_a_broken_twin_is_refused_and_the_history_is_named(monkeypatch):
    monkeypatch.setattr(twin_choice, "twin_of", broken)
    game = pyspiel.load_game("kuhn_poker")
    with pytest.warns(TwinWarning, match=r"after the history \[\d.*returns are") as met:
        tree = GameTree(game, twin=True).expand_all()
    assert not is_expanded_by_twin(tree)
    assert tree.digest() == GameTree("kuhn_poker", twin=False).expand_all().digest()
    # The history that the warning names is one where the two really differ.
    words = str(met[0].message).partition("after the history [")[2].partition("]")[0]
    state = game.new_initial_state()
    for action in map(int, words.split(", ")):
        state.apply_action(action)
    assert state.is_terminal()
    assert state.returns() != [1.0, -1.0]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("leduc_poker(players=3)", r"after the history \[\] chance has"),
        ("leduc_poker(starting_player=1)", r"after the history \[.+\] who acts is 0"),
        ("kuhn_poker", r"after the history \[\] chance has"),
    ],
)
def test_each_kind_of_difference_is_told(other, words):
    twin = twin_of(pyspiel.load_game(other))
    assert twin is not None
    found = difference_to(pyspiel.load_game("leduc_poker"), twin, histories=50)
    assert re.search(words, str(found))


def test_games_that_only_bear_the_name_get_no_twin():
    game = small_game(move(0, "a", leaf(1.0, -1.0), leaf(-1.0, 1.0)))
    assert twin_of(game) is None
    misere = pyspiel.load_game("misere(game=kuhn_poker())")
    assert twin_of(misere) is None
    assert GameTree(misere).expand_all().is_complete


@pytest.mark.parametrize(
    "text",
    [
        "goofspiel(num_cards=5,num_turns=4)",
        "liars_dice(numdice=2,dice_sides=12)",
        "dark_hex(num_rows=1,num_cols=3)",
        "tic_tac_toe",
    ],
)
def test_twins_step_aside_for_what_they_do_not_cover(text):
    assert twin_of(turn_based(pyspiel.load_game(text))) is None


def test_a_twin_that_does_not_exist_cannot_be_asked_for():
    with pytest.raises(ValueError, match=r"tic_tac_toe.* has no compiled twin"):
        GameTree("tic_tac_toe", twin=True, abstraction=None)
    with pytest.raises(ValueError, match="abstraction has no twin"):
        GameTree("kuhn_poker", twin=True, abstraction=lambda state, player: "")
    with pytest.raises(ValueError, match="twin='yes' is none of"):
        GameTree("kuhn_poker", twin="yes")  # pyright: ignore[reportArgumentType]


# --- who gets one --------------------------------------------------------------


def test_a_twin_is_used_by_itself_where_it_saves_time(monkeypatch):
    assert not is_expanded_by_twin(GameTree("kuhn_poker").expand_all())
    monkeypatch.setitem(twin_choice.LEAST_NODES, "expanding", 10)
    assert is_expanded_by_twin(GameTree("kuhn_poker").expand_all())
    assert is_expanded_by_twin(Solver("kuhn_poker", CFR_PLUS).tree)
    assert not is_expanded_by_twin(Solver("kuhn_poker", CFR_PLUS, twin=False).tree)
    assert not is_expanded_by_twin(GameTree("kuhn_poker", twin=False).expand_all())
    abstracted = GameTree(
        "kuhn_poker", abstraction=pyspiel.State.information_state_string
    )
    assert not is_expanded_by_twin(abstracted.expand_all())
