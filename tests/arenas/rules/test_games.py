"""The papers' games and compiled rules, against the papers and OpenSpiel."""

import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.tree.expansion import expand
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.evaluation.theory import m_values

games = importlib.import_module("mccfr_spiel.games")

_NO_BYTECODE = shutil.ignore_patterns("__pycache__")
_ROOT = pathlib.Path(__file__).parents[3]
_THREE_DECKS = games.PAPER_GAMES["Goofspiel, three decks of 4"]
_FIVE = "python_goofspiel(num_cards=5,points_order=descending)"
_LEDUC_13 = "python_leduc_ranks(ranks=13)"

_SMALL = (
    "python_goofspiel(num_cards=3,points_order=ascending)",
    "python_goofspiel(num_cards=3,points_order=random,imp_info=False,"
    "returns_type=point_difference)",
    "python_leduc_ranks(ranks=2)",
    "python_one_card_poker(cards=3)",
    "python_princess_and_monster(rows=1,cols=3,horizon=6,evader=1)",
    "python_search(turns=3,capture_value=-0.5)",
)


_ARRAYS = ("nodes", "infosets", "actions", "chance_probs", "chance_cdf", "utilities")


def tree_of(game: str) -> GameTree:
    return GameTree(game).expand_all()


def tree_through_pyspiel(game: str) -> GameTree:
    """A tree whose root is already expanded goes on through pyspiel."""
    tree = GameTree(game)
    expand(tree, 0, tree.game.new_initial_state(), tuple(range(tree.num_players)))
    return tree.expand_all()


# --- the published sizes ------------------------------------------------------


SIZES = [  # game, nodes, leaves, infosets and sequences of the two players
    ("python_goofspiel(num_cards=2,points_order=ascending)", 15, None, (5, 5), None),
    (
        "python_goofspiel(num_cards=3,points_order=descending)",
        139,
        None,
        (36, 36),
        None,
    ),
    (
        "python_goofspiel(num_cards=4,points_order=ascending)",
        2_229,
        None,
        (369, 369),
        None,
    ),
    (_FIVE, 55_731, None, (4_974, 4_974), None),
    (_THREE_DECKS, 54_421, 13_824, (17_476, 17_476), (21_329, 21_329)),
    ("python_one_card_poker(cards=100)", 89_201, None, (200, 200), None),
    # A player who moves k times meets an infoset for each path of fewer steps.
    ("python_princess_and_monster(horizon=5)", 4_624, None, (42, 9), None),
    ("python_princess_and_monster(horizon=7)", 54_532, None, (167, 42), None),
    ("python_princess_and_monster(horizon=8)", 187_692, None, (167, 167), None),
    ("python_leduc_ranks(ranks=3)", 1_936, None, (144, 144), None),
    (_LEDUC_13, 166_336, 98_956, (2_574, 2_574), (6_007, 6_007)),
    ("python_search(turns=4)", 21_613, None, None, (52, 2_029)),
    ("python_search(turns=6)", 194_105, 118_514, None, (78, 68_951)),
]


@pytest.mark.compiled
@pytest.mark.parametrize(("game", "nodes", "leaves", "infosets", "sequences"), SIZES)
def test_games_have_their_published_sizes(game, nodes, leaves, infosets, sequences):
    tree = tree_of(game)
    assert tree.num_nodes == nodes
    players, counts = tree.infosets["player"], tree.infosets["num_actions"]
    found = np.count_nonzero(tree.nodes["player"] == TERMINAL)
    assert found == leaves or leaves is None
    found = tuple(np.bincount(players).tolist())
    assert found == infosets or infosets is None
    found = tuple(1 + int(counts[players == p].sum()) for p in range(2))
    assert found == sequences or sequences is None


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "values"),
    [
        (SIZES[0][0], (3.828, 3.828)),
        (SIZES[1][0], (18.505, 18.505)),
        (SIZES[2][0], (118.882, 118.882)),
        (_FIVE, (973.103, 973.103)),
        # First bets and bets after pass and bet; after a pass or a bet.
        ("python_one_card_poker(cards=10)", (2 * 10**0.5, 20**0.5)),
    ],
)
def test_m_values_are_those_of_lanctot(game, values):
    assert m_values(tree_of(game)) == pytest.approx(values, abs=5e-4)


def test_the_largest_payoffs_are_the_papers():
    tree = tree_of("python_leduc_ranks(ranks=3)")
    assert (tree.utilities.min(), tree.utilities.max()) == (-13, 13)
    assert set(tree_of("python_goofspiel(num_cards=3)").utilities[:, 0]) == {-1, 0, 1}


# --- one game, two ways -------------------------------------------------------


@pytest.mark.parametrize("game", _SMALL)
def test_the_tree_by_rules_equals_the_tree_through_pyspiel(game):
    by_rules, through_pyspiel = tree_of(game), tree_through_pyspiel(game)
    for name in _ARRAYS:
        ours, theirs = getattr(by_rules, name), getattr(through_pyspiel, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    assert by_rules.info_states == through_pyspiel.info_states
    for infoset, info_state in enumerate(by_rules.info_states):
        assert by_rules.info_state(infoset) == info_state
        assert by_rules.find(info_state) == infoset
    assert by_rules.find("p0 nobody knows this") == -1
    node = by_rules.num_nodes - 1
    state, sequences = by_rules.state_at(node)
    other, other_sequences = through_pyspiel.state_at(node)
    assert (str(state), sequences) == (str(other), other_sequences)


# --- citizens of OpenSpiel ----------------------------------------------------


@pytest.mark.parametrize("game", _SMALL)
def test_openspiel_s_own_simulation_test_passes(game):
    pyspiel.random_sim_test(
        pyspiel.load_game(game), num_sims=4, serialize=True, verbose=False
    )


@pytest.mark.parametrize("game", _SMALL)
def test_tensors_tell_apart_what_strings_tell_apart(game):
    known, seen = defaultdict(set), defaultdict(set)
    loaded = pyspiel.load_game(game)
    stack = [loaded.new_initial_state()]
    while stack:
        state = stack.pop()
        for player in range(2) if not state.is_terminal() else ():
            known[state.information_state_string(player)].add(
                tuple(state.information_state_tensor(player))
            )
            seen[state.observation_string(player)].add(
                tuple(state.observation_tensor(player))
            )
        if len(known) < 400:
            stack.extend(state.child(action) for action in state.legal_actions())
    for table in (known, seen):
        tensors = [tensor for group in table.values() for tensor in group]
        assert len(tensors) == len(set(tensors)) == len(table)


# --- values -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "value"),
    [
        ("python_one_card_poker(cards=3)", -1 / 18),
        ("python_one_card_poker(cards=6)", -11 / 180),
        ("python_leduc_ranks(ranks=3)", -0.0856064240780),
        ("python_search(turns=4)", 65 / 67),
        ("python_search(turns=4,capture_value=0.0)", 30 / 19),
        ("python_princess_and_monster(horizon=5)", 2.488889),
        ("python_goofspiel(num_cards=4)", 0),
    ],
)
@pytest.mark.compiled
def test_cfr_plus_reaches_the_value_certified_by_linear_programs(game, value):
    solver = ms.Solver(game, ms.CFR_PLUS)
    solver.iterate(1000)
    policy = solver.average_policy()
    assert ms.expected_returns(game, policy)[0] == pytest.approx(value, abs=1e-4)
    assert ms.nash_conv(game, policy) < 5e-3


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("python_leduc_ranks(ranks=3)", "leduc_poker"),
        ("python_one_card_poker(cards=3)", "kuhn_poker"),
    ],
)
def test_cfr_goes_as_in_openspiel_s_game(ours, theirs):
    values = []
    for game in (ours, theirs):
        solver = ms.Solver(game, ms.CFR)
        solver.iterate(20)
        values.append(ms.nash_conv(game, solver.average_policy()))
    assert values[0] == pytest.approx(values[1], abs=1e-12)


# --- what is refused ----------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("python_one_card_poker(cards=1)", "cards=1 must be at least 2"),
        ("python_goofspiel(num_cards=61)", "num_cards=61 must be at most 60"),
        ("python_goofspiel(points_order=up)", "points_order=up is not one of random"),
        ("python_princess_and_monster(rows=1,cols=1)", "at least two cells"),
        ("python_search(capture_value=nan)", "."),
    ],
)
def test_a_bad_parameter_is_named(game, message):
    with pytest.raises((ValueError, pyspiel.SpielError), match=message):
        pyspiel.load_game(game)


# --- games of one's own -------------------------------------------------------


def _write_example(folder: pathlib.Path) -> pathlib.Path:
    page = (_ROOT / "docs" / "own_game.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    file = folder / "cups.py"
    file.write_text(code)
    return file


@pytest.mark.compiled
def test_an_edited_game_is_compiled_afresh_and_an_unchanged_one_is_not(tmp_path):
    file = _write_example(tmp_path)
    package = tmp_path / "mccfr_spiel"  # a copy, which nobody else edits
    shutil.copytree(_ROOT / "mccfr_spiel", package, ignore=_NO_BYTECODE)
    program = (
        "import cups\n"
        "from mccfr_spiel.arenas.tree.game_tree import GameTree\n"
        "from mccfr_spiel.arenas.rules.store import expand\n"
        "utilities = GameTree('python_cups').expand_all().utilities\n"
        "print(utilities[:, 0].max(), end=' ')\n"
        "hits = [f.stats.cache_hits for f in (expand, cups.returns)]\n"
        "print(*(sum(count.values()) for count in hits))\n"
    )

    def run() -> list[str]:
        result = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return result.stdout.split()

    run()
    assert run() == ["1.0", "1", "1"]
    code = file.read_text()
    file.write_text(code.replace("coin else 1.0", "coin else 0.5"))
    assert run() == ["0.5", "1", "0"]


def test_the_states_shown_in_the_documentation_are_real():
    page = (_ROOT / "docs" / "games.md").read_text()
    blocks = re.findall(r"```text\n(\S+) after ([\d ]+)\n(.*?)\n```", page, re.DOTALL)
    assert len(blocks) == 6
    for game, actions, shown in blocks:
        state = pyspiel.load_game(game).new_initial_state()
        for action in actions.split():
            assert int(action) in state.legal_actions()
            state.apply_action(int(action))
        assert str(state) == shown
