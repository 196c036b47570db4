"""Reports over runouts and boards, names of hands, and the command `poker`."""

import csv
import functools
import itertools
from typing import Any

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.exploring.spots import grid_of_hands, report_of_runouts, title_of
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HANDS, cards_of
from mccfr_spiel.poker.made_hands import draws, made_hands
from mccfr_spiel.poker.ranges import weights_of

TURN: dict[str, Any] = {
    "board": "9s8h3s2d",
    "pot": 20,
    "stacks": 40,
    "ranges": ("AhKh:0.5,QhQd,7s6s", "JhJd,Th9h:0.25,KhQh"),
    "bets": "pot,a",
    "raises": "a",
    "rake": (0.05, 1),
}


def spot(**changes: Any):
    return ms.poker.subgame(**(TURN | changes))


@functools.cache
def studied():
    game = spot()
    solver = ms.Solver(game, ms.CFR_PLUS)
    solver.iterate(3)
    return ms.poker.Study(game, solver.average_policy())


def number(name):
    return ms.poker.hand(name)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("board", "hand", "made", "draw"),
    [
        ("9s8h3s2d", "JhJd", "overpair", "no draw"),
        ("9s8h3s2d", "Th9h", "top pair", "no draw"),
        ("9s8h3s2d", "8d7d", "middle pair", "no draw"),
        ("9s8h3s2d", "5c5d", "middle pair", "no draw"),
        ("9s8h3s2d", "Kh2h", "low pair", "no draw"),
        ("9s8h3s2d", "AsKs", "ace high", "flush draw"),
        ("9s8h3s2d", "7s6s", "no made hand", "flush and straight draw"),
        ("9s8h3s2d", "JdTd", "no made hand", "open-ended"),
        ("9s8h3s2d", "QdTd", "no made hand", "gutshot"),
        ("9s8h3s2d", "9h8d", "two pair", "no draw"),
        ("9s8h3s2d", "3h3d", "three of a kind", "no draw"),
        ("9s9h3s2d", "AdKd", "ace high", "no draw"),
        ("9s9h3s2d", "KdKc", "overpair", "no draw"),
        ("9s9h3s2d", "9d3d", "full house", "no draw"),
        ("9s8s3s2d7c", "AsKs", "flush", "no draw"),
        ("As2d3h", "5c4c", "straight", "no draw"),
        ("Ks7d4c2s9h", "QdJd", "no made hand", "no draw"),
    ],
)
def test_hands_have_the_names_that_players_use(board, hand, made, draw):
    cards, hands = cards_of(board, "board"), np.array([number(hand)])
    assert made_hands(hands, cards) == [made]
    assert draws(hands, cards) == [draw]


@pytest.mark.interpreted
def test_runouts_average_to_the_node_before_the_card():
    study = studied()
    table = study.runouts("Check, Check")
    before = study.decision("Check")
    assert len(table) == 48
    # The players' EVs after both have checked, by Bayes' rule over the next card.
    shares = table["probability"]
    assert shares.sum() == pytest.approx(1)
    row = before.actions.index("Check")
    masses = before.masses(1)[before.hands] * before.frequencies[:, row]
    ev = masses @ before.action_evs[:, row] / masses.sum()
    assert (shares * table["ev1"]).sum() == pytest.approx(ev)
    for card in ("As", "2c", "9h"):
        decision = study.decision(["Check", "Check", card])
        got = table.loc[card]
        assert [got["ev0"], got["ev1"]] == pytest.approx(decision.node_evs())
        assert got["equity0"] == pytest.approx(decision.node_equities()[0])
        assert [*got[[*decision.actions]]] == pytest.approx(decision.totals())
    page = report_of_runouts(study, [*study.subgame.likely_deal(), 1, 1])
    assert [row["card"] for row in page["rows"]] == [*table.index]
    assert page["words"] == "Check, Check"
    for card, history in page["next"].items():  # no hand contains the card
        dealt = [DECK[k] for k in HANDS[history[:2]].flat]
        assert len({card, *dealt, *page["board"]}) == 9
    grid = grid_of_hands(study, page["next"]["Ad"])
    assert grid["words"] == "Check, Check / Ad:"
    folded = report_of_runouts(study, [0, 1, 2, 0])
    assert folded["none"] == "Player 1 has folded."
    assert (folded["pot"], folded["stacks"]) == (40, [20, 40])
    called = report_of_runouts(study, [0, 1, 3, 1])
    assert called["none"].startswith("All chips are in the pot")
    with pytest.raises(ValueError, match=r"Check, 9h, Check, Check, because the board"):
        study.runouts("Check, Check, 9h, Check, Check")
    with pytest.raises(ValueError, match="No card is dealt after Check"):
        study.runouts("Check")
    with pytest.raises(ValueError, match="All chips are in the pot"):
        study.runouts("All-in 40, Call")


@pytest.mark.interpreted
def test_one_hand_is_found_by_name():
    decision = studied().decision("Check")
    hand = decision["JdJh"]
    row = decision.hands.tolist().index(number("JhJd"))
    assert hand.hand == "JdJh"
    assert [*hand.frequencies.values()] == decision.frequencies[row].tolist()
    assert hand.action_evs["Check"] == decision.action_evs[row, 0]
    assert hand.equity == pytest.approx(decision.equities()[row])
    with pytest.raises(KeyError, match="Player 1 cannot hold AhKh"):
        decision["AhKh"]


@pytest.mark.interpreted
def test_page_shows_the_same_numbers_as_the_study():
    """At all nodes of the turn and after two cards."""
    study, checked = studied(), 0
    lines = [[], [1], [2], [3], [1, 2], [1, 1, 3], [1, 1, 3, 1], [1, 1, 40, 2]]
    for line in lines:
        decision = study.decision(line)
        grid = grid_of_hands(study, [0, 1, *line])
        assert grid["evs"] == pytest.approx(decision.node_evs(), abs=1e-9)
        assert sum(grid["evs"]) <= 20 + 1e-9  # the rake is at most 1 chip
        assert sum(grid["evs"]) >= 19 - 1e-9
        assert sum(grid["equities"]) == pytest.approx(1)
        for row in grid["rows"]:
            at = decision.hands.tolist().index(number(row["label"]))
            assert row["value"] == pytest.approx(decision.evs[at], nan_ok=True)
            checked += 1
    assert checked >= 20
    assert title_of(study.subgame) == "Turn 9s8h3s2d, pot 20, stacks 40"


@pytest.mark.interpreted
def test_filters_select_hands():
    study = studied()
    whole = grid_of_hands(study, [0, 1])
    rows = grid_of_hands(study, [0, 1], draw="flush and straight draw")["rows"]
    assert [row["label"] for row in rows] == ["7s6s"]
    parts = [grid_of_hands(study, [0, 1], made) for made in whole["made"]]
    labels = itertools.chain(*([row["label"] for row in p["rows"]] for p in parts))
    assert {*labels} == {row["label"] for row in whole["rows"]}
    assert sum(part["share"] for part in parts) == pytest.approx(1)


@pytest.mark.interpreted
def test_spots_are_saved_and_opened(tmp_path):
    study = studied()
    study.save(tmp_path / "spot.bin")
    again = ms.poker.Study.load(tmp_path / "spot.bin")
    assert again.evs == pytest.approx(study.evs, abs=1e-5)


@pytest.mark.compiled
def test_report_solves_the_spot_on_each_board():
    game = spot(board="9s8h3s2d7c", rake=None)
    table = ms.poker.report(["9s8h3s2d7c", "Ks8h3s2d7c"], game, until_pot_percent=0.2)
    assert [*table.index] == ["9s8h3s2d7c", "Ks8h3s2d7c"]
    assert (table["ev0"] + table["ev1"]).tolist() == pytest.approx([20, 20])
    assert (table["pot_percent"] <= 0.2).all()
    value = ms.solve_lp(game).value + 10
    assert table["ev0"].iloc[0] == pytest.approx(value, abs=0.1)
    refused: list[tuple[Any, str]] = [
        (["9s8h3s2d"], "all boards must have 5 cards"),
        ([], "at least one"),
        (["9s8h3s2d7c", "9S,8h,3s,2d,7c"], "different boards"),
        ([None], "board=None must be a text"),
        (5, "boards=5 must be a list of boards"),
    ]
    for boards, message in refused:
        with pytest.raises(ValueError, match=message):
            ms.poker.report(boards, game)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("ranges", "published"),
    [
        (("AA", "KK"), 0.81946),
        (("AKs", "QQ"), 0.46049),
        (("72o", "random"), 0.34584),
        (("AhKh", "QsQc"), 0.46214),
    ],
)
def test_equities_before_the_flop_equal_published_ones(ranges, published):
    equity = ms.poker.equity("", ranges)
    assert equity == pytest.approx([published, 1 - published], abs=1e-5)


@pytest.mark.interpreted
def test_percentages_are_the_best_hands():
    assert (weights_of("100%", "r") == 1).all()
    best = weights_of("2.3%", "r")
    names = {HAND_NAMES[k][::2] for k in np.flatnonzero(best)}
    assert names == {"AA", "KK", "QQ", "JJ", "TT"}
    assert weights_of("20%", "r").sum() <= 0.2 * 1326
    assert weights_of("20%:0.5,AA", "r").max() == 1.0
    for text in ("0%", "101%"):
        with pytest.raises(ValueError, match="more than 0% and at most 100%"):
            weights_of(text, "r")


@pytest.mark.interpreted
def test_pot_is_a_size():
    assert spot(bets="pot").subgame.nodes[0].words == (
        "Check",
        "Bet 20",
    )


@pytest.mark.compiled
def test_program_solves_a_spot(tmp_path, capsys):
    folder = tmp_path / "river"
    flags = ["--board=Ks7d4c2s9h", "--ranges=AA,KQs|TT,KTs", "--pot=100"]
    more = ["--stacks=300", f"--output_dir={folder}"]
    assert main(["poker", *flags, *more]) == 0
    out = capsys.readouterr().out
    assert "player 0 holds" in out
    assert "The target 0.5 % of the pot was reached." in out
    with (folder / "hands.csv").open() as file:
        hands = {row["hand"] for row in csv.DictReader(file)}
    assert {"AhAs", "KhQh"} <= hands <= {*HAND_NAMES}
    assert ms.load_policy(folder).game.subgame.board_text == "Ks7d4c2s9h"
    assert main(["poker", *flags]) == 1
    assert "--stacks is required" in capsys.readouterr().err
    assert main(["poker", *flags[:1], "--ranges=AA", "--pot=9", "--stacks=9"]) == 1
    assert "has 1 range, expected 2" in capsys.readouterr().err
