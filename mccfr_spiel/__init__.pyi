from typing import Any

from mccfr_spiel import algorithms as algorithms
from mccfr_spiel import evaluation as evaluation
from mccfr_spiel import experiments as experiments
from mccfr_spiel import offline as offline
from mccfr_spiel import poker as poker
from mccfr_spiel.algorithms.algorithm import ALGORITHMS as ALGORITHMS
from mccfr_spiel.algorithms.algorithm import (
    AVERAGE_STRATEGY_SAMPLING as AVERAGE_STRATEGY_SAMPLING,
)
from mccfr_spiel.algorithms.algorithm import (
    BALANCED_OUTCOME_SAMPLING as BALANCED_OUTCOME_SAMPLING,
)
from mccfr_spiel.algorithms.algorithm import CFR as CFR
from mccfr_spiel.algorithms.algorithm import CFR_PLUS as CFR_PLUS
from mccfr_spiel.algorithms.algorithm import CHANCE_SAMPLING as CHANCE_SAMPLING
from mccfr_spiel.algorithms.algorithm import DCFR as DCFR
from mccfr_spiel.algorithms.algorithm import DCFR_PLUS as DCFR_PLUS
from mccfr_spiel.algorithms.algorithm import EXTERNAL_SAMPLING as EXTERNAL_SAMPLING
from mccfr_spiel.algorithms.algorithm import LCFR as LCFR
from mccfr_spiel.algorithms.algorithm import OPPONENT_SAMPLING as OPPONENT_SAMPLING
from mccfr_spiel.algorithms.algorithm import OUTCOME_SAMPLING as OUTCOME_SAMPLING
from mccfr_spiel.algorithms.algorithm import PCFR_PLUS as PCFR_PLUS
from mccfr_spiel.algorithms.algorithm import PDCFR_PLUS as PDCFR_PLUS
from mccfr_spiel.algorithms.algorithm import SAPCFR_PLUS as SAPCFR_PLUS
from mccfr_spiel.algorithms.algorithm import Algorithm as Algorithm
from mccfr_spiel.algorithms.algorithm import hs_dcfr as hs_dcfr
from mccfr_spiel.algorithms.algorithm import hs_pcfr_plus as hs_pcfr_plus
from mccfr_spiel.algorithms.parts import AVERAGE_STRATEGY as AVERAGE_STRATEGY
from mccfr_spiel.algorithms.parts import BALANCED_OUTCOME as BALANCED_OUTCOME
from mccfr_spiel.algorithms.parts import CHANCE as CHANCE
from mccfr_spiel.algorithms.parts import EXTERNAL as EXTERNAL
from mccfr_spiel.algorithms.parts import FULL as FULL
from mccfr_spiel.algorithms.parts import LINEAR as LINEAR
from mccfr_spiel.algorithms.parts import OPPONENT as OPPONENT
from mccfr_spiel.algorithms.parts import OUTCOME as OUTCOME
from mccfr_spiel.algorithms.parts import QUADRATIC as QUADRATIC
from mccfr_spiel.algorithms.parts import UNIFORM as UNIFORM
from mccfr_spiel.algorithms.parts import average_strategy as average_strategy
from mccfr_spiel.algorithms.parts import outcome as outcome
from mccfr_spiel.algorithms.parts import own_estimator as own_estimator
from mccfr_spiel.algorithms.parts import own_rule as own_rule
from mccfr_spiel.algorithms.parts import polynomial as polynomial
from mccfr_spiel.algorithms.rules import (
    discounted_regret_matching as discounted_regret_matching,
)
from mccfr_spiel.algorithms.rules import ftrl as ftrl
from mccfr_spiel.algorithms.rules import magnetic_mirror_descent as mmd  # noqa: F401
from mccfr_spiel.algorithms.rules import omd as omd
from mccfr_spiel.algorithms.rules import (
    predictive_regret_matching_plus as predictive_regret_matching_plus,
)
from mccfr_spiel.algorithms.rules import regret_matching as regret_matching
from mccfr_spiel.algorithms.rules import (
    regret_matching_plus as regret_matching_plus,
)
from mccfr_spiel.arenas import rules as rules
from mccfr_spiel.arenas.infosets.lock import TreeInUseError as TreeInUseError
from mccfr_spiel.arenas.infosets.table import completed_rounds as completed_rounds
from mccfr_spiel.arenas.infosets.walk_sizes import (
    WalkTooLargeError as WalkTooLargeError,
)
from mccfr_spiel.arenas.rules.description import GameError as GameError
from mccfr_spiel.arenas.tree.game_check import check_game as check_game
from mccfr_spiel.arenas.tree.game_tree import GameTree as GameTree
from mccfr_spiel.arenas.tree.tree_files import load_tree as load_tree
from mccfr_spiel.arenas.tree.tree_files import save_tree as save_tree
from mccfr_spiel.common.checkpoint import CheckpointError as CheckpointError
from mccfr_spiel.common.folders import CompileCacheWarning as CompileCacheWarning
from mccfr_spiel.common.limits import MemoryBudgetError as MemoryBudgetError
from mccfr_spiel.common.limits import TreeFullError as TreeFullError
from mccfr_spiel.evaluation import metrics as metrics
from mccfr_spiel.evaluation import theory as theory
from mccfr_spiel.evaluation.choosing import recommend as recommend
from mccfr_spiel.evaluation.exact import expected_returns as expected_returns
from mccfr_spiel.evaluation.exact import exploitability as exploitability
from mccfr_spiel.evaluation.exact import nash_conv as nash_conv
from mccfr_spiel.experiments.sweeps import compare as compare
from mccfr_spiel.exploring.drawing import draw_tree as draw_tree
from mccfr_spiel.exploring.opening import explore as explore
from mccfr_spiel.offline.linear_program import solve_lp as solve_lp
from mccfr_spiel.policies import online_bot as online_bot
from mccfr_spiel.policies.online_bot import (
    OnlineOutcomeSamplingBot as OnlineOutcomeSamplingBot,
)
from mccfr_spiel.policies.policy import SequencePolicy as SequencePolicy
from mccfr_spiel.policies.policy import bot as bot
from mccfr_spiel.solving import cluster as cluster
from mccfr_spiel.solving import drop_in as drop_in
from mccfr_spiel.solving.drop_in import AverageType as AverageType
from mccfr_spiel.solving.drop_in import CFRBRSolver as CFRBRSolver
from mccfr_spiel.solving.drop_in import CFRPlusSolver as CFRPlusSolver
from mccfr_spiel.solving.drop_in import CFRSolver as CFRSolver
from mccfr_spiel.solving.drop_in import DCFRSolver as DCFRSolver
from mccfr_spiel.solving.drop_in import (
    ExternalSamplingMCCFRSolver as ExternalSamplingMCCFRSolver,
)
from mccfr_spiel.solving.drop_in import ExternalSamplingSolver as ExternalSamplingSolver
from mccfr_spiel.solving.drop_in import LCFRSolver as LCFRSolver
from mccfr_spiel.solving.drop_in import (
    OutcomeSamplingMCCFRSolver as OutcomeSamplingMCCFRSolver,
)
from mccfr_spiel.solving.drop_in import OutcomeSamplingSolver as OutcomeSamplingSolver
from mccfr_spiel.solving.reading import load_policy as load_policy
from mccfr_spiel.solving.solver import Solver as Solver

def __getattr__(name: str) -> Any: ...
