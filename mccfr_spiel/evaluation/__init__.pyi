from . import (
    metrics,
    theory,
)
from .choosing import (
    Recommendation,
    RuleReport,
    check_rule,
    recommend,
)
from .exact import (
    best_response_policy,
    expected_returns,
    exploitability,
    nash_conv,
)
from .metrics import (
    GameValue,
    game_value,
)
from .plays import (
    Estimate,
    duplicate_returns,
    sampled_returns,
)
from .responses import (
    LearnedResponse,
    learned_response,
    local_best_response,
)

__all__ = [
    "Estimate",
    "GameValue",
    "LearnedResponse",
    "Recommendation",
    "RuleReport",
    "best_response_policy",
    "check_rule",
    "duplicate_returns",
    "expected_returns",
    "exploitability",
    "game_value",
    "learned_response",
    "local_best_response",
    "metrics",
    "nash_conv",
    "recommend",
    "sampled_returns",
    "theory",
]
