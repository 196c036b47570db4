"""Runs of the command line on games that are taken without a tree."""

import csv

import pytest

from mccfr_spiel.command_line.main import main

HEX = "python_dark_hex(num_rows=2,num_cols=2)"


def rows_of(folder):
    with open(folder / "results.csv") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("store", ["worlds", "none"])
def test_a_run_is_resumed_with_the_rows_of_a_whole_one(store, tmp_path):
    words = "solve", HEX, "--algorithm=cfr_plus", f"--store={store}", "--resume"
    whole, parts, tree = tmp_path / "whole", tmp_path / "parts", tmp_path / "tree"
    assert main([*words, "--iterations=6", f"--output_dir={whole}"]) == 0
    for iterations in (3, 6):
        part = f"--iterations={iterations}", f"--output_dir={parts}"
        assert main([*words, *part]) == 0
    words = "solve", HEX, "--algorithm=cfr_plus", "--store=tree", "--iterations=6"
    assert main([*words, f"--output_dir={tree}"]) == 0
    found = [
        {row["iteration"]: float(row["nash_conv"]) for row in rows_of(folder)}
        for folder in (whole, parts, tree)
    ]
    assert found[1] == found[0]
    assert found[0]["2"] == pytest.approx(found[2]["2"], abs=1e-12)
    assert len(found[0]) > 3


def test_a_run_that_samples_is_measured_by_worlds(tmp_path):
    words = "solve", HEX, "--algorithm=external_sampling", "--max_nodes=50"
    assert main([*words, "--iterations=20", f"--output_dir={tmp_path}"]) == 0
    assert all(float(row["nash_conv"]) > 0 for row in rows_of(tmp_path))
