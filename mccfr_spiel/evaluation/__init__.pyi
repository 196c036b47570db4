from mccfr_spiel.evaluation.duplicate import duplicate_returns as duplicate_returns
from mccfr_spiel.evaluation.exact import best_response_policy as best_response_policy
from mccfr_spiel.evaluation.exact import expected_returns as expected_returns
from mccfr_spiel.evaluation.exact import exploitability as exploitability
from mccfr_spiel.evaluation.exact import nash_conv as nash_conv
from mccfr_spiel.evaluation.local_response import (
    local_best_response as local_best_response,
)
from mccfr_spiel.evaluation.recommending import Recommendation as Recommendation
from mccfr_spiel.evaluation.recommending import recommend as recommend
from mccfr_spiel.evaluation.rule_check import RuleReport as RuleReport
from mccfr_spiel.evaluation.rule_check import check_rule as check_rule
from mccfr_spiel.evaluation.sampled import Estimate as Estimate
from mccfr_spiel.evaluation.sampled import LearnedResponse as LearnedResponse
from mccfr_spiel.evaluation.sampled import learned_response as learned_response
from mccfr_spiel.evaluation.sampled import sampled_returns as sampled_returns
from mccfr_spiel.evaluation.value import GameValue as GameValue
from mccfr_spiel.evaluation.value import game_value as game_value
