"""Methods that know the whole game: linear programs and first-order methods.

methods.py         the methods as values, and solvers that experiments can run
linear_program.py  the sequence form's linear program by HiGHS
first_order.py     excessive gap, mirror prox
sequence_forms.py  payoff matrices and constraints
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
