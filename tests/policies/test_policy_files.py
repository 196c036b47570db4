"""Every policy that the package writes can be read; other files are refused."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from mccfr_spiel.arenas.infosets.identity import module_of
from mccfr_spiel.arenas.infosets.loading import OUR_GAMES
from mccfr_spiel.common.checkpoint import (
    CheckpointError,
)
from mccfr_spiel.solving import reading
from mccfr_spiel.solving.reading import write_policy
from tests.arenas.rules.test_own_auction import auction
from tests.small_games import leaf, move, small_game

SMALLER = {"python_dark_hex": "python_dark_hex(num_rows=2,num_cols=2)"}
SEQUENTIAL = pyspiel.GameType.Dynamics.SEQUENTIAL


def python_games():
    """OpenSpiel's Python games and ours, without games registered by other tests."""
    for kind in pyspiel.registered_games():
        name, has_strings = str(kind.short_name), kind.provides_information_state_string
        is_python = name.startswith("python_") and kind.default_loadable
        is_python = is_python and kind.dynamics == SEQUENTIAL
        if is_python and has_strings:
            module = str(module_of(pyspiel.load_game(name)))
            if module.startswith(("open_spiel.", "mccfr_spiel.")):
                yield SMALLER.get(name, name)


PYTHON_GAMES = sorted(python_games())
OBSERVER = """
    def make_py_observer(self, iig_obs_type=None, params=None):
        raise NotImplementedError
"""
AUCTIONS = {
    "auction": (),
    "auction with an observer": (
        ("    def new_initial_state", f"{OBSERVER}\n    def new_initial_state"),
    ),
}
"""The example of docs/own_game.md. The observer of the game, if any, raises errors."""

OWN_STRINGS = pyspiel.State.information_state_string

GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"


def solved(game="leduc_poker", iterations=30):
    solver = ms.Solver(game, ms.OUTCOME_SAMPLING)
    solver.iterate(iterations)
    return solver.average_policy()


@pytest.mark.parametrize("abstraction", [None, OWN_STRINGS])
@pytest.mark.parametrize("game", [*PYTHON_GAMES, *AUCTIONS])
def test_policy_of_python_game_is_loaded(game, abstraction, tmp_path):
    game = auction(*AUCTIONS[game]) if game in AUCTIONS else pyspiel.load_game(game)
    if abstraction is not None and game.num_players() == 1:
        abstraction = None  # no abstractions for one player
    how = {"abstraction": abstraction, "store": "tree", "seed": 1}
    solver = ms.Solver(game, ms.OUTCOME_SAMPLING, **how)
    solver.iterate(3)
    policy = solver.average_policy()
    policy.save(tmp_path / "policy")
    loaded = ms.load_policy(tmp_path / "policy", game=game)
    assert loaded.to_dict() == policy.to_dict()
    decisions = np.flatnonzero(solver.tree.nodes["player"] >= 0)[:20].tolist()
    for node in decisions:
        state, _ = solver.tree.state_at(node)
        row = loaded.action_probabilities(state)
        assert row == policy.action_probabilities(state)
        assert row == policy[state.information_state_string(state.current_player())]
        assert ms.bot(loaded, state.current_player()).step(state) in row


@pytest.mark.parametrize("name", AUCTIONS)
def test_loaded_policy_of_own_game_is_evaluated(name, tmp_path):
    game = auction(*AUCTIONS[name])
    solver = ms.Solver(game, ms.CFR_PLUS)
    solver.iterate(10)
    policy = solver.average_policy()
    policy.save(tmp_path / "policy")
    loaded = ms.load_policy(tmp_path / "policy", game=game)
    table = loaded.to_tabular()
    assert table.to_dict() == policy.to_tabular().to_dict()
    assert ms.nash_conv(game, loaded) == ms.nash_conv(game, policy)
    assert len(ms.sampled_returns(game, loaded, plays=10)) == 2


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", GOOFSPIEL, "liars_dice"])
@pytest.mark.parametrize("most", [0, 10**9])
def test_policy_of_a_run_is_read_from_file_and_folder(
    game, most, tmp_path, monkeypatch
):
    monkeypatch.setattr(reading, "JSON_INFOSETS", most)
    policy = solved(game, 5)
    path = write_policy(tmp_path, policy)
    for where in (path, tmp_path, str(path)):
        assert ms.load_policy(where).to_dict() == policy.to_dict()


def test_openspiel_computes_the_same_nash_conv_from_the_file(tmp_path):
    path = write_policy(tmp_path, solved())
    game = pyspiel.load_game("leduc_poker")
    expected = exploitability.nash_conv(game, solved())
    assert ms.nash_conv(game, ms.load_policy(path)) == pytest.approx(expected, abs=1e-9)
    table = json.loads(path.read_text())
    assert ms.nash_conv(game, table) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match=r"for leduc_poker\(\), expected kuhn"):
        ms.nash_conv("kuhn_poker", table)


def kuhn_file(**changes):
    """A uniform policy of Kuhn poker in the form of a file, with some rows of player
    0."""
    rows = {name: {"0": 0.5, "1": 0.5} for name in ("0", "1", "2")} | changes
    return signed({"game": "kuhn_poker()", "players": [rows, {}]})


def signed(value):
    """The value with a valid digest."""
    text = json.dumps(value, separators=(",", ":"))
    return value | {"sha256": hashlib.sha256(text.encode()).hexdigest()}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (kuhn_file(**{"1": {"0": 0.5, "1": 0.6}}), "expected a distribution"),
        (kuhn_file(**{"1": {"0": 0.5, "7": 0.5}}), "must be below 2"),
        (kuhn_file(**{"1": {"0": 0.5, "00": 0.5}}), "duplicate action"),
        (signed({"game": "kuhn_poker()", "players": 3}), "must be a list"),
        ({"game": "leduc_poker()", "players": [{}]}, "a policy for leduc_poker"),
    ],
)
def test_invalid_policies_are_refused(value, words, tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(value))
    with pytest.raises(CheckpointError, match=words) as caught:
        ms.load_policy(path, "kuhn_poker")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("data", [b"{", b"\xff\xfe", b"[" * 100_000])
def test_files_without_policy_are_refused(data, tmp_path):
    path = tmp_path / "policy.json"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=str(path)):
        ms.load_policy(path, "kuhn_poker")


# --- load_policy -------------------------------------------------------------

ROOT = pathlib.Path(__file__).parents[2]


def solver_of(game, algorithm=ms.EXTERNAL_SAMPLING):
    solver = ms.Solver(game, algorithm, seed=2)
    solver.iterate(20)
    return solver


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", GOOFSPIEL])
@pytest.mark.parametrize("algorithm", [ms.CFR, ms.OUTCOME_SAMPLING])
def test_checkpoint_gives_the_exact_average_policy(name, algorithm, tmp_path):
    solver = solver_of(name, algorithm)
    path = tmp_path / "solver.checkpoint"
    solver.save(path)
    expected = solver.average_policy()
    for where in (path, str(path), tmp_path):  # the folder of a killed run
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


def test_paper_games_load_without_import(tmp_path):
    sources = (ROOT / "games").glob("*.py")
    text = "".join(path.read_text() for path in sources)
    assert (
        set(re.findall(r'^ +(?:short_name=)?"(python_\w+)",', text, re.M)) == OUR_GAMES
    )
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


def test_empty_folder_is_refused_with_expected_names(tmp_path):
    with pytest.raises(ValueError, match=r"policy\.json or policy\.bin.*checkpoint"):
        ms.load_policy(tmp_path)


def test_bot_file_is_refused_with_its_loader(tmp_path):
    path = tmp_path / "bot"
    ms.OnlineOutcomeSamplingBot("kuhn_poker", 0).save(path)
    with pytest.raises(ms.CheckpointError, match=r"OnlineOutcomeSamplingBot\.load"):
        ms.load_policy(path)


def test_game_without_registration_must_be_passed(tmp_path):
    game = small_game(move(0, "a", leaf(1.0, -1.0), leaf(0.0, 0.0)))
    solver = solver_of(game)
    for path, save in (
        (tmp_path / "solver", solver.save),
        (tmp_path / "policy", solver.average_policy().save),
    ):
        save(path)
        assert ms.load_policy(path, game).to_dict() == solver.average_policy().to_dict()
        with pytest.raises(ValueError, match="pass the game"):
            ms.load_policy(path)


def test_every_flipped_bit_is_detected(tmp_path):
    solver = ms.Solver("kuhn_poker", ms.CFR)
    solver.iterate(10)
    path = write_policy(tmp_path, solver.average_policy())
    data = path.read_bytes()
    expected = solver.average_policy().to_dict()
    accepted = 0
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(flipped))
        try:
            policy = ms.load_policy(path)
        except (CheckpointError, ValueError):
            continue
        accepted += 1  # for example, a space became a tab
        assert policy.to_dict() == expected
    assert 8 * len(data) > 6000
    assert accepted < len(data) / 10


def test_policy_without_digest_is_refused(tmp_path):
    value = kuhn_file()
    del value["sha256"]
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(value))
    with pytest.raises(CheckpointError, match=r'"sha256" of the policy is missing'):
        ms.load_policy(path)
