"""How good a policy is: exactly, by sampling, and by the theory's bounds."""

from mccfr_spiel.evaluation.exact import (
    best_response_policy,
    expected_returns,
    exploitability,
    nash_conv,
)
from mccfr_spiel.evaluation.sampled import (
    Estimate,
    LearnedResponse,
    learned_response,
    sampled_returns,
)

__all__ = [
    "Estimate",
    "LearnedResponse",
    "best_response_policy",
    "expected_returns",
    "exploitability",
    "learned_response",
    "nash_conv",
    "sampled_returns",
]
