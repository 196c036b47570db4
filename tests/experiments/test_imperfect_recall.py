"""Runs of games whose strings forget, from the first row to a policy that plays."""

import json
import linecache
import sys

import pyspiel

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main

GAME = "liars_dice_ir(dice_sides=3)"
STRINGS = pyspiel.State.information_state_string


def solve(folder, iterations, *flags):
    return main(
        [
            *("solve", GAME, "--allow_imperfect_recall", "--evaluate=sampled"),
            *("--evaluation_plays=50", f"--iterations={iterations}"),
            *(f"--output_dir={folder}", *flags),
        ]
    )


def test_the_flag_solves_a_game_that_is_refused_without_it(tmp_path, capsys):
    refused = [f"--output_dir={tmp_path / 'no'}", "--evaluate=none"]
    assert main(["solve", GAME, "--iterations=2000", *refused]) == 1
    assert "add --allow_imperfect_recall to try it" in capsys.readouterr().err
    assert solve(tmp_path / "run", 2000) == 0
    assert "No response was learned" in capsys.readouterr().out
    solver = ms.Solver(GAME, ms.EXTERNAL_SAMPLING, abstraction=STRINGS)
    solver.iterate(2000)
    policy = ms.load_policy(tmp_path / "run")
    assert policy.to_dict() == solver.average_policy().to_dict()
    found = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    own = [player["value_against_itself"]["mean"] for player in found["players"]]
    assert own[0] == -own[1]
    picture = (tmp_path / "run" / "convergence.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


BUCKETS = '''
def bucket(state, player):
    """Kuhn poker in which the lower two cards look alike."""
    return state.information_state_string(player).replace("1", "0", 1)
'''


def test_an_abstraction_by_its_name_is_resumed_played_and_told_from_another(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "kuhn_buckets.py"
    source.write_text(BUCKETS)
    command = ["solve", "kuhn_poker", "--output_dir=run", "--evaluate=none"]
    flag = "--abstraction=kuhn_buckets.py:bucket"
    assert main([*command, flag, "--iterations=50"]) == 0
    assert main([*command, "--resume", "--iterations=90"]) == 0
    play = ["play", "run", flag, "--against=uniform", "--deals=20"]
    assert main(play) == 0
    assert "Against uniform:" in capsys.readouterr().out
    assert main([*play[:-1], "--deals=1"]) == 1
    assert main([*command, "--resume", flag.replace("bucket", "other")]) == 1
    assert "abstraction=kuhn_buckets.py:bucket, not" in capsys.readouterr().err
    source.write_text(BUCKETS.replace("look alike", "are one"))
    monkeypatch.delitem(sys.modules, "kuhn_buckets")
    linecache.clearcache()
    assert main([*command, "--resume", "--iterations=95"]) == 1
    assert "source has changed" in capsys.readouterr().err
    assert main([*command[:2], flag.partition(":")[0], "--output_dir=no"]) == 1
    assert "no MODULE:FUNCTION" in capsys.readouterr().err
