"""The words of reprs: one line, whatever the object, and never an error."""

import math

import numpy as np
import pytest

from mccfr_spiel.display import (
    line,
    never_raises,
    plus_minus,
)


@pytest.mark.parametrize(
    ("middle", "half_width", "shown"),
    [
        (-0.0556, 0.00119, "-0.0556 +- 0.0012"),
        (123.4, 17.2, "123 +- 18"),  # 18 since 123 is 0.4 off
        (0.5, 0.0, "0.5"),
        (1 / 3, 1e-17, "0.333333333333"),
        (-0.001, 0.4, "0.00 +- 0.41"),  # not -0.00
        (0.5, math.inf, "0.5"),
        (0.5, math.nan, "0.5"),
    ],
)
def test_an_interval_shows_two_digits_of_its_width(middle, half_width, shown):
    assert plus_minus(middle, half_width) == shown


def test_what_is_shown_of_an_interval_holds_all_of_it():
    generator = np.random.default_rng(0)
    for _ in range(300):
        middle = generator.normal() * 10.0 ** generator.integers(-3, 4)
        half_width = abs(middle) * 10.0 ** generator.uniform(-6, 1)
        center, wide = map(float, plus_minus(middle, half_width).split(" +- "))
        slack = 1e-6 * half_width
        assert center - wide <= middle - half_width + slack
        assert center + wide >= middle + half_width - slack
        assert wide < 1.2 * half_width


def test_a_repr_that_fails_is_a_bare_one():
    class Broken:
        @never_raises
        def __repr__(self) -> str:
            return line(self, str(1 / 0))

    assert repr(Broken()).startswith("<Broken at 0x")
