"""Games of Gambit files: published equilibria, names, paths and load strings."""

import pathlib
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability as openspiel

import mccfr_spiel as ms
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.common.checkpoint import CheckpointError
from tests.interchange import gambit_texts as texts

KUHN = pyspiel.load_game("kuhn_poker")


def uniform(game):
    return openspiel_policy.UniformRandomPolicy(game)


def profile(game, choices):
    """A policy from infoset -> action name -> probability; the first action at other
    infosets."""
    table = openspiel_policy.TabularPolicy(game)
    table.action_probability_array[:] = 0
    for row, state in enumerate(table.states):
        player = state.current_player()
        names = [state.action_to_string(player, a) for a in state.legal_actions()]
        odds = choices.get(state.information_state_string(player), {names[0]: 1.0})
        for name, odd in odds.items():
            table.action_probability_array[row, names.index(name)] = odd
    return table


VALUES = {
    "one-card poker": (texts.POKER, 1 / 3),
    "matching pennies": (texts.PENNIES, 0),
    "O'Neill": (texts.O_NEILL, -1 / 5),
    "pennies twice": (texts.TWO_STAGES, 0),
    "nim with 5": (texts.nim(5), 1),
    "nim with 6": (texts.nim(6), -1),
}
"""Two-player zero-sum games and their published values."""


@pytest.mark.parametrize(("text", "value"), VALUES.values(), ids=VALUES)
def test_value_equals_published_value(text, value):
    game = texts.game_of(text)
    assert game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
    solution = ms.solve_lp(game)
    assert solution.value == pytest.approx(value, abs=1e-9)
    assert openspiel.nash_conv(game, solution.policy) == pytest.approx(0, abs=1e-9)


THIRDS = dict.fromkeys("123", 1 / 3)
EQUILIBRIA = {
    "poker": (
        texts.POKER,
        {
            "low": {"raise": 1 / 3, "fold": 2 / 3},
            "Bob: infoset 1": {"meet": 2 / 3, "pass": 1 / 3},
        },
        [1 / 3, -1 / 3],
    ),
    "horse, D c L": (texts.HORSE, {"1: infoset 1": {"D": 1}}, [3, 3, 2]),
    "horse, C c R": (texts.HORSE, {"3: infoset 1": {"R": 1}}, [1, 1, 1]),
    "commitment": (
        texts.COMMITMENT,
        {"Leader: infoset 1": {"C": 1}, "saw s": {"C": 1}, "saw c": {"C": 1}},
        [4, 4],
    ),
    "Shapley": (texts.SHAPLEY, {"Row": THIRDS, "Column": THIRDS}, [1 / 3, 1 / 3]),
    "battle of the sexes": (
        texts.SEXES,
        {
            "She": {"ballet": 2 / 3, "boxing": 1 / 3},
            "He": {"ballet": 1 / 3, "boxing": 2 / 3},
        },
        [2 / 3, 2 / 3],
    ),
    "prisoner's dilemma": (texts.PRISONERS, {}, [1, 1]),
}


@pytest.mark.parametrize(
    ("text", "choices", "payoffs"), EQUILIBRIA.values(), ids=EQUILIBRIA
)
def test_published_equilibrium_has_no_gains(text, choices, payoffs):
    game = texts.game_of(text)
    policy = profile(game, choices)
    assert ms.expected_returns(game, policy) == pytest.approx(payoffs, abs=1e-12)
    assert ms.nash_conv(game, policy) == pytest.approx(0, abs=1e-12)
    theirs: Any = openspiel.nash_conv(game, uniform(game))
    assert ms.nash_conv(game, uniform(game)) == pytest.approx(theirs, abs=1e-12)
    assert theirs > 0.1 or text is texts.SHAPLEY


def test_names_are_distinct_and_shown():
    game = texts.game_of(texts.LABELS)
    tree = ms.GameTree(game).expand_all()
    assert game.get_type().long_name == 'A "quoted" title'
    assert game.player_names == ("X", "Player 2", "X (2)")
    assert tree.info_states == [
        "X: infoset 1 (same)",
        "Player 2: infoset 1 (same)",
        'only "one"',
    ]
    root = game.new_initial_state()
    names = [root.action_to_string(0, action) for action in root.legal_actions()]
    assert names == ["a", "a (2)", "action 3"]
    payoffs = {tuple(row) for row in tree.utilities.tolist()}
    assert payoffs == {(0, 0, 0), (float(Fraction(1, 3)), -0.0025, 0.5)}
    table = str(ms.SequencePolicy(tree, np.full(tree.num_sequences, 0.5)).table()[2:])
    assert "X (2)" in table
    assert 'only "one"' in table


def test_strings_elsewhere_show_the_last_own_action():
    state = texts.game_of(texts.POKER).new_initial_state()
    for action in (1, 0):  # low, raise
        state.apply_action(action)
    assert state.information_state_string(0) == "low, then raise"
    assert state.information_state_string(1) == "Bob: infoset 1"
    assert str(state) == "chance: Low\nAnn: raise"
    assert pyspiel.State.information_state_string(state, 1) == "Bob: infoset 1"
    state.apply_action(1)
    with pytest.raises(ValueError, match="has no information state"):
        state.information_state_string()


def test_refusal_of_imperfect_recall_names_the_infoset():
    game = texts.game_of(texts.FORGETFUL)
    for solve in (
        lambda: ms.GameTree(game).expand_all(),
        lambda: ms.Solver(game, ms.CFR),
        lambda: ms.Solver(game, ms.EXTERNAL_SAMPLING).iterate(10),
        lambda: ms.nash_conv(game, uniform(game)),
    ):
        with pytest.raises(
            ValueError,
            match=r"^Driver reaches .*'at an exit' of Absent-minded driver",
        ):
            solve()


@pytest.fixture
def poker(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "games (old), 50%"  # needs percent-encoding in load strings
    folder.mkdir()
    path = folder / "poker.efg"
    path.write_text(texts.POKER)
    return path


def test_path_replaces_a_game(poker, tmp_path):
    solver = ms.Solver(str(poker), ms.CFR_PLUS)
    solver.iterate(500)
    policy = solver.average_policy()
    assert str(solver) == "One-card poker (poker.efg), CFR+, 500 iterations"
    assert ms.nash_conv(str(poker), policy) < 0.01
    assert ms.exploitability(poker, policy) < 0.005  # pyright: ignore
    assert ms.solve_lp(str(poker)).value == pytest.approx(1 / 3)
    assert ms.GameTree(str(poker)).expand_all().num_nodes == 11
    drawing = ms.draw_tree(str(poker), policy)
    assert "returns of Ann, Bob" in drawing.svg
    assert "infoset 1" in drawing.svg


def test_load_string_recreates_the_game(poker, tmp_path):
    game = load_game(str(poker))
    again = pyspiel.load_game(str(game))
    assert "%28old%29" in str(game)
    assert str(again) == str(game)
    assert str(pickle.loads(pickle.dumps(game))) == str(game)
    solver = ms.Solver(game, ms.EXTERNAL_SAMPLING, seed=1)
    solver.iterate(100)
    solver.save(tmp_path / "saved")
    loaded = ms.Solver.load(tmp_path / "saved")
    loaded.iterate(50)
    solver.iterate(50)
    assert (loaded.average_vector() == solver.average_vector()).all()
    poker.write_text(texts.POKER.replace("{ 2, -2 }", "{ 3, -3 }"))
    with pytest.raises(CheckpointError):
        ms.Solver.load(tmp_path / "saved")


def test_missing_file_and_wrong_encoding_are_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"nothing\.efg cannot be read: .*No such file"
    ):
        load_game(str(tmp_path / "nothing.efg"))
    path = tmp_path / "latin.nfg"
    path.write_bytes(texts.PENNIES.replace("Odd", "\xc4rger").encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.nfg: expected text in UTF-8"):
        load_game(str(path))
    with pytest.raises(ValueError, match=r"needs the path of a file"):
        load_game("python_gambit")


@pytest.mark.compiled
def test_exported_kuhn_poker_has_its_value(tmp_path):
    ms.GameTree(KUHN).to_efg(tmp_path / "kuhn.efg")
    assert ms.solve_lp(str(tmp_path / "kuhn.efg")).value == pytest.approx(-1 / 18)
