"""Methods that know the whole game: linear programs and first-order methods.

| file | contents |
|---|---|
| methods.py | the methods as values |
| game_solvers.py | the protocol of solvers that experiments run |
| linear_program.py | `solve_lp`, which runs HiGHS, and `write_mps` |
| programs.py | the program's matrices and its text |
| first_order.py | common part of the first-order methods |
| excessive_gap.py, mirror_prox.py | the first-order methods |
| prox_maps.py | the dilated entropy and its prox map |
| sequence_forms.py | treeplexes, payoff matrices, plans |
| factorization.py | factored payoff matrices |
| difference_factors.py, rank_one_factors.py | two ways to factor a payoff matrix |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
