"""Methods that know the whole game: linear programs and first-order methods."""

from mccfr_spiel.offline.first_order import ExcessiveGap as ExcessiveGap
from mccfr_spiel.offline.first_order import MirrorProx as MirrorProx
from mccfr_spiel.offline.linear_program import LinearProgramError as LinearProgramError
from mccfr_spiel.offline.linear_program import LPSolution as LPSolution
from mccfr_spiel.offline.linear_program import solve_lp as solve_lp
from mccfr_spiel.offline.linear_program import write_mps as write_mps
from mccfr_spiel.offline.methods import EGT as EGT
from mccfr_spiel.offline.methods import LP as LP
from mccfr_spiel.offline.methods import MIRROR_PROX as MIRROR_PROX
from mccfr_spiel.offline.methods import OFFLINE_METHODS as OFFLINE_METHODS
from mccfr_spiel.offline.methods import PRACTICAL_EGT as PRACTICAL_EGT
from mccfr_spiel.offline.methods import SPARSIFIED_LP as SPARSIFIED_LP
from mccfr_spiel.offline.methods import ExcessiveGapMethod as ExcessiveGapMethod
from mccfr_spiel.offline.methods import LinearProgramMethod as LinearProgramMethod
from mccfr_spiel.offline.methods import LinearProgramRun as LinearProgramRun
from mccfr_spiel.offline.methods import MirrorProxMethod as MirrorProxMethod
from mccfr_spiel.offline.methods import OfflineMethod as OfflineMethod
from mccfr_spiel.offline.methods import (
    PracticalExcessiveGapMethod as PracticalExcessiveGapMethod,
)
from mccfr_spiel.offline.methods import (
    SparsifiedProgramMethod as SparsifiedProgramMethod,
)
from mccfr_spiel.offline.sequence_form import NotZeroSumError as NotZeroSumError
from mccfr_spiel.offline.sequence_form import SequenceForm as SequenceForm
from mccfr_spiel.offline.sequence_form import TooLargeError as TooLargeError
from mccfr_spiel.offline.sequence_form import best_response_value as best_response_value
from mccfr_spiel.offline.sequence_form import plan_to_policy as plan_to_policy
from mccfr_spiel.offline.sequence_form import policy_to_plan as policy_to_plan
from mccfr_spiel.offline.sequence_form import saddle_point_gap as saddle_point_gap
from mccfr_spiel.offline.sequence_form import sequence_form as sequence_form
