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

import contextlib
from importlib.util import find_spec
from typing import Any

from mccfr_spiel.common import listed_names
from mccfr_spiel.common.folders import games_of_checkout

__version__ = "0.2.0"

NAMESPACES = (
    "algorithms",
    "cluster",
    "drop_in",
    "evaluation",
    "experiments",
    "metrics",
    "offline",
    "online_bot",
    "poker",
    "rules",
    "theory",
)

__all__, _find = listed_names(__name__, __file__, NAMESPACES)

_games = games_of_checkout()
if _games is not None:  # in a clone, `mccfr_spiel.games` is a folder beside the package
    __path__.append(str(_games.parent))


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first asked for.

    scipy takes longer to import than the rest of the package, so most programs should
    not need it. A name of a namespace, such as `sampled_returns`, can be read from the
    top as well.
    """
    if name in (*__all__, *NAMESPACES):
        return _find(name)
    # Python also asks here for modules of this package that it has not imported yet.
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
        for space in ("algorithms", "evaluation", "theory", "online_bot", "offline"):
            with contextlib.suppress(AttributeError):
                return getattr(_find(space), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *NAMESPACES, "__version__"])
