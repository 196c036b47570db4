from . import (
    algorithms,
    evaluation,
    experiments,
    offline,
    poker,
)
from .algorithms.algorithm import (
    ALGORITHMS,
    AVERAGE_STRATEGY_SAMPLING,
    BALANCED_OUTCOME_SAMPLING,
    CFR,
    CFR_PLUS,
    CHANCE_SAMPLING,
    CHANCE_SAMPLING_QUASI,
    DCFR,
    DCFR_PLUS,
    EXTERNAL_SAMPLING,
    EXTERNAL_SAMPLING_QUASI,
    LCFR,
    OPPONENT_SAMPLING,
    OUTCOME_SAMPLING,
    PCFR_PLUS,
    PDCFR_PLUS,
    SAPCFR_PLUS,
    Algorithm,
    hs_dcfr,
    hs_pcfr_plus,
)
from .algorithms.averages import (
    LINEAR,
    QUADRATIC,
    UNIFORM,
    polynomial,
)
from .algorithms.own_parts import (
    own_estimator,
    own_rule,
)
from .algorithms.rules import (
    discounted_regret_matching,
    ftrl,
    mmd,
    omd,
    predictive_regret_matching_plus,
    regret_matching,
    regret_matching_plus,
)
from .algorithms.samplings import (
    AVERAGE_STRATEGY,
    BALANCED_OUTCOME,
    CHANCE,
    EXTERNAL,
    FULL,
    OPPONENT,
    OUTCOME,
    average_strategy,
    outcome,
)
from .arenas import rules
from .arenas.infosets.lock import TreeInUseError
from .arenas.infosets.table import completed_rounds
from .arenas.infosets.walk_sizes import WalkTooLargeError
from .arenas.rules.declarations import GameError
from .arenas.tree.game_check import check_game
from .arenas.tree.game_tree import GameTree
from .arenas.tree.tree_files import (
    load_tree,
    save_tree,
)
from .common.budget import (
    MemoryBudgetError,
    TreeFullError,
)
from .common.cache_folder import CompileCacheWarning
from .common.checkpoint import CheckpointError
from .evaluation import (
    learned_response,
    metrics,
    sampled_returns,
    theory,
)
from .evaluation.exact import (
    expected_returns,
    exploitability,
    nash_conv,
)
from .evaluation.recommending import recommend
from .experiments.comparing import compare
from .exploring.drawing.tree_drawing import draw_tree
from .exploring.opening import explore
from .offline.linear_program import solve_lp
from .policies import online_bot
from .policies.bots import bot
from .policies.online_bot import OnlineOutcomeSamplingBot
from .policies.policy import SequencePolicy
from .solving import (
    cluster,
    drop_in,
)
from .solving.drop_in import (
    AverageType,
    CFRBRSolver,
    CFRPlusSolver,
    CFRSolver,
    DCFRSolver,
    ExternalSamplingMCCFRSolver,
    ExternalSamplingSolver,
    LCFRSolver,
    OutcomeSamplingMCCFRSolver,
    OutcomeSamplingSolver,
)
from .solving.reading import load_policy
from .solving.solver import Solver

__version__: str

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
    "CHANCE_SAMPLING_QUASI",
    "DCFR",
    "DCFR_PLUS",
    "EXTERNAL",
    "EXTERNAL_SAMPLING",
    "EXTERNAL_SAMPLING_QUASI",
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
    "SAPCFR_PLUS",
    "UNIFORM",
    "Algorithm",
    "AverageType",
    "CFRBRSolver",
    "CFRPlusSolver",
    "CFRSolver",
    "CheckpointError",
    "CompileCacheWarning",
    "DCFRSolver",
    "ExternalSamplingMCCFRSolver",
    "ExternalSamplingSolver",
    "GameError",
    "GameTree",
    "LCFRSolver",
    "MemoryBudgetError",
    "OnlineOutcomeSamplingBot",
    "OutcomeSamplingMCCFRSolver",
    "OutcomeSamplingSolver",
    "SequencePolicy",
    "Solver",
    "TreeFullError",
    "TreeInUseError",
    "WalkTooLargeError",
    "algorithms",
    "average_strategy",
    "bot",
    "check_game",
    "cluster",
    "compare",
    "completed_rounds",
    "discounted_regret_matching",
    "draw_tree",
    "drop_in",
    "evaluation",
    "expected_returns",
    "experiments",
    "exploitability",
    "explore",
    "ftrl",
    "hs_dcfr",
    "hs_pcfr_plus",
    "learned_response",
    "load_policy",
    "load_tree",
    "metrics",
    "mmd",
    "nash_conv",
    "offline",
    "omd",
    "online_bot",
    "outcome",
    "own_estimator",
    "own_rule",
    "poker",
    "polynomial",
    "predictive_regret_matching_plus",
    "recommend",
    "regret_matching",
    "regret_matching_plus",
    "rules",
    "sampled_returns",
    "save_tree",
    "solve_lp",
    "theory",
]
