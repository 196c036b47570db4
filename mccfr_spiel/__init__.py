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
    rules       games whose rules are compiled functions
    theory      the bounds that the convergence theorems give
"""

import importlib
from typing import TYPE_CHECKING, Any

from mccfr_spiel import algorithms as algorithms
from mccfr_spiel import cluster as cluster
from mccfr_spiel import drop_in as drop_in
from mccfr_spiel import evaluation as evaluation
from mccfr_spiel import online_bot as online_bot
from mccfr_spiel import rules as rules
from mccfr_spiel._moved import OLD_NAMES, keep_old_paths
from mccfr_spiel.algorithms import (
    ALGORITHMS,
    AVERAGE_STRATEGY,
    AVERAGE_STRATEGY_SAMPLING,
    BALANCED_OUTCOME,
    BALANCED_OUTCOME_SAMPLING,
    CFR,
    CFR_PLUS,
    CHANCE,
    CHANCE_SAMPLING,
    DCFR,
    EXTERNAL,
    EXTERNAL_SAMPLING,
    FULL,
    LCFR,
    LINEAR,
    OPPONENT,
    OPPONENT_SAMPLING,
    OUTCOME,
    OUTCOME_SAMPLING,
    PCFR_PLUS,
    PDCFR_PLUS,
    QUADRATIC,
    UNIFORM,
    Algorithm,
    average_strategy,
    ftrl,
    omd,
    outcome,
    polynomial,
    regret_matching,
    regret_matching_plus,
)
from mccfr_spiel.compiled.code_cache import CompileCacheWarning
from mccfr_spiel.drawing.trees import draw_tree
from mccfr_spiel.drop_in import (
    AverageType,
    CFRPlusSolver,
    CFRSolver,
    ExternalSamplingMCCFRSolver,
    ExternalSamplingSolver,
    OutcomeSamplingMCCFRSolver,
    OutcomeSamplingSolver,
)
from mccfr_spiel.evaluation import metrics as metrics
from mccfr_spiel.evaluation import theory as theory
from mccfr_spiel.evaluation.exact import expected_returns, exploitability, nash_conv
from mccfr_spiel.limits.budget import MemoryBudgetError, TreeFullError
from mccfr_spiel.online_bot import OnlineOutcomeSamplingBot
from mccfr_spiel.policies.bot import bot
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.reading.policies import load_policy
from mccfr_spiel.rules.declared import GameError
from mccfr_spiel.solver import Solver
from mccfr_spiel.storage.checkpoint import CheckpointError
from mccfr_spiel.tree.cache import cached_tree
from mccfr_spiel.tree.game_check import check_game
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.growth import WalkTooLargeError
from mccfr_spiel.tree.lock import TreeInUseError

if TYPE_CHECKING:  # at run time `__getattr__` brings these, see there
    from mccfr_spiel import experiments as experiments
    from mccfr_spiel import offline as offline
    from mccfr_spiel.experiments.comparing import compare
    from mccfr_spiel.exploring.opening import explore
    from mccfr_spiel.offline import solve_lp

__version__ = "0.2.0"

# These can be read from the top, too; `dir` shows the names of first pages.
DCFR_PLUS = algorithms.DCFR_PLUS
SAPCFR_PLUS = algorithms.SAPCFR_PLUS
discounted_regret_matching = algorithms.discounted_regret_matching
hs_dcfr = algorithms.hs_dcfr
hs_pcfr_plus = algorithms.hs_pcfr_plus
mmd = algorithms.magnetic_mirror_descent
predictive_regret_matching_plus = algorithms.predictive_regret_matching_plus
recommend = evaluation.recommend

__all__ = [
    "ALGORITHMS",
    "AVERAGE_STRATEGY",
    "AVERAGE_STRATEGY_SAMPLING",
    "BALANCED_OUTCOME",
    "BALANCED_OUTCOME_SAMPLING",
    "CFR",
    "CFR_PLUS",
    "CHANCE",
    "CHANCE_SAMPLING",
    "DCFR",
    "EXTERNAL",
    "EXTERNAL_SAMPLING",
    "FULL",
    "LCFR",
    "LINEAR",
    "OPPONENT",
    "OPPONENT_SAMPLING",
    "OUTCOME",
    "OUTCOME_SAMPLING",
    "PCFR_PLUS",
    "PDCFR_PLUS",
    "QUADRATIC",
    "UNIFORM",
    "Algorithm",
    "AverageType",
    "CFRPlusSolver",
    "CFRSolver",
    "CheckpointError",
    "CompileCacheWarning",
    "ExternalSamplingMCCFRSolver",
    "ExternalSamplingSolver",
    "GameError",
    "GameTree",
    "MemoryBudgetError",
    "OnlineOutcomeSamplingBot",
    "OutcomeSamplingMCCFRSolver",
    "OutcomeSamplingSolver",
    "SequencePolicy",
    "Solver",
    "TreeFullError",
    "TreeInUseError",
    "WalkTooLargeError",
    "average_strategy",
    "bot",
    "cached_tree",
    "check_game",
    "compare",
    "draw_tree",
    "expected_returns",
    "exploitability",
    "explore",
    "ftrl",
    "load_policy",
    "nash_conv",
    "omd",
    "outcome",
    "polynomial",
    "regret_matching",
    "regret_matching_plus",
    "solve_lp",
]

NAMESPACES = (
    "algorithms",
    "cluster",
    "drop_in",
    "evaluation",
    "experiments",
    "metrics",
    "offline",
    "online_bot",
    "rules",
    "theory",
)

keep_old_paths()


def __getattr__(name: str) -> Any:
    """Finds the names that this file does not import.

    These are the offline methods and the experiments, which are loaded when they are
    first asked for because scipy takes longer to import than the rest of the package,
    and the names that version 0.1 had here and that are now in a namespace
    (`_moved.OLD_NAMES`).
    """
    if name in ("experiments", "offline"):
        value = importlib.import_module(f"mccfr_spiel.{name}")
    elif name == "compare":
        value = importlib.import_module("mccfr_spiel.experiments.comparing").compare
    elif name == "explore":
        value = importlib.import_module("mccfr_spiel.exploring.opening").explore
    elif name in OLD_NAMES:
        module = importlib.import_module(f"mccfr_spiel.{OLD_NAMES[name]}")
        value = getattr(module, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *NAMESPACES, "__version__"])
