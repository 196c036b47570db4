"""Algorithms as values: what is sampled, the local rule, the average.

Any regret minimizer goes with any gradient estimator (Farina, Kroer, Sandholm 2020), so
an algorithm here names three parts and holds no code. The parts check their fields and
raise ValueError when they are made. The repr of an algorithm or a part is the code that
makes it; `str` of an algorithm is what papers call it.
"""

# ruff: noqa: F403

from mccfr_spiel.algorithms.algorithm import *
from mccfr_spiel.algorithms.parts import *
from mccfr_spiel.algorithms.parts import Part as Part
from mccfr_spiel.algorithms.rules import *


def __dir__() -> list[str]:
    """The names that the modules define, without those that they import."""
    inside = f"{__name__}."
    return [
        name
        for name, value in globals().items()
        if name.isupper() or getattr(value, "__module__", "").startswith(inside)
    ]
