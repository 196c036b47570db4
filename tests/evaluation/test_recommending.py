"""`recommend`: what it names can be run, and the league's numbers hold."""

import math
import pathlib

import pytest

import mccfr_spiel as ms
from mccfr_spiel.evaluation import recommend
from mccfr_spiel.evaluation.recommending import ENTRANTS, league
from mccfr_spiel.experiments.algorithm_names import METHODS

DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("target", [0.5, 1e-2, 1e-3])
def test_what_is_recommended_gets_there_as_the_reason_says(target):
    found = ms.recommend("kuhn_poker", target)
    assert found.algorithm is not None
    solver = ms.Solver("kuhn_poker", found.algorithm)
    reached = [one for one in league() if one.game == "Kuhn" and one.place == "1"]
    first = max(one for one in reached if one.nash_conv <= target)
    nodes = first.nodes_touched
    assert found.name == first.algorithm
    assert f"after {nodes:,} nodes touched" in found.reason
    solver.iterate_until(nodes)
    assert solver.nodes_touched == nodes
    assert ms.nash_conv("kuhn_poker", solver.average_policy()) <= target


def test_kind_and_size_decide():
    assert "Kuhn (58 nodes)" in recommend("matrix_rps", 0.1).reason
    assert recommend("leduc_poker", 1e-2).reason.startswith(
        "Leduc (9,457 nodes) is the"
    )
    three = recommend("kuhn_poker(players=3)", 0.1).reason
    assert three.startswith("Kuhn, three players")
    assert "need not fall to 0" in three
    large = recommend("chess", 0.1)
    assert large.algorithm == ms.EXTERNAL_SAMPLING
    assert "Chess has more than 2,000,000 nodes" in large.reason


@pytest.mark.parametrize("target", [0.0, -1.0, math.nan])
def test_a_target_that_is_not_above_0_is_refused(target):
    with pytest.raises(ValueError, match=f"target={target}"):
        recommend("kuhn_poker", target)


def test_the_table_is_that_of_the_page():
    page = (DOCS / "measured.md").read_text(encoding="utf-8")
    assert len({place.game for place in league()}) == 12
    for place in league():
        assert f"| {place.game} | {place.nodes:,} |" in page
        assert place.place == "2" or f"| {place.algorithm}, " in page
        assert place.algorithm in ENTRANTS or place.algorithm in METHODS
