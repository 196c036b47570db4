"""Every policy that the package writes is read back, or refused in words."""

import json

import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from mccfr_spiel.policies import policy_files
from mccfr_spiel.policies.policy_files import write_policy
from mccfr_spiel.storage.checkpoint import CheckpointError

GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"


def solved(game="leduc_poker", iterations=30):
    solver = ms.Solver(game, ms.OUTCOME_SAMPLING)
    solver.iterate(iterations)
    return solver.average_policy()


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", GOOFSPIEL, "liars_dice"])
@pytest.mark.parametrize("most", [0, 10**9])
def test_a_policy_of_the_command_line_is_read_from_file_and_folder(
    game, most, tmp_path, monkeypatch
):
    monkeypatch.setattr(policy_files, "JSON_INFOSETS", most)
    policy = solved(game, 5)
    path = write_policy(tmp_path, policy)
    for where in (path, tmp_path, str(path)):
        assert ms.load_policy(where).to_dict() == policy.to_dict()


def test_openspiel_finds_the_same_nash_conv_in_the_file(tmp_path):
    path = write_policy(tmp_path, solved())
    game = pyspiel.load_game("leduc_poker")
    expected = exploitability.nash_conv(game, solved())
    assert ms.nash_conv(game, ms.load_policy(path)) == pytest.approx(expected, abs=1e-9)
    table = json.loads(path.read_text())
    assert ms.nash_conv(game, table) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match=r"policy for leduc_poker\(\), not for kuhn"):
        ms.nash_conv("kuhn_poker", table)


def kuhn_file(**changes):
    """A uniform policy of Kuhn poker as a file has it, with some rows of player 0."""
    rows = {name: {"0": 0.5, "1": 0.5} for name in ("0", "1", "2")} | changes
    return {"game": "kuhn_poker()", "players": [rows, {}]}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (kuhn_file(**{"1": {"0": 0.5, "1": 0.6}}), "no distribution"),
        (kuhn_file(**{"1": {"0": 0.5, "7": 0.5}}), "not all among the 2"),
        (kuhn_file(**{"1": {"0": 0.5, "00": 0.5}}), "listed twice"),
        ({"game": "kuhn_poker()", "players": 3}, "no list of players"),
        ({"game": "leduc_poker()", "players": [{}]}, "a policy for leduc_poker"),
    ],
)
def test_what_is_no_policy_of_the_game_is_refused(value, words, tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(value))
    with pytest.raises(CheckpointError, match=words) as caught:
        ms.load_policy(path, "kuhn_poker")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"{", b"\xff\xfe", b"[" * 100_000],
)
def test_what_is_no_file_of_a_policy_is_refused(data, tmp_path):
    path = tmp_path / "policy.json"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=str(path)):
        ms.load_policy(path, "kuhn_poker")
