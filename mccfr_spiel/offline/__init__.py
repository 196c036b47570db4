"""Methods that know the whole game: linear programs and first-order methods."""

from mccfr_spiel.offline.excessive_gap import ExcessiveGap
from mccfr_spiel.offline.linear_program import (
    LinearProgramError,
    LPSolution,
    solve_lp,
    write_mps,
)
from mccfr_spiel.offline.methods import (
    EGT,
    LP,
    MIRROR_PROX,
    OFFLINE_METHODS,
    PRACTICAL_EGT,
    SPARSIFIED_LP,
    ExcessiveGapMethod,
    LinearProgramMethod,
    LinearProgramRun,
    MirrorProxMethod,
    OfflineMethod,
    PracticalExcessiveGapMethod,
    SparsifiedProgramMethod,
)
from mccfr_spiel.offline.mirror_prox import MirrorProx
from mccfr_spiel.offline.sequence_form import (
    NotZeroSumError,
    SequenceForm,
    TooLargeError,
    best_response_value,
    plan_to_policy,
    policy_to_plan,
    saddle_point_gap,
    sequence_form,
)

__all__ = [
    "EGT",
    "LP",
    "MIRROR_PROX",
    "OFFLINE_METHODS",
    "PRACTICAL_EGT",
    "SPARSIFIED_LP",
    "ExcessiveGap",
    "ExcessiveGapMethod",
    "LPSolution",
    "LinearProgramError",
    "LinearProgramMethod",
    "LinearProgramRun",
    "MirrorProx",
    "MirrorProxMethod",
    "NotZeroSumError",
    "OfflineMethod",
    "PracticalExcessiveGapMethod",
    "SequenceForm",
    "SparsifiedProgramMethod",
    "TooLargeError",
    "best_response_value",
    "plan_to_policy",
    "policy_to_plan",
    "saddle_point_gap",
    "sequence_form",
    "solve_lp",
    "write_mps",
]
