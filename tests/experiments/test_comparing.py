"""`ms.compare`: tables, figures, resuming and refusals."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr, exploitability

import mccfr_spiel as ms
from tests import small_games

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")


def compare(*args, **settings):
    return ms.compare(*args, workers=1, progress=False, **settings)


@pytest.fixture(scope="module")
def table():
    algorithms = {"CFR": ms.CFR, "sampled": ms.EXTERNAL_SAMPLING}
    return compare(["kuhn_poker", "leduc_poker"], algorithms, seeds=3, iterations=20)


def test_table_is_tidy_and_matches_openspiel(table):
    assert list(table.columns) == [
        "game", "algorithm", "seed", "due", "iteration", "nodes_touched", "seconds",
        "nash_conv",
    ]  # fmt: skip
    game = pyspiel.load_game("kuhn_poker")
    solver = cfr.CFRSolver(game)
    rows = table[(table.game == "kuhn_poker") & (table.algorithm == "CFR")]
    assert list(rows.iteration) == [1, 2, 3, 4, 6, 10, 16, 20]
    done = 0
    for row in rows.itertuples():
        for _ in range(row.iteration - done):
            solver.evaluate_and_update_policy()
        done = row.iteration
        gap = exploitability.nash_conv(game, solver.average_policy())
        assert row.nash_conv == pytest.approx(gap, abs=1e-12)


def test_figure_shows_means_and_bands_over_seeds(table):
    other = table.sort_values("nash_conv")  # rows are not in order along a curve
    assert other.final().equals(table.final())
    figure = other.plot(style="paper")
    kuhn, leduc = figure.axes
    assert (kuhn.get_title(), leduc.get_title()) == ("kuhn_poker", "leduc_poker")
    rows = table[(table.game == "leduc_poker") & (table.algorithm == "sampled")]
    groups = rows.groupby("due").nash_conv
    (line,) = (line for line in leduc.lines if line.get_label() == "sampled")
    assert line.get_xdata() == pytest.approx(sorted(rows.due.unique()))
    assert line.get_ydata() == pytest.approx(groups.mean().to_numpy())
    (band,) = leduc.collections
    edges = band.get_paths()[0].vertices[:, 1]
    assert edges.max() == pytest.approx((groups.mean() + groups.std()).max())
    assert edges.min() == pytest.approx((groups.mean() - groups.std()).min())
    assert len(figure.legends) == 1
    assert [text.get_text() for text in figure.legends[0].texts] == ["CFR", "sampled"]


def test_seeds_are_aligned_at_due_numbers():
    part = {"game": "g", "algorithm": "a", "iteration": 1, "seconds": 0.0}
    rows = [
        {"seed": 0, "due": 10, "nodes_touched": 12, "gap": 4.0},
        {"seed": 0, "due": 100, "nodes_touched": 101, "gap": 2.0},
        {
            "seed": 0,
            "due": 1000,
            "nodes_touched": 1001,
            "gap": 1.0,
        },  # seed 1 ends before
        {
            "seed": 1,
            "due": 100,
            "nodes_touched": 120,
            "gap": 6.0,
        },  # passed 10 and 100 at once
    ]
    kind = type(compare("kuhn_poker", "cfr", 1, iterations=1))
    table = kind([part | row for row in rows])
    (axes,) = table.plot(x="nodes_touched").axes
    assert axes.lines[0].get_xdata() == pytest.approx([66, 110.5])
    assert axes.lines[0].get_ydata() == pytest.approx([5, 4])
    (axes,) = table.plot(x="nodes_touched", band="range").axes
    edges = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
    assert (edges.min(), edges.max()) == (2, 6)


def test_repeated_call_resumes_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    settings = {"folder": f"~/{tmp_path.name}", "iterations": 5}
    first = compare("kuhn_poker", ms.EXTERNAL_SAMPLING, 2, **settings)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.csv")}
    more = compare("kuhn_poker", ms.EXTERNAL_SAMPLING, 3, **settings)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert more[more.seed < 2].equals(first)
    assert list(more.seed.unique()) == [0, 1, 2]
    with pytest.raises(ValueError, match="lacks the metric 'last_iterate'"):
        compare("kuhn_poker", "external_sampling", metrics="last_iterate", **settings)


def test_metric_labels_must_differ_from_table_columns():
    table = compare("kuhn_poker", "CFR", iterations=1, metrics={"bound": lambda _: 3})
    assert [*table.bound] == [3]
    with pytest.raises(ValueError, match="already has a column 'seconds'"):
        compare("kuhn_poker", "cfr", metrics={"seconds": lambda _: 3})


def test_wrong_arguments_are_refused():
    for game, algorithm in (("leduk_poker", "cfr"), ("kuhn_poker", "cfr_puls"),
                            (None, "cfr"), ("kuhn_poker", None)):  # fmt: skip
        with pytest.raises(
            ValueError, match=r"leduk_poker|cfr_puls|^None must be|game=None"
        ):
            compare(game, algorithm)
    matrix = pyspiel.create_matrix_game([[1.0]], [[-1.0]])
    for game in (matrix, small_games.uneven_deal()):
        with pytest.raises(ValueError, match="Register the game"):
            compare(game, "cfr")
    with pytest.raises(ValueError, match="such as iterations=1000"):
        compare("kuhn_poker", "lp")
    wrong = [("nodes", value) for value in (0, float("nan"), None, "1e3", 3j, 2**70)]
    for name, value in [*wrong, ("executor", 3), ("imports", 3)]:
        with pytest.raises(ValueError, match=f"{name}={value!r} (is no|must be)"):
            compare("kuhn_poker", "cfr", **{name: value})  # pyright: ignore


SCRIPT = """
import mccfr_spiel as ms
factor = 2
table = ms.compare("kuhn_poker", [ms.CFR, ms.EXTERNAL_SAMPLING], 2, iterations=4,
                   workers=2, progress=False,
                   metrics={"double": lambda s: factor * ms.metrics.nash_conv(s)})
print(repr(list(table.double)))
"""


def test_script_without_guard_gives_the_same_numbers(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    result = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(pathlib.Path(ms.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    here = compare("kuhn_poker", [ms.CFR, ms.EXTERNAL_SAMPLING], 2, iterations=4)
    assert np.array(eval(result.stdout)) == pytest.approx(2 * here.nash_conv, abs=0)
