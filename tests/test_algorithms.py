"""Algorithms are values: checked when they are made, equal by what they say."""

import copy
import pickle

import pytest

import mccfr_spiel as ms
from mccfr_spiel import algorithms
from mccfr_spiel.solving import files

RULES = [
    ms.regret_matching(),
    ms.regret_matching_plus(),
    ms.regret_matching(initial_regret=1.0),
    ms.ftrl(1.0),
    ms.omd(1.0),
    ms.omd(1.0, weights="kroer"),
    ms.ftrl(2.0),
]
PARTS = [*RULES, ms.EXTERNAL, ms.OUTCOME, ms.LINEAR]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_a_part_is_the_same_after_a_copy_and_a_pickle(part):
    assert copy.deepcopy(part) == pickle.loads(pickle.dumps(part)) == part
    assert type(part)(**part._asdict()) == part._replace() == part


def test_what_a_minimizer_is_now_is_said_to_those_who_make_one_by_name():
    with pytest.raises(TypeError, match=r"ftrl.*step_size=0\.5.*ms\.ftrl\(step_size\)"):
        ms.Minimizer("ftrl", step_size=0.5)  # pyright: ignore[reportCallIssue]
    for kind in algorithms.RULES.values():
        assert issubclass(kind, ms.Minimizer)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_files_hold_a_rule_and_those_of_version_0_1_are_read(rule):
    algorithm = ms.Algorithm(ms.outcome(0.3), rule, ms.QUADRATIC, False)
    stored = files.algorithm_to_json(algorithm)
    assert files.algorithm_from_json(stored) == algorithm
    others = {"step_size": 1.0, "weights": "constant", "initial_regret": 0.0}
    stored["minimizer"] = others | stored["minimizer"]
    assert files.algorithm_from_json(stored) == algorithm
