"""Finds modules that are not where their names say.

A module that has moved since version 0.1 can still be imported by its old path, which
warns and says what the new one is. A name that was at the top of the package and is now
in a namespace can still be read from the top, without a warning. In a clone of the
repository, `mccfr_spiel.games` is the folder `games` beside the package.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

from mccfr_spiel.storage.folders import games_of_checkout

_PACKAGE = __package__

_NOW = {
    "algorithm_names": "experiments.algorithm_names",
    "checkpoint": "storage.checkpoint",
    "compile": "compiled.jit",
    "first_order": "offline",
    "frame": "compiled.frame",
    "full_pass": "tree.full_pass",
    "game_tree": "tree.game_tree",
    "growth": "tree.growth",
    "linear_program": "offline.linear_program",
    "memory": "tree.memory",
    "names": "policies.names",
    "plotting": "experiments.plotting",
    "policy": "policies.policy",
    "policy_json": "policies.policy_json",
    "prefetch": "compiled.prefetch",
    "randomness": "compiled.randomness",
    "reproduction": "papers.reproduction",
    "rules_expansion": "rules.expansion",
    "rules_game": "rules.game",
    "rules_kernel": "rules.kernel",
    "sampled_evaluation": "evaluation.sampled",
    "sequence_form": "offline.sequence_form",
    "sparsification": "offline.sparsification",
    "sweeps": "experiments.sweeps",
    "table_1": "papers.table_1",
    "theory": "evaluation.theory",
    "tree_cache": "tree.cache",
}
"""The old path of each module that has moved -> the new one, within the package."""

_OLD_GAMES = (
    "goofspiel",
    "leduc_ranks",
    "one_card_poker",
    "princess_and_monster",
    "search",
)
"""The modules that were in the package `games` of version 0.1."""

OLD_NAMES = {
    "Averaging": "algorithms",
    "Checked": "tree.game_check",
    "ExcessiveGap": "offline",
    "LPSolution": "offline",
    "LinearProgramError": "offline",
    "Memory": "tree.memory",
    "MemoryBudgetWarning": "online_bot",
    "Minimizer": "algorithms",
    "MirrorProx": "offline",
    "NotZeroSumError": "offline",
    "PRUNED_CFR": "algorithms",
    "PlayerTheory": "evaluation.theory",
    "Sampling": "algorithms",
    "SequenceForm": "offline",
    "TooLargeError": "offline",
    "TreeCacheWarning": "tree.cache",
    "_CFRSolver": "drop_in",
    "best_response_policy": "evaluation",
    "cfr_regret_bound": "evaluation.theory",
    "external_sampling_regret_bound": "evaluation.theory",
    "full": "algorithms",
    "gap_bound": "evaluation.theory",
    "learned_response": "evaluation",
    "m_values": "evaluation.theory",
    "nash_conv_bound": "evaluation.theory",
    "outcome_sampling_regret_bound": "evaluation.theory",
    "player_theory": "evaluation.theory",
    "sampled_returns": "evaluation",
    "sequence_form": "offline",
    "solve_lp": "offline",
    "write_mps": "offline",
}
"""A name that can be read from the top of the package -> the module that has it."""


class _OldModule(types.ModuleType):
    """A module under its old path.

    Importing it hides what else the package offers under that name, as the function
    `mccfr_spiel.sequence_form`; so the module can be called in its place.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)


class _Redirect(importlib.abc.Loader):
    """Loads an old path as a module that looks every name up in the new one."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """An empty module of our own class."""
        return _OldModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Warns about the old path and forwards attribute access to the new module."""
        package, _, old = module.__name__.rpartition(".")
        new = f"{package}.{_NOW[old]}"
        warnings.warn(
            f"{module.__name__} is now {new}; the old path will go in a later version.",
            DeprecationWarning,
            stacklevel=2,
        )
        target = importlib.import_module(new)
        module.__doc__ = target.__doc__
        setattr(module, "__getattr__", lambda name: getattr(target, name))  # noqa: B010


class _Signpost(importlib.abc.MetaPathFinder):
    """Finds modules by their old paths.

    It is the last finder in `sys.meta_path`, so Python asks it only for a module that
    no other finder knows.
    """

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec of a module that is elsewhere, None for any other name."""
        package, _, module = fullname.rpartition(".")
        if package == _PACKAGE and module in _NOW:
            return importlib.machinery.ModuleSpec(fullname, _Redirect())
        if fullname == f"{_PACKAGE}.games":
            return _spec_of_games(fullname)
        if fullname == "games" or (package == "games" and module in _OLD_GAMES):
            return importlib.machinery.ModuleSpec(fullname, _OldGames())
        return None


def _spec_of_games(name: str) -> importlib.machinery.ModuleSpec | None:
    """The spec of the folder `games` in a clone, None if there is no such folder."""
    folder = games_of_checkout()
    if folder is None:
        return None
    return importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )


class _OldGames(importlib.abc.Loader):
    """Tells those who import `games`, which nobody else has, what it is called now."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leaves that to Python."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Raises ModuleNotFoundError, as Python does where there is no such module."""
        name = module.__name__
        raise ModuleNotFoundError(
            f"No module named {name!r}. If you mean the papers' games, they are in "
            f"{_PACKAGE}.{name}: import that.",
            name=name,
        )


def keep_old_paths() -> None:
    """Registers the finder behind Python's own ones, unless it is there already."""
    if not any(isinstance(finder, _Signpost) for finder in sys.meta_path):
        sys.meta_path.append(_Signpost())
