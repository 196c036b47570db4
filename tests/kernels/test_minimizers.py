"""Every rule is in every table that has a row for each."""

import numpy as np
import pytest

from mccfr_spiel import algorithms
from mccfr_spiel.experiments.algorithm_names import MINIMIZERS
from mccfr_spiel.kernels.minimizers import RULES
from mccfr_spiel.kernels.tables import OPTIONAL
from tests import reference, test_solver

ROWS = {
    "kernels": RULES,
    "the textbook": reference.RULES,
    "settings": MINIMIZERS,
    "tests of the solver": test_solver.RULES,
}


@pytest.mark.parametrize("place", ROWS)
def test_every_rule_has_its_row(place):
    assert ROWS[place].keys() == algorithms.RULES.keys()


@pytest.mark.parametrize("rule", algorithms.RULES)
def test_a_rule_names_tables_that_exist_and_gives_numbers(rule):
    minimizer = test_solver.RULES[rule]
    assert minimizer.rule == rule
    assert set(minimizer.tables) <= set(OPTIONAL)
    assert np.array(minimizer.parameters, np.float64).ndim == 1
