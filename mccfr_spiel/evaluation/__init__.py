"""How good a policy is: exactly, by sampling, and by the theory's bounds."""

from mccfr_spiel.evaluation.exact import (
    best_response_policy,
    expected_returns,
    exploitability,
    nash_conv,
)
from mccfr_spiel.evaluation.recommending import Recommendation, recommend
from mccfr_spiel.evaluation.rule_check import RuleReport, check_rule
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
    "Recommendation",
    "RuleReport",
    "best_response_policy",
    "check_rule",
    "expected_returns",
    "exploitability",
    "game_value",
    "learned_response",
    "nash_conv",
    "recommend",
    "sampled_returns",
]
