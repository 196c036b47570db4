from mccfr_spiel.algorithms.algorithm import ALGORITHMS as ALGORITHMS
from mccfr_spiel.algorithms.algorithm import AUTO as AUTO
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
from mccfr_spiel.algorithms.algorithm import MOST_BATCH as MOST_BATCH
from mccfr_spiel.algorithms.algorithm import OPPONENT_SAMPLING as OPPONENT_SAMPLING
from mccfr_spiel.algorithms.algorithm import OUTCOME_SAMPLING as OUTCOME_SAMPLING
from mccfr_spiel.algorithms.algorithm import PCFR_PLUS as PCFR_PLUS
from mccfr_spiel.algorithms.algorithm import PDCFR_PLUS as PDCFR_PLUS
from mccfr_spiel.algorithms.algorithm import PRUNED_CFR as PRUNED_CFR
from mccfr_spiel.algorithms.algorithm import SAPCFR_PLUS as SAPCFR_PLUS
from mccfr_spiel.algorithms.algorithm import SCHEDULES as SCHEDULES
from mccfr_spiel.algorithms.algorithm import Algorithm as Algorithm
from mccfr_spiel.algorithms.algorithm import algorithm_of as algorithm_of
from mccfr_spiel.algorithms.algorithm import check_algorithm as check_algorithm
from mccfr_spiel.algorithms.algorithm import hs_dcfr as hs_dcfr
from mccfr_spiel.algorithms.algorithm import hs_pcfr_plus as hs_pcfr_plus
from mccfr_spiel.algorithms.algorithm import schedule_of as schedule_of
from mccfr_spiel.algorithms.averaging import LINEAR as LINEAR
from mccfr_spiel.algorithms.averaging import MOST_GAMMA as MOST_GAMMA
from mccfr_spiel.algorithms.averaging import MOST_WEIGHT as MOST_WEIGHT
from mccfr_spiel.algorithms.averaging import QUADRATIC as QUADRATIC
from mccfr_spiel.algorithms.averaging import UNIFORM as UNIFORM
from mccfr_spiel.algorithms.averaging import Averaging as Averaging
from mccfr_spiel.algorithms.averaging import most_iterations as most_iterations
from mccfr_spiel.algorithms.averaging import polynomial as polynomial
from mccfr_spiel.algorithms.entropy_rules import FTRL as FTRL
from mccfr_spiel.algorithms.entropy_rules import OMD as OMD
from mccfr_spiel.algorithms.entropy_rules import STEP_SIZES as STEP_SIZES
from mccfr_spiel.algorithms.entropy_rules import EntropyMinimizer as EntropyMinimizer
from mccfr_spiel.algorithms.entropy_rules import (
    MagneticMirrorDescent as MagneticMirrorDescent,
)
from mccfr_spiel.algorithms.entropy_rules import OptimisticFTRL as OptimisticFTRL
from mccfr_spiel.algorithms.entropy_rules import OptimisticOMD as OptimisticOMD
from mccfr_spiel.algorithms.entropy_rules import ftrl as ftrl
from mccfr_spiel.algorithms.entropy_rules import (
    magnetic_mirror_descent as magnetic_mirror_descent,
)
from mccfr_spiel.algorithms.entropy_rules import magnetic_mirror_descent as mmd  # noqa: F401
from mccfr_spiel.algorithms.entropy_rules import omd as omd
from mccfr_spiel.algorithms.entropy_rules import optimistic_ftrl as optimistic_ftrl
from mccfr_spiel.algorithms.entropy_rules import optimistic_omd as optimistic_omd
from mccfr_spiel.algorithms.minimizers import Minimizer as Minimizer
from mccfr_spiel.algorithms.own_parts import OwnEstimator as OwnEstimator
from mccfr_spiel.algorithms.own_parts import OwnPart as OwnPart
from mccfr_spiel.algorithms.own_parts import OwnRule as OwnRule
from mccfr_spiel.algorithms.own_parts import own_estimator as own_estimator
from mccfr_spiel.algorithms.own_parts import own_parts_of as own_parts_of
from mccfr_spiel.algorithms.own_parts import own_rule as own_rule
from mccfr_spiel.algorithms.parts import Part as Part
from mccfr_spiel.algorithms.regret_rules import (
    DiscountedRegretMatching as DiscountedRegretMatching,
)
from mccfr_spiel.algorithms.regret_rules import (
    PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus,
)
from mccfr_spiel.algorithms.regret_rules import RegretMatching as RegretMatching
from mccfr_spiel.algorithms.regret_rules import RegretMatchingPlus as RegretMatchingPlus
from mccfr_spiel.algorithms.regret_rules import RegretMinimizer as RegretMinimizer
from mccfr_spiel.algorithms.regret_rules import (
    discounted_regret_matching as discounted_regret_matching,
)
from mccfr_spiel.algorithms.regret_rules import (
    predictive_regret_matching_plus as predictive_regret_matching_plus,
)
from mccfr_spiel.algorithms.regret_rules import regret_matching as regret_matching
from mccfr_spiel.algorithms.regret_rules import (
    regret_matching_plus as regret_matching_plus,
)
from mccfr_spiel.algorithms.rules import RULES as RULES
from mccfr_spiel.algorithms.sampling import AVERAGE_STRATEGY as AVERAGE_STRATEGY
from mccfr_spiel.algorithms.sampling import BALANCED_OUTCOME as BALANCED_OUTCOME
from mccfr_spiel.algorithms.sampling import CHANCE as CHANCE
from mccfr_spiel.algorithms.sampling import EXTERNAL as EXTERNAL
from mccfr_spiel.algorithms.sampling import FULL as FULL
from mccfr_spiel.algorithms.sampling import OPPONENT as OPPONENT
from mccfr_spiel.algorithms.sampling import OUTCOME as OUTCOME
from mccfr_spiel.algorithms.sampling import Sampling as Sampling
from mccfr_spiel.algorithms.sampling import average_strategy as average_strategy
from mccfr_spiel.algorithms.sampling import external as external
from mccfr_spiel.algorithms.sampling import full as full
from mccfr_spiel.algorithms.sampling import outcome as outcome
