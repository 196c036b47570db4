"""Solver, what it is made of, its files, and OpenSpiel's solvers on top of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
