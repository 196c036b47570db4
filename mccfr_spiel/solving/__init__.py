"""Solver, what it is made of, its files, and OpenSpiel's solvers on top of it."""
