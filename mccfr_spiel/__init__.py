"""Solves OpenSpiel games: MCCFR and stochastic regret minimization.

The names that most programs need are here. The rest is in namespaces, which are
attributes of this package:

    algorithms  the parts of an algorithm as values, and the named algorithms
    cluster     several processes, or machines, that solve one game together
    drop_in     OpenSpiel's solver classes on top of Solver
    evaluation  returns, best responses and NashConv, exact or by sampling
    experiments runs, sweeps, comparisons and the papers' figures
    metrics     what `compare` and `Solver.run` measure
    offline     linear programs, excessive gap, mirror prox, and the sequence form
    online_bot  a bot that learns while it plays
    poker       subgames of hold'em: ranges, bets, and what hands are worth
    rules       games whose rules are compiled functions
    theory      the bounds that the convergence theorems give
"""

import lazy_loader

from mccfr_spiel.common.folders import games_of_checkout

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_games = games_of_checkout()
if _games is not None:  # in a clone, `mccfr_spiel.games` is a folder beside the package
    __path__.append(str(_games.parent))
