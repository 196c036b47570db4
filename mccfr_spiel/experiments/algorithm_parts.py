"""The names of an algorithm's parts, and the settings that replace parts."""

from mccfr_spiel.algorithms import (
    RULES,
    Averaging,
    Minimizer,
    Sampling,
    averages,
    full,
    samplings,
)
from mccfr_spiel.common import refusals
from mccfr_spiel.experiments.setting_tables import Setting, table_of
from mccfr_spiel.offline import linear_program

SAMPLINGS = {
    name.lower(): part
    for name, part in vars(samplings).items()
    if isinstance(part, Sampling)
}
SAMPLINGS["pruned"] = full(prune=True)
SAMPLINGS["pruned_by_regret"] = full(prune="regret")
"""Gradient estimators by name."""


MINIMIZERS: dict[str, Minimizer] = {
    name: kind(**{"step_size": 1.0} if "step_size" in kind.ranges else {})
    for name, kind in RULES.items()
}
"""Regret minimizers by name, with their default parameters and step size 1."""

AVERAGINGS = {
    name.lower(): part
    for name, part in vars(averages).items()
    if isinstance(part, Averaging)
}
"""Averages by name."""

_BASELINES, _ENTROPIES = ("learned", "predictive"), ("constant", "kroer")
_CHANCE_DRAWS = ("independent", "sobol")


PARTS = table_of(
    (
        Setting(
            "horizon",
            int,
            None,
            "Number of iterations over which hs_dcfr and hs_pcfr_plus change their "
            "parameters (default: --iterations).",
            least=1,
        ),
        Setting(
            "sampling",
            str,
            None,
            "What each walk over the tree samples.",
            choices=(*SAMPLINGS,),
        ),
        Setting(
            "epsilon",
            float,
            None,
            "Exploration rate of outcome sampling, in (0, 1] (default 0.6), or the "
            "smallest sampling probability of an action in average-strategy sampling "
            "(default 0.05).",
            path="sampling.epsilon",
        ),
        Setting(
            "threshold",
            float,
            None,
            "Threshold of average-strategy sampling (default 1000).",
            path="sampling.threshold",
        ),
        Setting(
            "bonus",
            float,
            None,
            "Bonus of average-strategy sampling (default 1e6).",
            path="sampling.bonus",
        ),
        Setting(
            "prune_below",
            float,
            None,
            "Pruning threshold of external sampling: 95 % of the walks skip actions "
            "whose regret is below this number.",
            path="sampling.prune_below",
        ),
        Setting(
            "baseline",
            str,
            None,
            "Baselines that reduce the variance of outcome and external sampling "
            "(default: no baselines).",
            choices=_BASELINES,
            path="sampling.baseline",
        ),
        Setting(
            "baseline_rate",
            float,
            None,
            "Learning rate of the baselines, in (0, 1] (default 0.5).",
            path="sampling.baseline_rate",
        ),
        Setting(
            "chance_draws",
            str,
            None,
            "How chance is drawn: independently in every walk, or from a scrambled "
            "Sobol sequence over the walks (default independent).",
            choices=_CHANCE_DRAWS,
            path="sampling.chance_draws",
        ),
        Setting(
            "minimizer",
            str,
            None,
            "Regret minimizer at each information set.",
            choices=(*MINIMIZERS,),
        ),
        Setting(
            "step_size",
            float,
            None,
            "Step size of ftrl, omd, their optimistic variants and mmd (default 1), or "
            "of mirror_prox (default: 1 over the largest absolute entry of the payoff "
            "matrix).",
            path="minimizer.step_size",
        ),
        Setting(
            "weights",
            str,
            None,
            "Weights of the dilated entropy in ftrl, omd, their optimistic variants "
            "and mmd (default constant).",
            choices=_ENTROPIES,
            path="minimizer.weights",
        ),
        Setting(
            "tremble",
            float,
            None,
            "Least probability of every action, in [0, 0.5) (default 0). The policies "
            "are then good at information states that only mistakes reach.",
            path="minimizer.tremble",
            check=refusals.tremble,
        ),
        Setting(
            "random_initial_regrets",
            float,
            None,
            "Draw the initial regrets uniformly between 0 and this number (default 0). "
            "The seed determines them.",
            path="minimizer.initial_regret",
        ),
        Setting(
            "alpha",
            float,
            None,
            "Discount exponent for positive regrets: iteration t multiplies them by "
            "k ** alpha / (k ** alpha + 1), where k = t - 1. "
            "discounted_regret_matching always discounts (default 1.5), "
            "predictive_regret_matching_plus only with --alpha.",
            path="minimizer.alpha",
        ),
        Setting(
            "beta",
            float,
            None,
            "Discount exponent of discounted_regret_matching for all other regrets "
            "(default 0).",
            path="minimizer.beta",
        ),
        Setting(
            "prediction",
            float,
            None,
            "Weight of the predicted regrets in predictive_regret_matching_plus "
            "(default 1; 0 disables prediction).",
            path="minimizer.prediction",
        ),
        Setting(
            "temperature",
            float,
            None,
            "Entropy weight of mmd, magnetic mirror descent (default 1).",
            path="minimizer.temperature",
        ),
        Setting(
            "averaging",
            str,
            None,
            "Weight of iteration t in the average policy: 1, t or t squared.",
            choices=(*AVERAGINGS,),
        ),
        Setting(
            "gamma",
            float,
            None,
            "Exponent of the averaging weights, from 0 to 100: iteration t has weight "
            "t ** gamma. It replaces --averaging. For hs_dcfr and hs_pcfr_plus it is "
            "the exponent in the first iteration (default 30), which falls by 5.",
        ),
        Setting(
            "alternating",
            bool,
            None,
            "Update the players in turn instead of simultaneously.",
        ),
        Setting(
            "batch",
            int | str,
            None,
            "Walks per player and update of a sampling algorithm (default 1). With "
            "auto, the number grows with the iterations. Threads share large batches "
            "on complete trees.",
            least=1,
        ),
        Setting(
            "method",
            str,
            None,
            "Algorithm by which HiGHS solves the linear program (default simplex).",
            choices=(*linear_program.METHODS,),
        ),
        Setting(
            "factorization",
            str,
            None,
            "How sparsified_lp factors the payoff matrix (default differences).",
            choices=(*linear_program.SPARSIFICATIONS,),
        ),
        Setting(
            "time_limit",
            float,
            None,
            "Time limit of HiGHS in seconds (default: no limit).",
        ),
    )
)
"""The settings of an algorithm's parts: name -> setting."""

SETTING_OF_FIELD = {
    setting.path.partition(".")[2]: setting.name
    for setting in PARTS.values()
    if setting.path
}
"""The field of a part -> the name of its setting."""

PROGRAM_SETTINGS = ("method", "factorization", "time_limit")
"""The settings that only linear programs have."""
