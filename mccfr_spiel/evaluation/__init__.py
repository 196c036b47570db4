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
from mccfr_spiel.evaluation.value import GameValue, game_value

__all__ = [
    "Estimate",
    "GameValue",
    "LearnedResponse",
    "best_response_policy",
    "expected_returns",
    "exploitability",
    "game_value",
    "learned_response",
    "nash_conv",
    "sampled_returns",
]
