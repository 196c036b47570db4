"""Algorithms as values: what is sampled, the local rule, the average.

Any regret minimizer goes with any gradient estimator (Farina, Kroer, Sandholm 2020), so
an algorithm here names three parts and holds no code. The parts check their fields and
raise ValueError when they are made. The repr of an algorithm or a part is the code that
makes it; `str` of an algorithm is what papers call it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
