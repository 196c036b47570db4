"""`load_policy` reads whatever the package writes, or says why it cannot."""

import pathlib
import re
import subprocess
import sys

import pytest

import mccfr_spiel as ms
from mccfr_spiel.policies.policy_files import write_policy
from mccfr_spiel.tree.loading import OUR_GAMES
from tests.small_games import leaf, move, small_game

ROOT = pathlib.Path(__file__).parents[2]
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"


def solver_of(game, algorithm=ms.EXTERNAL_SAMPLING):
    solver = ms.Solver(game, algorithm, seed=2)
    solver.iterate(20)
    return solver


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", GOOFSPIEL])
@pytest.mark.parametrize("algorithm", [ms.CFR, ms.OUTCOME_SAMPLING])
def test_a_checkpoint_gives_the_average_policy_to_the_bit(name, algorithm, tmp_path):
    solver = solver_of(name, algorithm)
    path = tmp_path / "solver.checkpoint"
    solver.save(path)
    expected = solver.average_policy()
    for where in (path, str(path), tmp_path):  # the folder of a run that was killed
        found = ms.load_policy(where)
        assert found.to_dict() == expected.to_dict()
        assert found.table().rows == expected.table().rows


IN_A_FRESH_PROCESS = """
import sys
import mccfr_spiel as ms
policy, solver = sys.argv[1:]
ms.Solver("kuhn_poker").iterate(1)
assert "mccfr_spiel.games" not in sys.modules
print(len(ms.load_policy(policy).to_dict()))
assert "mccfr_spiel.games" in sys.modules
print(ms.Solver.load(solver).num_iterations)
print(ms.GameTree("misere(game=python_search(turns=2))").num_players)
"""


def test_the_papers_games_load_in_a_process_that_has_not_imported_them(tmp_path):
    sources = (ROOT / "games").glob("*.py")
    text = "".join(path.read_text() for path in sources)
    assert set(re.findall(r'short_name="(\w+)"', text)) == OUR_GAMES
    solver = solver_of("python_leduc_ranks")
    solver.save(tmp_path / "solver")
    write_policy(tmp_path, solver.average_policy())
    words = sys.executable, "-c", IN_A_FRESH_PROCESS, tmp_path / "policy.json"
    found = subprocess.run(
        [*words, tmp_path / "solver"], cwd=ROOT, capture_output=True, text=True
    )
    assert found.stderr == ""
    infosets = len(solver.average_policy().to_dict())
    assert found.stdout.split() == [str(infosets), "20", "2"]


def test_an_empty_folder_is_refused_with_the_names_that_it_lacks(tmp_path):
    with pytest.raises(ValueError, match=r"policy\.json nor policy\.bin.*checkpoint"):
        ms.load_policy(tmp_path)


def test_a_bots_file_is_refused_with_the_way_to_read_it(tmp_path):
    path = tmp_path / "bot"
    ms.OnlineOutcomeSamplingBot("kuhn_poker", 0).save(path)
    with pytest.raises(ms.CheckpointError, match=r"OnlineOutcomeSamplingBot\.load"):
        ms.load_policy(path)


def test_a_game_made_in_code_has_to_be_given(tmp_path):
    game = small_game(move(0, "a", leaf(1.0, -1.0), leaf(0.0, 0.0)))
    solver = solver_of(game)
    for path, save in (
        (tmp_path / "solver", solver.save),
        (tmp_path / "policy", solver.average_policy().save),
    ):
        save(path)
        assert ms.load_policy(path, game).to_dict() == solver.average_policy().to_dict()
        with pytest.raises(ValueError, match="give"):
            ms.load_policy(path)
