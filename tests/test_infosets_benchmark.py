"""The benchmark of growing numbers of information sets: what it reads and prints."""

import re

import pytest

from benchmarks import infosets
from benchmarks.infosets import Part

GAME = "goofspiel(num_cards=4,imp_info=True,points_order=descending)"


def table_of(text: str) -> list[list[str]]:
    """The cells of the lines below the table's header."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if "|" in line]
    return lines[2:]


def test_a_run_prints_a_line_for_each_mark(tmp_path):
    out = tmp_path / "table.md"
    infosets.main(
        [
            "infosets",
            f"--game={GAME}",
            "--marks=10,5e1,100",
            "--seconds=1e-9",
            "--gibibytes=0.1",
            "--noreserve",
            f"--out={out}",
        ]
    )
    lines = table_of(out.read_text())
    counts = [int(cells[0].replace(",", "")) for cells in lines]
    assert [count >= mark for count, mark in zip(counts, (10, 50, 100), strict=True)]
    assert counts == sorted(counts)
    for cells in lines:
        assert float(cells[2].replace(",", "")) > 0
        assert 0 < float(cells[3]) < 1
    assert "grew by" in out.read_text()


@pytest.mark.long_without_jit
def test_a_run_ends_when_its_memory_is_full(capsys):
    arguments = ["--marks=100,1e9", "--gibibytes=0.01", "--seconds=0", "--noreserve"]
    infosets.main(["infosets", "--game=liars_dice(numdice=2)", *arguments])
    text = capsys.readouterr().out
    assert re.search(r"\(memory full\)", text)
    assert re.search(r"1,000,000,000 would take about [\d,]+ GiB", text)


def test_a_run_in_a_small_game_ends_when_its_time_is_up(capsys):
    arguments = ["--marks=10,1e9", "--minutes=1e-4", "--seconds=0", "--noreserve"]
    infosets.main(["infosets", f"--game={GAME}", *arguments])
    first, last = table_of(capsys.readouterr().out)
    assert int(first[0]) >= 10
    assert re.fullmatch(r"\d+ \(time up\)", last[0])


def test_quick_parts_are_repeated_and_added_up():
    one, other = Part(100, 90, 300, 0.5, 7.0), Part(103, 93, 310, 0.25, 6.0)
    both = infosets.added(one, other)
    assert both == Part(100, 183, 610, 0.75, 7.0, solvers=2)
    assert infosets.cells(both) == ["100", "610", "1,229,508", "0.300", "7", "2"]


@pytest.mark.parametrize("words", [["10", "5"], ["0"], ["1.5"], [], ["5", "5"]])
def test_marks_that_do_not_ascend_are_refused(words):
    with pytest.raises(ValueError, match="--marks="):
        infosets.parse_marks(words)
