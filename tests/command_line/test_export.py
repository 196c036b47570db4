"""The command `export`, and game files as arguments of other commands."""

import io
import sys

import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from tests.interchange.gambit_texts import POKER


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poker.efg").write_text(POKER)
    return tmp_path


def test_suffix_selects_the_format(folder, capsys):
    assert main(["export", "kuhn_poker", "kuhn.efg"]) == 0
    assert "58 nodes, 12 information sets" in capsys.readouterr().out
    assert main(["export", "poker.efg", "again.efg"]) == 0
    again = ms.GameTree("again.efg").expand_all()
    assert again.digest() == ms.GameTree("poker.efg").expand_all().digest()
    assert main(["export", "poker.efg", "poker.tex"]) == 0
    assert r"\begin{tikzpicture}" in (folder / "poker.tex").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "A game and a file are required"),
        (["kuhn_poker"], "A game and a file are required"),
        (["kuhn_poker", "kuhn.txt"], "kuhn.txt must end in .efg"),
        (["missing.efg", "new.efg"], "missing.efg cannot be read"),
    ],
)
def test_wrong_arguments_are_refused(folder, capsys, words, message):
    assert main(["export", *words]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.compiled
def test_all_commands_accept_a_game_file(folder, capsys, monkeypatch):
    assert main(["solve", "poker.efg", "--algorithm=cfr", "--iterations=40"]) == 0
    assert "Value for Ann" in capsys.readouterr().out
    results = folder / "results" / "poker_cfr_seed0"
    policy = f"--policy={results}"
    assert main(["export", "poker.efg", "solved.efg", policy]) == 0
    assert len((folder / "solved_profile.csv").read_text().split(",")) == 6
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    options = f"--output_dir={results}", "--resume", "--iterations=80"
    assert main(["solve", *options]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    assert main(["play", str(folder / "poker.efg"), "--iterations=10"]) == 0
    assert main(["info", str(folder / "poker.efg"), "--nomeasure"]) == 0
    out = capsys.readouterr().out
    assert "You are Ann" in out
    assert "3 information sets (2 + 1)" in out
    options = "--algorithms=cfr", "--iterations=10", "--workers=1", "--output_dir=all"
    assert main(["compare", str(folder / "poker.efg"), *options]) == 0
    table = (folder / "elsewhere" / "all" / "comparison.csv").read_text()
    assert "\npoker.efg,cfr,0," in table
    page = folder / "page.html"
    assert main(["explore", str(results), f"--export={page}"]) == 0
    assert "One-card poker" in page.read_text()
    assert main(["explore", str(folder / "poker.efg")]) == 1
    assert "is the file of a game" in capsys.readouterr().err
