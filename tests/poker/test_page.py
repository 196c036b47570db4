"""Subgames in the explorer and in the command-line program."""

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.exploring.exporting import export
from mccfr_spiel.exploring.spots import grid_of_hands
from tests.exploring.asking import Page

pytestmark = pytest.mark.interpreted

STRING = (
    "python_holdem_subgame(board=2s3h4d6c7c,pot=20,stacks=10,"
    "range0=AsAh;AsKh:0.5;QsQh,range1=KsKd;22;,bets=a,raises=none)"
)


@pytest.fixture(scope="module")
def solver():
    found = ms.Solver(STRING, ms.CFR_PLUS)
    found.run(until_pot_percent=0.1)
    return found


def test_subgame_uses_worlds_and_reports_percent_of_pot(solver):
    assert solver.store == "blocks"
    gap = 50 * ms.nash_conv(STRING, solver.average_policy()) / 20
    assert solver.history[-1]["pot_percent"] == pytest.approx(gap)
    assert gap <= 0.1


def test_grid_equals_study(solver):
    study = ms.poker.Study(STRING, solver.average_policy())
    page, root = Page(solver), study.decision()
    with pytest.raises(ValueError, match=r"game's whole tree\. A hold'em subgame"):
        export(page.answers.subject, "page.html")
    grid = page.ask("grid", history="")
    assert grid["actions"] == ["Check", "All-in 10"]
    assert grid["evs"] == pytest.approx(study.evs)
    rows = {row["label"]: row for row in grid["rows"]}
    assert sorted(rows) == ["AhAs", "AsKh", "QhQs"]
    aces, labels = rows["AhAs"], grid["ranks"]["labels"]
    at = root.hands.tolist().index(ms.poker.hand("AsAh"))
    assert aces["probabilities"] == pytest.approx(root.frequencies[at])
    assert aces["values"] == pytest.approx(root.action_evs[at])
    # Kings lose to aces, and deuces, of which three combinations are left, win.
    assert aces["equity"] == pytest.approx(1 / 4)
    cells = grid["ranks"]["cells"]
    queens, king = cells[2][2], cells[1][0]  # offsuit below the diagonal
    assert labels[:3] == ["A", "K", "Q"]
    assert queens[2] == rows["QhQs"]["weight"] == 1
    assert king[2] == 0.5
    assert sum(cell is not None for line in cells for cell in line) == 3


def test_cell_averages_hands_with_values():
    """Kings never bet, and QsKh is incompatible with QhQs."""
    game = STRING.replace("AsAh;AsKh:0.5;QsQh", "QsQh:0.25;QdQc").replace("22;", "QsKh")
    table = ms.Solver(game, ms.CFR).average_policy().to_dict()
    table["KdKs 2s3h4d6c7c: Check"] = {1: 1.0, 2: 0.0}
    grid = grid_of_hands(ms.poker.Study(game, table), [0, 1, 1, 2])
    values = {row["label"]: row["value"] for row in grid["rows"]}
    assert np.isnan(values["QhQs"])
    means = [0.5, 0.5, (0.25 + 1) / 2, 1, values["QcQd"]]
    assert grid["ranks"]["cells"][2][2] == pytest.approx(means)


def test_page_locks_and_frees_all_hands():
    page = Page(ms.Solver(STRING, ms.CFR_PLUS))
    start = page.ask("grid", history="")
    mine, _, bet = start["next"][1]
    facing = f"{mine},{ms.poker.hand('2d2c')},{bet}"
    infoset = page.ask("state", history=facing)["infoset"]
    number, hand = infoset["number"], infoset["info_state"][:4]
    page.do("fix", number=number, row=[1, 3])
    rows = page.ask("grid", history=facing, policy="mine")["rows"]
    changed = [row["label"] for row in rows if row["probabilities"] == [0.25, 0.75]]
    assert changed == [hand]
    page.do("undo")
    view = page.do("fix", number=number, row=[3, 1], all_hands=True).json()
    assert view["changes"][0].startswith("Fixed all hands, as ")
    grid = page.ask("grid", history=facing, policy="mine")
    assert len(grid["rows"]) == 4  # KsKd, and 2c2d, 2c2h, 2d2h beside the board
    assert len(view["fixed"]) >= 4
    assert all(row["probabilities"] == [0.75, 0.25] for row in grid["rows"])
    same = page.ask("grid", history="", policy="mine")["rows"]
    assert [one["probabilities"] for one in same] == [[0.5, 0.5]] * 3
    view = page.do("fix", number=number, row=None, all_hands=True).json()
    assert view["fixed"] == []


def test_program_reports_percent_of_pot(tmp_path, capsys):
    folder = tmp_path / "river"
    flags = [f"--game={STRING}", "--algorithm=cfr_plus", "--until_pot_percent=0.5"]
    assert main(["solve", *flags, f"--output_dir={folder}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(i for i, line in enumerate(lines) if "% of the pot" in line)
    last = next(line for line in reversed(lines[head:]) if line.strip()[:1].isdigit())
    assert float(last.split()[-1]) <= 0.5
    policy = ms.load_policy(folder / "policy.json", STRING)
    gap = 50 * ms.nash_conv(STRING, policy) / 20
    assert gap == pytest.approx(float(last.split()[-1]), rel=1e-3)
    assert (folder / "convergence.png").exists()
    elsewhere = f"--output_dir={tmp_path / 'kuhn'}"
    assert main(["solve", "--game=kuhn_poker", *flags[1:], elsewhere]) == 1
    assert "kuhn_poker has no pot at the start" in capsys.readouterr().err
