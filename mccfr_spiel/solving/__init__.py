"""The Solver, its checkpoints, clusters, and drop-in copies of OpenSpiel's solvers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
