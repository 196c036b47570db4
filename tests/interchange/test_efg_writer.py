"""Games written as .efg files: values, round trips, exact probabilities."""

import csv
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score
from open_spiel.python.algorithms import exploitability as openspiel

import mccfr_spiel as ms
from mccfr_spiel.interchange.probabilities import exact_distribution
from tests.interchange import gambit_texts as texts
from tests.small_games import chance, leaf, move, small_game

GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"
SHERIFF = "sheriff(max_items=2,max_bribe=2,num_rounds=2,sheriff_penalty=1.0)"
BATTLESHIP = (
    "battleship(board_width=2,board_height=1,ship_sizes=[1],ship_values=[1],"
    "num_shots=2,allow_repeated_shots=False)"
)
GAMES = [
    *("kuhn_poker", "kuhn_poker(players=3)", "python_kuhn_poker", "tiny_hanabi"),
    *("matrix_rps", "matrix_pd", "matrix_mp", "matrix_sh", "matrix_cd", "matrix_bos"),
    *("matrix_coordination", "matrix_brps", "matrix_rpsw", "matrix_shapleys_game"),
    *("first_sealed_auction(max_value=3)", "nim(pile_sizes=1;2)", "hex(board_size=2)"),
    *("y(board_size=2)", "dark_hex(board_size=2)", "trade_comm(num_items=2)"),
    *("misere(game=kuhn_poker())", "zerosum(game=matrix_pd())", GOOFSPIEL),
    *("turn_based_simultaneous_game(game=matrix_rps())", "liars_dice(dice_sides=2)"),
    *("add_noise(epsilon=0.1,seed=1,game=kuhn_poker())", SHERIFF, BATTLESHIP),
    *("python_one_card_poker(cards=3)", "python_leduc_ranks(ranks=2)"),
]
"""OpenSpiel's games and some of ours. Their strings contain quotes, line breaks and
braces, which have a meaning in the file format."""


def uniform(game):
    return openspiel_policy.UniformRandomPolicy(game)


def turn_based(name):
    game = pyspiel.load_game(name)
    simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
    if game.get_type().dynamics == simultaneous:
        return pyspiel.convert_to_turn_based(game)
    return game


@pytest.mark.parametrize("name", GAMES)
def test_exported_game_has_openspiels_best_response_gains(name, tmp_path):
    game = turn_based(name)
    assert ms.GameTree(game).expand_all().to_efg(tmp_path / "game.efg") == 0.0
    path = str(tmp_path / "game.efg")
    theirs: Any = openspiel.nash_conv(game, uniform(game), return_only_nash_conv=False)
    ours = ms.nash_conv(path, uniform(ms.GameTree(path).game), False)
    assert ours.player_improvements == pytest.approx(
        theirs.player_improvements, abs=1e-12
    )
    assert game.get_type().utility in (
        pyspiel.GameType.Utility.IDENTICAL,
        pyspiel.GameType.Utility.GENERAL_SUM,
        ms.GameTree(path).game.get_type().utility,
    )


def test_at_least_thirty_games_are_tested():
    assert len(GAMES) >= 30


def are_identical(first, second):
    """Whether two trees have the same digest and arrays."""
    return first.digest() == second.digest() and all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("nodes", "utilities", "chance_probs", "actions")
    )


TEXTS = {
    name: text
    for name, text in vars(texts).items()
    if isinstance(text, str) and text.startswith(("EFG", "NFG"))
}


@pytest.mark.parametrize("name", [*TEXTS, *GAMES[:6], GOOFSPIEL])
def test_writing_and_reading_keeps_the_tree(name, tmp_path):
    if name == "FORGETFUL":
        pytest.skip("imperfect recall: the game has no tree")
    if name in TEXTS:
        game = texts.game_of(TEXTS[name])
    else:
        ms.GameTree(turn_based(name)).to_efg(tmp_path / "first.efg")
        game = str(tmp_path / "first.efg")
    tree = ms.GameTree(game).expand_all()
    tree.to_efg(tmp_path / "again.efg")
    again = ms.GameTree(str(tmp_path / "again.efg")).expand_all()
    assert are_identical(tree, again)
    assert again.game.player_names == tree.game.player_names


def test_written_labels_are_valid_in_gambit(tmp_path):
    labels = {  # Gambit refuses control characters and repeated spaces
        'a "quoted" word': 'a "quoted" word',
        "one \\ two": "one \\ two",
        'end \\"': 'end \\ "',
        " two\n  lines \n": "two | lines",
        "a\tb": "a b",
        "a b": "a b (2)",
        "{ 1, 2 }": "{ 1, 2 }",
        "\x07": "\\x07",
    }
    root = leaf(1.0, 0.0)
    for string in reversed(labels):
        root = move(0, string, root, leaf(0.0, 1.0))
    ms.GameTree(small_game(root)).to_efg(tmp_path / "game.efg")
    strings = ms.GameTree(str(tmp_path / "game.efg")).expand_all().info_states
    assert strings == [*labels.values()]


def test_profile_has_gambits_order(tmp_path):
    game = pyspiel.load_game("kuhn_poker")
    solver = ms.Solver(game, ms.CFR)
    solver.iterate(50)
    policy = solver.average_policy()
    solver.tree.to_efg(tmp_path / "kuhn.efg", policy)
    (row,) = csv.reader((tmp_path / "kuhn_profile.csv").read_text().splitlines())
    lines = (tmp_path / "kuhn.efg").read_text().splitlines()
    labels = {}  # of the infosets, by player and number
    for line in lines:
        if line.startswith("p"):
            _, player, number, label = line.split()[1:5]
            labels[int(player), int(number)] = label.strip('"')
    table = policy.to_dict()
    expected = [p for key in sorted(labels) for p in table[labels[key]].values()]
    assert [*map(float, row)] == expected


def test_wrong_arguments_and_too_large_games_are_refused(tmp_path):
    tree = ms.GameTree("kuhn_poker")
    with pytest.raises(ValueError, match=r"kuhn\.nfg' must end in \.efg"):
        tree.to_efg(tmp_path / "kuhn.nfg")
    with pytest.raises(ValueError, match=r"policy=\{\} must be an OpenSpiel policy"):
        tree.to_efg(tmp_path / "kuhn.efg", {})
    with pytest.raises(ms.TreeFullError, match="max_nodes=50"):
        ms.GameTree("kuhn_poker", max_nodes=50).to_efg(tmp_path / "kuhn.efg")
    assert not [*tmp_path.iterdir()]


# --- probabilities -----------------------------------------------------------------


def test_simple_fractions_are_found():
    for weights in ((1, 1, 1), (1, 2), (3, 50, 1272, 1), (1, 0)):
        total = sum(weights)
        found = exact_distribution(tuple(weight / total for weight in weights))
        assert found.probs == tuple(Fraction(w, total) for w in weights)


def test_random_distributions_read_back_and_sum_to_one():
    generator = np.random.default_rng(0)
    num_kept = 0
    for _ in range(400):
        weights = generator.random(generator.integers(2, 12)) ** 5
        probs = tuple((weights / weights.sum()).tolist())
        found = exact_distribution(probs)
        assert sum(found.probs) == 1
        # Bounds of the sum of all numbers that round to the probabilities.
        low = sum((Fraction(p) + Fraction(math.nextafter(p, 0.0))) / 2 for p in probs)
        high = sum((Fraction(p) + Fraction(math.nextafter(p, 2.0))) / 2 for p in probs)
        changed = [i for i, p in enumerate(probs) if float(found.probs[i]) != p]
        if low < 1 < high:
            assert changed == []
            assert found.correction == 0.0
            num_kept += 1
        else:
            assert changed in ([], [probs.index(max(probs))])
    assert num_kept > 200


def test_correction_is_returned_and_reported_in_the_file(tmp_path):
    game = small_game(chance((0.5, leaf(1.0, 0.0)), (0.5 + 2**-30, leaf(0.0, 1.0))))
    assert ms.GameTree(game).to_efg(tmp_path / "game.efg") == 2**-30
    text = (tmp_path / "game.efg").read_text()
    assert "corrected by up to 9.31e-10" in text
    again = ms.GameTree(str(tmp_path / "game.efg")).expand_all()
    assert again.chance_probs.tolist()[-2:] == [0.5, 0.5]


def test_gambit_computes_the_same_payoffs(tmp_path):
    gambit = pytest.importorskip("pygambit", minversion="17.0.0b2")
    for name in GAMES:
        game, path = turn_based(name), tmp_path / "game.efg"
        ms.GameTree(game).to_efg(path)
        payoffs = gambit.read_efg(str(path)).mixed_behavior_profile().payoffs
        policies = [uniform(game)] * game.num_players()
        expected = expected_game_score.policy_value(game.new_initial_state(), policies)
        assert [value for _, value in payoffs] == pytest.approx(expected, abs=1e-9)
