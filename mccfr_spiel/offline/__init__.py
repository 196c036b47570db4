"""Methods for two-player zero-sum games that need the payoff matrix of the whole game:
linear programs and first-order methods.

| file | contents |
|---|---|
| methods.py | the methods as values with parameters |
| game_solvers.py | the protocol of solvers that experiments run |
| linear_program.py | `solve_lp`, which runs HiGHS, and `write_mps` |
| programs.py | the matrices of the linear program, and its MPS file |
| first_order.py | base class of the first-order methods |
| excessive_gap.py, mirror_prox.py | the first-order methods |
| prox_maps.py | the dilated entropy and its prox map |
| sequence_forms.py | treeplexes, payoff matrices, realization plans |
| factorization.py | the record of a factored payoff matrix |
| difference_factors.py, rank_one_factors.py | two ways to factor a payoff matrix |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
