"""Average policies to the last bit, with and without the JIT.

    python -m tests.test_golden

writes golden.json anew; say in the commit why the numbers had to change.
"""

import json
import pathlib

import pytest

import mccfr_spiel as ms
from mccfr_spiel import Solver

FILE = pathlib.Path(__file__).parent / "golden.json"
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=random)"
# name: (game, algorithm, iterations, tolerance)
RUNS = {
    "cfr": ("kuhn_poker", ms.CFR, 20, 0.0),
    "cfr_plus": ("kuhn_poker(players=3)", ms.CFR_PLUS, 10, 0.0),
    "pruned_cfr": ("kuhn_poker", ms.algorithms.PRUNED_CFR, 20, 0.0),
    "chance": ("kuhn_poker", ms.CHANCE_SAMPLING, 50, 0.0),
    "opponent": ("kuhn_poker", ms.OPPONENT_SAMPLING, 50, 0.0),
    "external": (GOOFSPIEL, ms.EXTERNAL_SAMPLING, 40, 0.0),
    "outcome": ("kuhn_poker(players=3)", ms.OUTCOME_SAMPLING, 200, 0.0),
    "balanced": ("kuhn_poker", ms.BALANCED_OUTCOME_SAMPLING, 100, 0.0),
    "simultaneous": (
        "kuhn_poker",
        ms.EXTERNAL_SAMPLING._replace(alternating=False, averaging=ms.LINEAR),
        50,
        0.0,
    ),
    # pow, exp and log of other C libraries may differ in the last bit
    "ftrl": ("kuhn_poker", ms.Algorithm(ms.EXTERNAL, ms.ftrl(0.5)), 40, 1e-13),
    "omd": ("kuhn_poker", ms.Algorithm(ms.EXTERNAL, ms.omd(0.5)), 40, 1e-13),
    "lcfr": ("kuhn_poker", ms.LCFR, 20, 0.0),
    "dcfr": ("kuhn_poker", ms.DCFR, 20, 1e-13),
    "external_dcfr": (GOOFSPIEL, ms.DCFR._replace(sampling=ms.EXTERNAL), 40, 1e-13),
}


def result(name):
    """What golden.json holds of a run."""
    game, algorithm, iterations, _ = RUNS[name]
    solver = Solver(game, algorithm, seed=39823987)
    solver.iterate(iterations)
    policy = solver.average_policy().to_dict()
    return {
        "nodes_touched": solver.nodes_touched,
        "policy": {state: list(probs.values()) for state, probs in policy.items()},
    }


def test_every_run_is_recorded():
    assert json.loads(FILE.read_text()).keys() == RUNS.keys()


@pytest.mark.both
@pytest.mark.parametrize("name", RUNS)
def test_the_policy_is_the_recorded_one(name):
    recorded = json.loads(FILE.read_text())[name]
    mine = result(name)
    tolerance = RUNS[name][3]
    if tolerance == 0:
        assert mine == recorded
        return
    assert mine["nodes_touched"] == recorded["nodes_touched"]
    assert mine["policy"].keys() == recorded["policy"].keys()
    for state, probs in recorded["policy"].items():
        assert mine["policy"][state] == pytest.approx(probs, abs=tolerance)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: result(name) for name in RUNS}, indent=1) + "\n")
