from . import (
    metrics,
    theory,
)
from .conditional_gaps import ConditionalGaps, conditional_gaps
from .duplicate_play import duplicate_returns
from .estimates import Estimate
from .exact import (
    best_response_policy,
    expected_returns,
    exploitability,
    nash_conv,
)
from .local_responses import local_best_response
from .metrics import (
    GameValue,
    game_value,
)
from .plays import sampled_returns
from .responses import LearnedResponse, learned_response
from .rule_checks import RuleReport, check_rule

__all__ = [
    "ConditionalGaps",
    "Estimate",
    "GameValue",
    "LearnedResponse",
    "RuleReport",
    "best_response_policy",
    "check_rule",
    "conditional_gaps",
    "duplicate_returns",
    "expected_returns",
    "exploitability",
    "game_value",
    "learned_response",
    "local_best_response",
    "metrics",
    "nash_conv",
    "sampled_returns",
    "theory",
]
