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
import importlib.abc
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from mccfr_spiel.common import listed_names
from mccfr_spiel.common.folders import games_of_checkout

__version__ = "0.2.0"

__all__, NAMESPACES, _find, _ = listed_names(__name__, __file__)

_games = games_of_checkout()
if _games is not None:  # in a clone, `mccfr_spiel.games` is a folder beside the package
    __path__.append(str(_games.parent))


class _Namespaces(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Has `from mccfr_spiel.theory import ...` find a namespace in its folder."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        package, _, name = fullname.rpartition(".")
        is_one = package == __name__ and name in NAMESPACES
        return ModuleSpec(fullname, self) if is_one else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _find(spec.name.rpartition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing but to undo what importing it by a second name has changed."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.append(_Namespaces())  # after those that look for files


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
