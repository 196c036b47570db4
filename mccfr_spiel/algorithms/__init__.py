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
from mccfr_spiel.common import names_defined


def __dir__() -> list[str]:
    return names_defined(globals())
